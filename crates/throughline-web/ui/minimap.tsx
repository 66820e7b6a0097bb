// The whole session as a strip: prompts, answers, errors, changes and compactions.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { current, found, jump, outline, total } from "./timeline";
import { systemTheme, theme } from "./theme";

const COLORS: [kind: string, color: string][] = [
  ["assistant", "--agent"], ["artifact", "--tool"], ["prompt", "--you"], ["summary", "--special"], ["error", "--bad"],
];

let drawnKinds: readonly string[] | undefined;
let drawn: number[][] = [];

/** The rows of pixels that have a record of each kind, so that a long session is drawn as fast as a short one. */
function pixels(kinds: readonly string[], height: number): number[][] {
  if (kinds === drawnKinds) return drawn;
  const places = new Map(COLORS.map(([kind], at) => [kind, at]));
  drawnKinds = kinds;
  drawn = COLORS.map(() => []);
  for (let n = 0; n < kinds.length; n++) {
    const at = places.get(kinds[n]!);
    if (at === undefined) continue;
    const top = kinds.length > height ? Math.floor((n * height) / kinds.length) : (n * height) / kinds.length;
    if (drawn[at]!.at(-1) !== top) drawn[at]!.push(top);
  }
  return drawn;
}

export function Minimap(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => effect(() => {
    const drawing = canvas.current?.getContext("2d");
    const kinds = outline.value?.kind;
    void theme.value;
    void systemTheme.value;
    if (!drawing || !kinds) return;
    const { width, height } = drawing.canvas;
    const style = getComputedStyle(drawing.canvas);
    drawing.clearRect(0, 0, width, height);
    // A color of the theme is only resolved as the color of an element.
    const use = (name: string) => {
      drawing.canvas.style.color = `var(${name})`;
      drawing.fillStyle = style.color;
    };
    const line = Math.max(1, height / kinds.length);
    for (const [at, [kind, color]] of COLORS.entries()) {
      use(color);
      const isWide = kind === "error" || kind === "summary" || kind === "prompt";
      const [left, wide] = isWide ? [0, width] : [width / 3, width / 3];
      for (const top of pixels(kinds, height)[at]!) drawing.fillRect(left, top, wide, Math.max(kind === "error" ? 2 : 1, line - 0.5));
    }
    use("--mark-strong");
    for (const n of found.value?.matches ?? []) drawing.fillRect(width / 2, (n * height) / kinds.length, width / 2, 2);
    use("--ink");
    drawing.fillRect(0, (current.value * height) / kinds.length - 1, width, 3);
  }), []);
  return (
    <canvas
      ref={canvas}
      class="minimap"
      width={16}
      height={800}
      aria-hidden="true"
      title="The whole session: prompts, answers, changes, errors, compactions"
      onClick={(event) => {
        const box = event.currentTarget.getBoundingClientRect();
        jump(Math.floor(((event.clientY - box.top) / box.height) * total.value));
      }}
    />
  );
}
