// A session: its timeline, however long, with what is known about it beside.

import { batch, signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Entry, type Outline, type SessionAnswer, type Timeline, call, get, query } from "./api";
import { ELEMENT_HEIGHT_MAX, Heights } from "./heights";
import { pin, remember } from "./memory";
import { announce, failure, show } from "./notice";
import { onScreen, open, parameters, sessionPath } from "./route";
import { Ago, amount, money, shortWorkspace, visible } from "./text";
import { Skeleton } from "./search";

const PAGE = 100;
/** Pages that are kept; older ones are dropped, so memory stays bounded. */
const PAGES_MAX = 40;
/** Texts are cut to this many bytes until someone opens them. */
const CUT = 4_000;
const USUAL_HEIGHT = 64;
/** Rows are drawn this far beyond the edges, in pixels. */
const MARGIN = 500;

const details = signal<SessionAnswer | undefined>(undefined);
const outline = signal<Outline | undefined>(undefined);
const total = signal(0);
const version = signal(0);
export const current = signal(0);
const unfolded = signal<ReadonlySet<number>>(new Set());
const isFollowing = signal(false);
const mode = signal<"all" | "talk">("all");
const found = signal<number[] | undefined>(undefined);
const finding = signal(false);
const whole = new Map<string, string>();
const pages = new Map<number, Entry[] | "loading">();
let heights = new Heights(0, USUAL_HEIGHT);
/** The row that must stay in view until the person scrolls. */
let target: number | undefined;
let loaded: string | undefined;

const base = () => `/sessions/${encodeURIComponent(loaded ?? "")}`;

onScreen("s", (id) => {
  if (id && id !== loaded) void load(id);
});

async function load(id: string): Promise<void> {
  loaded = id;
  pages.clear();
  whole.clear();
  batch(() => {
    details.value = undefined;
    outline.value = undefined;
    total.value = 0;
    current.value = 0;
    unfolded.value = new Set();
    found.value = undefined;
    isFollowing.value = false;
  });
  try {
    const at = parameters.value.get("at");
    const around = await get<Timeline>(query(`${base()}/timeline`, { around: at, limit: PAGE, cut: CUT }));
    heights = new Heights(around.total, USUAL_HEIGHT);
    const first = at ? around.records.find((record) => record.id === at) : undefined;
    target = first?.n ?? 0;
    batch(() => {
      total.value = around.total;
      current.value = first?.n ?? 0;
      keepAligned(around);
      version.value++;
    });
    details.value = await get<SessionAnswer>(base());
    outline.value = await get<Outline>(`${base()}/outline`);
  } catch (error) {
    failure(error);
  }
}

/** Keeps the part of an answer that fills whole pages. */
function keepAligned(timeline: Timeline): void {
  for (let page = Math.ceil(timeline.from / PAGE); page * PAGE < timeline.from + timeline.records.length; page++) {
    const from = page * PAGE - timeline.from;
    const records = timeline.records.slice(from, from + PAGE);
    if (records.length === Math.min(PAGE, timeline.total - page * PAGE)) pages.set(page, records);
  }
}

async function loadPage(page: number): Promise<void> {
  if (pages.has(page)) return;
  pages.set(page, "loading");
  const id = loaded;
  try {
    const answer = await get<Timeline>(query(`${base()}/timeline`, { from: page * PAGE || undefined, limit: PAGE, cut: CUT }));
    if (id !== loaded) return;
    pages.set(page, answer.records);
    for (const old of pages.keys()) {
      if (pages.size <= PAGES_MAX) break;
      if (Math.abs(old - page) > 3) pages.delete(old);
    }
    version.value++;
  } catch (error) {
    pages.delete(page);
    failure(error);
  }
}

function entry(n: number): Entry | undefined {
  const page = pages.get(Math.floor(n / PAGE));
  return page === "loading" ? undefined : page?.[n % PAGE];
}

/** Reads how long the session is now, after the daemon reported a change of it. */
export async function refresh(session: string): Promise<void> {
  if (session !== details.value?.session.id) return;
  const last = await get<Timeline>(query(`${base()}/timeline`, { from: -1, limit: 1, cut: 1 }));
  if (last.total === total.value) return;
  pages.delete(Math.floor(Math.max(0, total.value - 1) / PAGE));
  heights = new Heights(last.total, USUAL_HEIGHT, heights);
  total.value = last.total;
  if (isFollowing.value) jump(last.total - 1);
  version.value++;
  outline.value = await get<Outline>(`${base()}/outline`);
}

/** Makes a row the current one and brings it into view. */
export function jump(n: number): void {
  const row = Math.max(0, Math.min(n, total.value - 1));
  target = row;
  current.value = row;
  version.value++;
  const record = entry(row);
  if (record) announce(`${record.type}: ${record.content.slice(0, 200)}`);
}

/** Jumps to the next or previous record of a kind. */
function jumpToKind(kinds: string[], step: 1 | -1): void {
  const all = outline.value?.kind;
  if (!all) return;
  for (let n = current.value + step; n >= 0 && n < all.length; n += step) {
    if (kinds.includes(all[n]!)) return jump(n);
  }
}

function toggle(n: number): void {
  const next = new Set(unfolded.value);
  if (!next.delete(n)) {
    next.add(n);
    const record = entry(n);
    if (record && record.bytes > CUT && !whole.has(record.id)) void loadWhole(record.id);
  }
  unfolded.value = next;
}

async function loadWhole(id: string): Promise<void> {
  try {
    whole.set(id, (await get<{ content: string }>(`/memory/record/${id}`)).content);
    version.value++;
  } catch (error) {
    failure(error);
  }
}

async function find(words: string): Promise<void> {
  if (!words.trim()) {
    found.value = undefined;
    return;
  }
  try {
    const answer = await get<{ matches: number[] }>(query(`${base()}/find`, { q: words }));
    found.value = answer.matches;
    jumpToMatch(1, true);
  } catch (error) {
    failure(error);
  }
}

function jumpToMatch(step: 1 | -1, orHere = false): void {
  const matches = found.value;
  if (!matches?.length) return;
  const here = current.value;
  const next =
    step > 0 ? matches.find((n) => n > here || (orHere && n === here)) ?? matches[0] : matches.findLast((n) => n < here) ?? matches.at(-1);
  jump(next!);
}

async function copyResume(): Promise<void> {
  const id = details.value?.session.id.split(":").slice(1).join(":") ?? "";
  await navigator.clipboard.writeText(`throughline resume ${id} --exec`);
  show("The resume command is in the clipboard");
}

/** Keys of this screen. Returns whether a key was used. */
export function onSessionKey(key: string): boolean {
  const record = entry(current.value);
  const actions: Record<string, () => void> = {
    j: () => jump(current.value + 1),
    k: () => jump(current.value - 1),
    ArrowDown: () => jump(current.value + 1),
    ArrowUp: () => jump(current.value - 1),
    J: () => jumpToKind(["prompt"], 1),
    K: () => jumpToKind(["prompt"], -1),
    e: () => jumpToKind(["error"], 1),
    E: () => jumpToKind(["error"], -1),
    g: () => jump(0),
    G: () => jump(total.value - 1),
    Home: () => jump(0),
    End: () => jump(total.value - 1),
    o: () => toggle(current.value),
    Enter: () => toggle(current.value),
    O: () => (unfolded.value = unfolded.value.size ? new Set() : new Set(outline.value?.kind.keys())),
    f: () => (finding.value = true),
    n: () => jumpToMatch(1),
    N: () => jumpToMatch(-1),
    t: () => {
      isFollowing.value = !isFollowing.value;
      show(isFollowing.value ? "Following the session" : "No longer following");
      if (isFollowing.value) jump(total.value - 1);
    },
    v: () => (mode.value = mode.value === "all" ? "talk" : "all"),
    c: () => void copyResume(),
    y: () => void navigator.clipboard.writeText(location.origin + sessionPath(loaded ?? "", record?.id)).then(() => show("The link is in the clipboard")),
    p: () => record && void pin(record.id),
    a: () => {
      const passage = getSelection()?.toString().trim() || record?.content.slice(0, 300);
      if (passage) void remember(passage, details.value?.session.folder);
    },
    x: () => record && void forget(record.id),
  };
  const action = actions[key];
  action?.();
  return action !== undefined;
}

/** Forgets a record after showing what would go. */
async function forget(id: string): Promise<void> {
  try {
    const plan = await call<Record<string, unknown>>("DELETE", `/memory/record/${id}?dry_run=true`);
    const lines = Object.entries(plan ?? {}).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    if (!confirm(`Forget this record for good? It cannot be undone.\n\n${lines.join("\n").slice(0, 600)}`)) return;
    await call("DELETE", `/memory/record/${id}`);
    show("Forgotten");
    pages.clear();
    version.value++;
  } catch (error) {
    failure(error);
  }
}

const TALK = new Set(["prompt", "assistant", "summary"]);
/** Kinds that belong to the call above them. */
const NESTED = new Set(["tool_result", "artifact", "error"]);
const FOLDED = new Set(["tool_use", "tool_result", "thinking", "artifact", "error"]);

function Text({ record }: { record: Entry }): JSX.Element {
  const text = whole.get(record.id) ?? record.content;
  if (record.type !== "artifact") return <pre dir="auto">{visible(text)}</pre>;
  const lines = text.split("\n").map((line) => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined;
    return <span class={kind}>{visible(line)}{"\n"}</span>;
  });
  return <pre>{lines}</pre>;
}

function Row({ n }: { n: number }): JSX.Element {
  const record = entry(n);
  if (!record) return <div class="row skeleton-row" />;
  const isHidden = mode.value === "talk" && !TALK.has(record.type);
  const isFolded = isHidden || (FOLDED.has(record.type) && !unfolded.value.has(n));
  const isCut = record.bytes > CUT && !whole.has(record.id);
  return (
    <article
      class={`row kind-${record.type}${NESTED.has(record.type) && record.call ? " nested" : ""}${isFolded ? " folded" : ""}`}
      aria-posinset={n + 1}
      aria-setsize={total.value}
      aria-label={`${record.type} ${record.tool ?? ""}`}
      tabIndex={n === current.value ? 0 : -1}
      aria-current={n === current.value ? "true" : undefined}
      onClick={() => (current.value = n)}
    >
      <header>
        <span class="kind">{record.type}</span>
        {record.tool && <b>{visible(record.tool)}</b>}
        {record.path && <span class="path">{visible(record.path)}</span>}
        {!record.in_source && <span class="tag">no longer in its log</span>}
        <span class="faint right">{amount(record.tokens)} tokens · <Ago at={record.ts} /></span>
      </header>
      {!isHidden && <Text record={record} />}
      {FOLDED.has(record.type) && record.bytes > 200 && (
        <button type="button" class="fold" onClick={() => toggle(n)}>{isFolded ? `Show all (${amount(record.bytes)} bytes)` : "Fold"}</button>
      )}
      {!FOLDED.has(record.type) && isCut && (
        <button type="button" class="fold" onClick={() => void loadWhole(record.id)}>Show all ({amount(record.bytes)} bytes)</button>
      )}
    </article>
  );
}

function TimelineList(): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const scroll = useRef(0);
  void version.value;
  const tall = heights.total;
  const scale = Math.max(1, tall / ELEMENT_HEIGHT_MAX);
  const viewport = frame.current?.clientHeight ?? 800;
  if (target !== undefined) scroll.current = Math.max(0, heights.before(target) - viewport / 3) / scale;
  const offset = scroll.current * scale;
  const first = heights.at(Math.max(0, offset - MARGIN));
  const last = Math.min(total.value, heights.at(offset + viewport + MARGIN) + 1);
  const rows: number[] = [];
  for (let n = first; n < last; n++) rows.push(n);
  useEffect(() => {
    for (let page = Math.floor(first / PAGE); page * PAGE < last; page++) void loadPage(page);
  });
  // Rows are measured once they are drawn. What changes above the view moves the view along.
  useLayoutEffect(() => {
    let moved = 0;
    let changed = false;
    for (const child of inner.current?.children ?? []) {
      const n = Number((child as HTMLElement).dataset["n"]);
      const before = heights.get(n);
      const height = (child as HTMLElement).offsetHeight;
      if (height > 0 && heights.set(n, height)) {
        changed = true;
        if (target === undefined && heights.before(n) + before < offset) moved += height - before;
      }
    }
    const box = frame.current!;
    if (target !== undefined) {
      const wanted = Math.max(0, heights.before(target) - box.clientHeight / 3) / scale;
      if (Math.abs(box.scrollTop - wanted) > 1) box.scrollTop = wanted;
      scroll.current = box.scrollTop;
    } else if (moved !== 0) {
      box.scrollTop += moved / scale;
      scroll.current = box.scrollTop;
    }
    if (changed) version.value++;
  });
  const release = () => (target = undefined);
  return (
    <div
      ref={frame}
      class="timeline"
      role="feed"
      aria-label="Timeline"
      aria-busy={details.value === undefined}
      tabIndex={0}
      onWheel={release}
      onPointerDown={release}
      onTouchStart={release}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        if (Math.abs(top - scroll.current) < 1) return;
        scroll.current = top;
        version.value++;
      }}
    >
      <div class="timeline-space" style={{ height: `${Math.min(tall, ELEMENT_HEIGHT_MAX)}px` }}>
        <div ref={inner} class="timeline-rows" style={{ transform: `translateY(${heights.before(first) - offset + scroll.current}px)` }}>
          {rows.map((n) => <div key={n} data-n={n}><Row n={n} /></div>)}
        </div>
      </div>
    </div>
  );
}

const COLORS: Record<string, string> = { prompt: "--you", error: "--bad", summary: "--special", assistant: "--agent" };

/** Draws prompts, answers, errors and compactions of the whole session beside the timeline. */
function Minimap(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const kinds = outline.value?.kind;
  useEffect(() => {
    const drawing = canvas.current?.getContext("2d");
    if (!drawing || !kinds) return;
    const { width, height } = drawing.canvas;
    drawing.clearRect(0, 0, width, height);
    for (const kind of ["assistant", "prompt", "summary", "error"]) {
      // A color of the theme is only resolved as the color of an element.
      drawing.canvas.style.color = `var(${COLORS[kind]})`;
      drawing.fillStyle = getComputedStyle(drawing.canvas).color;
      for (const [n, found] of kinds.entries()) {
        if (found === kind) drawing.fillRect(0, (n * height) / kinds.length, width, Math.max(1, height / kinds.length));
      }
    }
  }, [kinds]);
  return (
    <canvas
      ref={canvas}
      class="minimap"
      width={12}
      height={600}
      aria-hidden="true"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        jump(Math.floor(((event.clientY - box.top) / box.height) * total.value));
      }}
    />
  );
}

/** What is known about a session, in the order in which people ask for it. */
function Side({ answer }: { answer: SessionAnswer }): JSX.Element {
  const digest = (answer.digest ?? {}) as Record<string, unknown>;
  // The digest's lists carry a count of what they left out.
  const items = (value: unknown): unknown[] => (Array.isArray(value) ? value : ((value as { items?: unknown[] } | null)?.items ?? []));
  const lists = Object.entries(digest).map(([name, value]) => [name, items(value)] as const).filter(([, values]) => values.length > 0);
  return (
    <aside aria-label="About this session">
      {answer.subagents.length > 0 && (
        <details open>
          <summary>Subagents</summary>
          <ul>{answer.subagents.map((child) => <li><a href={sessionPath(child.id)}>{visible(child.title ?? child.id)}</a></li>)}</ul>
        </details>
      )}
      {lists.map(([name, values]) => (
        <details key={name} open={name === "asked" || name === "done"}>
          <summary>{name.replaceAll("_", " ")} ({values.length})</summary>
          <ul>{values.slice(0, 50).map((value) => <li><Item value={value} /></li>)}</ul>
        </details>
      ))}
      {answer.summary && <details><summary>summary</summary><pre>{visible(answer.summary)}</pre></details>}
    </aside>
  );
}

function Item({ value }: { value: unknown }): JSX.Element {
  if (typeof value !== "object" || value === null) return <>{visible(String(value))}</>;
  const parts = Object.entries(value).filter(([, part]) => typeof part === "string" || typeof part === "number");
  return <>{parts.map(([name, part], at) => <span title={name}>{at > 0 && " · "}{visible(String(part))}</span>)}</>;
}

export function SessionScreen(): JSX.Element {
  const answer = details.value;
  const session = answer?.session;
  return (
    <main class="session">
      <header class="session-head">
        <h1>{session ? visible(session.title ?? session.id) : "…"}</h1>
        {session && (
          <p class="faint">
            {session.agent} · {shortWorkspace(session.workspace)} {session.branch && `· ${session.branch} `}
            {session.model && `· ${session.model} `}· {amount(session.records)} records · {amount(session.tokens)} tokens
            {session.cost_usd ? ` · ${money(session.cost_usd)}` : ""} · {session.outcome ?? "no outcome"} · <Ago at={session.ended} />
            {session.evicted > 0 && ` · ${session.evicted} records were removed, the digest is left`}
          </p>
        )}
        <p class="toolbar">
          <button type="button" onClick={() => void copyResume()}>Copy resume command</button>
          <button type="button" aria-pressed={mode.value === "talk"} onClick={() => onSessionKey("v")}>Talk only</button>
          <button type="button" aria-pressed={isFollowing.value} onClick={() => onSessionKey("t")}>Follow</button>
          <button type="button" onClick={() => onSessionKey("f")}>Find</button>
          {session?.parent && <button type="button" onClick={() => open(sessionPath(session.parent!))}>To the parent session</button>}
          {(finding.value || found.value) && <FindBox />}
        </p>
      </header>
      {total.value === 0 && !answer ? <Skeleton /> : (
        <div class="session-body">
          <TimelineList />
          <Minimap />
          {answer && <Side answer={answer} />}
        </div>
      )}
    </main>
  );
}

function FindBox(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key, so that no typed letter is lost.
  useLayoutEffect(() => input.current?.focus(), []);
  return (
    <span class="find">
      <input
        ref={input}
        type="search"
        aria-label="Find in this session"
        placeholder="Find in this session"
        onKeyDown={(event) => {
          if (event.key === "Enter") void find(event.currentTarget.value).then(() => input.current?.blur());
          if (event.key === "Escape") {
            finding.value = false;
            found.value = undefined;
          }
        }}
      />
      {found.value && <span role="status">{found.value.length} matches</span>}
    </span>
  );
}
