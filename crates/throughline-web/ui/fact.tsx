// One fact: its text, its evidence, its history, how it was used, and what can be done with it.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Fact, type FactDetail, type FactUse, call, get } from "./api";
import { PinButton, change, forgetFact } from "./memory";
import { failure } from "./notice";
import { Ago, shortWorkspace, visible } from "./text";

const editing = signal<string | undefined>(undefined);
interface Opened {
  detail: FactDetail;
  use: FactUse;
  evidence: { id: string; text: string | undefined }[];
}
const opened = signal<ReadonlyMap<string, Opened>>(new Map());

async function open(fact: Fact): Promise<void> {
  try {
    const [detail, use] = await Promise.all([get<FactDetail>(`/memory/fact/${fact.id}`), get<FactUse>(`/memory/fact/${fact.id}/use`)]);
    const evidence = await Promise.all(fact.sources.slice(0, 10).map(async (id) => ({
      id,
      text: await get<{ content: string }>(`/memory/record/${id}`).then((record) => record.content.slice(0, 300), () => undefined),
    })));
    opened.value = new Map(opened.value).set(fact.id, { detail, use, evidence });
  } catch (error) {
    failure(error);
  }
}

function edit(fact: Fact, text: string, tags: string[], kind: string): Promise<void> {
  editing.value = undefined;
  const isSame = text === fact.content && tags.join() === fact.tags.join() && kind === fact.kind;
  if (isSame) return Promise.resolve();
  let id = fact.id;
  const back = { content: fact.content, tags: fact.tags, kind: fact.kind };
  return change(
    text === fact.content ? "Changed" : "Changed; the old text is its history",
    async () => (id = (await call<Fact>("PATCH", `/memory/fact/${fact.id}`, { content: text, tags, kind })).id),
    () => call("PATCH", `/memory/fact/${id}`, back),
  );
}

const KINDS = ["preference", "decision", "correction", "command", "outcome", "note"];

function EditForm({ fact }: { fact: Fact }): JSX.Element {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const values = new FormData(event.currentTarget);
        void edit(fact, String(values.get("text")), String(values.get("tags")).split(/[\s,]+/).filter(Boolean), String(values.get("kind")));
      }}
    >
      <textarea name="text" aria-label="The fact" defaultValue={fact.content} ref={(box) => box?.focus()} />
      <div class="form-row">
        <label>Kind<select name="kind" defaultValue={fact.kind}>{KINDS.map((kind) => <option selected={kind === fact.kind}>{kind}</option>)}</select></label>
        <label>Tags<input name="tags" defaultValue={fact.tags.join(" ")} /></label>
      </div>
      <p class="actions"><button type="submit" class="primary">Save</button><button type="button" onClick={() => (editing.value = undefined)}>Cancel</button></p>
    </form>
  );
}

function Details({ of }: { of: Opened }): JSX.Element {
  const { detail, use, evidence } = of;
  return (
    <div class="fact-details">
      <p class="faint">
        {use.given === 0 ? "Never given to a prompt." : <>Given {use.given}×, used {use.used}×{use.good + use.bad > 0 && `, rated good ${use.good}× and bad ${use.bad}×`}, last <Ago at={use.last} />.</>}
        {" "}First stated <Ago at={detail.made} />.
      </p>
      {evidence.length > 0 && (
        <>
          <h3>Evidence</h3>
          <ul>{evidence.map(({ id, text }) => <li><a href={`/ui/r/${id}`}>{visible(text ?? "no longer stored")}</a></li>)}</ul>
        </>
      )}
      {detail.history.length > 0 && (
        <>
          <h3>History</h3>
          <ul>{detail.history.map((old) => <li><del>{visible(old.content)}</del> <span class="faint"><Ago at={old.ts} /></span></li>)}</ul>
        </>
      )}
    </div>
  );
}

/** Who stated a fact, by how far its source is trusted. */
const SOURCES: Record<string, string> = { user: "you said it", model: "an agent said it", tool: "a tool printed it" };

export function FactCard({ fact, isTarget }: { fact: Fact; isTarget: boolean }): JSX.Element {
  const details = opened.value.get(fact.id);
  const close = () => {
    const next = new Map(opened.value);
    next.delete(fact.id);
    opened.value = next;
  };
  return (
    <li class={`fact${isTarget ? " target" : ""}${fact.superseded_by ? " superseded" : ""}${fact.pinned ? " pinned" : ""}`} id={`fact-${fact.id}`}>
      {editing.value === fact.id ? <EditForm fact={fact} /> : (
        <>
          <p class="fact-text" dir="auto">{visible(fact.content)}</p>
          <div class="fact-line">
            <span class={`tag kind-tag ${fact.kind}`}>{fact.kind}</span>
            {fact.pinned && <span class="tag pinned-tag">pinned</span>}
            {fact.tags.map((tag) => <span class="tag">{visible(tag)}</span>)}
            <span class="faint">
              {fact.workspace ? shortWorkspace(fact.workspace) : "everywhere"} · {SOURCES[fact.trust] ?? fact.trust}{fact.times > 1 && `, ${fact.times} times`} · <Ago at={fact.ts} />
              {fact.superseded_by && " · replaced"}
            </span>
            <span class="spacer" />
            <span class="fact-actions">
              <button type="button" class="quiet" aria-expanded={details !== undefined} onClick={() => (details ? close() : void open(fact))}>Evidence{fact.sources.length > 0 && ` (${fact.sources.length})`}</button>
              <PinButton id={fact.id} pinned={fact.pinned} />
              {!fact.superseded_by && <button type="button" class="quiet" onClick={() => (editing.value = fact.id)}>Edit</button>}
              <button type="button" class="quiet" onClick={() => void forgetFact(fact)}>Forget</button>
            </span>
          </div>
        </>
      )}
      {details && <Details of={details} />}
    </li>
  );
}
