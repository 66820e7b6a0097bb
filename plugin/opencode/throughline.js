// Throughline: passes opencode's events to `throughline hook` and its answers back to opencode.
// Written by `throughline install`, removed by `throughline uninstall`. It never throws, and waits
// for an answer for at most a second.
import { spawn } from "node:child_process";

const PROGRAM = "throughline"; // PROGRAM
const TIMEOUT_MS = 1000;
const ANSWER_CHARS_MAX = 64 * 1024;
const PROMPT_CHARS_MAX = 4000;
const SESSIONS_MAX = 100;

const ask = (payload) =>
  new Promise((resolve) => {
    let child;
    let answer = "";
    const end = (reply) => {
      clearTimeout(timer);
      resolve(reply);
    };
    const timer = setTimeout(() => {
      if (child) child.kill();
      end({});
    }, TIMEOUT_MS);
    try {
      child = spawn(PROGRAM, ["hook", "--agent", "opencode"], {
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      });
      child.on("error", () => end({}));
      child.stdin.on("error", () => {});
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (part) => {
        if (answer.length < ANSWER_CHARS_MAX) answer += part;
      });
      child.on("close", () => {
        try {
          end(JSON.parse(answer) || {});
        } catch {
          end({});
        }
      });
      child.stdin.end(JSON.stringify({ agent: "opencode", ...payload }));
    } catch {
      end({});
    }
  });

const isText = (value) => typeof value === "string" && value !== "";

// Events after which the daemon should read the session again.
const FORWARDED = new Set([
  "session.created",
  "session.idle",
  "session.compacted",
  "session.deleted",
]);

// opencode also calls the system hook for the request that generates a session's title. Nothing
// but the prompt tells that request apart.
const TITLE_PROMPT = /^\s*You are a title generator/i;

export const Throughline = async ({ client, directory, worktree } = {}) => {
  const cwd = directory || worktree || process.cwd();
  // Returns the context of the answer, and shows the notice in the terminal if there is one.
  const contextFor = async (payload) => {
    const { context, notice } = await ask(payload);
    if (isText(notice)) {
      const toast = client?.tui?.showToast({ body: { message: notice, variant: "info" } });
      Promise.resolve(toast).catch(() => {});
    }
    return isText(context) ? context : null;
  };
  const sessions = new Map();
  // Returns the state of a session. The map is a least-recently-used cache.
  const stateOf = (id) => {
    const state = sessions.get(id) || { source: "resume", given: undefined, compactions: 0 };
    sessions.delete(id);
    if (sessions.size >= SESSIONS_MAX) sessions.delete(sessions.keys().next().value);
    sessions.set(id, state);
    return state;
  };
  // A subagent has its own session, with a parent. It gets no context.
  const payload = (id, state) => ({
    session_id: id,
    cwd,
    ...(state.parent ? { agent_id: id } : {}),
  });
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
        const state = stateOf(session_id);
        state.prompt = prompt.slice(0, PROMPT_CHARS_MAX);
        if (state.parent) return;
        const prompt_id = output?.message?.id || input?.messageID;
        const context = await contextFor({
          event: "chat.message",
          ...payload(session_id, state),
          prompt,
          ...(prompt_id ? { prompt_id } : {}),
        });
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
        const state = stateOf(session_id);
        // The request that compacts a conversation has a hook of its own, below.
        if (state.parent || state.compacting || TITLE_PROMPT.test(output.system[0] || "")) return;
        if (state.given === undefined) {
          const { source, compactions } = state;
          state.given = await contextFor({
            event: "system.transform",
            ...payload(session_id, state),
            source,
            ...(source === "compact" ? { prompt_id: `compaction-${compactions}` } : {}),
          });
        }
        if (state.given) output.system.push(state.given);
      } catch {}
    },
    "experimental.session.compacting": async (input, output) => {
      try {
        const session_id = input?.sessionID;
        if (!session_id || !Array.isArray(output?.context)) return;
        const state = stateOf(session_id);
        state.compacting = true;
        state.compactions += 1;
        const context = await contextFor({
          event: "session.compacting",
          ...payload(session_id, state),
          prompt_id: `compaction-${state.compactions}`,
          ...(state.prompt ? { prompt: state.prompt } : {}),
        });
        if (context) output.context.push(context);
      } catch {}
    },
    event: async ({ event } = {}) => {
      try {
        const session_id = event?.properties?.sessionID || event?.properties?.info?.id;
        if (!session_id) return;
        const parent = event.properties?.info?.parentID;
        if (parent) stateOf(session_id).parent = parent;
        if (!FORWARDED.has(event.type)) return;
        const state = stateOf(session_id);
        if (event.type === "session.created") state.source = "startup";
        if (event.type === "session.idle") state.compacting = false;
        if (event.type === "session.compacted") {
          // The next request gets the summary of the messages that were cut.
          Object.assign(state, { source: "compact", given: undefined, compacting: false });
        }
        if (event.type === "session.deleted") sessions.delete(session_id);
        await ask({ event: "event", type: event.type, ...payload(session_id, state) });
      } catch {}
    },
  };
};
