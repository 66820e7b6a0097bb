// A changed file: the lines of its diff, numbered and colored.

import type { JSX } from "preact";
import { memo } from "./memo";
import { Marked, visible } from "./text";

/** Longer diffs are shown to here until someone unfolds them. */
const FOLDED_LINES = 12;

interface Line {
  kind: "added" | "removed" | "hunk" | "same";
  text: string;
  old: number | undefined;
  now: number | undefined;
}

/** Numbers the lines of a unified diff. A text without hunks is a new file. */
export function diffLines(text: string): Line[] {
  const lines = text.replace(/\n$/, "").split("\n");
  const isDiff = lines.some((line) => line.startsWith("@@"));
  let [old, now] = [1, 1];
  return lines.map((line): Line => {
    if (!isDiff) return { kind: "added", text: line, old: undefined, now: now++ };
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (hunk) {
      [old, now] = [Number(hunk[1]), Number(hunk[2])];
      return { kind: "hunk", text: line, old: undefined, now: undefined };
    }
    const rest = line.slice(1);
    if (line.startsWith("+")) return { kind: "added", text: rest, old: undefined, now: now++ };
    if (line.startsWith("-")) return { kind: "removed", text: rest, old: old++, now: undefined };
    return { kind: "same", text: rest, old: old++, now: now++ };
  });
}

/** How many lines a diff adds and removes. */
export function diffSize(text: string): [added: number, removed: number] {
  const lines = diffLines(text);
  const of = (kind: Line["kind"]) => lines.filter((line) => line.kind === kind).length;
  return [of("added"), of("removed")];
}

/** Lines shown before the first one that was found. */
const LINES_BEFORE = 3;

export const Diff = memo(function Diff({ text, folded, words }: { text: string; folded: boolean; words?: string | undefined }): JSX.Element {
  const lines = diffLines(text);
  const found = words ? lines.findIndex((line) => line.text.toLowerCase().includes(words.toLowerCase())) : 0;
  const from = Math.max(0, found - LINES_BEFORE);
  const shown = folded ? lines.slice(from, from + FOLDED_LINES) : lines;
  const sign = { added: "+", removed: "−", hunk: "", same: "" };
  return (
    <div class="diff scroll-x" dir="ltr">
      {shown.map((line) => (
        <div class={`diff-line ${line.kind}`}>
          <span class="line-number" aria-hidden="true">{line.now ?? line.old ?? ""}</span>
          <span class="sign">{sign[line.kind]}</span>
          <span class="line-text">{words ? <Marked text={line.text} words={[words]} /> : visible(line.text)}</span>
        </div>
      ))}
    </div>
  );
});

export function isLongDiff(text: string): boolean {
  return diffLines(text).length > FOLDED_LINES;
}
