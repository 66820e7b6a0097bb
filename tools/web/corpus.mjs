// Writes Claude Code logs for the benchmark: one long session, and many of usual length.
//
// Usage: node corpus.mjs FOLDER RECORDS

import { mkdirSync, writeFileSync } from "node:fs";

const [folder, records] = process.argv.slice(2);
const LONG_RECORDS = 57_343;
const USUAL_RECORDS = 170;

/** A generator of the same numbers in every run. */
let state = 1;
function random(below) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

const STEMS = "cache queue parser index ledger window record planner socket migration tenant invoice bucket cursor shard token widget metric router vector".split(" ");
const VERBS = "rebuild rename trim split merge retry drain warm prune hash sort fetch store check count".split(" ");
const word = () => `${VERBS[random(VERBS.length)]}_${STEMS[random(STEMS.length)]}${random(400)}`;
const words = (count) => Array.from({ length: count }, (_, at) => (at % 3 ? STEMS[random(STEMS.length)] : word())).join(" ");

/** The lines of one session: prompts, answers with markup and code, calls with results. */
function session(id, count, start) {
  const lines = [];
  const common = (n) => ({
    sessionId: id, cwd: "/home/dev/bench", version: "2.0.0", gitBranch: "main", isSidechain: false, userType: "external",
    uuid: `${id.slice(0, 24)}${String(n).padStart(12, "0")}`, parentUuid: null, timestamp: new Date(start + n * 2_000).toISOString(),
  });
  for (let n = 0; n < count; ) {
    const call = `toolu_${id.slice(0, 8)}${n}`;
    lines.push({ ...common(n++), type: "user", message: { role: "user", content: `Please ${words(8)}` } });
    for (let step = 0; step < 4 && n < count; step++) {
      lines.push({ ...common(n++), type: "assistant", message: { id: `msg_${n}`, role: "assistant", model: "claude-sonnet-4-5", content: [{ type: "tool_use", id: `${call}${step}`, name: "Bash", input: { command: `cargo test ${word()}`, description: words(3) } }], usage: { input_tokens: 900 + random(500), output_tokens: 40 } } });
      lines.push({ ...common(n++), type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: `${call}${step}`, content: Array.from({ length: 3 + random(12) }, () => words(6)).join("\n") }] } });
    }
    if (n < count) lines.push({ ...common(n++), type: "assistant", message: { id: `msg_${n}`, role: "assistant", model: "claude-sonnet-4-5", content: [{ type: "text", text: `**Done**: ${words(20)}.\n\n- ${words(4)}\n- \`${word()}\`\n\n\`\`\`rust\nfn ${word()}() -> usize { ${random(900)} }\n\`\`\`` }], usage: { input_tokens: 1_000, output_tokens: 90 } } });
  }
  return lines.map((line) => JSON.stringify(line)).join("\n") + "\n";
}

const project = `${folder}/-home-dev-bench`;
mkdirSync(project, { recursive: true });
const id = (n) => `${String(n).padStart(8, "0")}-0000-4000-8000-000000000000`;
const day = 86_400_000;
const first = Date.UTC(2026, 0, 5);
writeFileSync(`${project}/${id(0)}.jsonl`, session(id(0), LONG_RECORDS, first));
for (let n = 1; n * USUAL_RECORDS <= Number(records); n++) {
  writeFileSync(`${project}/${id(n)}.jsonl`, session(id(n), USUAL_RECORDS, first + (n % 300) * day));
}
