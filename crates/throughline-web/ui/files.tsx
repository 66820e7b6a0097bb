// Questions people ask: who changed a file, how a command was run, how an error was fixed.

import type { JSX } from "preact";
import { get, query } from "./api";
import { onScreen, parameters, open, sessionPath } from "./route";
import { Empty, Show, load, loaded } from "./state";
import { Ago, count, shortWorkspace, visible } from "./text";

interface Blame {
  session: string; title: string | null; workspace: string | null; path: string; edits: number; mentions: number; last: string | null; record: string;
  prompt: string | null; said: string | null;
}
interface Run { record: string; session: string; at: string | null; cwd: string | null; exit_code: number | null }
interface CommandHistory { command: string; succeeded: number; failed: number; unknown: number; last: Run | null; failure: { line?: string; text?: string } | null }
interface Occurrence { record: string; session: string; at: string | null; line: string; command: string | null }
interface ErrorHistory { fingerprint: string; occurrences: Occurrence[]; ways: Record<string, unknown>[] }

type Ask = "blame" | "how" | "fix";
const QUESTIONS: [ask: Ask, label: string, placeholder: string][] = [
  ["blame", "Who changed this file?", "src/inventory.py"],
  ["how", "How is this run?", "cargo test"],
  ["fix", "How was this fixed?", "an error message"],
];

const answer = loaded<{ ask: Ask; q: string; found: unknown }>();

const ask = (): Ask => (parameters.value.get("ask") as Ask | null) ?? "blame";

onScreen("files", () => {
  const [what, q] = [ask(), parameters.value.get("q") ?? ""];
  answer.value = {};
  if (q) void load(answer, get<unknown>(query(`/${what}`, { q, limit: 30 })).then((found) => ({ ask: what, q, found })));
});

function BlameList({ found }: { found: Blame[] }): JSX.Element {
  return (
    <ol class="answers">
      {found.map((touch) => (
        <li class="card">
          <p><a href={sessionPath(touch.session, touch.record)}>{visible(touch.prompt ?? touch.title ?? touch.session)}</a></p>
          {touch.said && <p>{visible(touch.said)}</p>}
          <p class="faint">{touch.edits > 0 ? count(touch.edits, "edit") : "read only"} · {touch.session.split(":")[0]} · {shortWorkspace(touch.workspace)} · <code>{visible(touch.path)}</code> · <Ago at={touch.last} /></p>
        </li>
      ))}
    </ol>
  );
}

function HowList({ found }: { found: CommandHistory[] }): JSX.Element {
  return (
    <ol class="answers">
      {found.map((run) => (
        <li class="card">
          <pre class="command">{visible(run.command)}</pre>
          <p class="faint">
            <span class="good-text">{run.succeeded} succeeded</span> · <span class={run.failed ? "bad-text" : ""}>{run.failed} failed</span>
            {run.last && <> · last success <Ago at={run.last.at} /> in <code>{visible(run.last.cwd ?? "?")}</code> · <a href={sessionPath(run.last.session, run.last.record)}>open</a></>}
          </p>
        </li>
      ))}
    </ol>
  );
}

function FixList({ found }: { found: ErrorHistory }): JSX.Element {
  return (
    <>
      <h2>What made it go away</h2>
      {found.ways.length === 0 ? <p class="faint">No session shows how it was resolved.</p> : (
        <ol class="answers">
          {found.ways.map((way) => {
            const text = (name: string) => (typeof way[name] === "string" ? (way[name] as string) : undefined);
            const [session, record] = [text("session"), text("record")];
            return (
              <li class="card">
                <pre>{visible(text("command") ?? text("what") ?? text("text") ?? text("path") ?? JSON.stringify(way))}</pre>
                {session && <p class="faint"><a href={sessionPath(session, record)}>open</a> · <Ago at={text("at")} /></p>}
              </li>
            );
          })}
        </ol>
      )}
      <h2>Where it occurred</h2>
      <ol class="answers">
        {found.occurrences.map((error) => (
          <li class="card"><p><a href={sessionPath(error.session, error.record)}>{visible(error.line)}</a></p>{error.command && <pre class="command">{visible(error.command)}</pre>}<p class="faint">{error.session.split(":")[0]} · <Ago at={error.at} /></p></li>
        ))}
      </ol>
    </>
  );
}

function Answer({ found }: { found: { ask: Ask; q: string; found: unknown } }): JSX.Element {
  const list = found.found;
  const isEmpty = Array.isArray(list) ? list.length === 0 : (list as ErrorHistory).occurrences.length === 0;
  if (isEmpty) return <Empty title={`Nothing in memory about “${found.q}”`}><p>All sessions of all agents were searched.</p></Empty>;
  if (found.ask === "blame") return <BlameList found={list as Blame[]} />;
  if (found.ask === "how") return <HowList found={list as CommandHistory[]} />;
  return <FixList found={list as ErrorHistory} />;
}

export function FilesScreen(): JSX.Element {
  const what = ask();
  const placeholder = QUESTIONS.find(([name]) => name === what)?.[2];
  return (
    <main>
      <div class="screen-head"><h1>Files, commands, errors</h1></div>
      <div class="tabs" role="group" aria-label="Question">
        {QUESTIONS.map(([name, label]) => <button type="button" aria-pressed={name === what} onClick={() => open(query("/ui/files", { ask: name }))}>{label}</button>)}
      </div>
      <form class="try" onSubmit={(event) => {
        event.preventDefault();
        open(query("/ui/files", { ask: what, q: new FormData(event.currentTarget).get("q") }));
      }}>
        <input name="q" required aria-label="What to ask about" placeholder={placeholder} defaultValue={parameters.value.get("q") ?? ""} key={`${what} ${parameters.value.get("q") ?? ""}`} />
        <button type="submit" class="primary">Ask</button>
      </form>
      {parameters.value.get("q") ? <Show of={answer}>{(found) => <Answer found={found} />}</Show>
        : <Empty title="Ask about a file, a command or an error"><p>The answer names the sessions, what was asked there, and what worked.</p></Empty>}
    </main>
  );
}
