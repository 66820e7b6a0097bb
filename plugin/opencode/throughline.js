// Throughline: hands what happens in opencode to `throughline hook`, and what memory has to say back.
// Written by `throughline install`; `throughline uninstall` removes it. It never throws and never waits long.
import { spawn } from "node:child_process";

const PROGRAM = "throughline"; // PROGRAM
const TIMEOUT_MS = 1000;
const ANSWER_CHARS_MAX = 64 * 1024;
const SESSIONS_MAX = 100;

const ask = (payload) =>
  new Promise((resolve) => {
    let child;
    let answer = "";
    const end = (context) => {
      clearTimeout(timer);
      resolve(context);
    };
    const timer = setTimeout(() => {
      if (child) child.kill();
      end(null);
    }, TIMEOUT_MS);
    try {
      child = spawn(PROGRAM, ["hook", "--agent", "opencode"], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      });
      child.on("error", () => end(null));
      child.stdin.on("error", () => {});
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (part) => {
        if (answer.length < ANSWER_CHARS_MAX) answer += part;
      });
      child.on("close", () => {
        try {
          const { context } = JSON.parse(answer);
          end(typeof context === "string" && context ? context : null);
        } catch {
          end(null);
        }
      });
      child.stdin.end(JSON.stringify({ agent: "opencode", ...payload }));
    } catch {
      end(null);
    }
  });

// Events after which the log is worth reading again.
const TOLD = new Set(["session.created", "session.idle", "session.compacted", "session.deleted"]);

export const Throughline = async ({ directory, worktree } = {}) => {
  const cwd = directory || worktree || process.cwd();
  // What a session was given at its start, said again with every request as the system prompt is.
  const given = new Map();
  const remember = (session, context) => {
    if (given.size >= SESSIONS_MAX) given.delete(given.keys().next().value);
    given.set(session, context);
  };
  const text = (parts) =>
    (parts || [])
      .filter((part) => part && part.type === "text" && !part.synthetic)
      .map((part) => part.text)
      .join("\n");

  return {
    "chat.message": async (input, output) => {
      try {
        const session_id = input?.sessionID || output?.message?.sessionID;
        const prompt = text(output?.parts);
        if (!session_id || !prompt) return;
        const context = await ask({ event: "chat.message", session_id, cwd, prompt });
        const like = (output.parts || []).find((part) => part && part.type === "text");
        if (context && like) {
          const id = `${like.id || "prt"}_throughline`;
          output.parts.unshift({ ...like, id, text: context, synthetic: true });
        }
      } catch {}
    },
    "experimental.chat.system.transform": async (input, output) => {
      try {
        const session_id = input?.sessionID;
        if (!session_id || !Array.isArray(output?.system)) return;
        if (!given.has(session_id)) {
          remember(session_id, await ask({ event: "system.transform", session_id, cwd }));
        }
        const context = given.get(session_id);
        if (context) output.system.push(context);
      } catch {}
    },
    "experimental.session.compacting": async (input, output) => {
      try {
        const session_id = input?.sessionID;
        if (!session_id || !Array.isArray(output?.context)) return;
        const context = await ask({ event: "session.compacting", session_id, cwd });
        if (context) output.context.push(context);
      } catch {}
    },
    event: async ({ event } = {}) => {
      try {
        if (!TOLD.has(event?.type)) return;
        const session_id = event.properties?.sessionID || event.properties?.info?.id;
        if (!session_id) return;
        // After a compaction the session is told anew.
        if (event.type !== "session.idle") given.delete(session_id);
        await ask({ event: "event", type: event.type, session_id, cwd });
      } catch {}
    },
  };
};
