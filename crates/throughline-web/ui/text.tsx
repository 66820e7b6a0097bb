// Text from transcripts. It is never markup, and characters that hide or reorder text are drawn.

import type { ComponentChildren, JSX } from "preact";

/** Controls, zero-width characters, and characters that change the direction of text. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** Draws hidden characters as marks with their code. */
export function visible(text: string): ComponentChildren {
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (const found of text.matchAll(HIDDEN)) {
    parts.push(text.slice(from, found.index));
    const code = found[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    parts.push(<span class="hidden-character">U+{code}</span>);
    from = found.index + found[0].length;
  }
  if (from === 0) return text;
  parts.push(text.slice(from));
  return parts;
}

/** Marks the words of a query in a text. */
export function Marked({ text, words }: { text: string; words: string[] }): JSX.Element {
  const escaped = words.filter((word) => word.length > 1).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (escaped.length === 0) return <>{visible(text)}</>;
  const pieces = text.split(new RegExp(`(${escaped.join("|")})`, "giu"));
  return <>{pieces.map((piece, at) => (at % 2 ? <mark>{visible(piece)}</mark> : visible(piece)))}</>;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "narrow" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000], ["month", 2_592_000], ["week", 604_800], ["day", 86_400], ["hour", 3_600], ["minute", 60],
];

/** Shows how long ago something was; the exact time is in the tooltip. */
export function Ago({ at }: { at: string | number | null | undefined }): JSX.Element {
  if (at === null || at === undefined) return <span class="faint">no time</span>;
  const time = new Date(at);
  const seconds = (time.getTime() - Date.now()) / 1000;
  const [unit, size] = STEPS.find(([, size]) => Math.abs(seconds) >= size) ?? ["minute", 60];
  return (
    <time dateTime={time.toISOString()} title={time.toLocaleString()}>
      {relative.format(Math.round(seconds / size), unit)}
    </time>
  );
}

export function amount(value: number): string {
  if (value >= 1e9) return `${(value / 1e9).toFixed(1)}G`;
  if (value >= 1e6) return `${(value / 1e6).toFixed(1)}M`;
  if (value >= 1e4) return `${Math.round(value / 1e3)}k`;
  return String(value);
}

export function money(value: number | null | undefined): string {
  if (value === null || value === undefined) return "";
  return value < 0.01 && value > 0 ? "<$0.01" : `$${value.toFixed(2)}`;
}

/** A workspace by the last part of its key. */
export function shortWorkspace(key: string | null | undefined): string {
  return key?.split("/").filter(Boolean).at(-1) ?? "no workspace";
}
