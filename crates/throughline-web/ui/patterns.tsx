// Patterns: what recurs across sessions, with its evidence, a decision, and whether it helped.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { call, get, query } from "./api";
import { confirmDialog } from "./dialog";
import { failure, show } from "./notice";
import { onScreen, parameters, route, sessionPath } from "./route";
import { Empty, Show, load, loaded } from "./state";
import { Ago, count, shortWorkspace, visible } from "./text";

interface Evidence { session: string; record: string | null; at: string | null; text?: string; times: number; minutes?: number; overcome: boolean }
interface Pattern {
  id: string; kind: string; name: string; workspace: string | null; sessions: number; times: number; overcome: number; flavors: string[]; cross_flavor: boolean;
  days: number; minutes: number; tokens: number; last: string | null; evidence: Evidence[]; state?: string; needs_decision?: boolean; level?: string;
  guidance?: string; effect?: string | null;
}
interface Similar { source: string; similarity: number; duplicate: boolean; text: string }
interface Review { decision: string; why: string | null; at: string; sessions: number }
interface Placement { path: string; version: string; state: string; proposed: string | null }
interface CurvePoint { from: string; phase: string; sessions: number; affected: number; rate: number; low: number; high: number }
interface Effect {
  workspace: string | null; state: string; ratio: number | null; ratio_low: number | null; ratio_high: number | null; sessions_needed: number | null;
  before: { sessions: number; affected: number }; after: { sessions: number; affected: number }; curve: CurvePoint[]; withdraw: boolean;
}
interface PatternList { patterns?: Pattern[]; candidates?: Pattern[]; total?: number }
interface PatternDetail extends PatternList { pattern?: Pattern | null; similar?: Similar[]; reviews?: Review[]; placements?: Placement[]; effects?: Effect[] }
interface ReviewAnswer { diff?: string; file?: string; confirm?: string }

const list = loaded<PatternList>();
const detail = loaded<PatternDetail>();
const why = signal("");

const loadList = () => load(list, get<PatternList>(query("/patterns", {})));

onScreen("patterns", (id) => {
  void loadList();
  detail.value = {};
  why.value = "";
  if (id) void load(detail, get<PatternDetail>(`/patterns/${encodeURIComponent(id)}`));
});

type Decision = "approve" | "reject" | "discuss" | "withdraw";

async function decide(pattern: Pattern, decision: Decision): Promise<void> {
  const path = `/patterns/${encodeURIComponent(pattern.id)}/review`;
  const body = { decision, ...(why.value ? { why: why.value } : {}) };
  const done = async () => {
    show(`Decided: ${decision}`);
    await Promise.all([loadList(), load(detail, get<PatternDetail>(`/patterns/${encodeURIComponent(pattern.id)}`))]);
  };
  try {
    if (decision === "reject" || decision === "discuss") {
      await call("POST", path, body);
      return await done();
    }
    const planned = await call<ReviewAnswer>("POST", path, { ...body, dry_run: true });
    const content = (
      <>
        <p>This writes <code>{planned.file}</code>:</p>
        <pre class="diff-text" role="region" aria-label="Diff" tabIndex={0}>{(planned.diff ?? "").split("\n").map((line) => <span class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : undefined}>{visible(line)}{"\n"}</span>)}</pre>
      </>
    );
    confirmDialog(decision === "approve" ? "Approve this pattern?" : "Withdraw this pattern?", content, decision === "approve" ? "Approve" : "Withdraw", () => {
      call("POST", path, { ...body, confirm: planned.confirm }).then(done, failure);
    }, decision === "withdraw");
  } catch (error) {
    failure(error);
  }
}

/** What kinds of patterns there are, in words. */
const KINDS: Record<string, string> = {
  diag: "reported by a command", tool: "refused by the agent’s tool", reject: "refused by you", correction: "corrected by you",
  retry: "repeated after it failed", reread: "read again unchanged", overhead: "installing or waiting", fixpair: "a repair that worked",
  instruction: "stale instruction", abandon: "abandoned",
};

function Row({ pattern, isOpen }: { pattern: Pattern; isOpen: boolean }): JSX.Element {
  return (
    <li>
      <a class="pattern" href={`/ui/patterns/${pattern.id}`} aria-current={isOpen ? "true" : undefined}>
        <span class="pattern-text">
          <b>{visible(pattern.name)}</b>
          {pattern.guidance && <span class="faint">{visible(pattern.guidance)}</span>}
          <span class="faint">{KINDS[pattern.kind] ?? pattern.kind} · {count(pattern.sessions, "session")}, {count(pattern.times, "time")}{pattern.minutes > 0 && `, ${pattern.minutes} min lost`} · {pattern.flavors.join(", ")} · {shortWorkspace(pattern.workspace)}</span>
        </span>
        <span class="pattern-tags">
          {pattern.effect && <span class={`tag ${pattern.effect === "helps" ? "good" : pattern.effect === "harms" ? "bad" : ""}`}>{pattern.effect}</span>}
          {pattern.state && pattern.state !== "open" && <span class="tag">{pattern.state}</span>}
          {pattern.needs_decision && <span class="tag special">needs a decision</span>}
        </span>
      </a>
    </li>
  );
}

/** The share of affected sessions over time, with its uncertainty. */
function Curve({ points }: { points: CurvePoint[] }): JSX.Element | null {
  if (points.length === 0) return null;
  const [wide, high] = [640, 160];
  const x = (at: number) => 30 + ((at + 0.5) * (wide - 40)) / points.length;
  const y = (rate: number) => high - 20 - rate * (high - 30);
  const line = points.map((point, at) => `${at ? "L" : "M"}${x(at)} ${y(point.rate)}`).join("");
  return (
    <svg class="curve" viewBox={`0 0 ${wide} ${high}`} role="img" aria-label={`Share of affected sessions, from ${Math.round(100 * points[0]!.rate)} % to ${Math.round(100 * points.at(-1)!.rate)} %`}>
      {[0, 0.5, 1].map((rate) => <><line class="grid" x1={30} x2={wide - 10} y1={y(rate)} y2={y(rate)} /><text x={0} y={y(rate) + 4}>{rate * 100} %</text></>)}
      {points.map((point, at) => (
        <g class={point.phase === "active" ? "active" : undefined}>
          <line class="interval" x1={x(at)} x2={x(at)} y1={y(point.low)} y2={y(point.high)} />
          <circle cx={x(at)} cy={y(point.rate)} r={4}><title>{point.affected} of {point.sessions} sessions, {point.phase}</title></circle>
        </g>
      ))}
      <path d={line} />
    </svg>
  );
}

function EffectView({ effect }: { effect: Effect }): JSX.Element {
  const percent = (part: { sessions: number; affected: number }) => (part.sessions ? `${Math.round((100 * part.affected) / part.sessions)} % of ${part.sessions} sessions` : "no sessions");
  return (
    <div class="card">
      <p><b>{effect.state}</b> in {shortWorkspace(effect.workspace)}: before {percent(effect.before)}, after {percent(effect.after)}.
        {effect.ratio !== null && ` The rate is ${effect.ratio}× what it was (95 %: ${effect.ratio_low} to ${effect.ratio_high}).`}
        {effect.sessions_needed !== null && ` About ${effect.sessions_needed} more sessions would show a halving.`}
      </p>
      <Curve points={effect.curve} />
    </div>
  );
}

function Detail({ found }: { found: PatternDetail }): JSX.Element {
  const pattern = found.pattern ?? found.candidates?.[0] ?? found.patterns?.[0];
  if (!pattern) return <Empty title="Its sessions were forgotten" />;
  const isDecided = pattern.state === "approved" || pattern.state === "provisional";
  return (
    <section aria-label={pattern.name}>
      <h2>{visible(pattern.name)}</h2>
      <p class="faint">{shortWorkspace(pattern.workspace)} · {count(pattern.sessions, "session")} on {count(pattern.days, "day")} · overcome in {pattern.overcome} · {pattern.minutes} minutes{pattern.level && ` · evidence: ${pattern.level}`} · last <Ago at={pattern.last} /></p>
      {pattern.guidance && <blockquote>{visible(pattern.guidance)}</blockquote>}
      {found.similar?.map((similar) => <p class="note">{similar.duplicate ? "Already said" : "Similar"} in {visible(similar.source)}: {visible(similar.text)}</p>)}
      <p class="faint">Approve writes the advice to the catalog of the repository, after showing the lines. Reject leaves it out. Discuss keeps it open with your note.</p>
      <div class="decide">
        <input aria-label="Why" placeholder="Why (optional)" value={why.value} onInput={(event) => (why.value = event.currentTarget.value)} />
        {!isDecided && <button type="button" class="primary" onClick={() => void decide(pattern, "approve")}>Approve…</button>}
        <button type="button" onClick={() => void decide(pattern, "reject")}>Reject</button>
        <button type="button" onClick={() => void decide(pattern, "discuss")}>Discuss</button>
        {isDecided && <button type="button" onClick={() => void decide(pattern, "withdraw")}>Withdraw…</button>}
      </div>
      <h3>Evidence</h3>
      <ul class="answers">{pattern.evidence.map((evidence) => (
        <li class="card"><p><a href={sessionPath(evidence.session, evidence.record)}>{visible(evidence.text ?? evidence.session)}</a></p><p class="faint">{evidence.session.split(":")[0]} · {evidence.times}×{evidence.overcome ? " · overcome" : " · not overcome"} · <Ago at={evidence.at} /></p></li>
      ))}</ul>
      {(found.effects?.length ?? 0) > 0 && <><h3>Effect</h3>{found.effects!.map((effect) => <EffectView effect={effect} />)}</>}
      {(found.placements?.length ?? 0) > 0 && <><h3>Where it is</h3><ul>{found.placements!.map((place) => <li><code>{visible(place.path)}</code> {place.version} <span class="tag">{place.state}</span></li>)}</ul></>}
      {(found.reviews?.length ?? 0) > 0 && <><h3>Decisions</h3><ul>{found.reviews!.map((review) => <li>{review.decision}{review.why && `: ${review.why}`} <span class="faint"><Ago at={review.at} /></span></li>)}</ul></>}
    </section>
  );
}

export function PatternsScreen(): JSX.Element {
  const id = route.value.id;
  return (
    <main>
      <div class="screen-head">
        <h1>Patterns</h1>
        {id && <a href="/ui/patterns">← All patterns</a>}
      </div>
      {!id && <p class="intro">What recurs across sessions, with the advice that follows from it. Approve an advice and it is written to a file of the repository, where agents read it; the page then measures whether it helped.</p>}
      {id ? <Show of={detail}>{(found) => <Detail found={found} />}</Show> : (
        <Show of={list} retry={() => void loadList()}>
          {(found) => {
            const patterns = found.patterns ?? found.candidates ?? [];
            const state = parameters.value.get("state");
            const shown = patterns.filter((pattern) => !state || pattern.state === state);
            return shown.length === 0
              ? <Empty title="No patterns yet"><p>A problem that recurs in several sessions becomes a pattern here, with its evidence.</p></Empty>
              : <ol class="patterns">{shown.map((pattern) => <Row key={pattern.id} pattern={pattern} isOpen={false} />)}</ol>;
          }}
        </Show>
      )}
    </main>
  );
}
