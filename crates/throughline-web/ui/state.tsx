// What a screen shows while it waits, when something failed, and when there is nothing.

import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { Rejected } from "./api";

/** What a screen has loaded. Until then it is neither empty nor failed. */
export interface Loaded<T> {
  value?: T;
  error?: unknown;
}

export function loaded<T>(): Signal<Loaded<T>> {
  return signal<Loaded<T>>({});
}

/** Loads a value. What was shown before stays until the new value has come. */
export function load<T>(into: Signal<Loaded<T>>, work: Promise<T>): Promise<void> {
  return work.then(
    (value) => void (into.value = { value }),
    (error) => {
      if (!(error instanceof DOMException && error.name === "AbortError")) into.value = { ...into.value, error };
    },
  );
}

/** Stands where a list will be, so that loading never looks like an empty list. */
export function Skeleton({ rows = 8 }: { rows?: number }): JSX.Element {
  return <div class="skeleton" aria-hidden="true">{Array.from({ length: rows }, () => <div />)}</div>;
}

export function Failed({ error, retry }: { error: unknown; retry?: (() => void) | undefined }): JSX.Element {
  const hint = error instanceof Rejected ? error.hint : undefined;
  return (
    <div class="load-failed" role="alert">
      <p><strong>{error instanceof Error ? error.message : String(error)}</strong></p>
      {hint && <p>{hint}</p>}
      {retry && <button type="button" onClick={retry}>Try again</button>}
    </div>
  );
}

/** Shows a loaded value, or what there is instead. */
export function Show<T>({ of, retry, children, rows }: {
  of: Signal<Loaded<T>>; retry?: () => void; children: (value: T) => ComponentChildren; rows?: number;
}): JSX.Element {
  const { value, error } = of.value;
  if (error !== undefined && value === undefined) return <Failed error={error} retry={retry} />;
  if (value === undefined) return <Skeleton rows={rows ?? 8} />;
  return <>{children(value)}</>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return <div class="empty"><p><strong>{title}</strong></p>{children}</div>;
}
