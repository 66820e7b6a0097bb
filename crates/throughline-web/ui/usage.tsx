// Tokens and cost, by day, model, agent, workspace or session, and what Throughline itself spent.

import type { JSX } from "preact";
import { type OwnUsage, type UsageAnswer, type UsageGroup, get, query } from "./api";
import { onScreen, parameters, sessionPath, setParameter } from "./route";
import { Empty, Show, load, loaded } from "./state";
import { Ago, amount, cost, count, money, shortWorkspace, visible } from "./text";

const GROUPS = ["day", "model", "agent", "workspace", "session"];
const usage = loaded<UsageAnswer>();
const days = loaded<UsageAnswer>();
const own = loaded<OwnUsage>();

const groupedBy = () => parameters.value.get("by") ?? "day";

onScreen("usage", () => {
  const by = groupedBy();
  if (usage.value.value?.by !== by) usage.value = {};
  void load(usage, get<UsageAnswer>(query("/usage", { by, since: parameters.value.get("since") })));
  void load(days, get<UsageAnswer>(query("/usage", { by: "day", limit: 400 })));
  void load(own, get<OwnUsage>("/usage/own"));
});

const WEEKS = 52;
const CELL = 14;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function isoDay(day: Date): string {
  return day.toISOString().slice(0, 10);
}

/** A narrow screen shows the latest months first. */
function showLatest(box: HTMLElement | null): void {
  if (box) box.scrollLeft = box.scrollWidth;
}

/** A calendar of the last year; each day is as strong as its share of the strongest day. */
function Calendar({ groups }: { groups: UsageGroup[] }): JSX.Element {
  const byDay = new Map(groups.map((group) => [group.name, group]));
  const last = groups[0]?.name ? new Date(`${groups[0].name}T00:00:00Z`) : new Date();
  const end = last.getTime() > Date.now() ? last : new Date();
  const weekday = (end.getUTCDay() + 6) % 7;
  const start = new Date(end.getTime() - (WEEKS * 7 + weekday) * 86_400_000);
  const cells = Array.from({ length: WEEKS * 7 + weekday + 1 }, (_, at) => isoDay(new Date(start.getTime() + at * 86_400_000)));
  const most = Math.max(1, ...cells.map((day) => byDay.get(day)?.total ?? 0));
  const level = (tokens: number) => (tokens === 0 ? 0 : Math.ceil((4 * Math.sqrt(tokens)) / Math.sqrt(most)));
  const active = cells.filter((day) => byDay.has(day)).length;
  const wide = (WEEKS + 1) * CELL + 34;
  return (
    <div class="calendar scroll-x" tabIndex={0} role="region" aria-label="Calendar of the last year" ref={showLatest}>
      <svg viewBox={`0 0 ${wide} ${7 * CELL + 20}`} role="img" aria-label={`Tokens of the last year: ${active} active days`}>
        {["Mon", "Wed", "Fri"].map((name, at) => <text x={0} y={20 + (2 * at + 0.75) * CELL}>{name}</text>)}
        {cells.map((day, at) => {
          const tokens = byDay.get(day)?.total ?? 0;
          const [column, row] = [Math.floor(at / 7), at % 7];
          const cost = byDay.get(day)?.cost_usd;
          return (
            <>
              {day.endsWith("-01") && <text x={30 + column * CELL} y={10}>{MONTHS[Number(day.slice(5, 7)) - 1]}</text>}
              <rect class={`level-${level(tokens)}`} x={30 + column * CELL} y={18 + row * CELL} width={CELL - 3} height={CELL - 3} rx={2}>
                <title>{day}: {amount(tokens)} tokens{cost ? `, ${money(cost)}` : ""}</title>
              </rect>
            </>
          );
        })}
      </svg>
      <p class="faint">{active} active days in the last year, in UTC</p>
    </div>
  );
}

function name(group: UsageGroup): JSX.Element {
  if (!group.name) return <>unknown</>;
  if (groupedBy() === "session") return <a href={sessionPath(group.name)}>{visible(group.title ?? group.name)}</a>;
  return <span title={group.name}>{visible(groupedBy() === "workspace" ? shortWorkspace(group.name) : group.name)}</span>;
}

function Row({ group, head, most }: { group: UsageGroup; head: JSX.Element; most: number }): JSX.Element {
  return (
    <tr>
      <td class="wide">{head}</td>
      <td class="bar-cell"><span class="bar"><i style={{ width: `${(100 * group.total) / most}%` }} /></span></td>
      {[group.input, group.output, group.cache_read, group.cache_write].map((tokens) => <td class="number">{tokens ? amount(tokens) : "–"}</td>)}
      <td class="number">{amount(group.requests)}</td>
      <td class="number">{cost(group.cost_usd, group.unpriced_tokens)}</td>
    </tr>
  );
}

function Figures({ total }: { total: UsageGroup }): JSX.Element {
  const read = total.input + total.cache_read + total.cache_write;
  const figures: [string, string][] = [
    ["Cost", cost(total.cost_usd, total.unpriced_tokens) || "–"], ["Tokens read", amount(read)], ["Tokens written", amount(total.output)],
    ["From the cache", read ? `${Math.round((100 * total.cache_read) / read)} %` : "–"], ["Requests", amount(total.requests)],
  ];
  return <dl class="figures">{figures.map(([label, value]) => <div><dt>{label}</dt><dd>{value}</dd></div>)}</dl>;
}

function Own(): JSX.Element {
  return (
    <section aria-labelledby="own-title">
      <h2 id="own-title">Throughline’s own requests</h2>
      <Show of={own} rows={2}>
        {(spent) => spent.calls.length === 0 ? (
          <p class="faint">{spent.has_model ? "A model is configured; no request was sent yet." : "No model is configured, so nothing is sent and nothing is spent."}</p>
        ) : (
          <>
            <p>Today: {count(spent.today_tokens, "token")}, {money(spent.today_usd)}.</p>
            <table>
              <thead><tr><th>When</th><th>For</th><th>Model</th><th class="number">In</th><th class="number">Out</th><th class="number">Cost</th><th>Result</th></tr></thead>
              <tbody>{spent.calls.slice(0, 50).map((call) => (
                <tr><td><Ago at={call.at} /></td><td>{call.purpose}</td><td>{visible(call.model)}</td><td class="number">{amount(call.input)}</td><td class="number">{amount(call.output)}</td><td class="number">{money(call.cost_usd)}</td><td>{visible(call.outcome)}</td></tr>
              ))}</tbody>
            </table>
          </>
        )}
      </Show>
    </section>
  );
}

export function UsageScreen(): JSX.Element {
  const by = groupedBy();
  return (
    <main>
      <div class="screen-head"><h1>Usage and cost</h1></div>
      <Show of={days} rows={3}>{(answer) => <><Figures total={answer.total} /><Calendar groups={answer.groups} /></>}</Show>
      <div class="tabs" role="group" aria-label="Group by">
        {GROUPS.map((group) => <button type="button" aria-pressed={group === by} onClick={() => setParameter("by", group, false)}>{group}</button>)}
      </div>
      <Show of={usage}>
        {(answer) => {
          if (answer.groups.length === 0) return <Empty title="No usage yet"><p>It is read from the agents’ logs.</p></Empty>;
          const most = Math.max(1, ...answer.groups.map((group) => group.total));
          return (
            <div class="scroll-x" tabIndex={0} role="region" aria-label="Usage">
              <table>
                <thead><tr><th>{by[0]!.toUpperCase() + by.slice(1)}</th><th><span class="visually-hidden">Share</span></th>{["In", "Out", "Cache read", "Cache write", "Requests", "Cost"].map((head) => <th class="number">{head}</th>)}</tr></thead>
                <tbody>{answer.groups.map((group) => <Row key={group.name} group={group} head={name(group)} most={most} />)}</tbody>
              </table>
              <p class="faint">“?” and “≥” mark a cost that is unknown, or known in part. Costs that the logs do not state are based on the list prices of {answer.prices_as_of}.</p>
            </div>
          );
        }}
      </Show>
      <Own />
    </main>
  );
}
