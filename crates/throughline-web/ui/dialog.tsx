// Dialogs: one at a time, modal, closed with Escape.

import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface OpenDialog {
  title: string;
  content: () => ComponentChildren;
  isWide?: boolean;
}

export const dialog = signal<OpenDialog | undefined>(undefined);
let focusedBefore: Element | null = null;

export function openDialog(title: string, content: () => ComponentChildren, isWide = false): void {
  if (!dialog.value) focusedBefore = document.activeElement;
  dialog.value = { title, content, isWide };
}

export function closeDialog(): void {
  if (!dialog.value) return;
  dialog.value = undefined;
  (focusedBefore as HTMLElement | null)?.focus?.();
}

export function Dialogs(): JSX.Element | null {
  const element = useRef<HTMLDialogElement>(null);
  const shown = dialog.value;
  useLayoutEffect(() => {
    const box = element.current;
    if (!box) return;
    if (!box.open) box.showModal();
    const first = box.querySelector<HTMLElement>("[autofocus]") ?? box.querySelector<HTMLElement>("input, textarea") ?? box.querySelector<HTMLElement>("button");
    first?.focus();
  }, [shown]);
  if (!shown) return null;
  return (
    <dialog
      ref={element}
      class={shown.isWide ? "dialog wide" : "dialog"}
      aria-label={shown.title}
      onCancel={(event) => { event.preventDefault(); closeDialog(); }}
      onClick={(event) => event.target === element.current && closeDialog()}
    >
      <header><h2>{shown.title}</h2><button type="button" class="quiet" aria-label="Close" onClick={closeDialog}>✕</button></header>
      {shown.content()}
    </dialog>
  );
}

/** Asks before something is changed for good. */
export function confirmDialog(title: string, content: ComponentChildren, action: string, run: () => void, isDangerous = true): void {
  openDialog(title, () => (
    <form method="dialog" onSubmit={(event) => { event.preventDefault(); closeDialog(); run(); }}>
      {content}
      <p class="actions">
        <button type="submit" class={isDangerous ? "danger" : "primary"} autofocus>{action}</button>
        <button type="button" onClick={closeDialog}>Cancel</button>
      </p>
    </form>
  ));
}
