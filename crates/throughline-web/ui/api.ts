// Requests to the daemon, and the token that they carry.

import { signal } from "@preact/signals";
import type { components } from "./wire";

type Schemas = components["schemas"];
export type Session = Schemas["Session"];
export type SessionAnswer = Schemas["SessionAnswer"];
export type Entry = Schemas["TimelineEntry"];
export type Timeline = Schemas["Timeline"];
export type Outline = Schemas["Outline"];
export type Hit = Schemas["Hit"];
export type SearchAnswer = Schemas["SearchAnswer"];
export type Fact = Schemas["Fact"];
export type FactPage = Schemas["FactPage"];
export type Injection = Schemas["Injection"];
export type UsageAnswer = Schemas["UsageAnswer"];
export type UsageGroup = Schemas["UsageGroup"];
export type Keeping = Schemas["Keeping"];
export type Health = Schemas["Health"];
export type ContextAnswer = Schemas["ContextAnswer"];
export type FactDetail = Schemas["FactDetail"];
export type FactUse = Schemas["FactUse"];
export type Capsule = Schemas["CapsuleEntry"];
export type Workspace = Schemas["Workspace"];
export type ConfigAnswer = Schemas["ConfigAnswer"];
export type SwitchAnswer = Schemas["SwitchAnswer"];
export type OwnUsage = Schemas["OwnUsage"];
export type LoggedEvent = Schemas["LoggedEvent"];
export type Compaction = Schemas["SessionCompaction"];
export type NestedSession = Schemas["NestedSession"];
export type Turn = Schemas["SessionTurn"];
export type RedactionReview = Schemas["RedactionReview"];
export type Forgotten = Schemas["Forgotten"];
export type Marks = Schemas["MarksView"];

/** Whether the page can talk to the daemon. */
export const access = signal<"starting" | "ready" | "locked" | "gone">("starting");

const STORED_TOKEN = "throughline-token";

/** A request that the daemon rejected, with its hint. */
export class Rejected extends Error {
  constructor(readonly status: number, title: string, readonly hint?: string) {
    super(title);
  }
}

/** Exchanges the ticket in the address for a token, or takes the token of this tab. */
export async function signIn(): Promise<void> {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("t");
  if (ticket) {
    history.replaceState(null, "", location.pathname + location.search);
    const answer = await fetch("/ui/session", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ ticket }),
    });
    if (answer.ok) {
      sessionStorage.setItem(STORED_TOKEN, (await answer.json()).token);
    } else {
      console.warn(`the ticket was rejected with status ${answer.status}`);
    }
  }
  access.value = sessionStorage.getItem(STORED_TOKEN) ? "ready" : "locked";
}

export interface Answer<T> {
  body: T;
  headers: Headers;
}

async function send(method: string, path: string, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  headers.set("authorization", `Bearer ${sessionStorage.getItem(STORED_TOKEN)}`);
  let answer: Response;
  try {
    answer = await fetch(path, { ...options, method, headers });
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) access.value = "gone";
    throw error;
  }
  if (answer.status === 401) {
    console.warn(`${method} ${path} was rejected with status 401`);
    sessionStorage.removeItem(STORED_TOKEN);
    access.value = "locked";
  } else if (access.value === "gone") {
    access.value = "ready";
  }
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Rejected(answer.status, problem.detail ?? problem.title ?? `status ${answer.status}`, problem.hint);
  }
  return answer;
}

/** Drops parameters without a value, and encodes the others. */
export function query(path: string, values: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) {
      parameters.set(name, String(value));
    }
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export async function get<T>(path: string, abort?: AbortSignal): Promise<T> {
  return (await getAnswer<T>(path, abort)).body;
}

export async function getAnswer<T>(path: string, abort?: AbortSignal): Promise<Answer<T>> {
  const answer = await send("GET", path, abort ? { signal: abort } : {});
  return { body: (await answer.json()) as T, headers: answer.headers };
}

export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const options: RequestInit =
    body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  const answer = await send(method, path, options);
  const text = await answer.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Reads an answer that is a file. */
export async function getFile(path: string): Promise<Blob> {
  return (await send("GET", path)).blob();
}

/** Sends a request that outlives the page. */
export function sendBeforeLeaving(method: string, path: string): void {
  send(method, path, { keepalive: true }).catch((error) => console.warn(`${method} ${path}: ${error}`));
}

/** A change that the daemon reports. */
export interface Change {
  change: "record" | "forgotten" | "fact" | "summary";
  session_id?: string;
}

/** Reads the daemon's events until `abort` fires; waits longer after each failure. */
export async function listen(onChange: (change: Change) => void, abort: AbortSignal) {
  let wait = 500;
  while (!abort.aborted) {
    try {
      const answer = await send("GET", "/events", { signal: abort });
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        wait = 500;
        const events = (rest + value).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) {
          const data = event.split("\n").find((line) => line.startsWith("data:"));
          if (data) onChange(JSON.parse(data.slice(5)) as Change);
        }
      }
    } catch {
      if (abort.aborted) return;
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(2 * wait, 15_000);
  }
}
