// The first screen: search as you type, or the latest sessions.

import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Hit, type SearchAnswer, type Session, type SessionAnswer, get, getAnswer, query } from "./api";
import { announce, failure } from "./notice";
import { onScreen, open, parameters, sessionPath } from "./route";
import { Ago, Marked, amount, money, shortWorkspace, visible } from "./text";
import { PinButton } from "./memory";

/** The filters of the search, as they stand in the address. */
const FILTERS = ["type", "agent", "workspace", "tag", "since", "until", "outcome", "tool", "path"] as const;
type Filter = (typeof FILTERS)[number];

const TYPES = ["facts", "records", "prompt", "assistant", "tool_use", "tool_result", "error", "artifact"];

const answer = signal<SearchAnswer | undefined>(undefined);
const sessions = signal<Session[] | undefined>(undefined);
const total = signal(0);
const nextPage = signal<string | undefined>(undefined);
const loading = signal(false);
export const selected = signal(0);

function filterValue(name: Filter): string {
  return parameters.value.get(name) ?? "";
}

function setParameter(name: string, value: string): void {
  const next = new URLSearchParams(parameters.value);
  if (value) next.set(name, value);
  else next.delete(name);
  const text = next.toString();
  open(text ? `/ui/?${text}` : "/ui/", true);
}

/** Titles of sessions that were asked for, by session. */
const titles = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** Asks for the titles of the sessions of hits, each once. */
async function loadTitles(hits: Hit[]): Promise<void> {
  const unknown = new Set(hits.map((hit) => hit.session_id ?? "").filter((id) => id && !asked.has(id)));
  await Promise.all(
    [...unknown].slice(0, 20).map(async (id) => {
      asked.add(id);
      const { session } = await get<SessionAnswer>(`/sessions/${encodeURIComponent(id)}`);
      titles.value = new Map(titles.value).set(id, session.title ?? id);
    }),
  ).catch(failure);
}

let running: AbortController | undefined;

/** Asks for what the address says; an older request that is still running is dropped. */
async function load(): Promise<void> {
  const words = parameters.value.get("q") ?? "";
  const filters = Object.fromEntries(FILTERS.map((name) => [name, filterValue(name)]));
  running?.abort();
  const request = (running = new AbortController());
  const slow = setTimeout(() => (loading.value = true), 150);
  try {
    if (words.trim()) {
      const path = query("/memory/search", { ...filters, q: words, k: 50, typing: true });
      const found = await get<SearchAnswer>(path, request.signal);
      batch(() => {
        answer.value = found;
        selected.value = 0;
      });
      announce(`${found.hits.length} hits`);
      void loadTitles(found.hits);
    } else {
      const { type: _type, tag: _tag, tool: _tool, path: _path, ...rest } = filters;
      const listed = await getAnswer<Session[]>(query("/sessions", { ...rest, limit: 50 }), request.signal);
      batch(() => {
        answer.value = undefined;
        sessions.value = listed.body;
        total.value = Number(listed.headers.get("x-total-count"));
        nextPage.value = /<([^>]*)>/.exec(listed.headers.get("link") ?? "")?.[1];
        selected.value = 0;
      });
    }
  } catch (error) {
    if (!request.signal.aborted) failure(error);
  } finally {
    clearTimeout(slow);
    if (running === request) loading.value = false;
  }
}

onScreen("", () => void load());

async function loadMore(): Promise<void> {
  const path = nextPage.value;
  if (!path) return;
  const listed = await getAnswer<Session[]>(path);
  sessions.value = [...(sessions.value ?? []), ...listed.body];
  nextPage.value = /<([^>]*)>/.exec(listed.headers.get("link") ?? "")?.[1];
}

/** Hits of one session, in the order of the best of them. */
interface Group {
  session: string;
  hits: Hit[];
}

function grouped(hits: Hit[]): Group[] {
  const groups = new Map<string, Group>();
  for (const hit of hits) {
    const known = groups.get(hit.session_id ?? "");
    if (known) known.hits.push(hit);
    else groups.set(hit.session_id ?? "", { session: hit.session_id ?? "", hits: [hit] });
  }
  return [...groups.values()];
}

function FilterBar(): JSX.Element {
  const active = FILTERS.filter((name) => filterValue(name));
  return (
    <details class="filters" open={active.length > 0}>
      <summary>Filters{active.length > 0 && ` (${active.join(", ")})`}</summary>
      <div class="filter-fields">
        <label>
          Type
          <select value={filterValue("type")} onChange={(event) => setParameter("type", event.currentTarget.value)}>
            <option value="">all</option>
            {TYPES.map((type) => <option value={type}>{type}</option>)}
          </select>
        </label>
        {FILTERS.filter((name) => name !== "type").map((name) => {
          const field = { value: filterValue(name), onChange: (event: { currentTarget: HTMLInputElement }) => setParameter(name, event.currentTarget.value) };
          return (
            <label>
              {name[0]!.toUpperCase() + name.slice(1)}
              {name === "since" || name === "until" ? <input type="date" {...field} /> : <input type="text" {...field} />}
            </label>
          );
        })}
        {active.length > 0 && (
          <button type="button" onClick={() => open(query("/ui/", { q: parameters.value.get("q") }))}>Clear filters</button>
        )}
      </div>
    </details>
  );
}

function HitRow({ hit, words, at }: { hit: Hit; words: string[]; at: number }): JSX.Element {
  return (
    <a class={`hit kind-${hit.type}`} href={sessionPath(hit.session_id ?? "", hit.id)} aria-current={selected.value === at ? "true" : undefined} data-row={at}>
      <span class="kind">{hit.type}</span>
      <span class="snippet"><Marked text={hit.snippet} words={words} /></span>
      <span class="faint"><Ago at={hit.ts} /></span>
    </a>
  );
}

function FactRow({ hit, words }: { hit: Hit; words: string[] }): JSX.Element {
  return (
    <div class="fact-hit">
      <span class="kind">fact</span>
      <a class="snippet" href={`/ui/memory?fact=${hit.id}`}><Marked text={hit.snippet} words={words} /></a>
      <span class="faint">{shortWorkspace(hit.workspace)}</span>
      <PinButton id={hit.id} />
    </div>
  );
}

function Hits({ found }: { found: SearchAnswer }): JSX.Element {
  const words = (parameters.value.get("q") ?? "").split(/\s+/).filter(Boolean);
  const facts = found.hits.filter((hit) => hit.type === "fact");
  const records = found.hits.filter((hit) => hit.type !== "fact");
  if (found.hits.length === 0) {
    const active = FILTERS.filter((name) => filterValue(name));
    return (
      <p class="empty">
        Nothing found for “{visible(words.join(" "))}”.
        {active.length > 0 && ` The filters ${active.join(", ")} may hide it.`}
      </p>
    );
  }
  let at = 0;
  return (
    <>
      <p class="faint" role="status">
        {found.hits.length} hits in {found.took_ms} ms
      </p>
      {facts.length > 0 && <section aria-label="Facts">{facts.map((hit) => <FactRow key={hit.id} hit={hit} words={words} />)}</section>}
      {grouped(records).map((group) => (
        <section key={group.session} class="group" aria-label={`Session ${group.session}`}>
          <h2>
            <a href={sessionPath(group.session)}>{visible(titles.value.get(group.session) ?? group.session)}</a>
            <span class="faint">{shortWorkspace(group.hits[0]!.workspace)} · {group.hits.length}</span>
          </h2>
          {group.hits.map((hit) => <HitRow key={hit.id} hit={hit} words={words} at={at++} />)}
        </section>
      ))}
    </>
  );
}

function Sessions({ listed }: { listed: Session[] }): JSX.Element {
  if (listed.length === 0) {
    return <p class="empty">No sessions here yet. Run <code>throughline ingest</code> to read the agents’ logs.</p>;
  }
  return (
    <>
      <p class="faint" role="status">{total.value} sessions, latest first</p>
      <ol class="sessions">
        {listed.map((session, at) => (
          <li key={session.id}>
            <a href={sessionPath(session.id)} aria-current={selected.value === at ? "true" : undefined} data-row={at}>
              <span class="agent">{session.agent}</span>
              <span class="title">{visible(session.title ?? session.id)}</span>
              <span class="faint">{shortWorkspace(session.workspace)}</span>
              <span class="faint">{session.outcome}</span>
              <span class="number">{amount(session.records)}</span>
              <span class="number">{money(session.cost_usd)}</span>
              <span class="faint"><Ago at={session.ended ?? session.started} /></span>
            </a>
          </li>
        ))}
      </ol>
      {nextPage.value && <button type="button" onClick={() => void loadMore()}>Show more</button>}
    </>
  );
}

export function SearchScreen(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key, so that no typed letter is lost.
  useLayoutEffect(() => input.current?.focus(), []);
  useEffect(() => {
    document.querySelector(`[data-row="${selected.value}"]`)?.scrollIntoView({ block: "nearest" });
  }, [selected.value]);
  const found = answer.value;
  const rows = () => document.querySelectorAll<HTMLAnchorElement>("[data-row]");
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") selected.value = Math.min(selected.value + 1, rows().length - 1);
    else if (event.key === "ArrowUp") selected.value = Math.max(selected.value - 1, 0);
    else if (event.key === "Enter") rows()[selected.value]?.click();
    else return;
    event.preventDefault();
  };
  return (
    <main aria-busy={loading.value}>
      <h1 class="visually-hidden">Search</h1>
      <input
        ref={input}
        id="search"
        type="search"
        role="searchbox"
        aria-label="Search sessions and facts"
        placeholder="Search everything your agents did"
        autocomplete="off"
        spellcheck={false}
        value={parameters.value.get("q") ?? ""}
        onInput={(event) => setParameter("q", event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <FilterBar />
      {found ? <Hits found={found} /> : sessions.value ? <Sessions listed={sessions.value} /> : <Skeleton />}
    </main>
  );
}

/** Stands where a list will be, so that loading never looks like an empty list. */
export function Skeleton(): JSX.Element {
  return <div class="skeleton" aria-hidden="true">{Array.from({ length: 8 }, () => <div />)}</div>;
}
