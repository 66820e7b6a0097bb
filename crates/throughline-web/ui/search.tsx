// The first screen: search as you type, or the latest sessions.

import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Hit, type SearchAnswer, type Session, get, getAnswer, query } from "./api";
import { FILTERS, FilterBar, RECORD_FILTERS, activeFilters, filterValue } from "./filters";
import { onKeys } from "./keys";
import { PinButton } from "./memory";
import { announce } from "./notice";
import { onScreen, open, parameters, route, sessionPath, setParameter } from "./route";
import { Sessions, type SessionPage } from "./sessions";
import { Empty, Failed, Skeleton } from "./state";
import { Ago, Marked, count, kindName, shortWorkspace, titleOf, visible, wordsToMark } from "./text";

const answer = signal<SearchAnswer | undefined>(undefined);
const sessions = signal<SessionPage | undefined>(undefined);
const error = signal<unknown>(undefined);
const loading = signal(false);
const selected = signal(0);

let running: AbortController | undefined;
/** How sure the search is of its best hit; known once typing has paused. */
const confidence = signal<number | undefined>(undefined);
const HITS_MAX = 50;
const TYPING_PAUSE_MS = 300;
/** The figure is calibrated on prompts and questions; of a few keywords it says nothing. */
const SENTENCE_WORDS_MIN = 4;

/** At most this many facts are added once typing has paused. */
const SETTLED_FACTS = 5;

/**
 * Asks what takes longer than a key: how sure the search is, and which facts answer the words in other
 * words. The answer to a half-typed word would say little.
 */
async function settle(asked: Record<string, unknown>, abort: AbortSignal): Promise<void> {
  confidence.value = undefined;
  await new Promise((resolve) => setTimeout(resolve, TYPING_PAUSE_MS));
  if (abort.aborted) return;
  const search = (more: Record<string, unknown>) =>
    get<SearchAnswer>(query("/memory/search", { ...asked, group: true, ...more }), abort).catch(() => undefined);
  const isSentence = String(asked["q"]).trim().split(/\s+/).length >= SENTENCE_WORDS_MIN;
  const [sure, facts] = await Promise.all([
    isSentence ? search({ k: 1 }) : undefined,
    asked["type"] ? undefined : search({ k: SETTLED_FACTS, type: "facts" }),
  ]);
  const before = answer.value;
  if (abort.aborted || !before) return;
  const known = new Set(before.hits.map((hit) => hit.id));
  const added = facts?.hits.filter((hit) => !known.has(hit.id)) ?? [];
  batch(() => {
    confidence.value = sure?.confidence ?? undefined;
    if (added.length === 0) return;
    answer.value = { ...before, hits: [...before.hits, ...added] };
    // What is selected stays selected.
    selected.value += added.length;
  });
}

function nextPage(headers: Headers): string | undefined {
  return /<([^>]*)>/.exec(headers.get("link") ?? "")?.[1];
}

/** Asks for what the address says; an older request that is still running is dropped. */
async function load(): Promise<void> {
  const words = parameters.value.get("q") ?? "";
  const filters = Object.fromEntries(FILTERS.map(({ name }) => [name, filterValue(name)]));
  running?.abort();
  const request = (running = new AbortController());
  const slow = setTimeout(() => (loading.value = true), 150);
  try {
    if (words.trim()) {
      const path = query("/memory/search", { ...filters, q: words, k: HITS_MAX, typing: true, group: true });
      const found = await get<SearchAnswer>(path, request.signal);
      batch(() => {
        answer.value = found;
        selected.value = 0;
        unfolded.value = new Set();
        error.value = undefined;
      });
      void settle({ ...filters, q: words }, request.signal);
      announce(found.hits.length === 0 ? "Nothing found" : count(found.hits.length, "hit"));
    } else {
      const rest = Object.fromEntries(Object.entries(filters).filter(([name]) => !RECORD_FILTERS.has(name)));
      const marks = { starred: parameters.value.get("starred"), archived: parameters.value.get("archived") };
      const listed = await getAnswer<Session[]>(query("/sessions", { ...rest, ...marks, limit: 50 }), request.signal);
      batch(() => {
        answer.value = undefined;
        sessions.value = { listed: listed.body, total: Number(listed.headers.get("x-total-count")), next: nextPage(listed.headers) };
        error.value = undefined;
      });
    }
  } catch (failed) {
    if (!request.signal.aborted) error.value = failed;
  } finally {
    clearTimeout(slow);
    if (running === request) loading.value = false;
  }
}

onScreen("", () => void load());

async function loadMore(): Promise<void> {
  const page = sessions.value;
  if (!page?.next) return;
  const listed = await getAnswer<Session[]>(page.next);
  sessions.value = { ...page, listed: [...page.listed, ...listed.body], next: nextPage(listed.headers) };
}

let reloading: ReturnType<typeof setTimeout> | undefined;

/** Renews the list of sessions after a change, at most once a second. */
export function onNewSession(): void {
  if (route.value.screen !== "" || parameters.value.get("q")) return;
  reloading ??= setTimeout(() => {
    reloading = undefined;
    void load();
  }, 1_000);
}

onKeys("", (key) => {
  const rows = document.querySelectorAll<HTMLAnchorElement>("[data-row]");
  if (key === "j" || key === "ArrowDown") selected.value = Math.min(selected.value + 1, rows.length - 1);
  else if (key === "k" || key === "ArrowUp") selected.value = Math.max(selected.value - 1, 0);
  else if (key === "Enter") rows[selected.value]?.click();
  else return false;
  return true;
});

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

const RUNGS: Record<string, string> = {
  exact: "all words", forms: "other forms of the words", related: "related words", fuzzy: "similar spellings", no_words: "no words",
};

/** How closely the hits match, and how sure the search is of the best one. */
function Confidence({ found }: { found: SearchAnswer }): JSX.Element {
  const percent = confidence.value === undefined ? undefined : Math.round(confidence.value * 100);
  return (
    <>
      {found.rung && <span>matches {RUNGS[found.rung] ?? found.rung}</span>}
      <span class="confidence">
        {percent !== undefined && (
          <span title={`The best hit is relevant with a probability of ${percent} %. A prompt is given records from 50 % on.`}>
            <span class="bar" aria-hidden="true"><i style={{ width: `${percent}%` }} /></span> {percent} % sure
          </span>
        )}
      </span>
    </>
  );
}

function HitRow({ hit, words, at, best }: { hit: Hit; words: string[]; at: number; best: number }): JSX.Element {
  const strength = Math.max(1, Math.min(5, Math.round((5 * hit.score) / best)));
  return (
    <a class={`hit kind-${hit.type}`} href={sessionPath(hit.session_id ?? "", hit.id)} aria-current={selected.value === at ? "true" : undefined} data-row={at}>
      <span class="kind">{kindName(hit.type)}</span>
      <span class="snippet" dir="auto"><Marked text={hit.snippet} words={words} /></span>
      <span class={`strength s${strength}`} title={`Score ${hit.score}`} aria-hidden="true"><i /><i /><i /><i /><i /></span>
      <span class="faint when">{hit.digest_only ? "only its digest is left" : <Ago at={hit.ts} />}</span>
    </a>
  );
}

function FactRow({ hit, words, at }: { hit: Hit; words: string[]; at: number }): JSX.Element {
  const pinned = hit.metadata["pinned"] === true;
  return (
    <div class="fact-hit" aria-current={selected.value === at ? "true" : undefined}>
      <span class="kind">{String(hit.metadata["kind"] ?? "fact")}</span>
      <a class="snippet" href={`/ui/memory?fact=${hit.id}`} data-row={at}><Marked text={hit.snippet} words={words} /></a>
      <span class="faint">{shortWorkspace(hit.workspace)}</span>
      <PinButton id={hit.id} pinned={pinned} />
    </div>
  );
}

function Hits({ found }: { found: SearchAnswer }): JSX.Element {
  const asked = parameters.value.get("q") ?? "";
  const words = wordsToMark(asked);
  const facts = found.hits.filter((hit) => hit.type === "fact");
  const records = found.hits.filter((hit) => hit.type !== "fact");
  if (found.hits.length === 0) return <NothingFound words={asked} />;
  const known = new Map(found.sessions?.map((session) => [session.id, session]));
  const best = Math.max(...found.hits.map((hit) => hit.score), 1);
  let at = 0;
  return (
    <>
      <p class="status" role="status">
        <span>{count(records.length, "hit")}{records.length + facts.length >= HITS_MAX && " or more"} in {count(grouped(records).length, "session")}</span>
        <Confidence found={found} /><span class="faint">{found.took_ms} ms</span>
      </p>
      {facts.length > 0 && (
        <section class="facts-found" aria-label="Facts"><h2>Facts</h2>{facts.map((hit) => <FactRow key={hit.id} hit={hit} words={words} at={at++} />)}</section>
      )}
      {grouped(records).map((group) => {
        const session = known.get(group.session);
        return (
          <section key={group.session} class="group">
            <h2>
              <a href={sessionPath(group.session)}>{visible(titleOf(session))}</a>
              <span class="faint">
                {session && <><span class={`dot agent-${session.agent}`} aria-hidden="true" /> <span class="agent">{session.agent}</span> · </>}{shortWorkspace(group.hits[0]!.workspace)}
                {session?.outcome && <> · <span class={`outcome ${session.outcome}`}>{session.outcome}</span></>} · {count(group.hits.length, "hit")}
              </span>
            </h2>
            <GroupHits group={group} words={words} from={(at += shownHits(group).length) - shownHits(group).length} best={best} />
          </section>
        );
      })}
    </>
  );
}

/** Hits of a session that are shown until someone asks for the others, so that several sessions are in view. */
const SHOWN_HITS = 4;
/** Sessions whose hits are all shown. */
const unfolded = signal<ReadonlySet<string>>(new Set());

function GroupHits({ group, words, from, best }: { group: Group; words: string[]; from: number; best: number }): JSX.Element {
  const shown = shownHits(group);
  const hidden = group.hits.length - shown.length;
  return (
    <>
      {shown.map((hit, at) => <HitRow key={hit.id} hit={hit} words={words} at={from + at} best={best} />)}
      {hidden > 0 && <button type="button" class="quiet more-hits" onClick={() => (unfolded.value = new Set(unfolded.value).add(group.session))}>{count(hidden, "more hit")} in this session</button>}
    </>
  );
}

function shownHits({ session, hits }: Group): Hit[] {
  return unfolded.value.has(session) || hits.length === SHOWN_HITS + 1 ? hits : hits.slice(0, SHOWN_HITS);
}

function NothingFound({ words }: { words: string }): JSX.Element {
  const active = activeFilters();
  return (
    <Empty title={`Nothing found for “${words}”`}>
      {active.length > 0 ? (
        <>
          <p>{active.length === 1 ? "A filter is" : "Filters are"} active: {active.map((filter) => `${filter.label} ${filterValue(filter.name)}`).join(", ")}.</p>
          <button type="button" onClick={() => open(query("/ui/", { q: words }))}>Search without filters</button>
        </>
      ) : <p>All records and facts of all agents and workspaces were searched, also for similar spellings.</p>}
    </Empty>
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
  const onKeyDown = (event: KeyboardEvent) => {
    const rows = document.querySelectorAll<HTMLAnchorElement>("[data-row]");
    if (event.key === "ArrowDown") selected.value = Math.min(selected.value + 1, rows.length - 1);
    else if (event.key === "ArrowUp") selected.value = Math.max(selected.value - 1, 0);
    else if (event.key === "Enter") rows[selected.value]?.click();
    else return;
    event.preventDefault();
  };
  return (
    <main class="search" aria-busy={loading.value}>
      <h1 class="visually-hidden">Search</h1>
      <div class="search-box">
        <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true"><path d="M10.5 4a6.5 6.5 0 1 0 4 11.6l4.4 4.4 1.4-1.4-4.4-4.4A6.5 6.5 0 0 0 10.5 4Zm0 2a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9Z" /></svg>
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
      </div>
      <FilterBar />
      {error.value !== undefined ? <Failed error={error.value} retry={() => void load()} />
        : found ? <Hits found={found} />
        : sessions.value ? <Sessions page={sessions.value} selected={selected.value} loadMore={() => void loadMore()} />
        : <Skeleton />}
    </main>
  );
}
