// Facts, preferences and pins: read, filter, add, edit, pin, forget.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { type Fact, type FactPage, type Forgotten, call, get, query, sendBeforeLeaving } from "./api";
import { addToMemory } from "./add";
import { FactCard } from "./fact";
import { KeyHint, onKeys } from "./keys";
import { failure, show } from "./notice";
import { onScreen, parameters, route, setParameter } from "./route";
import { Empty, Show, load, loaded } from "./state";
import { count, shortWorkspace } from "./text";

const page = loaded<FactPage>();
const filter = signal("");
/** Facts that are being forgotten; undo brings them back until they are deleted. */
const leaving = signal<ReadonlySet<string>>(new Set());

export async function loadFacts(): Promise<void> {
  const history = parameters.value.get("history") === "true";
  await load(page, get<FactPage>(query("/memory/facts", { limit: 1000, history })));
}

onScreen("memory", () => void loadFacts());
onKeys("memory", (key) => {
  if (key !== "a") return false;
  addToMemory("");
  return true;
});

/** Runs a change of memory, reloads the facts, and says what was done. */
export async function change(done: string, work: () => Promise<unknown>, undo?: () => Promise<unknown>): Promise<void> {
  try {
    await work();
    show(done, undo && (() => void change("Undone", undo)));
    if (route.value.screen === "memory") await loadFacts();
  } catch (error) {
    failure(error);
  }
}

const setPinned = (id: string, pinned: boolean) => call<{ id: string }>("POST", "/memory/pin", { id, pinned });

export function pin(id: string, pinned = true): Promise<void> {
  let pinnedId = id;
  return change(
    pinned ? "Pinned" : "Unpinned",
    async () => (pinnedId = (await setPinned(id, pinned)).id),
    () => setPinned(pinnedId, !pinned),
  );
}

export function PinButton({ id, pinned = false }: { id: string; pinned?: boolean }): JSX.Element {
  return (
    <button type="button" class="quiet" aria-pressed={pinned} title={pinned ? "Unpin" : "Show it to every session"} onClick={() => void pin(id, !pinned)}>
      {pinned ? "Unpin" : "Pin"}
    </button>
  );
}

/** Deleting waits for this long, because it erases every trace and cannot be undone afterwards. */
const UNDO_MS = 8_000;

/** Forgets a fact for good, unless the person undoes it. */
export async function forgetFact(fact: Fact): Promise<void> {
  try {
    const planned = await call<Forgotten>("DELETE", `/memory/fact/${fact.id}?dry_run=true`);
    const path = query(`/memory/fact/${fact.id}`, { confirm: planned.confirm });
    leaving.value = new Set(leaving.value).add(fact.id);
    const leave = () => sendBeforeLeaving("DELETE", path);
    const end = () => {
      clearTimeout(timer);
      removeEventListener("pagehide", leave);
    };
    const timer = setTimeout(() => {
      end();
      call("DELETE", path).then(loadFacts, failure);
    }, UNDO_MS);
    addEventListener("pagehide", leave);
    show("Forgotten", () => {
      end();
      const kept = new Set(leaving.value);
      kept.delete(fact.id);
      leaving.value = kept;
    });
  } catch (error) {
    failure(error);
  }
}

const KINDS = ["preference", "decision", "correction", "command", "outcome", "note"];

function Filters({ facts }: { facts: Fact[] }): JSX.Element {
  const keys = [...new Set(facts.map((fact) => fact.workspace ?? ""))].sort();
  const value = (name: string) => parameters.value.get(name) ?? "";
  return (
    <div class="filters" role="group" aria-label="Filters">
      <label><span>Contains</span><input type="search" aria-label="Filter the facts" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} /></label>
      <label><span>Kind</span>
        <select value={value("kind")} onChange={(event) => setParameter("kind", event.currentTarget.value)}><option value="">any</option>{KINDS.map((kind) => <option>{kind}</option>)}</select>
      </label>
      <label><span>Workspace</span>
        <select value={value("workspace")} onChange={(event) => setParameter("workspace", event.currentTarget.value)}>
          <option value="">any</option>{keys.map((key) => <option value={key || "everywhere"}>{key ? shortWorkspace(key) : "everywhere"}</option>)}
        </select>
      </label>
      <label class="check"><input type="checkbox" checked={value("pinned") === "true"} onChange={(event) => setParameter("pinned", event.currentTarget.checked ? "true" : undefined)} /> pinned</label>
      <label class="check"><input type="checkbox" checked={value("history") === "true"} onChange={(event) => setParameter("history", event.currentTarget.checked ? "true" : undefined)} /> replaced ones too</label>
    </div>
  );
}

function shownFacts(facts: Fact[]): Fact[] {
  const words = filter.value.toLowerCase();
  const [kind, workspace, pinned] = ["kind", "workspace", "pinned"].map((name) => parameters.value.get(name));
  return facts.filter((fact) =>
    !leaving.value.has(fact.id)
    && (!words || `${fact.content} ${fact.tags.join(" ")}`.toLowerCase().includes(words))
    && (!kind || fact.kind === kind)
    && (!workspace || (fact.workspace ?? "everywhere") === workspace)
    && (pinned !== "true" || fact.pinned));
}

function List({ all }: { all: Fact[] }): JSX.Element {
  const target = parameters.value.get("fact");
  useEffect(() => {
    if (target) document.getElementById(`fact-${target}`)?.scrollIntoView({ block: "center" });
  }, [target]);
  const shown = shownFacts(all);
  const rules = shown.filter((fact) => fact.kind === "preference" || fact.pinned);
  const others = shown.filter((fact) => !rules.includes(fact));
  const list = (facts: Fact[]) => <ul class="facts">{facts.map((fact) => <FactCard key={fact.id} fact={fact} isTarget={fact.id === target} />)}</ul>;
  return (
    <>
      <Filters facts={all} />
      <p class="status" role="status">{count(shown.length, "fact")}{shown.length < all.length && ` of ${all.length}`}</p>
      {shown.length === 0 && (all.length === 0
        ? <Empty title="No facts yet"><p>They are found in sessions as agents work, or added here.</p></Empty>
        : <Empty title="No fact passes these filters" />)}
      {rules.length > 0 && <section aria-label="Rules and pins"><h2>Rules and pins</h2>{list(rules)}</section>}
      {others.length > 0 && <section aria-label="Facts"><h2>Facts</h2>{list(others)}</section>}
    </>
  );
}

export function MemoryScreen(): JSX.Element {
  return (
    <main>
      <div class="screen-head">
        <h1>Memory</h1>
        <button type="button" class="primary" onClick={() => addToMemory("")}>Add a fact <KeyHint keys="a" /></button>
      </div>
      <p class="intro">What agents are told about your work. Pins go to every session of their workspace, other facts to the prompts they match.</p>
      <Show of={page} retry={() => void loadFacts()}>{(loaded) => <List all={loaded.facts} />}</Show>
    </main>
  );
}
