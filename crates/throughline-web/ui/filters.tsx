// The filters of the search. They stand in the address, so every search is a link.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { type Workspace, get, query } from "./api";
import { onScreen, open, parameters, setParameter } from "./route";
import { shortWorkspace } from "./text";

type FilterName = "type" | "agent" | "workspace" | "session_id" | "tool" | "path" | "tag" | "since" | "until" | "outcome";

interface Filter {
  name: FilterName;
  label: string;
  hint?: string;
  options?: () => [value: string, label: string][];
}

const AGENTS = ["claude", "codex", "grok", "gemini", "opencode", "copilot", "pi", "cursor", "cline", "roo", "goose", "aider", "continue", "amp", "qwen", "kimi", "antigravity"];
const TYPES: [string, string][] = [
  ["facts", "facts"], ["records", "records"], ["prompt", "prompts"], ["assistant", "answers"], ["tool_use", "calls"], ["tool_result", "results"],
  ["error", "errors"], ["artifact", "changed files"], ["summary", "compactions"],
];
const workspaces = signal<Workspace[]>([]);

onScreen("", () => {
  if (workspaces.value.length === 0) get<Workspace[]>("/workspaces").then((found) => (workspaces.value = found), () => undefined);
});

const same = (names: string[]) => () => names.map((name): [string, string] => [name, name]);

export const FILTERS: Filter[] = [
  { name: "type", label: "Type", options: () => TYPES },
  { name: "workspace", label: "Workspace", options: () => workspaces.value.map(({ key }) => [key, shortWorkspace(key)]) },
  { name: "agent", label: "Agent", options: same(AGENTS) },
  { name: "outcome", label: "Outcome", options: same(["succeeded", "failed", "abandoned", "unclear"]) },
  { name: "since", label: "From" },
  { name: "until", label: "Before" },
  { name: "tool", label: "Tool", hint: "Bash" },
  { name: "path", label: "Path", hint: "src/main.rs" },
  { name: "tag", label: "Tag" },
  { name: "session_id", label: "Session", hint: "id" },
];

export function filterValue(name: FilterName): string {
  return parameters.value.get(name) ?? "";
}

export function activeFilters(): Filter[] {
  return FILTERS.filter(({ name }) => filterValue(name));
}

/** Filters of records; a list of sessions has none. */
export const RECORD_FILTERS: ReadonlySet<string> = new Set(["type", "tool", "path", "session_id"]);

/** Says whether a filter is set that has no effect before words are typed. */
export function needsWords(): boolean {
  return activeFilters().some(({ name }) => RECORD_FILTERS.has(name));
}

function Field({ filter }: { filter: Filter }): JSX.Element {
  const { name, label, hint, options } = filter;
  const value = filterValue(name);
  const isDate = name === "since" || name === "until";
  const listed = options?.() ?? [];
  // A value from a link may not be among the known ones.
  const isKnown = !value || listed.some(([known]) => known === value);
  return (
    <label class={value ? "active" : undefined}>
      <span>{label}</span>
      {options ? (
        <select aria-label={label} value={value} onChange={(event) => setParameter(name, event.currentTarget.value)}>
          <option value="">any</option>
          {!isKnown && <option value={value}>{value}</option>}
          {listed.map(([value, label]) => <option value={value}>{label}</option>)}
        </select>
      ) : isDate
          ? <input type="date" aria-label={label} value={value} onChange={(event) => setParameter(name, event.currentTarget.value)} />
          : <input type="text" aria-label={label} placeholder={hint ?? ""} value={value} onChange={(event) => setParameter(name, event.currentTarget.value)} />}
    </label>
  );
}

export function FilterBar(): JSX.Element {
  const active = activeFilters();
  const isMore = (filter: Filter) => ["tool", "path", "tag", "session_id"].includes(filter.name);
  return (
    <div class="filters" role="group" aria-label="Filters">
      {FILTERS.filter((filter) => !isMore(filter)).map((filter) => <Field key={filter.name} filter={filter} />)}
      <details class="more-filters" open={active.some(isMore)}>
        <summary>More</summary>
        <div>{FILTERS.filter(isMore).map((filter) => <Field key={filter.name} filter={filter} />)}</div>
      </details>
      {active.length > 0 && <button type="button" class="quiet" onClick={() => open(query("/ui/", { q: parameters.value.get("q") }))}>Clear filters</button>}
    </div>
  );
}
