//! Claude Code: `.claude/projects/<cwd>/<uuid>.jsonl`.
//!
//! One response is several lines with the same `message.id`, each with the usage, and the result
//! of one tool call may stand between two of them.

mod noise;
mod tools;

use std::io;

use self::tools::{results, tool};

use super::json::{Object, array};
use super::rng::Rng;
use super::sink::Sink;
use super::story::{self, Action, Call, Step};
use super::vocabulary::Vocabulary;
use super::{Clock, Plan};

const VERSIONS: [&str; 4] = ["2.0.76", "2.1.45", "2.1.114", "2.1.219"];
const MODELS: [&str; 3] = [
    "claude-sonnet-4-5-20250929", "claude-opus-4-7", "claude-haiku-4-5-20251001",
];
/// The version whose logs are full of progress lines.
const WITH_PROGRESS: &str = "2.1.45";

/// Past this the agent compacts.
const CONTEXT_TOKENS_MAX: usize = 155_000;

pub fn write(plan: &Plan<'_>, rng: Rng, words: &Vocabulary, sink: &mut Sink) -> io::Result<()> {
    let mut log = Log::start(plan, rng, words, sink)?;
    log.preamble()?;
    let mut turns = 0;
    while log.sink.lines() < plan.lines_min {
        let turn = story::turn(&mut log.rng, words, plan, turns);
        turns += 1;
        log.sink.expect(&turn.secrets);
        log.prompt(&turn.prompt)?;
        for step in &turn.steps {
            log.step(step)?;
        }
        log.step(&Step {
            thinking: None,
            says: Some(turn.answer),
            calls: Vec::new(),
        })?;
        log.turn_end(&turn.prompt)?;
        if log.context_tokens > CONTEXT_TOKENS_MAX {
            log.compaction()?;
        }
    }
    Ok(())
}

struct Log<'a> {
    rng: Rng,
    words: &'a Vocabulary,
    sink: &'a mut Sink,
    session: String,
    cwd: &'a str,
    branch: &'a str,
    version: &'static str,
    model: &'static str,
    clock: Clock,
    parent: Option<String>,
    prompt: String,
    context_tokens: usize,
}

impl<'a> Log<'a> {
    fn start(
        plan: &'a Plan<'_>,
        mut rng: Rng,
        words: &'a Vocabulary,
        sink: &'a mut Sink,
    ) -> io::Result<Self> {
        let session = rng.uuid('4');
        let cwd = plan.project.cwd.as_str();
        let directory = cwd.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        sink.open(format!(".claude/projects/{directory}/{session}.jsonl"))?;
        Ok(Self {
            words,
            sink,
            session,
            cwd,
            branch: &plan.branch,
            version: rng.pick(&VERSIONS),
            model: rng.pick(&MODELS),
            clock: Clock(plan.start_ms),
            parent: None,
            prompt: rng.uuid('4'),
            context_tokens: rng.between(12_000, 22_000),
            rng,
        })
    }

    fn prompt(&mut self, text: &str) -> io::Result<()> {
        self.prompt = self.rng.uuid('4');
        self.clock.tick(&mut self.rng, 60_000.0);
        let message = Object::new().text("role", "user").text("content", text);
        let record = self
            .opening()
            .text("promptId", &self.prompt)
            .text("type", "user")
            .object("message", message);
        let uuid = self.record(record, &Object::new().text("permissionMode", "acceptEdits"))?;
        let snapshot = Object::new()
            .text("messageId", &uuid)
            .raw("trackedFileBackups", "{}")
            .text("timestamp", &self.clock.iso());
        let line = Object::new()
            .text("type", "file-history-snapshot")
            .text("messageId", &uuid)
            .object("snapshot", snapshot)
            .raw("isSnapshotUpdate", false);
        self.sink.line(&line.to_string())
    }

    /// Writes one response and the results of its tool calls.
    fn step(&mut self, step: &Step) -> io::Result<()> {
        let response = Response::draw(self, step);
        if let Some(thinking) = &step.thinking {
            let letters = self.rng.size(420.0, 0.7, 9000);
            let block = Object::new()
                .text("type", "thinking")
                .text("thinking", thinking)
                .text("signature", &self.rng.base64(letters));
            self.block(&response, block)?;
        }
        if let Some(text) = &step.says {
            self.block(
                &response,
                Object::new().text("type", "text").text("text", text),
            )?;
        }
        // Calls run side by side: all are asked for first, or each result comes before the next.
        let together = self.rng.chance(0.5);
        let mut waiting = Vec::new();
        for call in &step.calls {
            let id = format!("toolu_01{}", self.rng.base62(22));
            let (name, input) = tool(&call.action);
            let block = Object::new()
                .text("type", "tool_use")
                .text("id", &id)
                .text("name", name)
                .object("input", input);
            let asked_by = self.block(&response, block)?;
            if together {
                waiting.push((id, asked_by, call));
            } else {
                self.result(&id, &asked_by, call)?;
            }
        }
        for (id, asked_by, call) in waiting {
            self.result(&id, &asked_by, call)?;
        }
        Ok(())
    }

    /// Writes one line of a response.
    fn block(&mut self, response: &Response, block: Object) -> io::Result<String> {
        self.clock.tick(&mut self.rng, 900.0);
        let message = Object::new()
            .text("model", self.model)
            .text("id", &response.id)
            .text("type", "message")
            .text("role", "assistant")
            .raw("content", array(&[block]))
            .text("stop_reason", response.stop)
            .raw("stop_sequence", "null")
            .raw("usage", &response.usage);
        let record = self
            .opening()
            .object("message", message)
            .text("requestId", &response.request)
            .text("type", "assistant");
        self.record(record, &Object::new())
    }

    fn result(&mut self, id: &str, asked_by: &str, call: &Call) -> io::Result<()> {
        if self.version == WITH_PROGRESS && matches!(call.action, Action::Shell { .. }) {
            self.progress(id)?;
        }
        self.clock.tick(&mut self.rng, 1500.0);
        let (shown, structured) = results(&mut self.rng, call);
        let mut block = Object::new()
            .text("tool_use_id", id)
            .text("type", "tool_result")
            .text("content", &shown);
        if call.failed {
            block = block.raw("is_error", true);
        }
        let message = Object::new()
            .text("role", "user")
            .raw("content", array(&[block]));
        let record = self
            .opening()
            .text("promptId", &self.prompt)
            .text("type", "user")
            .object("message", message);
        let more = Object::new()
            .object("toolUseResult", structured)
            .text("sourceToolAssistantUUID", asked_by);
        self.context_tokens += shown.len() / 4;
        self.record(record, &more)?;
        if self.rng.chance(0.12) {
            let reminder = Object::new()
                .text("type", "task_reminder")
                .raw("content", "[]")
                .raw("itemCount", 0);
            self.attachment(reminder)?;
        }
        Ok(())
    }

    fn opening(&self) -> Object {
        let object = Object::new();
        let object = match &self.parent {
            Some(parent) => object.text("parentUuid", parent),
            None => object.raw("parentUuid", "null"),
        };
        object.raw("isSidechain", false)
    }

    /// Writes a record of the conversation and returns its id, which the next one points to.
    fn record(&mut self, record: Object, more: &Object) -> io::Result<String> {
        let uuid = self.rng.uuid('4');
        let record = record
            .text("uuid", &uuid)
            .text("timestamp", &self.clock.iso())
            .append(more)
            .text("userType", "external")
            .text("entrypoint", "cli")
            .text("cwd", self.cwd)
            .text("sessionId", &self.session)
            .text("version", self.version)
            .text("gitBranch", self.branch);
        self.sink.line(&record.to_string())?;
        self.parent = Some(uuid.clone());
        Ok(uuid)
    }
}

/// What all lines of one response share.
struct Response {
    id: String,
    request: String,
    stop: &'static str,
    usage: Object,
}

impl Response {
    fn draw(log: &mut Log<'_>, step: &Step) -> Self {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let written = 40 + (text(&step.thinking) + text(&step.says)) / 4;
        let fresh = log.rng.between(100, 4000);
        let usage = Object::new()
            .raw("input_tokens", log.rng.between(3, 12))
            .raw("cache_creation_input_tokens", fresh)
            .raw("cache_read_input_tokens", log.context_tokens)
            .object(
                "cache_creation",
                Object::new()
                    .raw("ephemeral_5m_input_tokens", fresh)
                    .raw("ephemeral_1h_input_tokens", 0),
            )
            .raw("output_tokens", written)
            .text("service_tier", "standard");
        log.context_tokens += written + fresh;
        Self {
            id: format!("msg_01{}", log.rng.base62(22)),
            request: format!("req_011C{}", log.rng.base62(20)),
            stop: if step.calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            },
            usage,
        }
    }
}
