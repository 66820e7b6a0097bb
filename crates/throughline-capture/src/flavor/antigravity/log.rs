//! Reads the steps of a transcript: a request, the model's plan with its calls, and one step for
//! the result of each call.

use std::collections::VecDeque;

use memory::{
    Block, Boundary, CallId, Flavor, IdChain, Message, Origin, Role, SessionId, SessionPatch,
    TitleRank, ToolResult, ToolUse,
};
use serde::{Deserialize, Serialize};

use super::discover::AntigravityLocation;
use super::wire::Step;
use crate::adapter::{load_state, save_state};
use crate::calls::OpenCalls;
use crate::title::first_line_title;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct AntigravityLogReader {
    location: AntigravityLocation,
    state: AntigravityReaderState,
}

/// The state that the next reader of the transcript needs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AntigravityReaderState {
    introduced: bool,
    titled: bool,
    model: Option<String>,
    cwd: Option<String>,
    chain: IdChain,
    calls: OpenCalls,
    /// The calls of the last plan without a result. Calls have no ids; results come in the order of
    /// the calls.
    pending: VecDeque<CallId>,
}

impl AntigravityLogReader {
    pub(crate) fn new(location: AntigravityLocation, state: Option<&str>) -> Self {
        Self {
            location,
            state: load_state(state),
        }
    }

    fn read_step(&mut self, step: &Step, line: u64, out: &mut ParseOutput) {
        // A step that is still running is written again when it is done.
        if matches!(
            &*step.status,
            "PENDING" | "RUNNING" | "GENERATING" | "WAITING"
        ) {
            return;
        }
        if !self.state.introduced {
            self.state.introduced = true;
            out.push(self.patch());
        }
        match (&*step.source, &*step.kind) {
            (_, "USER_INPUT") => self.emit_request(step, line, out),
            (_, "PLANNER_RESPONSE") => self.emit_plan(step, line, out),
            (_, "CHECKPOINT") => {
                let boundary = Block::Boundary(Boundary::default());
                let blocks = vec![boundary, Block::Summary(step.content.clone())];
                self.emit_message(step, line, (Role::System, Origin::Harness), blocks, out);
            }
            (_, "ERROR_MESSAGE") => {
                let error = vec![Block::Error(step.content.clone())];
                self.emit_message(step, line, (Role::System, Origin::Harness), error, out);
            }
            (_, "SYSTEM_MESSAGE" | "EPHEMERAL_MESSAGE") => {
                let note = vec![Block::Text(step.content.clone())];
                self.emit_message(step, line, (Role::User, Origin::Harness), note, out);
            }
            (_, "CONVERSATION_HISTORY" | "KNOWLEDGE_ARTIFACTS") => {}
            ("SYSTEM", kind) => out.count_unknown(kind),
            _ => self.emit_result(step, line, out),
        }
    }

    fn emit_request(&mut self, step: &Step, line: u64, out: &mut ParseOutput) {
        if let Some(model) = selected_model(&step.content)
            && self.state.model.as_deref() != Some(model)
        {
            self.state.model = Some(model.to_owned());
            let model = self.state.model.clone();
            out.push(self.patch().with_model(model));
        }
        let explicit = step.source != "SYSTEM";
        let origin = if explicit {
            Origin::Human
        } else {
            Origin::Harness
        };
        let text = between(&step.content, "<USER_REQUEST>", "</USER_REQUEST>");
        let text = text.unwrap_or(&step.content).trim();
        let is_untitled = explicit && !self.state.titled;
        if let Some(text) = first_line_title(text).filter(|_| is_untitled) {
            self.state.titled = true;
            out.push(self.patch().with_title(text, TitleRank::FirstPrompt));
        }
        self.emit_message(
            step,
            line,
            (Role::User, origin),
            vec![Block::Text(text.to_owned())],
            out,
        );
    }

    fn emit_plan(&mut self, step: &Step, line: u64, out: &mut ParseOutput) {
        self.state.pending.clear();
        let mut blocks = Vec::new();
        if !step.thinking.is_empty() {
            blocks.push(Block::Thinking(step.thinking.clone()));
        }
        if !step.content.is_empty() {
            blocks.push(Block::Text(step.content.clone()));
        }
        for (nth, call) in (1..).zip(&step.tool_calls) {
            let mut tool = ToolUse {
                call: CallId::new(format!("step-{}/{nth}", step.step_index)),
                tool: call.name.clone(),
                input: call.input(),
                path: None,
            };
            self.state.calls.open(&mut tool);
            self.state.pending.push_back(tool.call.clone());
            blocks.push(Block::ToolUse(tool));
            if self.state.cwd.is_none() && call.cwd().is_some() {
                self.state.cwd = call.cwd();
                let cwd = self.state.cwd.clone();
                out.push(self.patch().with_cwd(cwd));
            }
        }
        self.emit_message(step, line, (Role::Assistant, Origin::Model), blocks, out);
    }

    fn emit_result(&mut self, step: &Step, line: u64, out: &mut ParseOutput) {
        let content = strip_timestamps(&step.content);
        let exit_code = exit_code(content);
        let mut result = ToolResult {
            call: self.state.pending.pop_front(),
            content: content.to_owned(),
            is_error: step.status == "ERROR" || exit_code.is_some_and(|code| code != 0),
            exit_code,
            ..ToolResult::default()
        };
        self.state.calls.close(&mut result);
        result.tool = result.tool.or_else(|| Some(step.kind.to_lowercase()));
        let blocks = vec![Block::ToolResult(result)];
        self.emit_message(step, line, (Role::User, Origin::Tool), blocks, out);
    }

    fn emit_message(
        &mut self,
        step: &Step,
        line: u64,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        // The id uses the index and not the text, which is cut in one transcript and whole in the
        // other.
        let id = self
            .state
            .chain
            .link(&[&step.kind, &step.step_index.to_string()]);
        if blocks.is_empty() {
            return;
        }
        let session = self.patch().id;
        out.push(Message {
            at: step.created_at.0,
            blocks,
            model: self.state.model.clone().filter(|_| origin == Origin::Model),
            cwd: self.state.cwd.clone(),
            line,
            ..Message::new(id, session, role, origin)
        });
    }

    fn patch(&self) -> SessionPatch {
        let session = SessionId::of(Flavor::Antigravity, &self.location.session);
        SessionPatch::new(session, Flavor::Antigravity)
    }
}

impl LogReader for AntigravityLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        if self.location.superseded {
            return;
        }
        lines::for_each_object(line, out, |text, out| {
            let step: Step = serde_json::from_str(text)?;
            self.read_step(&step, line.number, out);
            Ok(())
        });
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(open)?;
    Some(rest.split_once(close).map_or(rest, |(inner, _)| inner))
}

/// Returns the model that the user selected before a request, which the request reports.
fn selected_model(content: &str) -> Option<&str> {
    let change = between(content, "<USER_SETTINGS_CHANGE>", "</USER_SETTINGS_CHANGE>")?;
    let (_, change) = change.split_once("`Model Selection` from ")?;
    let (_, model) = change.split_once(" to ")?;
    let model = model.lines().next()?.trim().trim_end_matches('.');
    (!model.is_empty()).then_some(model)
}

/// Returns a result without the timestamps at its beginning.
fn strip_timestamps(content: &str) -> &str {
    let mut rest = content;
    for name in ["Created At: ", "Completed At: "] {
        if let Some((_, after)) = rest
            .strip_prefix(name)
            .and_then(|rest| rest.split_once('\n'))
        {
            rest = after;
        }
    }
    rest
}

fn exit_code(content: &str) -> Option<i64> {
    let (_, rest) = content.split_once("The command failed with exit code: ")?;
    rest.lines().next()?.trim().parse().ok()
}
