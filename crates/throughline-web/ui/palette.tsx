// The palette: screens, commands and sessions by a few letters.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Session, get, query } from "./api";
import { closeDialog, openDialog } from "./dialog";
import { showKeys } from "./keys";
import { failure } from "./notice";
import { open, route, sessionPath } from "./route";
import { SCREENS } from "./screens";
import { sessionCommands } from "./session";
import { shortWorkspace, titleOf, visible } from "./text";
import { setTheme } from "./theme";

interface Command {
  name: string;
  hint?: string;
  run: () => void;
}

const words = signal("");
const sessions = signal<Session[]>([]);
const chosen = signal(0);

function commands(): Command[] {
  const screens = SCREENS.map(({ path, key, name, about }) => ({ name: `${name}: ${about.charAt(0).toLowerCase()}${about.slice(1)}`, hint: key, run: () => open(`/ui/${path}`) }));
  const inSession = route.value.screen === "s" ? sessionCommands() : [];
  return [
    ...inSession, ...screens,
    { name: "Show the keys", hint: "?", run: showKeys },
    { name: "Use the light theme", run: () => setTheme("light") },
    { name: "Use the dark theme", run: () => setTheme("dark") },
    { name: "Use the theme of the system", run: () => setTheme("") },
  ];
}

/** How well a name matches: its letters in order, best if they are together. */
function matches(name: string, typed: string): number {
  const [text, letters] = [name.toLowerCase(), typed.toLowerCase()];
  if (text.includes(letters)) return 2 + (text.startsWith(letters) ? 1 : 0);
  let at = 0;
  for (const letter of letters) {
    at = text.indexOf(letter, at) + 1;
    if (at === 0) return 0;
  }
  return 1;
}

let asking: AbortController | undefined;

async function findSessions(typed: string): Promise<void> {
  asking?.abort();
  const request = (asking = new AbortController());
  try {
    sessions.value = await get<Session[]>(query("/sessions", { q: typed, limit: 8 }), request.signal);
  } catch (error) {
    if (!request.signal.aborted) failure(error);
  }
}

function entries(): Command[] {
  const ranked = commands().map((command) => ({ command, rank: matches(command.name, words.value) }));
  const found = ranked.filter(({ rank }) => rank > 0).sort((a, b) => b.rank - a.rank).map(({ command }) => command);
  const listed = sessions.value.map((session) => ({
    name: titleOf(session),
    hint: `${session.agent} · ${shortWorkspace(session.workspace)}`,
    run: () => open(sessionPath(session.id)),
  }));
  return [...found.slice(0, 9), ...listed];
}

function Palette(): JSX.Element {
  const listed = entries();
  const run = (at: number) => {
    closeDialog();
    listed[at]?.run();
  };
  return (
    <div class="palette">
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={`palette-${chosen.value}`}
        aria-label="A command or a session"
        placeholder="A command or a session"
        value={words.value}
        onInput={(event) => {
          words.value = event.currentTarget.value;
          chosen.value = 0;
          void findSessions(words.value);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") chosen.value = Math.min(chosen.value + 1, listed.length - 1);
          else if (event.key === "ArrowUp") chosen.value = Math.max(chosen.value - 1, 0);
          else if (event.key === "Enter") run(chosen.value);
          else return;
          event.preventDefault();
        }}
      />
      <ul id="palette-list" role="listbox" aria-label="Matches">
        {listed.map((entry, at) => (
          <li id={`palette-${at}`} role="option" aria-selected={at === chosen.value} onClick={() => run(at)}>
            <span>{visible(entry.name)}</span><small>{entry.hint && visible(entry.hint)}</small>
          </li>
        ))}
      </ul>
    </div>
  );
}

export function showPalette(): void {
  words.value = "";
  chosen.value = 0;
  void findSessions("");
  openDialog("Commands", () => <Palette />);
}
