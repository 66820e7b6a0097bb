// The records of the open session: loaded page by page, positioned, folded, found.

import { batch, signal } from "@preact/signals";
import { type Compaction, type Entry, type NestedSession, type Outline, type SessionAnswer, type Timeline, get, query } from "./api";
import type { Block } from "./blocks";
import { Heights } from "./heights";
import { announce, failure } from "./notice";
import { onScreen, parameters } from "./route";

const PAGE = 100;
/** Pages that are kept; older ones are dropped, so memory stays bounded. */
const PAGES_MAX = 30;
/** Texts are cut to this many bytes until someone opens them. */
export const CUT = 3_000;
export const USUAL_HEIGHT = 72;

export type TimelineRecord = Entry & { blocks?: Block[] };
export type Mode = "all" | "talk" | "skim";

export const details = signal<SessionAnswer | undefined>(undefined);
export const outline = signal<Outline | undefined>(undefined);
export const subagents = signal<ReadonlyMap<number, NestedSession>>(new Map());
export const compactions = signal<ReadonlyMap<number, Compaction>>(new Map());
export const loadError = signal<unknown>(undefined);
export const total = signal(0);
/** Changes whenever rows must be drawn again. */
export const version = signal(0);
export const current = signal(0);
export const toggled = signal<ReadonlySet<number>>(new Set());
export const isFollowing = signal(false);
export const unseen = signal(0);
export const mode = signal<Mode>("all");
export const found = signal<{ words: string; matches: number[]; more: boolean } | undefined>(undefined);

const whole = new Map<string, TimelineRecord>();
const pages = new Map<number, TimelineRecord[] | "loading">();
/** The rows of the list: positions of records, or all of them in the order of the log. */
let rows: Int32Array | undefined;
/** The row of each record; -1 if it is not listed. */
let places: Int32Array | undefined;
let heights = new Heights(0, USUAL_HEIGHT);
/** The row that must stay in view until the person scrolls. */
let target: number | undefined;
let loaded: string | undefined;

export const sessionId = () => loaded ?? "";

/** A path as seen from the folder of the session. */
export function shortPath(path: string): string {
  const folder = details.value?.session.folder;
  return folder && path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path;
}

const base = () => `/sessions/${encodeURIComponent(sessionId())}`;

onScreen("s", (id) => {
  if (id && id !== loaded) void loadSession(id);
  else if (id) jumpToParameter();
});

async function loadSession(id: string): Promise<void> {
  loaded = id;
  pages.clear();
  whole.clear();
  rows = places = undefined;
  batch(() => {
    details.value = undefined;
    outline.value = undefined;
    subagents.value = new Map();
    compactions.value = new Map();
    loadError.value = undefined;
    total.value = 0;
    current.value = 0;
    toggled.value = new Set();
    found.value = undefined;
    isFollowing.value = false;
    unseen.value = 0;
    mode.value = "all";
  });
  try {
    const at = parameters.value.get("at");
    const path = query(`${base()}/timeline`, { around: at, limit: PAGE, cut: CUT, blocks: true });
    const [around, session] = await Promise.all([get<Timeline>(path), get<SessionAnswer>(base())]);
    if (id !== loaded) return;
    heights = new Heights(around.total, USUAL_HEIGHT);
    const first = at ? around.records.find((record) => record.id === at)?.n : undefined;
    batch(() => {
      total.value = around.total;
      current.value = first ?? 0;
      target = first ?? 0;
      keepAligned(around);
      details.value = session;
      version.value++;
    });
    await loadOutline(id);
  } catch (error) {
    if (id === loaded) loadError.value = error;
  }
}

export function reload(): void {
  const id = loaded;
  loaded = undefined;
  if (id) void loadSession(id);
}

async function loadOutline(id: string): Promise<void> {
  const read = await get<Outline>(`${base()}/outline`);
  if (id !== loaded) return;
  outline.value = read;
  if (read.follows.length > 0) {
    arrange(mode.value);
    if (target !== undefined) target = rowOf(current.value);
    version.value++;
  }
  const hasCompactions = read.kind.includes("summary");
  const hasSubagents = (details.value?.subagents.length ?? 0) > 0;
  if (hasSubagents) {
    const nested = await get<NestedSession[]>(`${base()}/subagents`);
    subagents.value = new Map(nested.flatMap((child) => (child.n === null || child.n === undefined ? [] : [[child.n, child]])));
  }
  if (hasCompactions) {
    const taken = await get<Compaction[]>(`${base()}/compactions`);
    compactions.value = new Map(taken.map((compaction) => [compaction.n, compaction]));
  }
  if (id === loaded && (hasSubagents || hasCompactions)) version.value++;
}

/** Keeps the part of an answer that fills whole pages. */
function keepAligned(timeline: Timeline): void {
  for (let page = Math.ceil(timeline.from / PAGE); page * PAGE < timeline.from + timeline.records.length; page++) {
    const from = page * PAGE - timeline.from;
    const records = timeline.records.slice(from, from + PAGE);
    if (records.length === Math.min(PAGE, timeline.total - page * PAGE)) pages.set(page, records as TimelineRecord[]);
  }
}

/** Loads the page of a row, unless it is there. */
export async function loadPageOf(row: number): Promise<void> {
  const page = Math.floor(recordAt(row) / PAGE);
  if (pages.has(page)) return;
  pages.set(page, "loading");
  const id = loaded;
  try {
    const path = query(`${base()}/timeline`, { from: page * PAGE || undefined, limit: PAGE, cut: CUT, blocks: true });
    const answer = await get<Timeline>(path);
    if (id !== loaded) return;
    pages.set(page, answer.records as TimelineRecord[]);
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

export function entry(n: number): TimelineRecord | undefined {
  const page = pages.get(Math.floor(n / PAGE));
  const record = page === "loading" ? undefined : page?.[n % PAGE];
  return record && (whole.get(record.id) ?? record);
}

export const isCut = (record: TimelineRecord) => record.bytes > CUT && !whole.has(record.id);

/** Loads the whole text of a record that was cut. */
export async function loadWhole(n: number): Promise<void> {
  try {
    const answer = await get<Timeline>(query(`${base()}/timeline`, { from: n || undefined, limit: 1, blocks: true }));
    const record = answer.records[0] as TimelineRecord | undefined;
    if (record) whole.set(record.id, record);
    version.value++;
  } catch (error) {
    failure(error);
  }
}

// Rows: in other modes than "all" only some records are listed.

const SHOWN: Record<Mode, ReadonlySet<string> | undefined> = {
  all: undefined,
  talk: new Set(["prompt", "assistant", "summary", "approval"]),
  skim: new Set(["prompt", "artifact", "error", "summary", "approval"]),
};

export const rowCount = () => rows?.length ?? total.value;
export const recordAt = (row: number) => rows?.[row] ?? row;
export const rowHeights = () => heights;
export const targetRow = () => target;

/** Lists the records of a mode. What belongs to a call stands below it, also where several calls were made at once. */
function arrange(next: Mode): void {
  const read = outline.value!;
  const shown = SHOWN[next];
  const followers = new Map(read.follows.map(([n, before]) => [before!, n!]));
  const moved = new Set(followers.values());
  rows = places = undefined;
  if (shown || moved.size > 0) {
    const order: number[] = [];
    for (let n = 0; n < read.kind.length; n++) {
      if (moved.has(n)) continue;
      for (let at: number | undefined = n; at !== undefined; at = followers.get(at)) if (!shown || shown.has(read.kind[at]!)) order.push(at);
    }
    rows = Int32Array.from(order);
    places = new Int32Array(read.kind.length).fill(-1);
    for (const [row, n] of order.entries()) places[n] = row;
  }
  heights = new Heights(rowCount(), USUAL_HEIGHT, next === mode.value ? heights : undefined);
}

/** The row of a record, or that of the last listed one before it. */
export function rowOf(n: number): number {
  if (!places) return n;
  let at = Math.min(n, places.length - 1);
  while (at > 0 && places[at]! < 0) at--;
  return Math.max(0, places[at] ?? 0);
}

export function releaseTarget(): void {
  target = undefined;
}

export function setMode(next: Mode): void {
  if (!outline.value) return;
  arrange(next);
  mode.value = next;
  jump(recordAt(rowOf(current.value)));
}

/** Reads how long the session is now, after the daemon reported a change of it. */
export async function refresh(session: string): Promise<void> {
  if (session !== details.value?.session.id) return;
  const last = await get<Timeline>(query(`${base()}/timeline`, { from: -1, limit: 1, cut: 1 }));
  if (last.total === total.value) return;
  const added = last.total - total.value;
  pages.delete(Math.floor(Math.max(0, total.value - 1) / PAGE));
  batch(() => {
    total.value = last.total;
    if (!rows) heights = new Heights(last.total, USUAL_HEIGHT, heights);
    if (isFollowing.value) jump(last.total - 1);
    else unseen.value += Math.max(0, added);
    version.value++;
  });
  outline.value = await get<Outline>(`${base()}/outline`);
  if (rows || outline.value.follows.length > 0) {
    arrange(mode.value);
    if (isFollowing.value) jump(last.total - 1);
    version.value++;
  }
  details.value = await get<SessionAnswer>(base());
}

// Moving about.

/** Makes a record the current one and brings it into view. */
export function jump(n: number): void {
  const record = Math.max(0, Math.min(n, total.value - 1));
  batch(() => {
    current.value = recordAt(rowOf(record));
    target = rowOf(record);
    if (record === total.value - 1) unseen.value = 0;
    version.value++;
  });
  const shown = entry(current.value);
  if (shown) announce(`${shown.type} ${shown.tool ?? ""}: ${shown.content.slice(0, 200)}`);
}

export function step(by: 1 | -1): void {
  jump(recordAt(Math.max(0, Math.min(rowCount() - 1, rowOf(current.value) + by))));
}

function jumpToParameter(): void {
  const at = parameters.value.get("at");
  if (!at || entry(current.value)?.id === at) return;
  get<Timeline>(query(`${base()}/timeline`, { around: at, limit: 1, cut: 1 }))
    .then((answer) => answer.records[0] && jump(answer.records[0].n), failure);
}

/** Jumps to the next or previous record of a kind. */
export function jumpToKind(kind: string, by: 1 | -1): void {
  const all = outline.value?.kind;
  if (!all) return;
  for (let n = current.value + by; n >= 0 && n < all.length; n += by) {
    if (all[n] === kind) return jump(n);
  }
  announce("There are no more");
}

export async function find(words: string): Promise<void> {
  if (!words.trim()) {
    found.value = undefined;
    return;
  }
  try {
    const answer = await get<{ matches: number[]; more: boolean }>(query(`${base()}/find`, { q: words }));
    found.value = { words, matches: answer.matches, more: answer.more };
    if (mode.value !== "all") setMode("all");
    jumpToMatch(1, true);
  } catch (error) {
    failure(error);
  }
}

export function jumpToMatch(by: 1 | -1, orHere = false): void {
  const matches = found.value?.matches;
  if (!matches?.length) return;
  const here = current.value;
  const next =
    by > 0 ? matches.find((n) => n > here || (orHere && n === here)) ?? matches[0] : matches.findLast((n) => n < here) ?? matches.at(-1);
  jump(next!);
  // The match may stand after the place where the text was cut.
  const shown = entry(next!);
  if (!shown || isCut(shown)) void loadWhole(next!);
}

// Folding: long records are folded until someone unfolds them.

const FOLDED = new Set(["tool_use", "tool_result", "thinking", "artifact", "error", "summary"]);

export const isFoldable = (record: TimelineRecord) => FOLDED.has(record.type);

/** Unfolds or folds a record, and what belongs to the same call. */
export function toggle(n: number): void {
  const next = new Set(toggled.value);
  const record = entry(n);
  const isOpening = !next.has(n);
  const change = (at: number) => {
    const other = entry(at);
    if (!other) return;
    if (isOpening) next.add(at);
    else next.delete(at);
    if (isOpening && isCut(other)) void loadWhole(at);
  };
  change(n);
  if (record?.type === "tool_use" && record.call) {
    for (let at = n + 1; at < n + 40; at++) if (entry(at)?.call === record.call) change(at);
  }
  toggled.value = next;
  version.value++;
}

export function toggleAll(): void {
  toggled.value = toggled.value.size ? new Set() : new Set(outline.value?.kind.keys());
  heights = new Heights(rowCount(), USUAL_HEIGHT);
  jump(current.value);
}

/** Forgets what was loaded after records were deleted. */
export function dropPages(): void {
  pages.clear();
  version.value++;
}
