// The page: its frame, its keys, and the screen that the address names.

import { signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { access, listen, signIn } from "./api";
import { GivenScreen } from "./given";
import { KeepScreen } from "./keep";
import { MemoryScreen } from "./memory";
import { Notices } from "./notice";
import { RecordScreen } from "./record";
import { open, route } from "./route";
import { SearchScreen } from "./search";
import { SessionScreen, onSessionKey, refresh } from "./session";
import { UsageScreen } from "./usage";

const SCREENS: [path: string, name: string, screen: () => JSX.Element][] = [
  ["", "Search", SearchScreen],
  ["memory", "Memory", MemoryScreen],
  ["given", "Given", GivenScreen],
  ["usage", "Usage", UsageScreen],
  ["keep", "Keep", KeepScreen],
];

const KEYS: [keys: string, action: string][] = [
  ["/", "search"], ["1 – 5", "screens"], ["j k", "next and previous record"], ["J K", "next and previous prompt"],
  ["e E", "next and previous error"], ["g G", "first and last record"], ["o O", "unfold one, or all"], ["f n N", "find, next and previous match"],
  ["t", "follow a live session"], ["v", "talk only"], ["c", "copy the resume command"], ["y", "copy a link"],
  ["p", "pin the record"], ["a", "add the selection to memory"], ["x", "forget the record"], ["?", "these keys"], ["Esc", "back"],
];

const showsKeys = signal(false);

function KeysDialog(): JSX.Element {
  return (
    <div class="backdrop" onClick={() => (showsKeys.value = false)}>
      <div class="dialog" role="dialog" aria-label="Keys" aria-modal="true">
        <h2>Keys</h2>
        <dl>{KEYS.map(([keys, action]) => <><dt><kbd>{keys}</kbd></dt><dd>{action}</dd></>)}</dl>
        <button type="button" autofocus>Close</button>
      </div>
    </div>
  );
}

addEventListener("keydown", (event) => {
  const place = event.target as HTMLElement;
  const isTyping = place.matches?.("input, textarea, select");
  if (event.key === "Escape") {
    if (showsKeys.value) showsKeys.value = false;
    else if (isTyping) place.blur();
    else history.back();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || access.value !== "ready") return;
  const screen = SCREENS[Number(event.key) - 1];
  if (event.key === "/") {
    if (route.value.screen !== "") open("/ui/");
    requestAnimationFrame(() => document.getElementById("search")?.focus());
  } else if (event.key === "?") showsKeys.value = true;
  else if (screen) open(`/ui/${screen[0]}`);
  else if (route.value.screen === "s" && !(event.key === "Enter" && place.matches("button, a, summary")) && onSessionKey(event.key)) {
    // The key was used.
  } else return;
  event.preventDefault();
});

function App(): JSX.Element {
  if (access.value === "starting") return <main aria-busy="true" />;
  if (access.value === "locked") {
    return (
      <main class="locked">
        <h1>Throughline</h1>
        <p>This tab is not signed in. Run <code>throughline web</code> in a terminal; it opens the page with a ticket.</p>
      </main>
    );
  }
  const { screen } = route.value;
  const Screen = screen === "s" ? SessionScreen : screen === "r" ? RecordScreen : SCREENS.find(([path]) => path === screen)?.[2];
  return (
    <>
      <nav aria-label="Screens">
        <a class="brand" href="/ui/">Throughline</a>
        {SCREENS.map(([path, name], at) => (
          <a href={`/ui/${path}`} aria-current={screen === path ? "page" : undefined}>{name}<kbd aria-hidden="true">{at + 1}</kbd></a>
        ))}
        <button type="button" onClick={() => (showsKeys.value = true)}>Keys <kbd aria-hidden="true">?</kbd></button>
      </nav>
      {access.value === "gone" && <p class="banner" role="alert">The daemon does not answer. Run <code>throughline web</code>; this page tries again by itself.</p>}
      {Screen ? <Screen /> : <main><h1>No such page</h1><p><a href="/ui/">Search</a></p></main>}
      {showsKeys.value && <KeysDialog />}
      <Notices />
    </>
  );
}

await signIn();
render(<App />, document.body);
if (access.value === "ready") {
  // A hidden tab stops listening, so that it does not keep an idle daemon running.
  let listening: AbortController | undefined;
  const update = () => {
    if (document.hidden) listening?.abort();
    else if (!listening || listening.signal.aborted) {
      listening = new AbortController();
      void listen((change) => change.session_id && void refresh(change.session_id), listening.signal);
    }
  };
  document.addEventListener("visibilitychange", update);
  update();
}
