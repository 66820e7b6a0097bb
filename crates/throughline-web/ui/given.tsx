// The ledger: what prompts were given from memory, why others got nothing, and the switches.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type ContextAnswer, type Injection, type LoggedEvent, call, get, query } from "./api";
import { onKeys } from "./keys";
import { failure, show } from "./notice";
import { onScreen, parameters, sessionPath, setParameter } from "./route";
import { Empty, Show, load, loaded } from "./state";
import { Switches, byUse, loadSwitches, workspaces } from "./switches";
import { Ago, count, shortWorkspace, visible } from "./text";

const injections = loaded<Injection[]>();
const silences = loaded<LoggedEvent[]>();
const preview = signal<ContextAnswer | undefined>(undefined);
const chosen = signal(0);

async function loadLedger(): Promise<void> {
  await Promise.all([
    load(injections, get<Injection[]>(query("/injections", { limit: 200 }))),
    load(silences, get<LoggedEvent[]>(query("/events/log", { name: "injection.declined", limit: 500 }))),
    loadSwitches(),
  ]);
}

onScreen("given", () => void loadLedger());

type Verdict = "good" | "bad";

async function rate(injection: Injection, verdict: Verdict): Promise<void> {
  const before = injection.verdict as Verdict | null | undefined;
  try {
    await call("POST", `/injections/${injection.id}/verdict`, { verdict });
    const undo = before && before !== verdict ? () => void rate({ ...injection, verdict }, before) : undefined;
    show(verdict === "good" ? "Rated good; its items are given more readily" : "Rated bad; its items are not given again", undo);
    await load(injections, get<Injection[]>(query("/injections", { limit: 200 })));
  } catch (error) {
    failure(error);
  }
}

onKeys("given", (key) => {
  const list = injections.value.value ?? [];
  const move = (by: number) => {
    chosen.value = Math.max(0, Math.min(list.length - 1, chosen.value + by));
    document.getElementById(`given-${chosen.value}`)?.focus();
  };
  const injection = list[chosen.value];
  if (key === "j" || key === "ArrowDown") move(1);
  else if (key === "k" || key === "ArrowUp") move(-1);
  else if ((key === "+" || key === "=") && injection) void rate(injection, "good");
  else if (key === "-" && injection) void rate(injection, "bad");
  else return false;
  return true;
});

async function tryPrompt(form: HTMLFormElement): Promise<void> {
  const values = new FormData(form);
  try {
    preview.value = await call<ContextAnswer>("POST", "/memory/context", { prompt: values.get("prompt"), folder: values.get("folder"), dry_run: true });
  } catch (error) {
    failure(error);
  }
}

function TryBox(): JSX.Element {
  const tried = preview.value;
  const folders = byUse(workspaces.value.value ?? []).map((workspace) => workspace.folder).filter((folder) => folder.startsWith("/"));
  return (
    <section class="card" aria-labelledby="try-title">
      <h2 id="try-title">Try a prompt</h2>
      <p class="faint">See what an agent would be given for it. Nothing is recorded.</p>
      <form class="try" onSubmit={(event) => { event.preventDefault(); void tryPrompt(event.currentTarget); }}>
        <input name="prompt" required aria-label="A prompt to try" placeholder="How do we run the tests here?" />
        <input name="folder" required aria-label="The folder of the session" placeholder="/folder/of/the/session" list="folders" defaultValue={folders[0]} key={folders[0]} />
        <datalist id="folders">{folders.map((folder) => <option value={folder} />)}</datalist>
        <button type="submit">Try</button>
      </form>
      {tried && (
        <div class="tried" role="status" aria-label="What this prompt would get">
          {tried.text ? <><p class="faint">{count(tried.items.length, "item")}, {tried.tokens} tokens</p><pre tabIndex={0}>{visible(tried.text)}</pre></> : <p>Nothing: {tried.silence}.</p>}
        </div>
      )}
    </section>
  );
}

function InjectionCard({ injection, at }: { injection: Injection; at: number }): JSX.Element {
  const used = injection.items.filter((item) => item.used).length;
  const isKnown = injection.items.some((item) => item.used !== null && item.used !== undefined);
  const button = (verdict: Verdict, sign: string, label: string) => (
    <button type="button" aria-label={label} title={`${label} (${verdict === "good" ? "+" : "−"})`} aria-pressed={injection.verdict === verdict} onClick={() => void rate(injection, verdict)}>{sign}</button>
  );
  return (
    <article class="card given" id={`given-${at}`} tabIndex={chosen.value === at ? 0 : -1} aria-current={chosen.value === at ? "true" : undefined} onFocus={() => (chosen.value = at)}>
      <header>
        <div class="given-prompt">
          {injection.prompt && injection.session_id
            ? <a href={sessionPath(injection.session_id, injection.prompt.id)}>{visible(injection.prompt.text)}</a>
            : <span class="faint">A prompt that is not stored</span>}
        </div>
        <span class="segmented" role="group" aria-label="Was it useful?">{button("good", "+", "Good")}{button("bad", "−", "Bad")}</span>
      </header>
      <p class="faint">
        <Ago at={injection.at} /> · {shortWorkspace(injection.workspace)} · {count(injection.items.length, "item")}, {injection.tokens} tokens{isKnown && `, ${used} used`}
      </p>
      <ul>
        {injection.items.map((item) => (
          <li>
            <span class="kind">{item.type === "record" ? "Record" : "Fact"}</span>
            <a href={item.type === "record" ? `/ui/r/${item.id}` : `/ui/memory?fact=${item.id}`}>{visible(item.text ?? "no longer stored")}</a>
            {item.used === true && <span class="tag good">used</span>}
            {item.used === false && <span class="tag">not used</span>}
          </li>
        ))}
      </ul>
    </article>
  );
}

function Given(): JSX.Element {
  return (
    <Show of={injections} retry={() => void loadLedger()}>
      {(list) => list.length === 0 ? (
        <Empty title="Nothing was given yet"><p>Agents get memory once <code>throughline install</code> has connected them.</p></Empty>
      ) : <>{list.map((injection, at) => <InjectionCard key={injection.id} injection={injection} at={at} />)}</>}
    </Show>
  );
}

function Silences(): JSX.Element {
  return (
    <Show of={silences} retry={() => void loadLedger()}>
      {(list) => {
        if (list.length === 0) return <Empty title="No silent prompts are logged"><p>Each prompt that gets nothing is logged here with the reason, while the daemon runs.</p></Empty>;
        const reasons = new Map<string, number>();
        for (const event of list) {
          const reason = String(event.figures["reason"]);
          reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        }
        const most = Math.max(...reasons.values());
        return (
          <>
            <table class="bars">
              <thead><tr><th>Reason</th><th class="number">Prompts</th><th><span class="visually-hidden">Share</span></th></tr></thead>
              <tbody>
                {[...reasons].sort((a, b) => b[1] - a[1]).map(([reason, times]) => (
                  <tr><td>{reason}</td><td class="number">{times}</td><td><span class="bar"><i style={{ width: `${(100 * times) / most}%` }} /></span></td></tr>
                ))}
              </tbody>
            </table>
            <h2>Latest</h2>
            <table>
              <thead><tr><th>When</th><th>Session</th><th>Why nothing</th></tr></thead>
              <tbody>
                {list.toReversed().slice(0, 100).map((event) => (
                  <tr><td><Ago at={event.ts} /></td><td>{event.session_id ? <a href={sessionPath(event.session_id)}>{visible(event.session_id)}</a> : <span class="faint">not stored</span>}</td><td>{String(event.figures["reason"])}</td></tr>
                ))}
              </tbody>
            </table>
          </>
        );
      }}
    </Show>
  );
}

const TABS: [string, string, () => JSX.Element][] = [["", "Given", Given], ["silent", "Given nothing", Silences], ["switches", "Switches", Switches]];

export function GivenScreen(): JSX.Element {
  const tab = parameters.value.get("tab") ?? "";
  const Content = TABS.find(([name]) => name === tab)?.[2] ?? Given;
  return (
    <main>
      <div class="screen-head"><h1>What agents were given</h1></div>
      <p class="intro">Before an agent reads a prompt, Throughline may add facts and records from earlier sessions. Here is each such answer, and why other prompts got none. Rules and pins are under <a href="/ui/memory">Memory</a>, retention is under <a href="/ui/keep">Keep</a>.</p>
      <TryBox />
      <div class="tabs" role="group" aria-label="Ledger">
        {TABS.map(([name, label]) => <button type="button" aria-pressed={tab === name} onClick={() => setParameter("tab", name || undefined)}>{label}</button>)}
      </div>
      <Content />
    </main>
  );
}
