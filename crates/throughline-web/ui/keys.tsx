// One key map for all screens, and the dialog that shows it.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { access } from "./api";
import { dialog, openDialog } from "./dialog";
import { lastSession, open, route } from "./route";
import { show } from "./notice";
import { SCREENS, SESSION_KEY } from "./screens";

const STORED = "throughline-single-keys";

/** Single keys can be switched off, because speech input may type them by mistake. */
export const hasSingleKeys = signal(localStorage.getItem(STORED) !== "off");

export function setSingleKeys(on: boolean): void {
  localStorage.setItem(STORED, on ? "on" : "off");
  hasSingleKeys.value = on;
}

/** Keys of the screen that is open. A handler says whether it used the key. */
type KeyHandler = (key: string, event: KeyboardEvent) => boolean;
const handlers = new Map<string, KeyHandler>();

export function onKeys(screen: string, handler: KeyHandler): void {
  handlers.set(screen, handler);
}

const KEYS: [group: string, keys: [keys: string, action: string][]][] = [
  ["Everywhere", [
    ["/", "search"], ["Ctrl K", "commands and sessions"], [`1 – ${SCREENS.length + 1}`, "screens"], ["?", "these keys"], ["Esc", "back"],
  ]],
  ["Lists", [["j k ↓ ↑", "next and previous"], ["Enter", "open"], ["[ ]", "next and previous session"], ["+ −", "rate what was given"]]],
  ["Session", [
    ["j k", "next and previous record"], ["J K", "next and previous prompt"], ["e E", "next and previous error"],
    ["d D", "next and previous changed file"], ["g G", "first and last record"], ["o O", "unfold one, or all"],
    ["s u", "into and out of a subagent"], ["f n N", "find, next and previous match"], ["t", "follow a live session"],
    ["v", "all, talk, or skim"],
  ]],
  ["Memory", [
    ["a", "add the selection or record to memory"], ["p", "pin it"], ["x", "forget the record"], ["c", "copy the resume command"],
    ["y", "copy a link"],
  ]],
  ["Marks", [["*", "star the session"], ["R", "name the session"], ["#", "tag the session"], ["A", "archive the session"],
  ]],
];

export function showKeys(): void {
  openDialog("Keys", () => (
    <div class="key-groups">
      {KEYS.map(([group, keys]) => (
        <section>
          <h3>{group}</h3>
          <dl>{keys.map(([key, action]) => <div><dt>{key.split(" ").map((part) => <kbd>{part}</kbd>)}</dt><dd>{action}</dd></div>)}</dl>
        </section>
      ))}
    </div>
  ), true);
}

export function listenToKeys(showPalette: () => void): void {
  addEventListener("keydown", (event) => {
    const place = event.target as HTMLElement;
    const isTyping = place.matches?.("input:not([type=checkbox]), textarea, select");
    if (access.value !== "ready") return;
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      showPalette();
      return;
    }
    // A dialog handles its own keys.
    if (dialog.value) return;
    if (event.key === "Escape") {
      if (isTyping) place.blur();
      else history.back();
      return;
    }
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && place.matches("button, a, summary, input")) return;
    if (event.key === " ") return;
    if (!hasSingleKeys.value && event.key.length === 1) return;
    if (useKey(event)) event.preventDefault();
  });
}

function openLastSession(): void {
  const path = lastSession();
  if (path) open(path);
  else show("No session was open yet");
}

function useKey(event: KeyboardEvent): boolean {
  const screen = SCREENS.find(({ key }) => key === event.key);
  if (event.key === "/") {
    if (route.value.screen !== "") open("/ui/");
    requestAnimationFrame(() => document.getElementById("search")?.focus());
  } else if (event.key === "?") showKeys();
  else if (screen) open(`/ui/${screen.path}`);
  else if (event.key === SESSION_KEY) openLastSession();
  else return handlers.get(route.value.screen)?.(event.key, event) ?? false;
  return true;
}

export function KeyHint({ keys }: { keys: string }): JSX.Element | null {
  return hasSingleKeys.value ? <kbd aria-hidden="true">{keys}</kbd> : null;
}
