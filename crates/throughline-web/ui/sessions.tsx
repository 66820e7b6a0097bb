// The list of sessions, grouped by day.

import type { JSX } from "preact";
import type { Session } from "./api";
import { parameters, sessionPath, setParameter } from "./route";
import { activeFilters, needsWords } from "./filters";
import { Empty } from "./state";
import { Ago, amount, count, money, shortWorkspace, titleOf, visible } from "./text";

export interface SessionPage {
  listed: Session[];
  total: number;
  next: string | undefined;
}

/** A session counts as live for this long after its last record. */
const LIVE_MS = 2 * 60_000;

function dayOf(session: Session): string {
  const at = session.ended ?? session.started;
  if (!at) return "No date";
  const day = new Date(at);
  const days = Math.floor((new Date().setHours(0, 0, 0, 0) - new Date(day).setHours(0, 0, 0, 0)) / 86_400_000);
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  return day.toLocaleDateString("en", { weekday: days < 7 ? "long" : undefined, day: "numeric", month: "long", year: days < 300 ? undefined : "numeric" });
}

function SessionRow({ session, at, isSelected }: { session: Session; at: number; isSelected: boolean }): JSX.Element {
  const isLive = Date.now() - new Date(session.ended ?? 0).getTime() < LIVE_MS;
  return (
    <li>
      <a href={sessionPath(session.id)} aria-current={isSelected ? "true" : undefined} data-row={at}>
        <span class={`dot agent-${session.agent}`} aria-hidden="true" />
        <span class="title">
          {session.starred && <span class="star" title="Starred">★ </span>}
          {isLive && <span class="live">live</span>}
          {visible(titleOf(session))}
          {session.tags.map((tag) => <span class="tag">{visible(tag)}</span>)}
        </span>
        <span class="faint meta">
          <span class="agent">{session.agent}</span> · {shortWorkspace(session.workspace)}
          {session.outcome && <> · <span class={`outcome ${session.outcome}`}>{session.outcome}</span></>}
          {session.gone && <> · log deleted</>}
          {session.evicted > 0 && <> · only its digest is left</>}
        </span>
        <span class="number">{amount(session.records)}<small>{session.records === 1 ? " record" : " records"}</small>{session.cost_usd ? <small class="cost">{money(session.cost_usd)}</small> : null}</span>
        <span class="faint when"><Ago at={session.ended ?? session.started} /></span>
      </a>
    </li>
  );
}

function Toggle({ name, children }: { name: string; children: string }): JSX.Element {
  const on = parameters.value.get(name) === "true";
  return <button type="button" class="quiet" aria-pressed={on} onClick={() => setParameter(name, on ? undefined : "true")}>{children}</button>;
}

export function Sessions({ page, selected, loadMore }: { page: SessionPage; selected: number; loadMore: () => void }): JSX.Element {
  const days = new Map<string, { session: Session; at: number }[]>();
  for (const [at, session] of page.listed.entries()) {
    const day = dayOf(session);
    if (!days.has(day)) days.set(day, []);
    days.get(day)!.push({ session, at });
  }
  const isFiltered = activeFilters().length > 0 || parameters.value.has("starred") || parameters.value.has("archived");
  return (
    <>
      <div class="status">
        <span role="status">{count(page.total, "session")}, latest first{needsWords() && "; type, tool, path and session filter the hits of a search"}</span>
        <span class="spacer" />
        <Toggle name="starred">★ Starred</Toggle>
        <Toggle name="archived">Archived</Toggle>
      </div>
      {page.listed.length === 0 && (isFiltered
        ? <Empty title="No session passes these filters" />
        : <Empty title="No sessions yet"><p>Run <code>throughline ingest</code> to read the logs of the agents on this machine.</p></Empty>)}
      {[...days].map(([day, listed]) => (
        <section key={day} class="day">
          <h2>{day}</h2>
          <ol class="sessions">
            {listed.map(({ session, at }) => <SessionRow key={session.id} session={session} at={at} isSelected={selected === at} />)}
          </ol>
        </section>
      ))}
      {page.next && <button type="button" onClick={loadMore}>Show more</button>}
    </>
  );
}
