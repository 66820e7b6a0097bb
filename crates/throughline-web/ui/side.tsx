// What is known about a session beside its timeline: digest, files, turns, subagents.

import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { type SessionAnswer, type Turn, get } from "./api";
import { resumeCommand } from "./session";
import { sessionPath } from "./route";
import { Show, load, loaded } from "./state";
import { amount, count, money, titleOf, visible } from "./text";
import { current, details, jump, outline, sessionId, shortPath, total } from "./timeline";

/** Whether this panel stands before the timeline, where there is no room beside it. */
export const isSideOpen = signal(false);
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

/** Goes to a record. Where the timeline is behind this panel, it comes to the front. */
function goTo(n: number): void {
  isSideOpen.value = false;
  jump(n);
}

/** The changed files with their changes, and what the digest says was changed by other means. */
function Files({ answer }: { answer: SessionAnswer }): JSX.Element {
  const changes = Object.entries(outline.value?.changes ?? {}).sort((a, b) => a[1][0]! - b[1][0]!);
  const digest = (answer.digest ?? {}) as Record<string, unknown>;
  const others = items<Deed>(digest["done"]).filter((deed) => deed.kind === "changed" && !changes.some(([path]) => path.endsWith(deed.what)));
  const history = (path: string) => <a href={`/ui/files?ask=blame&q=${encodeURIComponent(path)}`}>history</a>;
  if (changes.length === 0 && others.length === 0) return <p class="faint">This session changed no file.</p>;
  return (
    <ul class="file-list">
      {changes.map(([path, places]) => (
        <li>
          <button type="button" class="link" title={path} onClick={() => goTo(places.find((n) => n > current.value) ?? places[0]!)}>{visible(shortPath(path))}</button>
          <small>{count(places.length, "change")} · {history(path)}</small>
        </li>
      ))}
      {others.map((deed) => <li>{visible(deed.what)} <small>{history(deed.what)}</small></li>)}
    </ul>
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
                  <button type="button" class="link" onClick={() => goTo(turn.n)} title={`${amount(turn.input + turn.cache_read + turn.cache_write)} in, ${amount(turn.output)} out, ${turn.requests} requests`}>
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
    <aside id="about" aria-label="About this session" class={isSideOpen.value ? "open" : undefined}>
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
