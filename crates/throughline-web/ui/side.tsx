// What is known about a session beside its timeline: digest, files, turns, subagents.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { type SessionAnswer, type Turn, get } from "./api";
import { resumeCommand } from "./session";
import { sessionPath } from "./route";
import { Show, load, loaded } from "./state";
import { amount, count, money, titleOf, visible } from "./text";
import { details, jump, outline, sessionId, entry, total } from "./timeline";

const tab = signal<"digest" | "files" | "turns">("digest");
const turns = loaded<Turn[]>();
let turnsOf = "";

effect(() => {
  if (tab.value !== "turns" || !details.value) return;
  const key = `${sessionId()} ${total.value}`;
  if (turnsOf === key) return;
  turnsOf = key;
  void load(turns, get<Turn[]>(`/sessions/${encodeURIComponent(sessionId())}/turns`));
});

/** The digest's lists carry a count of what they left out. */
function items<T>(value: unknown): T[] {
  return (Array.isArray(value) ? value : ((value as { items?: T[] } | null)?.items ?? [])) as T[];
}

interface Deed { kind: string; times: number; what: string }
interface DigestError { text: string; times: number; tool?: string; overcome: boolean }

function Section({ title, children, isOpen = true }: { title: string; children: JSX.Element | JSX.Element[]; isOpen?: boolean }): JSX.Element {
  return <details open={isOpen}><summary>{title}</summary>{children}</details>;
}

function Digest({ answer }: { answer: SessionAnswer }): JSX.Element {
  const digest = (answer.digest ?? {}) as Record<string, unknown>;
  const asked = items<string>(digest["asked"]);
  const done = items<Deed>(digest["done"]);
  const errors = items<DigestError>(digest["errors"]);
  const reasons = items<string>(digest["reasons"]);
  const tools = items<{ tool: string; calls: number; failed?: number }>(digest["tools"]);
  const corrections = items<string>(digest["corrections"]);
  if (!answer.digest) return <p class="faint">There is no digest yet. It is written when the session has ended.</p>;
  return (
    <>
      {reasons.length > 0 && <Section title={`Outcome: ${answer.session.outcome ?? "unclear"}`}><ul>{reasons.map((reason) => <li>{visible(reason)}</li>)}</ul></Section>}
      {asked.length > 0 && <Section title={`Asked (${asked.length})`}><ol>{asked.slice(0, 30).map((text) => <li>{visible(text)}</li>)}</ol></Section>}
      {done.length > 0 && (
        <Section title={`Done (${done.length})`}>
          <ul class="deeds">{done.slice(0, 40).map((deed) => <li><span class="tag">{deed.kind}</span> <code>{visible(deed.what)}</code>{deed.times > 1 && ` ×${deed.times}`}</li>)}</ul>
        </Section>
      )}
      {corrections.length > 0 && <Section title="Corrections"><ul>{corrections.map((text) => <li>{visible(typeof text === "string" ? text : JSON.stringify(text))}</li>)}</ul></Section>}
      {errors.length > 0 && (
        <Section title={`Errors (${errors.length})`}>
          <ul class="deeds">{errors.slice(0, 20).map((error) => <li><span class={error.overcome ? "tag good" : "tag bad"}>{error.overcome ? "resolved" : "open"}</span> {visible(error.text)}</li>)}</ul>
        </Section>
      )}
      {tools.length > 0 && (
        <Section title="Tools" isOpen={false}>
          <table><tbody>{tools.map((tool) => <tr><td>{visible(tool.tool)}</td><td class="number">{amount(tool.calls)}</td><td class="number bad-text">{tool.failed ? `${tool.failed} failed` : ""}</td></tr>)}</tbody></table>
        </Section>
      )}
      {answer.summary && <Section title="Running summary" isOpen={false}><pre>{visible(answer.summary)}</pre></Section>}
    </>
  );
}

/** The files that were changed, from the records that are loaded or the digest. */
function Files({ answer }: { answer: SessionAnswer }): JSX.Element {
  const kinds = outline.value?.kind ?? [];
  const changed = new Map<string, { n: number; times: number }>();
  let unknown = 0;
  for (const [n, kind] of kinds.entries()) {
    if (kind !== "artifact") continue;
    const path = entry(n)?.path;
    if (!path) {
      unknown++;
      continue;
    }
    const known = changed.get(path);
    changed.set(path, known ? { ...known, times: known.times + 1 } : { n, times: 1 });
  }
  const digest = (answer.digest ?? {}) as Record<string, unknown>;
  const others = items<Deed>(digest["done"]).filter((deed) => deed.kind === "changed" && ![...changed.keys()].some((path) => path.endsWith(deed.what)));
  if (changed.size === 0 && others.length === 0) return <p class="faint">This session changed no file.</p>;
  return (
    <>
      <ul class="file-list">
        {[...changed].map(([path, { n, times }]) => (
          <li><button type="button" class="link" onClick={() => jump(n)}>{visible(path)}</button>{times > 1 && <small> ×{times}</small>} <a href={`/ui/files?ask=blame&q=${encodeURIComponent(path)}`}>history</a></li>
        ))}
        {others.map((deed) => <li>{visible(deed.what)} <a href={`/ui/files?ask=blame&q=${encodeURIComponent(deed.what)}`}>history</a></li>)}
      </ul>
      {unknown > 0 && <p class="faint">{count(unknown, "change")} further away; scroll there to list the paths.</p>}
    </>
  );
}

/** Tokens and money of each turn, as bars. */
function Turns(): JSX.Element {
  return (
    <Show of={turns} rows={4}>
      {(list) => {
        const most = Math.max(1, ...list.map((turn) => turn.context_tokens));
        const hasCost = list.some((turn) => turn.cost_usd);
        return list.length === 0 ? <p class="faint">The log of this session has no token counts.</p> : (
          <>
            <p class="faint">The size of the context at the end of each turn, and what the turn cost.</p>
            <ol class="turns">
              {list.map((turn, at) => (
                <li>
                  <button type="button" class="link" onClick={() => jump(turn.n)} title={`${amount(turn.input + turn.cache_read + turn.cache_write)} in, ${amount(turn.output)} out, ${turn.requests} requests`}>
                    <span>{at + 1}</span>
                    <span class="bar"><i style={{ width: `${(100 * turn.context_tokens) / most}%` }} /></span>
                    <span class="number">{amount(turn.context_tokens)}</span>
                    {hasCost && <span class="number">{money(turn.cost_usd)}</span>}
                  </button>
                </li>
              ))}
            </ol>
          </>
        );
      }}
    </Show>
  );
}

const TABS: ["digest" | "files" | "turns", string][] = [["digest", "Digest"], ["files", "Files"], ["turns", "Turns"]];

export function Side({ answer }: { answer: SessionAnswer }): JSX.Element {
  return (
    <aside aria-label="About this session">
      <div class="tabs" role="tablist" aria-label="About this session">
        {TABS.map(([name, label]) => <button type="button" role="tab" id={`tab-${name}`} aria-controls="side-panel" aria-selected={tab.value === name} onClick={() => (tab.value = name)}>{label}</button>)}
      </div>
      <div id="side-panel" role="tabpanel" aria-labelledby={`tab-${tab.value}`} tabIndex={0}>
        {tab.value === "digest" ? <Digest answer={answer} /> : tab.value === "files" ? <Files answer={answer} /> : <Turns />}
        {answer.subagents.length > 0 && (
          <Section title={`Subagents (${answer.subagents.length})`}>
            <ul>{answer.subagents.map((child) => (
              <li><a href={sessionPath(child.id)}>{visible(titleOf(child))}</a> <span class="faint">{count(child.records, "record")}{child.cost_usd ? ` · ${money(child.cost_usd)}` : ""}</span></li>
            ))}</ul>
          </Section>
        )}
        <Section title="Resume" isOpen={false}><pre class="command">{resumeCommand(answer.session.id)}</pre></Section>
      </div>
    </aside>
  );
}
