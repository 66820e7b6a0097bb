// The whole session as a strip: prompts, answers, errors, changes and compactions.

import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { current, found, jump, outline, total } from "./timeline";
import { systemTheme, theme } from "./theme";

const COLORS: [kind: string, color: string][] = [
  ["assistant", "--agent"], ["artifact", "--tool"], ["prompt", "--you"], ["summary", "--special"], ["error", "--bad"],
];

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
    const line = Math.max(1, height / kinds.length);
    // A color of the theme is only resolved as the color of an element.
    const use = (name: string) => {
      drawing.canvas.style.color = `var(${name})`;
      drawing.fillStyle = style.color;
    };
    for (const [kind, color] of COLORS) {
      use(color);
      const [left, wide] = kind === "error" || kind === "summary" || kind === "prompt" ? [0, width] : [width / 3, width / 3];
      for (const [n, found] of kinds.entries()) {
        if (found === kind) drawing.fillRect(left, (n * height) / kinds.length, wide, Math.max(kind === "error" ? 2 : 1, line - 0.5));
      }
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
