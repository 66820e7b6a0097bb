// Facts, preferences and pins: read, add, edit, pin, forget.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Fact, type FactPage, call, get, query } from "./api";
import { failure, show } from "./notice";
import { onScreen, parameters, route } from "./route";
import { Ago, shortWorkspace, visible } from "./text";
import { Skeleton } from "./search";

const facts = signal<Fact[] | undefined>(undefined);
const filter = signal("");
const editing = signal<string | undefined>(undefined);

async function loadFacts(): Promise<void> {
  try {
    facts.value = (await get<FactPage>(query("/memory/facts", { limit: 1000 }))).facts;
  } catch (error) {
    failure(error);
  }
}

onScreen("memory", () => void loadFacts());

/** Runs a change of memory, reloads the facts, and says what was done. */
async function change(done: string, work: () => Promise<unknown>, undo?: () => Promise<unknown>) {
  try {
    await work();
    show(done, undo && (() => void change("Undone", undo)));
    if (route.value.screen === "memory") await loadFacts();
  } catch (error) {
    failure(error);
  }
}

const setPinned = (id: string, pinned: boolean) => call("POST", "/memory/pin", { id, pinned });

export function pin(id: string, pinned = true): Promise<void> {
  return change(pinned ? "Pinned" : "Unpinned", () => setPinned(id, pinned), () => setPinned(id, !pinned));
}

export function PinButton({ id, pinned = false }: { id: string; pinned?: boolean }): JSX.Element {
  return (
    <button type="button" aria-pressed={pinned} title={pinned ? "Unpin" : "Show it to every session"} onClick={() => void pin(id, !pinned)}>
      {pinned ? "Unpin" : "Pin"}
    </button>
  );
}

/** Stores a passage as a fact. */
export function remember(text: string, folder?: string | null): Promise<void> {
  return change("Added to memory", () => call("POST", "/memory/remember", folder ? { text, folder } : { text }));
}

/** Forgets a fact for good. Undo stores it again as a statement of the user. */
function forget(fact: Fact): Promise<void> {
  return change(
    "Forgotten",
    () => call("DELETE", `/memory/fact/${fact.id}`),
    () => call("POST", "/memory/remember", { text: fact.content, tags: fact.tags, pinned: fact.pinned }),
  );
}

function edit(fact: Fact, text: string): Promise<void> {
  editing.value = undefined;
  if (text === fact.content) return Promise.resolve();
  return change("Changed", () => call("PATCH", `/memory/fact/${fact.id}`, { content: text }));
}

function FactCard({ fact }: { fact: Fact }): JSX.Element {
  const isTarget = parameters.value.get("fact") === fact.id;
  return (
    <li class={isTarget ? "fact target" : "fact"} id={`fact-${fact.id}`}>
      {editing.value === fact.id ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void edit(fact, String(new FormData(event.currentTarget).get("text")));
          }}
        >
          <textarea name="text" aria-label="The fact" defaultValue={fact.content} />
          <button type="submit">Save</button>
          <button type="button" onClick={() => (editing.value = undefined)}>Cancel</button>
        </form>
      ) : (
        <p>{visible(fact.content)}</p>
      )}
      <div class="fact-line">
        <span class="kind">{fact.kind}</span>
        <span class="faint">
          {shortWorkspace(fact.workspace)} · said by {fact.trust} · seen {fact.times}× · <Ago at={fact.ts} />
        </span>
        {fact.tags.map((tag) => <span class="tag">{visible(tag)}</span>)}
        <PinButton id={fact.id} pinned={fact.pinned} />
        <button type="button" onClick={() => (editing.value = fact.id)}>Edit</button>
        <button type="button" onClick={() => void forget(fact)}>Forget</button>
      </div>
      {fact.sources.length > 0 && (
        <details>
          <summary>Evidence ({fact.sources.length})</summary>
          <ul>{fact.sources.map((source) => <li><a href={`/ui/r/${source}`}>{source}</a></li>)}</ul>
        </details>
      )}
    </li>
  );
}

export function MemoryScreen(): JSX.Element {
  const words = filter.value.toLowerCase();
  const shown = facts.value?.filter((fact) => fact.content.toLowerCase().includes(words));
  return (
    <main>
      <h1>Memory</h1>
      <form
        class="add"
        onSubmit={(event) => {
          event.preventDefault();
          const form = event.currentTarget;
          void remember(String(new FormData(form).get("text"))).then(() => form.reset());
        }}
      >
        <input name="text" aria-label="A new fact" placeholder="Add a fact for every workspace" required />
        <button type="submit">Add</button>
      </form>
      <input type="search" aria-label="Filter the facts" placeholder="Filter" value={filter.value} onInput={(event) => (filter.value = event.currentTarget.value)} />
      {shown === undefined ? (
        <Skeleton />
      ) : shown.length === 0 ? (
        <p class="empty">{words ? `No fact contains “${words}”.` : "No facts yet. They are found in sessions as agents work, or added here."}</p>
      ) : (
        <ul class="facts">{shown.map((fact) => <FactCard key={fact.id} fact={fact} />)}</ul>
      )}
    </main>
  );
}
