// The ledger: what prompts were given from memory, and a box to try a prompt.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type ContextAnswer, type Injection, call, get, query } from "./api";
import { failure, show } from "./notice";
import { onScreen, sessionPath } from "./route";
import { Ago, shortWorkspace, visible } from "./text";
import { Skeleton } from "./search";

const injections = signal<Injection[] | undefined>(undefined);
const preview = signal<ContextAnswer | undefined>(undefined);

async function load(): Promise<void> {
  try {
    injections.value = await get<Injection[]>(query("/injections", { limit: 200 }));
  } catch (error) {
    failure(error);
  }
}

onScreen("given", () => void load());

async function rate(id: string, verdict: "good" | "bad"): Promise<void> {
  try {
    await call("POST", `/injections/${id}/verdict`, { verdict });
    show(verdict === "good" ? "Rated as good" : "Rated as bad; it is not shown again");
    await load();
  } catch (error) {
    failure(error);
  }
}

async function tryPrompt(form: HTMLFormElement): Promise<void> {
  const values = new FormData(form);
  try {
    preview.value = await call<ContextAnswer>("POST", "/memory/context", {
      prompt: values.get("prompt"),
      folder: values.get("folder"),
      dry_run: true,
    });
  } catch (error) {
    failure(error);
  }
}

function InjectionRow({ injection }: { injection: Injection }): JSX.Element {
  const used = injection.items.filter((item) => item.used).length;
  return (
    <tr>
      <td><Ago at={injection.at} /></td>
      <td>{injection.session_id ? <a href={sessionPath(injection.session_id)}>{shortWorkspace(injection.workspace)}</a> : shortWorkspace(injection.workspace)}</td>
      <td>
        {injection.items.map((item) => (
          <p class="given">
            {item.type === "record" ? <a href={`/ui/r/${item.id}`}>{visible(item.text ?? "no longer stored")}</a> : visible(item.text ?? "no longer stored")}
            {item.used && <span class="tag">used</span>}
          </p>
        ))}
      </td>
      <td class="number">{used}/{injection.items.length}</td>
      <td class="number">{injection.tokens}</td>
      <td>
        <button type="button" aria-label="Good" aria-pressed={injection.verdict === "good"} onClick={() => void rate(injection.id, "good")}>+</button>{" "}
        <button type="button" aria-label="Bad" aria-pressed={injection.verdict === "bad"} onClick={() => void rate(injection.id, "bad")}>−</button>
      </td>
    </tr>
  );
}

export function GivenScreen(): JSX.Element {
  const listed = injections.value;
  const tried = preview.value;
  return (
    <main>
      <h1>What agents were given</h1>
      <form class="add" onSubmit={(event) => { event.preventDefault(); void tryPrompt(event.currentTarget); }}>
        <input name="prompt" required aria-label="A prompt to try" placeholder="Try a prompt; nothing is recorded" />
        <input name="folder" required aria-label="The folder of the session" placeholder="/folder/of/the/session" />
        <button type="submit">Try</button>
      </form>
      {tried && (
        <section class="fact" aria-label="What this prompt would get">
          {tried.text ? <pre>{visible(tried.text)}</pre> : <p>Nothing: {tried.silence}</p>}
          <span class="faint">{tried.tokens} tokens</span>
        </section>
      )}
      {listed === undefined ? (
        <Skeleton />
      ) : listed.length === 0 ? (
        <p class="empty">Nothing was given yet. Agents get memory once <code>throughline install</code> has connected them.</p>
      ) : (
        <table>
          <thead><tr><th>When</th><th>Workspace</th><th>Given</th><th class="number">Used</th><th class="number">Tokens</th><th>Verdict</th></tr></thead>
          <tbody>{listed.map((injection) => <InjectionRow key={injection.id} injection={injection} />)}</tbody>
        </table>
      )}
    </main>
  );
}
