// The address of the page: every screen and its filters are a URL, so Back works.

import { computed, effect, signal, untracked } from "@preact/signals";
import { access } from "./api";

const address = signal(new URL(location.href));

export const route = computed(() => {
  const parts = address.value.pathname.replace(/^\/ui\/?/, "").split("/");
  return { screen: parts[0] ?? "", id: parts[1] ? decodeURIComponent(parts[1]) : undefined };
});

export const parameters = computed(() => address.value.searchParams);

/**
 * Loads what a screen shows whenever it is opened or its address changes. Nothing is requested before
 * the page is signed in, because a rejected request would sign it out again.
 */
export function onScreen(screen: string, load: (id: string | undefined) => void): void {
  effect(() => {
    const { screen: current, id } = route.value;
    // What loading reads must not make it load again.
    if (access.value === "ready" && current === screen) untracked(() => load(id));
  });
}

/** Opens a screen. `replace` keeps one entry in the history while someone types. */
export function open(path: string, replace = false): void {
  if (replace) history.replaceState(null, "", path);
  else history.pushState(null, "", path);
  address.value = new URL(location.href);
}

export function sessionPath(id: string, record?: string | null): string {
  const path = `/ui/s/${encodeURIComponent(id)}`;
  return record ? `${path}?at=${record}` : path;
}

const LAST_SESSION = "throughline-last-session";

/** The address of the session that was open last in this tab. */
export function lastSession(): string | null {
  return sessionStorage.getItem(LAST_SESSION);
}

effect(() => {
  if (route.value.screen === "s") sessionStorage.setItem(LAST_SESSION, address.value.pathname + address.value.search);
});

/** Sets or removes a parameter of the address. */
export function setParameter(name: string, value: string | undefined, replace = true): void {
  const next = new URLSearchParams(parameters.value);
  if (value) next.set(name, value);
  else next.delete(name);
  const text = next.toString();
  open(address.value.pathname + (text ? `?${text}` : ""), replace);
}

addEventListener("popstate", () => (address.value = new URL(location.href)));

/** Follows links to our own screens without loading the page again. */
addEventListener("click", (event) => {
  const link = (event.target as Element | null)?.closest?.("a[href^='/ui/']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  open(link.getAttribute("href")!);
});
