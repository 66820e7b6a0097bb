// Short messages: what went wrong, what was done, and how to undo it.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Rejected } from "./api";

interface Notice {
  text: string;
  hint?: string | undefined;
  undo?: (() => void) | undefined;
}

const notice = signal<Notice | undefined>(undefined);
const spoken = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

export function show(text: string, undo?: () => void): void {
  clearTimeout(timer);
  notice.value = { text, undo };
  timer = setTimeout(() => (notice.value = undefined), undo ? 10_000 : 4_000);
}

export function failure(error: unknown): void {
  clearTimeout(timer);
  if (error instanceof Rejected) notice.value = { text: error.message, hint: error.hint };
  else if (error instanceof Error && error.name !== "AbortError") notice.value = { text: error.message };
}

/** Says something to screen readers only. */
export function announce(text: string): void {
  spoken.value = text;
}

export function Notices(): JSX.Element {
  const shown = notice.value;
  return (
    <>
      <div class="visually-hidden" aria-live="polite">{spoken.value}</div>
      {shown && (
        <div class="notice" role="alert">
          <span>{shown.text}{shown.hint && <small> {shown.hint}</small>}</span>
          {shown.undo && <button type="button" onClick={() => { shown.undo!(); notice.value = undefined; }}>Undo</button>}
          <button type="button" aria-label="Close" onClick={() => (notice.value = undefined)}>×</button>
        </div>
      )}
    </>
  );
}
