// Throughline: passes Pi's events to `throughline hook` and its answers back to Pi. Written by
// `throughline install`, removed by `throughline uninstall`. It never throws, and waits for an
// answer for at most a second.
import { spawn } from "node:child_process";

const PROGRAM = "throughline"; // PROGRAM
const TIMEOUT_MS = 1000;
const ANSWER_CHARS_MAX = 64 * 1024;

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
      child = spawn(PROGRAM, ["hook", "--agent", "pi"], {
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
      child.stdin.end(JSON.stringify({ agent: "pi", ...payload }));
    } catch {
      end({});
    }
  });

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
