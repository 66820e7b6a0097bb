// The page: its frame, and the screen that the address names.

import { signal } from "@preact/signals";
import { type JSX, render } from "preact";
import { access, listen, signIn } from "./api";
import { Dialogs } from "./dialog";
import { KeyHint, listenToKeys, showKeys } from "./keys";
import { MemoryScreen } from "./memory";
import { Notices, failure } from "./notice";
import { showPalette } from "./palette";
import { RecordScreen } from "./record";
import { route } from "./route";
import { SCREENS } from "./screens";
import { SearchScreen, onNewSession } from "./search";
import { SessionScreen, refresh } from "./session";
import { Empty, Skeleton } from "./state";
import "./theme";

type Screen = () => JSX.Element;
const FIRST: Record<string, Screen> = { "": SearchScreen, memory: MemoryScreen, s: SessionScreen, r: RecordScreen };
/** The other screens, once their file is loaded. */
const others = signal<Record<string, Screen> | undefined>(undefined);
let isLoadingOthers = false;

function loadOthers(): void {
  if (isLoadingOthers) return;
  isLoadingOthers = true;
  import("./more").then((more) => {
    others.value = {
      given: more.GivenScreen, usage: more.UsageScreen, files: more.FilesScreen, patterns: more.PatternsScreen, keep: more.KeepScreen,
      settings: more.SettingsScreen,
    };
  }, failure);
}

/** The screen of the address; a skeleton until its file is loaded. */
function CurrentScreen(): JSX.Element {
  const { screen } = route.value;
  const isKnown = SCREENS.some(({ path }) => path === screen);
  const Screen = FIRST[screen] ?? others.value?.[screen];
  if (Screen) return <Screen />;
  if (!isKnown) return <main><h1 class="visually-hidden">No such page</h1><Empty title="There is no such page"><p>Every screen is listed in the navigation.</p><a href="/ui/">Go to the search</a></Empty></main>;
  loadOthers();
  return <main aria-busy="true"><h1 class="visually-hidden">Loading</h1><Skeleton /></main>;
}

function Navigation(): JSX.Element {
  const { screen } = route.value;
  return (
    <nav aria-label="Screens">
      <a class="brand" href="/ui/" aria-label="Throughline">
        <svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M3 7h5c5 0 3 10 8 10h5M3 12h18" /></svg>
        <span>Throughline</span>
      </a>
      <ul>
        {SCREENS.map(({ path, key, name, about, icon }) => (
          <li>
            <a href={`/ui/${path}`} title={about} aria-current={screen === path ? "page" : undefined}>
              <svg viewBox="0 0 24 24" width="18" height="18" aria-hidden="true"><path d={icon} /></svg>
              <span>{name}</span><KeyHint keys={key} />
            </a>
          </li>
        ))}
      </ul>
      <div class="nav-foot">
        <button type="button" class="quiet" onClick={showPalette}>Commands <kbd aria-hidden="true">Ctrl K</kbd></button>
        <button type="button" class="quiet" onClick={showKeys}>Keys <KeyHint keys="?" /></button>
      </div>
    </nav>
  );
}

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
  return (
    <>
      <a class="skip" href="#main">Skip to the content</a>
      <Navigation />
      <div class="page" id="main" tabIndex={-1}>
        {access.value === "gone" && (
          <p class="banner" role="alert">The daemon does not answer. This page tries again by itself; <code>throughline web</code> starts it.</p>
        )}
        <CurrentScreen />
      </div>
      <Dialogs />
      <Notices />
    </>
  );
}

/** A hidden tab stops listening after this time, so that it does not keep an idle daemon running. */
const HIDDEN_MAX_MS = 10 * 60_000;

/** One tab listens for all of them, because a browser opens few connections to one address. */
function listenToChanges(): void {
  const channel = new BroadcastChannel("throughline-changes");
  const onChange = (session: string) => {
    void refresh(session);
    onNewSession();
  };
  channel.onmessage = (event) => onChange(String(event.data));
  let stop: AbortController | undefined;
  const start = () => {
    if (stop && !stop.signal.aborted) return;
    const abort = (stop = new AbortController());
    const work = () => listen((change) => {
      if (!change.session_id) return;
      channel.postMessage(change.session_id);
      onChange(change.session_id);
    }, abort.signal);
    navigator.locks.request("throughline-listener", { signal: abort.signal }, work).catch(() => {
      if (!abort.signal.aborted) void work();
    });
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stop?.abort(), HIDDEN_MAX_MS);
    else start();
  });
  start();
}

await signIn();
render(<App />, document.body);
listenToKeys(showPalette);
if (access.value === "ready") listenToChanges();
