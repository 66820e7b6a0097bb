// Tokens and cost, by day, model, agent, workspace or session.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type UsageAnswer, type UsageGroup, get, query } from "./api";
import { failure } from "./notice";
import { onScreen, open, parameters, sessionPath } from "./route";
import { amount, money, shortWorkspace, visible } from "./text";
import { Skeleton } from "./search";

const GROUPS = ["day", "model", "agent", "workspace", "session"];
const usage = signal<UsageAnswer | undefined>(undefined);

const groupedBy = () => parameters.value.get("by") ?? "day";

onScreen("usage", () => {
  usage.value = undefined;
  get<UsageAnswer>(query("/usage", { by: groupedBy() })).then((answer) => (usage.value = answer), failure);
});

/** A calendar of the last half year; each day is as strong as its share of the strongest day. */
function Calendar({ groups }: { groups: UsageGroup[] }): JSX.Element {
  const tokens = new Map(groups.map((group) => [group.name, group.total]));
  const most = Math.max(1, ...tokens.values());
  const today = new Date();
  const days = Array.from({ length: 26 * 7 + today.getDay() + 1 }, (_, at) => {
    const day = new Date(today);
    day.setDate(today.getDate() - (26 * 7 + today.getDay() - at));
    return day.toLocaleDateString("sv");
  });
  const level = (count: number) => (count === 0 ? 0 : Math.ceil((4 * Math.sqrt(count)) / Math.sqrt(most)));
  return (
    <div class="heat" role="img" aria-label={`Activity on ${tokens.size} days`}>
      {days.map((day) => <i data-level={level(tokens.get(day) ?? 0)} title={`${day}: ${amount(tokens.get(day) ?? 0)} tokens`} />)}
    </div>
  );
}

function name(group: UsageGroup): JSX.Element {
  if (!group.name) return <>unknown</>;
  if (groupedBy() === "session") return <a href={sessionPath(group.name)}>{visible(group.title ?? group.name)}</a>;
  return <span title={group.name}>{visible(groupedBy() === "workspace" ? shortWorkspace(group.name) : group.name)}</span>;
}

function Row({ group, head }: { group: UsageGroup; head: JSX.Element }): JSX.Element {
  return (
    <tr>
      <td>{head}</td>
      {[group.input, group.output, group.cache_read, group.cache_write].map((count) => <td class="number">{amount(count)}</td>)}
      <td class="number">{amount(group.requests)}</td>
      <td class="number">{group.unpriced_tokens > 0 && "≥ "}{money(group.cost_usd)}</td>
    </tr>
  );
}

export function UsageScreen(): JSX.Element {
  const answer = usage.value;
  return (
    <main>
      <h1>Usage</h1>
      <p class="toolbar" role="group" aria-label="Group by">
        {GROUPS.map((by) => <button type="button" aria-pressed={by === groupedBy()} onClick={() => open(`/ui/usage?by=${by}`)}>{by}</button>)}
      </p>
      {!answer ? <Skeleton /> : (
        <>
          {answer.by === "day" && <Calendar groups={answer.groups} />}
          <table>
            <thead><tr><th>{groupedBy()}</th>{["In", "Out", "Cache read", "Cache write", "Requests", "Cost"].map((head) => <th class="number">{head}</th>)}</tr></thead>
            <tbody>
              {answer.groups.map((group) => <Row key={group.name} group={group} head={name(group)} />)}
              <Row group={answer.total} head={<b>total</b>} />
            </tbody>
          </table>
          <p class="faint">Costs that the logs do not state are based on the list prices of {answer.prices_as_of}.</p>
        </>
      )}
    </main>
  );
}
