// A session: its head, its keys, its timeline, and what is known about it beside.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Forgotten, type Marks, type Session, call, get, query } from "./api";
import { addToMemory } from "./add";
import { confirmDialog, openDialog, closeDialog } from "./dialog";
import { KeyHint, onKeys } from "./keys";
import { TimelineList } from "./list";
import { pin } from "./memory";
import { Minimap } from "./minimap";
import { failure, show } from "./notice";
import { open, sessionPath } from "./route";
import { shareSession } from "./share";
import { Side, isSideOpen } from "./side";
import { Empty, Failed, Skeleton } from "./state";
import { Ago, amount, count, money, shortWorkspace, titleOf, visible } from "./text";
import {
  type Mode, current, details, dropPages, entry, find, found, isFollowing, jump, jumpToKind, jumpToMatch, loadError, mode, reload, sessionId, setMode, step,
  subagents, toggle, toggleAll, total, unseen,
} from "./timeline";

export { refresh } from "./timeline";

const finding = signal(false);
const MODES: [mode: Mode, name: string, title: string][] = [
  ["all", "All", "Every record"], ["talk", "Talk", "Prompts and answers"], ["skim", "Skim", "Prompts, changes and errors"],
];

export function resumeCommand(id: string): string {
  return `throughline resume ${id.split(":").slice(1).join(":")} --exec`;
}

async function copy(text: string, what: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  show(`${what} is in the clipboard`);
}

export const copyResume = () => copy(resumeCommand(details.value?.session.id ?? ""), "The resume command");

function copyLink(): void {
  void copy(location.origin + sessionPath(sessionId(), entry(current.value)?.id), "The link");
}

/** Changes the marks of the open session, with undo. */
async function mark(change: Record<string, unknown>, back: Record<string, unknown>, said: string): Promise<void> {
  try {
    const marks = await call<Marks>("PATCH", `/sessions/${encodeURIComponent(sessionId())}`, change);
    if (details.value) details.value = { ...details.value, session: { ...details.value.session, ...marks } };
    show(said, Object.keys(back).length > 0 ? () => void mark(back, {}, "Undone") : undefined);
  } catch (error) {
    failure(error);
  }
}

function toggleStar(): void {
  const starred = details.value?.session.starred ?? false;
  void mark({ starred: !starred }, { starred }, starred ? "Not starred any more" : "Starred");
}

function editMarks(session: Session, first: "name" | "tags" = "name"): void {
  openDialog("Name and tags", () => (
    <form
      method="dialog"
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        const tags = String(values.get("tags")).split(/[\s,]+/).filter(Boolean);
        closeDialog();
        void mark(
          { name: String(values.get("name")), add_tags: tags.filter((tag) => !session.tags.includes(tag)), remove_tags: session.tags.filter((tag) => !tags.includes(tag)) },
          { name: session.name ?? "", add_tags: session.tags, remove_tags: tags.filter((tag) => !session.tags.includes(tag)) },
          "Saved",
        );
      }}
    >
      <label>Name<input name="name" autofocus={first === "name"} defaultValue={session.name ?? ""} placeholder={session.title ?? ""} /></label>
      <label>Tags<input name="tags" autofocus={first === "tags"} defaultValue={session.tags.join(" ")} placeholder="words, separated by spaces" /></label>
      <p class="actions"><button type="submit" class="primary">Save</button><button type="button" onClick={closeDialog}>Cancel</button></p>
    </form>
  ));
}

function archive(session: Session): void {
  const { archived } = session;
  void mark({ archived: !archived }, { archived }, archived ? "Back in the lists" : "Archived; lists leave it out, search finds it");
}

/** Lists what would be deleted, and asks. */
async function forget(path: string, what: string, done: () => void): Promise<void> {
  try {
    const planned = await call<Forgotten>("DELETE", `${path}?dry_run=true`);
    const { plan } = planned;
    const content = (
      <>
        <p>This deletes {count(planned.records, "record")}{planned.facts > 0 && `, ${count(planned.facts, "fact")}`}{planned.sessions > 0 && `, ${count(planned.sessions, "session")}`} from every byte of the store. It cannot be undone.</p>
        <ul class="plan">
          {plan?.sessions.slice(0, 20).map((session) => <li>{visible(titleOf(session))}</li>)}
          {plan?.records.slice(0, 20).map((record) => <li><span class="kind">{record.type}</span> {visible(record.text.slice(0, 200))}</li>)}
          {plan?.facts.slice(0, 20).map((fact) => <li><span class="kind">fact</span> {visible(fact.text)}</li>)}
        </ul>
        {planned.sources.length > 0 && <p class="faint">The agent’s own log still has it: {planned.sources.join(", ")}</p>}
      </>
    );
    confirmDialog(`Forget this ${what}?`, content, "Forget", () => {
      call("DELETE", query(path, { confirm: planned.confirm })).then(() => { show("Forgotten"); done(); }, failure);
    });
  } catch (error) {
    failure(error);
  }
}

function forgetRecord(): void {
  const record = entry(current.value);
  if (record) void forget(`/memory/record/${record.id}`, "record", () => { dropPages(); reload(); });
}

function forgetSession(): void {
  void forget(`/sessions/${encodeURIComponent(sessionId())}`, "session", () => open("/ui/"));
}

/** Opens the next or previous session of the list. */
async function openNeighbour(by: 1 | -1): Promise<void> {
  try {
    const listed = await get<Session[]>(query("/sessions", { limit: 200 }));
    const at = listed.findIndex((session) => session.id === sessionId());
    const next = listed[at + by];
    if (next) open(sessionPath(next.id));
    else show("There are no more sessions");
  } catch (error) {
    failure(error);
  }
}

function add(): void {
  const record = entry(current.value);
  const selected = getSelection()?.toString().trim();
  addToMemory(selected || (record?.content ?? ""), details.value?.session.folder);
}

function withSession(act: (session: Session) => void): void {
  if (details.value) act(details.value.session);
}

const ACTIONS: Record<string, () => void> = {
  j: () => step(1), k: () => step(-1), ArrowDown: () => step(1), ArrowUp: () => step(-1),
  J: () => jumpToKind("prompt", 1), K: () => jumpToKind("prompt", -1),
  e: () => jumpToKind("error", 1), E: () => jumpToKind("error", -1),
  d: () => jumpToKind("artifact", 1), D: () => jumpToKind("artifact", -1),
  g: () => jump(0), G: () => jump(total.value - 1), Home: () => jump(0), End: () => jump(total.value - 1),
  o: () => toggle(current.value), Enter: () => toggle(current.value), O: toggleAll,
  s: () => {
    const child = subagents.value.get(current.value) ?? [...subagents.value].find(([n]) => n >= current.value)?.[1];
    if (child) open(sessionPath(child.session.id));
  },
  u: () => {
    const parent = details.value?.session.parent;
    if (parent) open(sessionPath(parent));
  },
  f: () => (finding.value = true), n: () => jumpToMatch(1), N: () => jumpToMatch(-1),
  t: () => {
    isFollowing.value = !isFollowing.value;
    if (isFollowing.value) jump(total.value - 1);
    show(isFollowing.value ? "Following the session" : "No longer following");
  },
  v: () => setMode(MODES[(MODES.findIndex(([name]) => name === mode.value) + 1) % MODES.length]![0]),
  c: () => void copyResume(), y: copyLink,
  p: () => { const record = entry(current.value); if (record) void pin(record.id); },
  a: add, x: forgetRecord, "*": toggleStar,
  R: () => withSession((session) => editMarks(session)), "#": () => withSession((session) => editMarks(session, "tags")), A: () => withSession(archive),
  "[": () => void openNeighbour(-1), "]": () => void openNeighbour(1),
};

onKeys("s", (key) => {
  const action = ACTIONS[key];
  action?.();
  return action !== undefined;
});

/** What the palette offers in a session. */
export function sessionCommands() {
  const session = details.value?.session;
  if (!session) return [];
  return [
    { name: "Copy the resume command", hint: "c", run: () => void copyResume() },
    { name: "Share this session…", run: () => void shareSession(session) },
    { name: "Name and tags…", hint: "R", run: () => editMarks(session) },
    { name: session.starred ? "Remove the star" : "Star this session", hint: "*", run: toggleStar },
    { name: session.archived ? "Take it out of the archive" : "Archive this session", hint: "A", run: () => archive(session) },
    { name: "Forget this session…", run: forgetSession },
    { name: "Add to memory…", hint: "a", run: add },
  ];
}

function Head({ session }: { session: Session }): JSX.Element {
  return (
    <header class="session-head">
      <div class="session-title">
        <button type="button" class="star-button quiet" aria-pressed={session.starred} aria-label="Star" onClick={toggleStar}>{session.starred ? "★" : "☆"}</button>
        <h1>{visible(titleOf(session))}</h1>
        {session.tags.map((tag) => <span class="tag">{visible(tag)}</span>)}
        {session.archived && <span class="tag">archived</span>}
        <button type="button" class="quiet" title="Name and tags" onClick={() => editMarks(session)}>Rename <KeyHint keys="R" /></button>
      </div>
      <p class="chips">
        <span class="chip"><span class={`dot agent-${session.agent}`} aria-hidden="true" />{session.agent}</span>
        <span class="chip" title={session.folder ?? ""}>{shortWorkspace(session.workspace)}</span>
        {session.branch && <span class="chip">{visible(session.branch)}</span>}
        {session.model && <span class="chip">{visible(session.model)}</span>}
        {session.outcome && <span class={`chip outcome ${session.outcome}`}>{session.outcome}</span>}
        <span class="faint">
          {count(session.records, "record")} · {count(session.tokens, "token")}{session.cost_usd ? ` · ${money(session.cost_usd)}` : ""} · <Ago at={session.ended} />
        </span>
        {session.parent && <a href={sessionPath(session.parent)}>↑ parent session</a>}
      </p>
      {session.evicted > 0 && <p class="note">{count(session.evicted, "record")} of this session were removed by retention. Its digest, facts and figures are left.</p>}
      {session.gone && <p class="note">{session.agent} has deleted the log of this session. It is kept here.</p>}
    </header>
  );
}

function Toolbar({ session }: { session: Session }): JSX.Element {
  return (
    <div class="toolbar">
      <span class="segmented" role="group" aria-label="What is shown">
        {MODES.map(([name, label, title]) => <button type="button" title={title} aria-pressed={mode.value === name} onClick={() => setMode(name)}>{label}</button>)}
      </span>
      <span class="segmented" role="group" aria-label="Jump to the next">
        <span class="segment-label" aria-hidden="true">Next</span>
        <button type="button" onClick={() => jumpToKind("prompt", 1)}>Prompt <KeyHint keys="J" /></button>
        <button type="button" disabled={session.errors === 0} onClick={() => jumpToKind("error", 1)}>Error <KeyHint keys="e" /></button>
        <button type="button" onClick={() => jumpToKind("artifact", 1)}>Change <KeyHint keys="d" /></button>
      </span>
      <button type="button" aria-pressed={isFollowing.value} onClick={() => ACTIONS["t"]!()}>Follow{unseen.value > 0 && !isFollowing.value ? ` (${amount(unseen.value)} new)` : ""}</button>
      {finding.value || found.value ? <FindBox /> : <button type="button" onClick={() => (finding.value = true)}>Find <KeyHint keys="f" /></button>}
      <span class="spacer" />
      <button type="button" class="about-button" aria-expanded={isSideOpen.value} aria-controls="about" onClick={() => (isSideOpen.value = !isSideOpen.value)}>About</button>
      <button type="button" onClick={() => void shareSession(session)}>Share</button>
      <button type="button" class="primary" onClick={() => void copyResume()} title={resumeCommand(session.id)}>Copy resume<span class="roomy"> command</span> <KeyHint keys="c" /></button>
    </div>
  );
}

function FindBox(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  // Before the next key, so that no typed letter is lost.
  useLayoutEffect(() => input.current?.focus(), []);
  const at = (found.value?.matches.indexOf(current.value) ?? -1) + 1;
  return (
    <span class="find">
      <input
        ref={input}
        type="search"
        aria-label="Find in this session"
        placeholder="Find in this session"
        defaultValue={found.value?.words ?? ""}
        onKeyDown={(event) => {
          if (event.key === "Enter") void find(event.currentTarget.value).then(() => input.current?.blur());
          if (event.key === "Escape") {
            finding.value = false;
            found.value = undefined;
          }
        }}
      />
      {found.value && <span role="status">{at > 0 ? `${at} of ` : ""}{count(found.value.matches.length, "match").replace("matchs", "matches")}{found.value.more && " or more"}</span>}
    </span>
  );
}

export function SessionScreen(): JSX.Element {
  const answer = details.value;
  if (loadError.value !== undefined && !answer) {
    return <main class="session"><h1>Session</h1><Failed error={loadError.value} retry={reload} /></main>;
  }
  return (
    <main class="session">
      {answer ? <><Head session={answer.session} /><Toolbar session={answer.session} /></> : <h1 class="visually-hidden">Session</h1>}
      {!answer ? <Skeleton /> : (
        <div class="session-body">
          {total.value === 0 ? (
            <Empty title="No records are left of this session"><p>Retention removed them; the digest beside has what was asked and done.</p></Empty>
          ) : <TimelineList />}
          <Minimap />
          <Side answer={answer} />
        </div>
      )}
    </main>
  );
}
