//! Grok: `.grok/sessions/<encoded cwd>/<id>/{updates.jsonl,summary.json}`.
//!
//! Text arrives in chunks, a line each; a tool call is one line to begin with and two updates.

mod tools;

use std::io;

use self::tools::{results, tool};

use super::json::{Object, array};
use super::rng::Rng;
use super::sink::Sink;
use super::story::{self, Call, Step};
use super::vocabulary::Vocabulary;
use super::{Clock, Plan, iso};

const MODEL: &str = "grok-build-1";
const CHUNK_BYTES: usize = 160;

pub fn write(plan: &Plan<'_>, rng: Rng, words: &Vocabulary, sink: &mut Sink) -> io::Result<()> {
    let mut log = Log::start(plan, rng, sink)?;
    let mut title = String::new();
    let mut turns = 0;
    while log.sink.lines() < plan.lines_min {
        let turn = story::turn(&mut log.rng, words, plan, turns);
        turns += 1;
        log.sink.expect(&turn.secrets);
        log.turn_start(&turn.prompt)?;
        for step in &turn.steps {
            log.step(step)?;
        }
        log.chunks("agent_message_chunk", &turn.answer)?;
        log.turn_end()?;
        if title.is_empty() {
            title = turn.prompt.chars().take(60).collect();
        }
    }
    log.summary(&title)
}

struct Log<'a> {
    rng: Rng,
    sink: &'a mut Sink,
    plan: &'a Plan<'a>,
    directory: String,
    session: String,
    clock: Clock,
    prompt: String,
    prompts: usize,
    events: usize,
    total_tokens: usize,
    turn_tokens: usize,
}

impl<'a> Log<'a> {
    fn start(plan: &'a Plan<'a>, mut rng: Rng, sink: &'a mut Sink) -> io::Result<Self> {
        let session = format!("019{}", &rng.uuid('7')[3..]);
        let cwd = plan.project.cwd.replace('/', "%2F");
        let directory = format!(".grok/sessions/{cwd}/{session}");
        sink.open(format!("{directory}/updates.jsonl"))?;
        Ok(Self {
            sink,
            plan,
            directory,
            session,
            clock: Clock(plan.start_ms),
            prompt: String::new(),
            prompts: 0,
            events: 0,
            total_tokens: rng.between(9000, 15_000),
            turn_tokens: 0,
            rng,
        })
    }

    fn turn_start(&mut self, prompt: &str) -> io::Result<()> {
        self.clock.tick(&mut self.rng, 60_000.0);
        self.prompt = self.rng.uuid('4');
        self.turn_tokens = 0;
        self.hook("user_prompt_submit")?;
        let meta = Object::new()
            .text("modelId", MODEL)
            .raw("promptIndex", self.prompts);
        self.prompts += 1;
        let update = content("user_message_chunk", prompt).object("_meta", meta);
        self.update("session/update", update)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        if let Some(thinking) = &step.thinking {
            self.chunks("agent_thought_chunk", thinking)?;
        }
        if let Some(text) = &step.says {
            self.chunks("agent_message_chunk", text)?;
        }
        for call in &step.calls {
            self.call(call)?;
        }
        Ok(())
    }

    fn chunks(&mut self, kind: &str, text: &str) -> io::Result<()> {
        let mut rest = text;
        while !rest.is_empty() {
            let cut = rest.ceil_char_boundary(self.rng.between(CHUNK_BYTES / 2, CHUNK_BYTES * 2));
            let (chunk, after) = rest.split_at(cut);
            self.clock.tick(&mut self.rng, 120.0);
            self.spend(chunk.len() / 4);
            self.update("session/update", content(kind, chunk))?;
            rest = after;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> io::Result<()> {
        let id = format!("call_{}", self.rng.hex(24));
        let (name, kind, input) = tool(&call.action);
        let about = Object::new()
            .raw("version", 1)
            .text("name", name)
            .text("kind", kind);
        let meta = Object::new().object("x.ai/tool", about);
        let begin = Object::new()
            .text("sessionUpdate", "tool_call")
            .text("toolCallId", &id)
            .text("title", name)
            .object("rawInput", input.clone())
            .object("_meta", meta.clone());
        self.update("session/update", begin)?;
        self.hook("pre_tool_use")?;
        let asked = Object::new()
            .text("sessionUpdate", "tool_call_update")
            .text("toolCallId", &id)
            .text("kind", kind)
            .text("title", name)
            .object("rawInput", input)
            .object("_meta", meta);
        self.update("session/update", asked)?;
        self.clock.tick(&mut self.rng, 1200.0);
        let (shown, raw) = results(&mut self.rng, call);
        self.spend(shown.len() / 4);
        let text = Object::new().text("type", "text").text("text", &shown);
        let content = Object::new()
            .text("type", "content")
            .object("content", text);
        let done = Object::new()
            .text("sessionUpdate", "tool_call_update")
            .text("toolCallId", &id)
            .text("status", if call.failed { "failed" } else { "completed" })
            .raw("content", array(&[content]))
            .object("rawOutput", raw);
        self.update("session/update", done)
    }

    fn hook(&mut self, event: &str) -> io::Result<()> {
        let status = Object::new()
            .text("status", "success")
            .raw("elapsed_ms", 12);
        let run = Object::new()
            .text("name", &format!("global/memory:{event}[0].hooks[0]"))
            .object("status", status);
        let update = Object::new()
            .text("sessionUpdate", "hook_execution")
            .text("event_name", event)
            .text("prompt_id", &self.prompt)
            .raw("runs", array(&[run]));
        self.update("_x.ai/session/update", update)
    }

    fn turn_end(&mut self) -> io::Result<()> {
        let output = self.turn_tokens / 5;
        let usage = Object::new()
            .raw("inputTokens", self.total_tokens)
            .raw("outputTokens", output)
            .raw("totalTokens", self.total_tokens + output)
            .raw("cachedReadTokens", self.total_tokens * 4 / 5)
            .raw("reasoningTokens", output / 4)
            .raw("modelCalls", 4);
        let update = Object::new()
            .text("sessionUpdate", "turn_completed")
            .text("prompt_id", &self.prompt)
            .text("stop_reason", "end_turn")
            .object("usage", usage)
            .raw("elapsed_ms", 2485);
        self.update("_x.ai/session/update", update)
    }

    fn spend(&mut self, tokens: usize) {
        self.total_tokens += tokens;
        self.turn_tokens += tokens;
    }

    fn update(&mut self, method: &str, update: Object) -> io::Result<()> {
        self.events += 1;
        let meta = Object::new()
            .raw("totalTokens", self.total_tokens)
            .text("eventId", &format!("{}-{}", self.session, self.events))
            .raw("agentTimestampMs", self.clock.0)
            .text("promptId", &self.prompt);
        let params = Object::new()
            .text("sessionId", &self.session)
            .object("update", update)
            .object("_meta", meta);
        let line = Object::new()
            .raw("timestamp", self.clock.0 / 1000)
            .text("method", method)
            .object("params", params);
        self.sink.line(&line.to_string())
    }

    fn summary(&mut self, title: &str) -> io::Result<()> {
        let cwd = &self.plan.project.cwd;
        let summary = Object::new()
            .object(
                "info",
                Object::new().text("id", &self.session).text("cwd", cwd),
            )
            .text("session_summary", title)
            .text("created_at", &iso(self.plan.start_ms))
            .text("updated_at", &self.clock.iso())
            .raw("num_messages", self.events)
            .text("current_model_id", MODEL)
            .raw("chat_format_version", 1)
            .text("git_root_dir", cwd)
            .raw(
                "git_remotes",
                array(&[super::json::quoted(&self.plan.project.remote)]),
            )
            .text("head_commit", &self.rng.hex(40))
            .text("head_branch", &self.plan.branch)
            .text("generated_title", title);
        self.sink.file(
            &format!("{}/summary.json", self.directory),
            &format!("{summary}\n"),
        )
    }
}

fn content(kind: &str, text: &str) -> Object {
    let content = Object::new().text("type", "text").text("text", text);
    Object::new()
        .text("sessionUpdate", kind)
        .object("content", content)
}
