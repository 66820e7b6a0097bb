// Adding to memory: a passage becomes a fact or a pin. `a` opens this, Enter stores it.

import type { JSX } from "preact";
import { call } from "./api";
import { closeDialog, openDialog } from "./dialog";
import { change } from "./memory";
import { shortWorkspace } from "./text";

/** A fact has at most this many words. */
const WORDS_MAX = 40;
const KINDS = ["note", "decision", "preference", "command", "correction", "outcome"];

/** The beginning of a passage, up to the length of a fact. */
function shorten(passage: string): string {
  const words = passage.replace(/\s+/g, " ").trim().split(" ");
  return words.slice(0, WORDS_MAX).join(" ");
}

interface NewFact {
  text: string;
  kind: string;
  tags: string[];
  pinned: boolean;
  folder: string | undefined;
}

function store(fact: NewFact): void {
  const body = { text: fact.text, kind: fact.kind, tags: fact.tags, pinned: fact.pinned, ...(fact.folder ? { folder: fact.folder } : {}) };
  let id = "";
  void change(
    fact.pinned ? "Added and pinned" : "Added to memory",
    async () => (id = (await call<{ id: string }>("POST", "/memory/remember", body)).id),
    () => call("DELETE", `/memory/fact/${id}?dry_run=true`).then((planned) =>
      call("DELETE", `/memory/fact/${id}?confirm=${(planned as { confirm?: string }).confirm ?? ""}`)),
  );
}

function AddForm({ text, folder }: { text: string; folder: string | undefined }): JSX.Element {
  return (
    <form
      method="dialog"
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        closeDialog();
        store({
          text: String(values.get("text")),
          kind: String(values.get("kind")),
          tags: String(values.get("tags")).split(/[\s,]+/).filter(Boolean),
          pinned: values.get("pinned") === "on",
          folder: values.get("scope") === "here" ? folder : undefined,
        });
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && !event.shiftKey && (event.target as Element).matches("textarea")) {
          event.preventDefault();
          event.currentTarget.requestSubmit();
        }
      }}
    >
      <label>Fact, at most {WORDS_MAX} words<textarea name="text" required defaultValue={shorten(text)} autofocus /></label>
      <div class="form-row">
        <label>Kind<select name="kind">{KINDS.map((kind) => <option>{kind}</option>)}</select></label>
        <label>For<select name="scope">{folder && <option value="here">{shortWorkspace(folder)}</option>}<option value="all">every workspace</option></select></label>
        <label>Tags<input name="tags" /></label>
        <label class="check"><input type="checkbox" name="pinned" /> Pin: show it to every session there</label>
      </div>
      <p class="actions"><button type="submit" class="primary">Add <kbd aria-hidden="true">Enter</kbd></button><button type="button" onClick={closeDialog}>Cancel</button></p>
    </form>
  );
}

export function addToMemory(text: string, folder?: string | null): void {
  openDialog("Add to memory", () => <AddForm text={text} folder={folder ?? undefined} />);
}
