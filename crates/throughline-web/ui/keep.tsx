// What is kept: the store, its limits, and the agents with the days until they delete their logs.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Health, type Keeping, get } from "./api";
import { failure } from "./notice";
import { onScreen } from "./route";
import { Ago, amount, visible } from "./text";
import { Skeleton } from "./search";

const health = signal<Health | undefined>(undefined);
const keeping = signal<Keeping | undefined>(undefined);

onScreen("keep", () => {
  get<Health>("/health").then((answer) => (health.value = answer), failure);
  get<Keeping>("/retention").then((answer) => (keeping.value = answer), failure);
});

export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return unit === 0 ? `${count} bytes` : `${(count / 1000 ** unit).toFixed(1)} ${units[unit]}`;
}

function Fact({ name, children }: { name: string; children: JSX.Element | string }): JSX.Element {
  return <tr><th scope="row">{name}</th><td>{children}</td></tr>;
}

export function KeepScreen(): JSX.Element {
  const [state, kept] = [health.value, keeping.value];
  if (!state || !kept) return <main><h1>What is kept</h1><Skeleton /></main>;
  return (
    <main>
      <h1>What is kept</h1>
      <table>
        <tbody>
          <Fact name="Memory">{`${amount(state.sessions)} sessions, ${amount(state.records)} records, ${amount(state.facts)} facts, ${amount(state.pins)} pins`}</Fact>
          <Fact name="Latest record"><Ago at={state.last} /></Fact>
          <Fact name="Texts and logs">{`${bytes(kept.raw_bytes)} of ${bytes(kept.raw_soft_cap_bytes)}; above that the oldest digested sessions are reduced to their digests`}</Fact>
          <Fact name="Would be removed next">{kept.next.length === 0 ? "Nothing; the store is below its limit" : `${kept.next.length} sessions`}</Fact>
          <Fact name="Encrypted">{state.encrypted ? "yes" : "no"}</Fact>
          <Fact name="Injection">{kept.injection ? "on" : "off"}</Fact>
          <Fact name="Leaves this machine">{kept.leaves_the_machine.length === 0 ? "Nothing" : kept.leaves_the_machine.join("; ")}</Fact>
        </tbody>
      </table>
      <h2>Agents</h2>
      <table>
        <thead><tr><th>Agent</th><th class="number">Logs</th><th class="number">Size</th><th>Deletes its logs after</th><th>Next deletion</th></tr></thead>
        <tbody>
          {kept.agents.filter((agent) => agent.logs > 0).map((agent) => (
            <tr>
              <td>{visible(agent.agent)}</td>
              <td class="number">{amount(agent.logs)}</td>
              <td class="number">{bytes(agent.size_bytes)}</td>
              <td>{agent.deletes_after_days ? `${agent.deletes_after_days} days` : "never"}</td>
              <td>{agent.next_deletion ? <Ago at={agent.next_deletion} /> : ""}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </main>
  );
}
