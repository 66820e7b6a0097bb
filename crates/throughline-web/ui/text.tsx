// Text from transcripts. It is never markup, and characters that hide or reorder text are drawn.

import type { ComponentChildren, JSX } from "preact";

/** Controls, zero-width characters, and characters that change the direction of text. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/;
const MARKED = new RegExp(`${HIDDEN.source}|\\[redacted:[a-z0-9-]+:[0-9a-f]{6}\\]`, "gi");

/** Draws hidden characters with their code, and the marks of secrets as marks. */
export function visible(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(MARKED)) {
    parts.push(text.slice(from, found.index));
    const mark = found[0];
    if (mark.length > 1) {
      const [, rule, hash] = mark.slice(1, -1).split(":");
      parts.push(<span class="redacted" title="A secret was removed before it was stored. Equal marks stand for the same secret.">{rule} {hash}</span>);
    } else {
      const code = mark.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      parts.push(<span class="hidden-character" title="A character that is not visible">U+{code}</span>);
    }
    from = found.index + mark.length;
  }
  if (from === 0) return text;
  parts.push(text.slice(from));
  return parts;
}

/** Words that nearly every text has; marking them would hide the others. */
const COMMON = new Set("a an and are as at be by can did do does for from how i in is it my of on or our the this to was we were what when where which who why with you your".split(" "));

/** The words of a query that are worth marking. */
export function wordsToMark(query: string): string[] {
  const words = query.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word.length > 1);
  const rare = words.filter((word) => !COMMON.has(word));
  return rare.length > 0 ? rare : words;
}

/** Marks words in a text, wherever they stand. */
export function Marked({ text, words }: { text: string; words: string[] }): JSX.Element {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (escaped.length === 0) return <>{visible(text)}</>;
  const pieces = text.split(new RegExp(`(${escaped.join("|")})`, "giu"));
  return <>{pieces.map((piece, at) => (at % 2 ? <mark>{visible(piece)}</mark> : visible(piece)))}</>;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60],
];

/** Shows how long ago something was; the exact time is in the tooltip. */
export function Ago({ at }: { at: string | number | null | undefined }): JSX.Element {
  if (at === null || at === undefined) return <span class="faint">no time</span>;
  const time = new Date(at);
  const seconds = (time.getTime() - Date.now()) / 1000;
  if (Math.abs(seconds) < 60) return <time dateTime={time.toISOString()} title={time.toLocaleString()}>just now</time>;
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
  return (
    <time dateTime={time.toISOString()} title={time.toLocaleString()}>
      {relative.format(Math.round(seconds / size), unit)}
    </time>
  );
}

/** The time of day of a record; the date is in the tooltip. */
export function Clock({ at }: { at: number | null | undefined }): JSX.Element | null {
  if (at === null || at === undefined) return null;
  const time = new Date(at);
  return <time dateTime={time.toISOString()} title={time.toLocaleString()}>{time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}</time>;
}

/** A number in at most four characters, as the command line prints it: `9999`, `12k`, `2.1M`. */
export function amount(value: number): string {
  if (value < 1e4) return String(value);
  if (value < 999_500) return `${(value / 1e3).toFixed(0)}k`;
  if (value < 999_500_000) return `${(value / 1e6).toFixed(value < 9_950_000 ? 1 : 0)}M`;
  return `${(value / 1e9).toFixed(1)}G`;
}

export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, count)) / 3));
  return unit === 0 ? `${count} bytes` : `${(count / 1000 ** unit).toFixed(1)} ${units[unit]}`;
}

export function money(value: number | null | undefined): string {
  if (value === null || value === undefined) return "";
  return value < 0.01 && value > 0 ? "<$0.01" : `$${value.toFixed(2)}`;
}

export function count(number: number, noun: string): string {
  return `${amount(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** The name of a session, or else its title. */
export function titleOf(session: { name?: string | null; title?: string | null } | undefined): string {
  return session?.name ?? session?.title ?? "Untitled session";
}

/** A cost as the command line prints it: `≥` if a part of it is unknown, `?` if all of it is. */
export function cost(value: number | null | undefined, unpricedTokens: number): string {
  if (unpricedTokens === 0) return money(value);
  return value && value >= 0.01 ? `≥${money(value)}` : "?";
}

/** A workspace by the last part of its key. */
export function shortWorkspace(key: string | null | undefined): string {
  return key?.split("/").filter(Boolean).at(-1) ?? "no workspace";
}

/** Names of record types, as people say them. */
const KINDS: Record<string, string> = {
  prompt: "You", assistant: "Agent", thinking: "Thinking", tool_use: "Call", tool_result: "Result", approval: "Decision", error: "Error",
  artifact: "Change", summary: "Compaction", fact: "Fact",
};

export function kindName(kind: string): string {
  return KINDS[kind] ?? kind;
}
