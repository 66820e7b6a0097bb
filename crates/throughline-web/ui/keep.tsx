// What is kept: the store, its limits, the agents' logs, the memory layers, and the daemon's log.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { type Capsule, type Health, type Keeping, type LoggedEvent, type Workspace, get, query } from "./api";
import { byUse } from "./switches";
import { onScreen, parameters, sessionPath, setParameter } from "./route";
import { failure } from "./notice";
import { Show, load, loaded } from "./state";
import { Ago, amount, bytes, count, shortWorkspace, titleOf, visible } from "./text";

interface HealthCheck { name: string; value: number | null; target: string; is_met: boolean; since: string | null; reason: string | null }

const health = loaded<Health>();
const keeping = loaded<Keeping>();
const workspaces = loaded<Workspace[]>();
const layers = loaded<HealthCheck[]>();
const events = loaded<LoggedEvent[]>();
const capsules = loaded<Capsule[]>();
/** The workspace whose knowledge and layers are shown: that of the address, or the one used last. */
const workspace = () => parameters.value.get("workspace") ?? byUse(workspaces.value.value ?? [])[0]?.key;
let shown: string | undefined;

function loadKeep(): void {
  void load(health, get<Health>("/health"));
  void load(keeping, get<Keeping>("/retention"));
  void load(events, get<LoggedEvent[]>(query("/events/log", { limit: 100 })));
  void load(workspaces, get<Workspace[]>("/workspaces")).then(loadWorkspace);
}

function loadWorkspace(): void {
  const key = workspace();
  if (!key) return;
  if (key !== shown) layers.value = capsules.value = {};
  shown = key;
  void load(layers, get<HealthCheck[]>(query("/layers", { workspace: key })));
  void load(capsules, get<Capsule[]>(query("/capsules", { workspace: key })));
}

onScreen("keep", loadKeep);

function Figures({ state }: { state: Health }): JSX.Element {
  const figures: [string, JSX.Element | string][] = [
    ["Sessions", amount(state.sessions)], ["Records", amount(state.records)], ["Facts", amount(state.facts)], ["Pins", amount(state.pins)],
    ["Latest record", <Ago at={state.last} />], ["Encrypted", state.encrypted ? "yes" : "no"],
  ];
  return <dl class="figures">{figures.map(([label, value]) => <div><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

function Budget({ kept }: { kept: Keeping }): JSX.Element {
  const share = Math.min(100, (100 * kept.raw_bytes) / kept.raw_soft_cap_bytes);
  return (
    <section class="card" aria-labelledby="budget-title">
      <h2 id="budget-title">Space</h2>
      <p class="budget"><span class="bar large"><i style={{ width: `${Math.max(0.5, share)}%` }} /></span></p>
      <p>
        <b>{bytes(kept.raw_bytes)}</b> of texts and logs, {share < 0.1 ? "less than 0.1" : share.toFixed(1)} % of the {bytes(kept.raw_soft_cap_bytes)} limit, and {bytes(kept.distilled_bytes)} of digests, facts and figures, which are always kept.
        {kept.raw_max_age_days && ` Digested texts older than ${kept.raw_max_age_days} days go first, and only above the limit.`}
      </p>
      <details>
        <summary>{kept.next.length === 0 ? "Nothing would be removed now. What would go first if the limit were reached" : `${count(kept.next.length, "session")} would be reduced to their digests`}</summary>
        <ol>{kept.next_sessions.map((session) => <li><a href={sessionPath(session.id)}>{visible(titleOf(session))}</a> <span class="faint">{bytes(session.bytes)} · <Ago at={session.ended} /></span></li>)}</ol>
      </details>
    </section>
  );
}

function daysUntil(time: string): string {
  const days = Math.ceil((new Date(time).getTime() - Date.now()) / 86_400_000);
  return days <= 0 ? "now" : `in ${count(days, "day")}`;
}

function Agents({ kept }: { kept: Keeping }): JSX.Element {
  const found = kept.agents.filter((agent) => agent.logs > 0);
  return (
    <section aria-labelledby="agents-title">
      <h2 id="agents-title">Agents’ own logs</h2>
      {found.length === 0 ? <p class="faint">No logs of agents were found in their default folders.</p> : (
        <div class="scroll-x" tabIndex={0} role="region" aria-label="Agents">
          <table>
            <thead><tr><th>Agent</th><th class="number">Logs</th><th class="number">Size</th><th>Deletes its logs after</th><th>Oldest is deleted</th></tr></thead>
            <tbody>{found.map((agent) => (
              <tr>
                <td>{agent.agent}</td><td class="number">{amount(agent.logs)}</td><td class="number">{bytes(agent.size_bytes)}</td>
                <td>{agent.deletes_after_days ? count(agent.deletes_after_days, "day") : "never"}</td>
                <td>{agent.next_deletion ? <><b>{daysUntil(agent.next_deletion)}</b> <span class="faint">it stays here</span></> : ""}</td>
              </tr>
            ))}</tbody>
          </table>
        </div>
      )}
    </section>
  );
}

const CAPSULE_KINDS: [kind: string, title: string][] = [
  ["preference", "What you want"], ["history", "What was worked on"], ["skill", "Skills that agents used"],
  ["configuration", "Instructions and setup"], ["pattern", "What recurs"],
];

/** A capsule; its text is loaded when someone opens it. */
function CapsuleView({ capsule }: { capsule: Capsule }): JSX.Element {
  const text = useSignal<string | undefined>(undefined);
  const open = () => {
    if (text.value !== undefined) return;
    get<Capsule[]>(query("/capsules", { workspace: workspace(), id: capsule.id })).then(([found]) => (text.value = found?.text ?? ""), failure);
  };
  return (
    <details class="capsule" onToggle={open}>
      <summary><span>{visible(capsule.summary)}</span> <span class="faint">{capsule.tokens} tokens, {Math.round(capsule.percent)} % of its sources · <Ago at={capsule.at} /></span></summary>
      {text.value !== undefined && <pre>{visible(text.value)}</pre>}
    </details>
  );
}

function Knowledge(): JSX.Element {
  return (
    <section aria-labelledby="knowledge-title">
      <h2 id="knowledge-title">What this workspace knows</h2>
      <p class="intro">Short texts that Throughline made of the sessions, for agents that ask. Each opens in place.</p>
      <Show of={capsules} rows={3}>
        {(list) => list.length === 0 ? <p class="faint">Nothing yet. It grows with the sessions, rules and instruction files of the workspace.</p> : (
          <>
            {CAPSULE_KINDS.map(([kind, title]) => {
              const found = list.filter((capsule) => capsule.kind === kind);
              return found.length > 0 && <div class="capsules"><h3>{title}</h3>{found.map((capsule) => <CapsuleView key={`${shown} ${capsule.id}`} capsule={capsule} />)}</div>;
            })}
          </>
        )}
      </Show>
    </section>
  );
}

function Layers(): JSX.Element {
  return (
    <section aria-labelledby="layers-title">
      <h2 id="layers-title">How well its memory works</h2>
      <p class="intro">How often what a session needed was already at hand, and whether each figure meets its target.</p>
      <Show of={layers} rows={3}>
        {(checks) => checks.length === 0 ? <p class="faint">No session of this workspace has touched a file yet.</p> : (
          <div class="scroll-x" tabIndex={0} role="region" aria-label="Memory layers">
            <table>
              <thead><tr><th>Figure</th><th class="number">Value</th><th>Target</th><th>State</th><th>Since</th></tr></thead>
              <tbody>{checks.map((check) => (
                <tr><td class="wide">{check.name}{check.reason && <><br /><span class="faint">{check.reason}</span></>}</td><td class="number">{check.value === null ? "\u2013" : Math.round(10 * check.value) / 10}</td><td class="nowrap">{check.target.replace(">=", "≥").replace("<=", "≤")}</td><td><span class={check.value === null ? "tag" : check.is_met ? "tag good" : "tag bad"}>{check.value === null ? "not measured" : check.is_met ? "met" : "missed"}</span></td><td class="nowrap">{check.since && <Ago at={check.since} />}</td></tr>
              ))}</tbody>
            </table>
          </div>
        )}
      </Show>
    </section>
  );
}

/** The workspace that the following sections are about. */
function WorkspaceChoice(): JSX.Element {
  return (
    <Show of={workspaces} rows={1}>
      {(list) => list.length === 0 ? null : (
        <div class="workspace-choice">
          <label>Workspace <select aria-label="Workspace" value={workspace()} onChange={(event) => setParameter("workspace", event.currentTarget.value)}>{byUse(list).map(({ key, sessions }) => <option value={key} selected={key === workspace()}>{shortWorkspace(key)} ({count(sessions, "session")})</option>)}</select></label>
        </div>
      )}
    </Show>
  );
}

/** What the events of the daemon's log mean. The others keep their name. */
const EVENTS: Record<string, string> = {
  "extraction.finished": "Wrote the summary of a session", "extraction.failed": "Could not write the summary of a session",
  "facts.extracted": "Extracted facts from sessions", "compaction.used_summary": "Compacted a conversation with its summary",
  "compaction.full": "Compacted a conversation", "compaction.full_by_model": "Compacted a conversation with a model",
  "injection.declined": "Gave nothing to a prompt", "sweep.finished": "Read the agents’ logs", "retention.finished": "Enforced the size limits",
};

function EventLog(): JSX.Element {
  return (
    <section aria-labelledby="events-title">
      <h2 id="events-title">What Throughline did</h2>
      <Show of={events} rows={3}>
        {(list) => list.length === 0 ? <p class="faint">Nothing was logged yet.</p> : (
          <table>
            <thead><tr><th>When</th><th>What</th><th>Figures</th></tr></thead>
            <tbody>{list.toReversed().slice(0, 30).map((event) => (
              <tr><td class="nowrap"><Ago at={event.ts} /></td><td class="wide">{EVENTS[event.name] ? <span title={event.name}>{EVENTS[event.name]}</span> : <code>{event.name}</code>}</td><td class="faint wrap">{visible(Object.entries(event.figures).map(([name, value]) => `${name.replaceAll("_", " ")} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", "))}</td></tr>
            ))}</tbody>
          </table>
        )}
      </Show>
    </section>
  );
}

export function KeepScreen(): JSX.Element {
  return (
    <main>
      <div class="screen-head"><h1>What is kept</h1></div>
      <Show of={health} retry={loadKeep} rows={2}>{(state) => <Figures state={state} />}</Show>
      <Show of={keeping} retry={loadKeep} rows={4}>{(kept) => <><Budget kept={kept} /><Agents kept={kept} /></>}</Show>
      <WorkspaceChoice />
      <Knowledge />
      <Layers />
      <EventLog />
      <Show of={health} rows={1}>{(state) => <p class="faint">Throughline {state.version}, process {state.pid}, running for {count(Math.round(state.uptime_s / 60), "minute")}.</p>}</Show>
    </main>
  );
}
