// Throughline: passes Pi's events to `throughline hook` and its answers back to Pi, and gives the
// model the tools of `throughline mcp`, which Pi cannot call itself. Written by `throughline
// install`, removed by `throughline uninstall`. It never throws, and waits for the answer to an
// event for at most a second.
import { spawn } from "node:child_process";

const PROGRAM = "throughline"; // PROGRAM
const TIMEOUT_MS = 1000;
const TOOL_TIMEOUT_MS = 10_000;
const ANSWER_CHARS_MAX = 64 * 1024;

// Runs the program with an input and returns what it prints, or nothing when it is late.
const run = (args, input, timeout) =>
  new Promise((resolve) => {
    let child;
    let answer = "";
    const end = (reply) => {
      clearTimeout(timer);
      resolve(reply);
    };
    const timer = setTimeout(() => {
      if (child) child.kill();
      end("");
    }, timeout);
    try {
      child = spawn(PROGRAM, args, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true });
      child.on("error", () => end(""));
      child.stdin.on("error", () => {});
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (part) => {
        if (answer.length < ANSWER_CHARS_MAX) answer += part;
      });
      child.on("close", () => end(answer));
      child.stdin.end(input);
    } catch {
      end("");
    }
  });

const parse = (line) => {
  try {
    return JSON.parse(line) || {};
  } catch {
    return {};
  }
};

const ask = async (payload) => {
  const input = JSON.stringify({ agent: "pi", ...payload });
  return parse(await run(["hook", "--agent", "pi"], input, TIMEOUT_MS));
};

// Calls a tool of `throughline mcp`, which ends when its input does.
const callTool = async (name, args, cwd) => {
  const clientInfo = { name: "pi", version: "1" };
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const input = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name, arguments: args } },
  ];
  const lines = input.map((message) => `${JSON.stringify(message)}\n`).join("");
  const printed = await run(["mcp", "--folder", cwd], lines, TOOL_TIMEOUT_MS);
  const answer = printed.split("\n").map(parse).find((message) => message.id === 2);
  const said = (answer?.result?.content ?? []).map((part) => part?.text ?? "").join("\n");
  return said || answer?.error?.message || "memory did not answer";
};

const string = (description) => ({ type: "string", description });

const TOOLS = [
  {
    name: "memory_search",
    label: "Search memory",
    description:
      "Search the earlier sessions in this repository, of all coding agents: what was decided, " +
      "tried, fixed and said. Ask a question or give names, error codes, paths.",
    parameters: {
      type: "object",
      properties: { query: string("A question, words, names, error codes, paths") },
      required: ["query"],
    },
  },
  {
    name: "memory_get",
    label: "Read memory",
    description: "Read a hit of memory_search in full, with what stands around it.",
    parameters: {
      type: "object",
      properties: { id: string("The id of a hit") },
      required: ["id"],
    },
  },
  {
    name: "memory_remember",
    label: "Remember",
    description: "Save a decision with its reason, or what was learned, for later sessions.",
    parameters: {
      type: "object",
      properties: { text: string("One sentence that stands by itself") },
      required: ["text"],
    },
  },
];

const text = (value) => (typeof value === "string" && value ? [value] : []);

export default function (pi) {
  // The answer to the start of the session, which goes to the model with the first prompt.
  let given = [];
  let prompts = 0;

  const send = async (ctx, event, more = {}) => {
    try {
      const session_id = ctx.sessionManager.getSessionId();
      const transcript_path = ctx.sessionManager.getSessionFile();
      const reply = await ask({ event, session_id, transcript_path, cwd: ctx.cwd, ...more });
      for (const notice of text(reply.notice)) if (ctx.hasUI) ctx.ui.notify(notice, "info");
      return text(reply.context);
    } catch {
      return [];
    }
  };

  for (const tool of TOOLS) {
    const execute = async (_id, params, _signal, _update, ctx) => {
      const text = await callTool(tool.name, params, ctx.cwd);
      return { content: [{ type: "text", text }], details: {} };
    };
    try {
      pi.registerTool({ ...tool, execute });
    } catch {
      // Versions of Pi without tools of extensions still get memory with their prompts.
    }
  }
  pi.on("session_start", async (event, ctx) => {
    given = await send(ctx, "session_start", { source: event?.reason });
  });
  pi.on("before_agent_start", async (event, ctx) => {
    prompts += 1;
    const answer = await send(ctx, "before_agent_start", {
      prompt: event?.prompt,
      prompt_id: `prompt-${prompts}`,
    });
    const content = [...given, ...answer].join("\n");
    given = [];
    if (!content) return undefined;
    return { message: { customType: "throughline", content, display: false } };
  });
  pi.on("session_compact", async (_event, ctx) => void (await send(ctx, "session_compact")));
  pi.on("agent_end", async (_event, ctx) => void (await send(ctx, "agent_end")));
  pi.on("session_shutdown", async (_event, ctx) => void (await send(ctx, "session_shutdown")));
}
