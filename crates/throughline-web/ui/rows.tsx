// One record of a timeline.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Compaction, type NestedSession, type Timeline, get, query } from "./api";
import { Blocks, Code } from "./blocks";
import { Diff, diffSize, isLongDiff } from "./diff";
import { memo } from "./memo";
import { failure } from "./notice";
import { sessionPath } from "./route";
import { Ago, Clock, Marked, amount, bytes, count, kindName, money, titleOf, visible } from "./text";
import { type TimelineRecord, current, isCut, isFoldable, jump, loadWhole, shortPath, toggle } from "./timeline";

/** A folded text shows this many lines. */
const FOLDED_LINES = 4;

/** Languages by the ending of a path, for colors. */
const LANGUAGES: Record<string, string> = {
  rs: "rust", py: "python", ts: "typescript", tsx: "typescript", js: "javascript", json: "json", toml: "toml", yml: "yaml", yaml: "yaml",
  sh: "bash", sql: "sql", go: "go", css: "css", html: "markup",
};

/** A longer line is cut around what was found in it. */
const LINE_MAX = 400;

/** The first lines of a text, or those around what was found in it. */
function foldedText(text: string, words: string | undefined): string {
  const lines = text.split("\n");
  const at = words ? lines.findIndex((line) => line.toLowerCase().includes(words.toLowerCase())) : -1;
  if (at < 0) return lines.slice(0, FOLDED_LINES).join("\n");
  const from = Math.max(0, at - 1);
  const shown = lines.slice(from, from + FOLDED_LINES);
  const place = lines[at]!.toLowerCase().indexOf(words!.toLowerCase());
  if (lines[at]!.length > LINE_MAX) shown[at - from] = `…${lines[at]!.slice(Math.max(0, place - 100), place + LINE_MAX - 100)}…`;
  return (from > 0 ? "…\n" : "") + shown.join("\n");
}

/** What a call does, in a line: its command, its path, or its first argument. */
function callSummary(record: TimelineRecord): string {
  const lines = record.content.split("\n");
  const value = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
  const path = record.path && shortPath(record.path);
  return value("command") ?? value("cmd") ?? path ?? value("pattern") ?? value("query") ?? value("description") ?? lines[0] ?? "";
}

function Text({ record, folded, words }: { record: TimelineRecord; folded: boolean; words: string | undefined }): JSX.Element | null {
  if (record.type === "artifact") return <Diff text={record.content} folded={folded} words={words} />;
  const isFound = words !== undefined && record.content.toLowerCase().includes(words.toLowerCase());
  const text = folded ? foldedText(record.content, words) : record.content;
  const marked = isFound ? <Marked text={text} words={[words]} /> : visible(text);
  if (record.type === "tool_use") {
    if (folded) return isFound && !callSummary(record).toLowerCase().includes(words.toLowerCase()) ? <pre dir="auto">{marked}</pre> : null;
    if (isFound) return <pre class="code" dir="auto">{marked}</pre>;
    const lang = record.tool?.toLowerCase() === "bash" ? "bash" : "yaml";
    return <Code text={text} lang={lang} />;
  }
  if (record.type === "tool_result" || record.type === "error") {
    const lang = !folded && record.type === "tool_result" ? LANGUAGES[record.path?.split(".").at(-1) ?? ""] ?? "" : "";
    return lang && !isFound ? <Code text={text} lang={lang} /> : <pre dir="auto">{marked}</pre>;
  }
  if (record.blocks && !folded && !isFound) return <Blocks blocks={record.blocks} />;
  return <div class="prose plain" dir="auto">{marked}</div>;
}

const opened = signal<ReadonlyMap<string, TimelineRecord[]>>(new Map());
/** A subagent shows this many records in place; the rest is a link away. */
const INLINE_MAX = 100;

async function toggleSubagent(id: string): Promise<void> {
  const next = new Map(opened.value);
  if (!next.delete(id)) {
    try {
      const path = query(`/sessions/${encodeURIComponent(id)}/timeline`, { limit: INLINE_MAX, cut: 1_500, blocks: true });
      next.set(id, (await get<Timeline>(path)).records as TimelineRecord[]);
    } catch (error) {
      failure(error);
      return;
    }
  }
  opened.value = next;
}

export function Subagent({ child }: { child: NestedSession }): JSX.Element {
  const { session } = child;
  const records = opened.value.get(session.id);
  return (
    <div class="subagent">
      <header>
        <button type="button" class="quiet" aria-expanded={records !== undefined} onClick={() => void toggleSubagent(session.id)}>
          {records ? "▾" : "▸"} Subagent
        </button>
        <a href={sessionPath(session.id)}>{visible(titleOf(session))}</a>
        <span class="faint">{count(session.records, "record")} · {count(session.tokens, "token")}{session.cost_usd ? ` · ${money(session.cost_usd)}` : ""}{session.outcome ? ` · ${session.outcome}` : ""}</span>
      </header>
      {records && (
        <div class="subagent-records">
          {records.map((record) => (
            <section class={`row kind-${record.type}`}>
              <RecordHead record={record} isNested={false} words={undefined} />
              <Text record={record} folded={isFoldable(record)} words={undefined} />
            </section>
          ))}
          {records.length === 0 && <p class="faint">No records of this subagent are stored.</p>}
          {session.records > records.length && <p><a href={sessionPath(session.id)}>All {amount(session.records)} records</a></p>}
        </div>
      )}
    </div>
  );
}

/** What a compaction took out of the conversation, and what its summary still says. */
export function CompactionView({ taken }: { taken: Compaction }): JSX.Element {
  const lost = [...taken.prompts, ...taken.files].filter((item) => !item.kept);
  const item = (item: Compaction["prompts"][number]) => (
    <li class={item.kept ? "kept" : "lost"}>
      <span class="tag">{item.kept ? "kept" : "not in the summary"}</span>
      <button type="button" class="link" onClick={() => jump(item.n)}>{visible(item.text)}</button>
    </li>
  );
  return (
    <div class="compaction">
      <p>
        Took {count(taken.records, "record")} ({bytes(taken.bytes)}) out of the conversation and left {bytes(taken.summary_bytes)}.{" "}
        {lost.length === 0 ? "The summary speaks of every prompt and file." : `${lost.length} of ${taken.prompts.length + taken.files.length} prompts and files ${lost.length === 1 ? "is" : "are"} not in the summary.`}
        {" "}<button type="button" class="link" onClick={() => jump(taken.from)}>Go to what it replaced</button>
      </p>
      <details>
        <summary>{count(taken.prompts.length, "prompt")}, {count(taken.files.length, "file")}</summary>
        <ul>{taken.prompts.map(item)}{taken.files.map(item)}</ul>
      </details>
    </div>
  );
}

/** Smaller records do not say how many tokens they have. */
const TOKENS_MIN = 500;

/** The first line of a record. The head of a nested one leaves out what its call says. */
function RecordHead({ record, isNested, words, toggle }: {
  record: TimelineRecord; isNested: boolean; words: string | undefined; toggle?: JSX.Element | undefined;
}): JSX.Element {
  const size = record.type === "artifact" ? diffSize(record.content) : undefined;
  const summary = record.type === "tool_use" && callSummary(record);
  return (
    <header>
      {toggle}
      <span class="kind">{kindName(record.type)}</span>
      {record.tool && !isNested && <b>{visible(record.tool)}</b>}
      {summary ? <code class="call-summary">{words ? <Marked text={summary} words={[words]} /> : visible(summary)}</code>
        : record.path && (record.type === "artifact" || !isNested) && <span class="path" title={record.path}><bdi>{visible(shortPath(record.path))}</bdi></span>}
      {size && <span class="diff-size"><span class="plus">+{size[0]}</span> <span class="minus">−{size[1]}</span></span>}
      {!record.in_source && <span class="tag" title="The agent has deleted it; it is kept here">no longer in its log</span>}
      <span class="faint right">{record.tokens >= TOKENS_MIN && <span title="Estimated">{amount(record.tokens)} tokens</span>} {!isNested && <Clock at={record.ts} />}</span>
    </header>
  );
}

interface RowProps {
  record: TimelineRecord;
  total: number;
  isCurrent: boolean;
  isUnfolded: boolean;
  words: string | undefined;
  child: NestedSession | undefined;
  taken: Compaction | undefined;
  /** Changes when the whole text was loaded. */
  isCutNow: boolean;
  openedBy: unknown;
}

export const Row = memo(function Row({ record, total, isCurrent, isUnfolded, words, child, taken, isCutNow }: RowProps): JSX.Element {
  const folded = isFoldable(record) && !isUnfolded;
  const isNested = record.call !== null && record.call !== undefined && record.type !== "tool_use";
  // These are folded to one line, so the sign before them is enough.
  const isLine = record.type === "tool_use" || record.type === "thinking";
  const hasMore = record.type === "artifact" ? isLongDiff(record.content)
    : record.type === "tool_use" ? record.content.includes("\n") || record.content.length > 80
    : record.content.split("\n").length > FOLDED_LINES || record.bytes > (isLine ? 100 : 300);
  const canFold = isFoldable(record) && hasMore;
  const sign = canFold && (isLine || !folded) ? (
    <button type="button" class="toggle quiet" aria-expanded={!folded} aria-label={folded ? "Show all" : "Fold"} onClick={() => toggle(record.n)}>{folded ? "▸" : "▾"}</button>
  ) : undefined;
  return (
    <article
      class={`row kind-${record.type}${isNested ? " nested" : ""}${folded ? " folded" : ""}`}
      aria-posinset={record.n + 1}
      aria-setsize={total}
      aria-label={`${kindName(record.type)} ${record.tool ?? ""}`}
      tabIndex={isCurrent ? 0 : -1}
      aria-current={isCurrent ? "true" : undefined}
      onClick={() => (current.value = record.n)}
    >
      <RecordHead record={record} isNested={isNested} words={words} toggle={sign} />
      {taken && <CompactionView taken={taken} />}
      <Text record={record} folded={folded} words={words} />
      {canFold && !isLine && folded && <button type="button" class="fold" onClick={() => toggle(record.n)}>Show all, {bytes(record.bytes)}</button>}
      {!isFoldable(record) && isCutNow && (
        <button type="button" class="fold" onClick={() => void loadWhole(record.n)}>Show all, {bytes(record.bytes)}</button>
      )}
      {child && <Subagent child={child} />}
    </article>
  );
});

export { opened as openedSubagents, isCut, toggleSubagent, Ago };
