//! Codex: `.codex/sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl`.
//!
//! Messages are told twice, as an event for the screen and as a response item for the model, and
//! a token count with growing totals follows every response.

mod tools;

use std::io;

use super::json::{Object, array};
use super::rng::Rng;
use super::sink::Sink;
use super::story::{self, Step};
use super::vocabulary::Vocabulary;
use super::{Clock, Plan, iso};

const VERSIONS: [&str; 3] = ["0.98.0", "0.125.0", "0.140.0"];
/// The instructions that every session of a version begins with are about this long.
const INSTRUCTIONS_BYTES: usize = 12_000;

pub fn write(plan: &Plan<'_>, rng: Rng, words: &Vocabulary, sink: &mut Sink) -> io::Result<()> {
    let mut log = Log::start(plan, rng, sink)?;
    log.session_meta(words)?;
    let mut turns = 0;
    while log.sink.lines() < plan.lines_min {
        let turn = story::turn(&mut log.rng, words, plan, turns);
        turns += 1;
        log.sink.expect(&turn.secrets);
        log.turn_start(&turn.prompt)?;
        for step in &turn.steps {
            log.step(step)?;
        }
        log.says(&turn.answer, "final_answer")?;
        log.token_count(turn.answer.len())?;
        log.turn_end(&turn.answer)?;
    }
    Ok(())
}

struct Log<'a> {
    rng: Rng,
    sink: &'a mut Sink,
    plan: &'a Plan<'a>,
    session: String,
    version: &'static str,
    clock: Clock,
    turn: String,
    context_tokens: usize,
    total: Usage,
}

#[derive(Clone, Copy, Default)]
struct Usage {
    input: usize,
    cached: usize,
    output: usize,
    reasoning: usize,
}

impl<'a> Log<'a> {
    fn start(plan: &'a Plan<'a>, mut rng: Rng, sink: &'a mut Sink) -> io::Result<Self> {
        let session = format!("019{}", &rng.uuid('7')[3..]);
        let started = iso(plan.start_ms);
        let (date, time) = (
            started[..10].replace('-', "/"),
            started[..19].replace(':', "-"),
        );
        sink.open(format!(
            ".codex/sessions/{date}/rollout-{time}-{session}.jsonl"
        ))?;
        Ok(Self {
            sink,
            plan,
            session,
            version: rng.pick(&VERSIONS),
            clock: Clock(plan.start_ms),
            turn: String::new(),
            context_tokens: rng.between(9000, 16_000),
            total: Usage::default(),
            rng,
        })
    }

    fn session_meta(&mut self, words: &Vocabulary) -> io::Result<()> {
        // The same for every session of a version, whatever its seed.
        let instructions = words.prose(
            &mut Rng::new(self.version.bytes().map(u64::from).sum()),
            INSTRUCTIONS_BYTES,
        );
        let git = Object::new()
            .text("commit_hash", &self.rng.hex(40))
            .text("branch", &self.plan.branch)
            .text("repository_url", &self.plan.project.remote);
        let payload = Object::new()
            .text("id", &self.session)
            .text("timestamp", &self.clock.iso())
            .text("cwd", &self.plan.project.cwd)
            .text("originator", "codex-tui")
            .text("cli_version", self.version)
            .text("source", "cli")
            .text("model_provider", "openai")
            .object(
                "base_instructions",
                Object::new().text("text", &instructions),
            )
            .object("git", git);
        self.line("session_meta", payload)?;
        let context = format!(
            "<environment_context>\n  <cwd>{}</cwd>\n  <shell>bash</shell>\n</environment_context>",
            self.plan.project.cwd
        );
        self.message("user", "input_text", &context, None)
    }

    fn turn_start(&mut self, prompt: &str) -> io::Result<()> {
        self.clock.tick(&mut self.rng, 60_000.0);
        self.turn = format!("019{}", &self.rng.uuid('7')[3..]);
        let started = Object::new()
            .text("type", "task_started")
            .text("turn_id", &self.turn)
            .raw("started_at", self.clock.0 / 1000)
            .raw("model_context_window", 258_400);
        self.line("event_msg", started)?;
        let context = Object::new()
            .text("turn_id", &self.turn)
            .text("cwd", &self.plan.project.cwd)
            .text("current_date", &self.clock.iso()[..10])
            .text("approval_policy", "on-request")
            .object(
                "sandbox_policy",
                Object::new().text("type", "workspace-write"),
            )
            .text("model", "gpt-5.4")
            .text("effort", "medium")
            .text("summary", "auto");
        self.line("turn_context", context)?;
        self.message("user", "input_text", prompt, None)?;
        let event = Object::new()
            .text("type", "user_message")
            .text("message", prompt)
            .raw("images", "[]");
        self.line("event_msg", event)
    }

    fn step(&mut self, step: &Step) -> io::Result<()> {
        self.clock.tick(&mut self.rng, 4000.0);
        if let Some(thinking) = &step.thinking {
            let summary = Object::new()
                .text("type", "summary_text")
                .text("text", thinking);
            let letters = self.rng.size(700.0, 0.6, 9000);
            let item = Object::new()
                .text("type", "reasoning")
                .raw("summary", array(&[summary]))
                .raw("content", "null")
                .text("encrypted_content", &self.rng.base64(letters));
            let event = Object::new()
                .text("type", "agent_reasoning")
                .text("text", thinking);
            self.line("event_msg", event)?;
            self.line("response_item", item)?;
        }
        if let Some(text) = &step.says {
            self.says(text, "commentary")?;
        }
        for call in &step.calls {
            self.call(call)?;
        }
        let written = step.thinking.as_ref().map_or(0, String::len);
        self.token_count(written + 200)
    }

    /// Writes what the model says, both times.
    fn says(&mut self, text: &str, phase: &str) -> io::Result<()> {
        self.clock.tick(&mut self.rng, 1500.0);
        let event = Object::new()
            .text("type", "agent_message")
            .text("message", text)
            .text("phase", phase);
        self.line("event_msg", event)?;
        self.message("assistant", "output_text", text, Some(phase))
    }

    fn message(
        &mut self,
        role: &str,
        kind: &str,
        text: &str,
        phase: Option<&str>,
    ) -> io::Result<()> {
        let content = Object::new().text("type", kind).text("text", text);
        let mut item = Object::new()
            .text("type", "message")
            .text("role", role)
            .raw("content", array(&[content]));
        if let Some(phase) = phase {
            item = item.text("phase", phase);
        }
        self.line("response_item", item)
    }

    fn token_count(&mut self, written_bytes: usize) -> io::Result<()> {
        let output = 20 + written_bytes / 4;
        let last = Usage {
            input: self.context_tokens,
            cached: self.context_tokens * 9 / 10,
            output,
            reasoning: output / 3,
        };
        self.context_tokens += output;
        self.total = Usage {
            input: self.total.input + last.input,
            cached: self.total.cached + last.cached,
            output: self.total.output + last.output,
            reasoning: self.total.reasoning + last.reasoning,
        };
        let info = Object::new()
            .object("total_token_usage", self.total.object())
            .object("last_token_usage", last.object())
            .raw("model_context_window", 258_400);
        let primary = Object::new()
            .raw("used_percent", "12.5")
            .raw("window_minutes", 300)
            .raw("resets_at", self.clock.0 / 1000 + 7200);
        let event = Object::new()
            .text("type", "token_count")
            .object("info", info)
            .object(
                "rate_limits",
                Object::new()
                    .object("primary", primary)
                    .raw("secondary", "null"),
            );
        self.line("event_msg", event)
    }

    fn turn_end(&mut self, answer: &str) -> io::Result<()> {
        let event = Object::new()
            .text("type", "task_complete")
            .text("turn_id", &self.turn)
            .text("last_agent_message", answer);
        self.line("event_msg", event)
    }

    fn line(&mut self, kind: &str, payload: Object) -> io::Result<()> {
        let line = Object::new()
            .text("timestamp", &self.clock.iso())
            .text("type", kind)
            .object("payload", payload);
        self.sink.line(&line.to_string())
    }
}

impl Usage {
    fn object(self) -> Object {
        Object::new()
            .raw("input_tokens", self.input)
            .raw("cached_input_tokens", self.cached)
            .raw("output_tokens", self.output)
            .raw("reasoning_output_tokens", self.reasoning)
            .raw("total_tokens", self.input + self.output)
    }
}
