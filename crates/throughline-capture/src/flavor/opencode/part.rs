//! Turns the parts of a message into entries, each with the part's own id, whatever file or row
//! contains it.

use jiff::Timestamp;
use memory::command::CallFiles;
use memory::{
    ApiId, Block, Boundary, CallId, Message, MessageId, Origin, Role, SessionId, ToolResult,
    ToolUse, Usage, UsageEntry,
};

use super::{session, wire};
use crate::{ParseOutput, tools};

/// The fields of a message that apply to all its parts.
#[derive(Debug)]
pub(crate) struct OpencodeTurn {
    pub id: String,
    pub session: SessionId,
    role: Role,
    at: Option<Timestamp>,
    model: Option<String>,
    cwd: Option<String>,
    /// The message is a summary of the conversation before it.
    is_summary: bool,
    /// The session is a subagent's, whose prompts the parent's model writes.
    pub is_delegated: bool,
    /// The parts of the turn will not change any more.
    pub is_closed: bool,
}

impl OpencodeTurn {
    /// Returns `None` for a message without id, session or a known role.
    pub(crate) fn of(message: &wire::Message<'_>) -> Option<Self> {
        let role = match message.role.text()? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let times = message.time.0.unwrap_or_default();
        let model = message.model.0.as_ref().and_then(|model| model.id.text());
        Some(Self {
            id: message.id.text()?.to_owned(),
            session: session::id(message.session.text()?),
            role,
            at: times.created.0,
            model: message.model_id.text().or(model).map(str::to_owned),
            cwd: message
                .path
                .0
                .as_ref()
                .and_then(|path| path.cwd.text())
                .map(str::to_owned),
            is_summary: message.summary.is_true(),
            is_delegated: false,
            is_closed: times.completed.0.is_some() || message.error.0.is_some(),
        })
    }

    pub(crate) fn is_user(&self) -> bool {
        self.role == Role::User
    }

    /// Emits the message's own error and usage. `steps_told` means that its parts contain the usage
    /// of each API response.
    pub(crate) fn emit_summary(
        &self,
        message: &wire::Message<'_>,
        steps_told: bool,
        out: &mut ParseOutput,
    ) {
        if let Some(error) = &message.error.0 {
            let block = match error.name.text() {
                Some("MessageAbortedError") => Block::Approval("interrupted".to_owned()),
                name => Block::Error(error_text(name, error)),
            };
            let id = format!("{}/error", self.id);
            self.emit_message(&id, self.at, Origin::Harness, block, out);
        }
        if let Some(tokens) = message.tokens.0.filter(|_| !steps_told) {
            self.emit_usage(&self.id, tokens, message.cost.0, out);
        }
    }

    /// Emits a part unless it is incomplete.
    pub(crate) fn emit_part(&self, part: wire::Part<'_>, out: &mut ParseOutput) {
        let Some(id) = part.id.text().map(str::to_owned) else {
            return out.count_unknown("part without id");
        };
        let times = part.time.0.unwrap_or_default();
        let at = times.start.0.or(self.at);
        let is_final = self.is_closed || self.is_user() || times.end.0.is_some();
        match part.kind.text().unwrap_or_default() {
            "text" | "reasoning" if !is_final => {}
            "text" => {
                let by_program = part.synthetic.is_true() || part.ignored.is_true();
                let origin = match self.role {
                    _ if by_program => Origin::Harness,
                    Role::User if !self.is_delegated => Origin::Human,
                    _ => Origin::Model,
                };
                let Some(text) = part.text.into_text() else {
                    return;
                };
                let block = if self.is_summary {
                    Block::Summary(text)
                } else {
                    Block::Text(text)
                };
                self.emit_message(&id, at, origin, block, out);
            }
            "reasoning" => {
                if let Some(text) = part.text.into_text() {
                    self.emit_message(&id, at, Origin::Model, Block::Thinking(text), out);
                }
            }
            "tool" => self.emit_tool(&id, part, out),
            "compaction" => {
                let trigger = if part.auto.is_true() {
                    "auto"
                } else {
                    "manual"
                };
                let boundary = Boundary {
                    trigger: Some(trigger.to_owned()),
                    tokens_before: None,
                    ..Boundary::default()
                };
                self.emit_message(&id, at, Origin::Harness, Block::Boundary(boundary), out);
            }
            "step-finish" => {
                if let Some(tokens) = part.tokens.0 {
                    self.emit_usage(&id, tokens, part.cost.0, out);
                }
            }
            "retry" => {
                let error = part.error.0.unwrap_or_default();
                let block = Block::Error(error_text(error.name.text(), &error));
                self.emit_message(&id, at, Origin::Harness, block, out);
            }
            "file" => {
                let mime = part.mime.into_text().unwrap_or_default();
                if self.is_user() && !mime.starts_with("text/") {
                    let size_bytes = embedded_bytes(part.url.text().unwrap_or_default());
                    let block = Block::Image {
                        media_type: mime,
                        size_bytes,
                    };
                    self.emit_message(&id, at, Origin::Human, block, out);
                }
            }
            // Other parts repeat these, or they are opencode's own bookkeeping.
            "step-start" | "patch" | "snapshot" | "agent" | "subtask" => {}
            other => out.count_unknown(&format!("part/{other}")),
        }
    }

    fn emit_tool(&self, id: &str, part: wire::Part<'_>, out: &mut ParseOutput) {
        let state = part.state.0.unwrap_or_default();
        let done = matches!(state.status.text(), Some("completed" | "success" | "error"));
        if !done && !self.is_closed {
            return;
        }
        let times = state.time.0.unwrap_or_default();
        let at = times.start.0.or(self.at);
        let tool = part.tool.into_text().unwrap_or_default();
        let input = state.input.map_or("{}", |input| input.get());
        let call = CallId::new(part.call.into_text().unwrap_or_else(|| id.to_owned()));
        let path = tools::target_path(input);
        let block = Block::ToolUse(ToolUse {
            call: call.clone(),
            tool: tool.clone(),
            input: input.to_owned(),
            path: path.clone(),
        });
        self.emit_message(id, at, Origin::Model, block, out);
        if !done {
            return;
        }
        let failed = state.status.is("error");
        let exit_code = state.metadata.0.and_then(|metadata| metadata.exit.0);
        let result = ToolResult {
            call: Some(call),
            path,
            content: if failed { state.error } else { state.output }
                .0
                .unwrap_or_default(),
            is_error: failed || exit_code.is_some_and(|code| code != 0),
            exit_code,
            files: CallFiles::default(),
            changes: if failed {
                Vec::new()
            } else {
                tools::file_changes(&tool, input)
            },
            tool: Some(tool),
        };
        let at = times.end.0.or(at);
        let id = format!("{id}/result");
        self.emit_message(&id, at, Origin::Tool, Block::ToolResult(result), out);
    }

    fn emit_usage(
        &self,
        key: &str,
        tokens: wire::Tokens,
        cost: Option<f64>,
        out: &mut ParseOutput,
    ) {
        let usage = usage(tokens);
        if usage != Usage::default() {
            out.push(UsageEntry {
                session: self.session.clone(),
                key: key.to_owned(),
                at: self.at,
                model: self.model.clone(),
                usage,
                // opencode writes 0 for a model without a price, which is not its cost.
                cost_usd: cost.filter(|cost| *cost > 0.0),
            });
        }
    }

    fn emit_message(
        &self,
        id: &str,
        at: Option<Timestamp>,
        origin: Origin,
        block: Block,
        out: &mut ParseOutput,
    ) {
        let role = match origin {
            Origin::Tool => Role::User,
            Origin::Harness if !self.is_user() => Role::System,
            _ => self.role,
        };
        let is_response = self.role == Role::Assistant && origin == Origin::Model;
        out.push(Message {
            at,
            api_id: is_response.then(|| ApiId::new(&self.id)),
            blocks: vec![block],
            model: self.model.clone(),
            cwd: self.cwd.clone(),
            line: order_number(id, at),
            ..Message::new(MessageId::new(id), self.session.clone(), role, origin)
        });
    }
}

/// Returns a number that orders the entries of a session. There are no lines, but ids start with a
/// time and a counter, which are the same in the database, the files and an export.
fn order_number(id: &str, at: Option<Timestamp>) -> u64 {
    let (id, second) = id.strip_suffix("/result").map_or((id, 0), |id| (id, 1));
    let counted = id
        .split_once('_')
        .and_then(|(_, rest)| rest.get(..12))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let time = || {
        at.map_or(0, |at| {
            u64::try_from(at.as_millisecond()).unwrap_or_default()
        })
    };
    // The result of a call follows it; doubling leaves room between two ids.
    counted.unwrap_or_else(time) * 2 + second
}

/// Returns the usage. The output excludes reasoning if the total says so; older releases have no
/// total, and then only more reasoning than output shows it.
fn usage(tokens: wire::Tokens) -> Usage {
    let cache = tokens.cache.0.unwrap_or_default();
    let (output, reasoning) = (tokens.output.count(), tokens.reasoning.count());
    let (input, read, write) = (
        tokens.input.count(),
        cache.read.count(),
        cache.write.count(),
    );
    let apart = match tokens.total.0 {
        Some(_) => {
            let parts = [input, read, write, output, reasoning];
            tokens.total.count() >= parts.into_iter().fold(0, u64::saturating_add)
        }
        None => reasoning > output,
    };
    Usage {
        input,
        output: if apart {
            output.saturating_add(reasoning)
        } else {
            output
        },
        cache_read: read,
        cache_write: write,
        reasoning,
    }
}

fn error_text(name: Option<&str>, error: &wire::Failure) -> String {
    let message = error.data.0.as_ref().and_then(|data| data.message.text());
    [name, message]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(": ")
}

/// Returns the size of the content of a `data:` address, and 0 for other addresses.
fn embedded_bytes(url: &str) -> u64 {
    let data = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(','));
    data.map_or(0, |(_, encoded)| encoded.len() as u64 * 3 / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tokens: &str, output: u64, reasoning: u64) {
        let usage = usage(serde_json::from_str(tokens).unwrap());
        assert_eq!(
            (usage.output, usage.reasoning),
            (output, reasoning),
            "{tokens}"
        );
    }

    #[test]
    fn reasoning_is_part_of_the_output() {
        check(
            r#"{"total":110,"input":50,"output":20,"reasoning":30,"cache":{"read":10}}"#,
            50,
            30,
        );
        check(
            r#"{"total":80,"input":50,"output":20,"reasoning":5,"cache":{"read":10}}"#,
            20,
            5,
        );
        check(r#"{"input":50,"output":20,"reasoning":5}"#, 20, 5);
        check(r#"{"input":50,"output":20,"reasoning":30}"#, 50, 30);
        check(r#"{"input":50,"output":"?"}"#, 0, 0);
    }

    #[test]
    fn ids_tell_the_order() {
        let order = |id: &str| order_number(id, None);
        assert!(order("prt_1e07eafda0013gWUhjeRaxRcE9") < order("prt_1e07eb11c001Bdu0d6a6QMIjxT"));
        let result = order("prt_1e07eafda0013gWUhjeRaxRcE9/result");
        assert_eq!(result, order("prt_1e07eafda0013gWUhjeRaxRcE9") + 1);
    }
}
