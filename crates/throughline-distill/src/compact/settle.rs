//! Brings kept messages into the form that a provider accepts.
//!
//! A log is written as things happen: results arrive between the entries of one response, a prompt
//! is typed while a tool runs, a call is interrupted, a result has lost its call. A request has turns: the
//! assistant speaks, then come the results of all its calls, then what the user says. Messages that
//! fit are kept as they are; each that does not is repaired, and the repair is named.

use std::collections::{HashMap, HashSet};

use memory::{ApiId, Block, CallId, Message, MessageId, Origin, Role, ToolResult};
use serde::Serialize;

/// What was said in place of a result that never came.
const NO_RESULT: &str = "[no result: the call was interrupted, or its result was not recorded]";

/// Messages that make a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// Entries whose results had to move to their calls appear in two pieces.
    pub messages: Vec<Message>,
    pub repairs: Vec<Repair>,
    /// Calls of the last turn that the caller answers with its next message.
    pub open: Vec<CallId>,
}

/// Something that could not be kept as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "repair", rename_all = "snake_case")]
pub enum Repair {
    /// A result without its call was left out.
    StrayResult { message: MessageId },
    /// A second result of one call was left out.
    RepeatedResult { message: MessageId, call: CallId },
    /// A result was moved to its call, over what was said meanwhile.
    MovedResult { message: MessageId, call: CallId },
    /// A call that was written twice before it was answered was left out.
    RepeatedCall { message: MessageId, call: CallId },
    /// Another call has the same name, so this one and its result got a new one.
    RenamedCall {
        message: MessageId,
        call: CallId,
        name: CallId,
    },
    /// A call that was never answered got a result that says so.
    UnansweredCall { call: CallId },
    /// A thought that led to nothing was left out.
    LoneThought { message: MessageId },
    /// An image that only a user could have shown was left out.
    AssistantImage { message: MessageId },
    /// What a person ran themselves was put into words.
    QuotedOutput { message: MessageId },
}

/// Makes turns of messages. Markers, old summaries and what only the agent's program said to its
/// user are left out.
pub fn settle(messages: &[Message]) -> Settled {
    let mut turns = Turns::default();
    for message in messages.iter().filter(|m| m.role != Role::System) {
        turns.take(message);
    }
    turns.finish()
}

#[derive(Default)]
struct Turns<'a> {
    turns: Vec<Turn>,
    responses: HashMap<&'a ApiId, usize>,
    calls: HashMap<&'a CallId, Call>,
    /// Names of calls that are taken.
    names: HashSet<CallId>,
    repairs: Vec<Repair>,
}

struct Turn {
    role: Role,
    said: Vec<Message>,
    /// The calls of an assistant's turn, in order, and whether they are answered.
    calls: Vec<(CallId, bool)>,
    answers: Vec<Message>,
}

/// The last call of a name.
struct Call {
    turn: usize,
    /// Where in its turn's calls it stands.
    place: usize,
    name: CallId,
}

impl<'a> Turns<'a> {
    fn take(&mut self, message: &'a Message) {
        let mut own = Vec::new();
        let mut words = Vec::new();
        let mut results = Vec::new();
        let is_assistant = message.role == Role::Assistant;
        for block in &message.blocks {
            match block {
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(_) if is_assistant => own.push(block),
                Block::Text(_) => words.push(block.clone()),
                Block::Image { .. } if is_assistant => {
                    self.repairs.push(Repair::AssistantImage {
                        message: message.id.clone(),
                    });
                }
                Block::Image { .. } => words.push(block.clone()),
                Block::Thinking(_) | Block::ToolUse(_) => own.push(block),
                Block::ToolResult(result) if result.call.is_none() => {
                    words.extend(self.quote(message, result));
                }
                Block::ToolResult(result) => results.push(result),
                Block::Boundary(_) | Block::Summary(_) | Block::Error(_) | Block::Approval(_) => {}
            }
        }
        if !own.is_empty() {
            self.say(message, &own);
        }
        for result in results {
            self.answer(message, result);
        }
        if !words.is_empty() {
            self.user(piece(message, Role::User, words));
        }
    }

    /// Adds to the turn of the same response, else to the last one where that is the assistant's and
    /// not answered yet.
    fn say(&mut self, message: &'a Message, blocks: &[&'a Block]) {
        let response = message.api_id.as_ref();
        let known = response.and_then(|api| self.responses.get(api)).copied();
        let turn = known.unwrap_or_else(|| {
            let last = self.turns.last();
            if !last.is_some_and(|turn| turn.role == Role::Assistant && turn.answers.is_empty()) {
                self.turns.push(Turn::new(Role::Assistant));
            }
            self.turns.len() - 1
        });
        let mut kept = Vec::with_capacity(blocks.len());
        for block in blocks {
            match block {
                Block::ToolUse(call) => {
                    let name = self.call(message, &call.call, turn);
                    kept.extend(name.map(|name| {
                        Block::ToolUse(memory::ToolUse {
                            call: name,
                            ..call.clone()
                        })
                    }));
                }
                block => kept.push((*block).clone()),
            }
        }
        if let Some(api) = response {
            self.responses.insert(api, turn);
        }
        if !kept.is_empty() {
            self.turns[turn]
                .said
                .push(piece(message, Role::Assistant, kept));
        }
    }

    /// Notes a call and returns its name, or `None` when it is only written twice.
    fn call(&mut self, message: &Message, call: &'a CallId, turn: usize) -> Option<CallId> {
        let before = self.calls.get(call);
        if before.is_some_and(|call| !self.turns[call.turn].calls[call.place].1) {
            self.repairs.push(Repair::RepeatedCall {
                message: message.id.clone(),
                call: call.clone(),
            });
            return None;
        }
        let name = self.free_name(call);
        if name != *call {
            self.repairs.push(Repair::RenamedCall {
                message: message.id.clone(),
                call: call.clone(),
                name: name.clone(),
            });
        }
        self.names.insert(name.clone());
        let calls = &mut self.turns[turn].calls;
        calls.push((name.clone(), false));
        let noted = Call {
            turn,
            place: calls.len() - 1,
            name: name.clone(),
        };
        self.calls.insert(call, noted);
        Some(name)
    }

    fn free_name(&self, call: &CallId) -> CallId {
        if !self.names.contains(call) {
            return call.clone();
        }
        // A log that names every call alike must not make this quadratic.
        let mut number = self.names.len() + 1;
        loop {
            let name = CallId::new(format!("{call}-{number}"));
            if !self.names.contains(&name) {
                return name;
            }
            number += 1;
        }
    }

    fn answer(&mut self, message: &Message, result: &ToolResult) {
        let Some((call, noted)) =
            (result.call.as_ref()).and_then(|call| Some((call, self.calls.get(call)?)))
        else {
            self.repairs.push(Repair::StrayResult {
                message: message.id.clone(),
            });
            return;
        };
        let last = self.turns.len() - 1;
        let turn = &mut self.turns[noted.turn];
        let answered = &mut turn.calls[noted.place].1;
        if *answered {
            self.repairs.push(Repair::RepeatedResult {
                message: message.id.clone(),
                call: call.clone(),
            });
            return;
        }
        *answered = true;
        if noted.turn < last {
            self.repairs.push(Repair::MovedResult {
                message: message.id.clone(),
                call: call.clone(),
            });
        }
        let block = Block::ToolResult(ToolResult {
            call: Some(noted.name.clone()),
            ..result.clone()
        });
        match turn.answers.last_mut() {
            Some(piece) if piece.id == message.id => piece.blocks.push(block),
            _ => turn.answers.push(piece(message, Role::User, vec![block])),
        }
    }

    fn user(&mut self, message: Message) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => turn.said.push(message),
            _ => self.turns.push(Turn {
                said: vec![message],
                ..Turn::new(Role::User)
            }),
        }
    }

    /// A person ran a command in the agent's prompt: its output has no call that could be kept.
    fn quote(&mut self, message: &Message, result: &ToolResult) -> Option<Block> {
        if result.content.trim().is_empty() {
            return None;
        }
        self.repairs.push(Repair::QuotedOutput {
            message: message.id.clone(),
        });
        let tool = result.tool.as_deref().unwrap_or("a command");
        let text = format!("<output of=\"{tool}\">\n{}\n</output>", result.content);
        Some(Block::Text(text))
    }

    fn finish(mut self) -> Settled {
        self.drop_lone_thoughts();
        self.turns.retain(|turn| !turn.said.is_empty());
        let mut settled = Settled::default();
        let last = self.turns.len().saturating_sub(1);
        for (place, turn) in self.turns.into_iter().enumerate() {
            let is_last = place == last;
            let open = turn.calls.iter().filter(|(_, answered)| !answered);
            let open: Vec<CallId> = open.map(|(call, _)| call.clone()).collect();
            let made = (!is_last && !open.is_empty())
                .then(|| turn.said.last().map(|said| unanswered(said, &open)))
                .flatten();
            if is_last {
                settled.open = open;
            } else {
                let repair = |call| Repair::UnansweredCall { call };
                self.repairs.extend(open.into_iter().map(repair));
            }
            for message in turn.said.into_iter().chain(turn.answers).chain(made) {
                settled.push(message);
            }
        }
        settled.repairs = self.repairs;
        settled
    }

    /// A turn cannot end with a thought: the answer was interrupted before it began.
    fn drop_lone_thoughts(&mut self) {
        for turn in &mut self.turns {
            while let Some(message) = turn.said.last_mut() {
                if !matches!(message.blocks.last(), Some(Block::Thinking(_))) {
                    break;
                }
                message.blocks.pop();
                self.repairs.push(Repair::LoneThought {
                    message: message.id.clone(),
                });
                if message.blocks.is_empty() {
                    turn.said.pop();
                } else if !matches!(message.blocks.last(), Some(Block::Thinking(_))) {
                    break;
                }
            }
        }
    }
}

impl Turn {
    fn new(role: Role) -> Self {
        Self {
            role,
            said: Vec::new(),
            calls: Vec::new(),
            answers: Vec::new(),
        }
    }
}

impl Settled {
    /// Adds a message; pieces of one that come together again are one again.
    fn push(&mut self, message: Message) {
        match self.messages.last_mut() {
            Some(last) if last.id == message.id && last.role == message.role => {
                last.blocks.extend(message.blocks);
            }
            _ => self.messages.push(message),
        }
    }
}

/// Returns a message with some of its blocks.
fn piece(message: &Message, role: Role, blocks: Vec<Block>) -> Message {
    Message {
        id: message.id.clone(),
        api_id: message.api_id.clone().filter(|_| role == Role::Assistant),
        session: message.session.clone(),
        at: message.at,
        role,
        origin: message.origin,
        blocks,
        model: message.model.clone(),
        cwd: message.cwd.clone(),
        branch: message.branch.clone(),
        line: message.line,
    }
}

fn unanswered(said: &Message, calls: &[CallId]) -> Message {
    let result = |call: &CallId| {
        Block::ToolResult(ToolResult {
            call: Some(call.clone()),
            content: NO_RESULT.to_owned(),
            is_error: true,
            ..ToolResult::default()
        })
    };
    Message {
        id: MessageId::new(format!("{}/unanswered", said.id)),
        origin: Origin::Harness,
        ..piece(said, Role::User, calls.iter().map(result).collect())
    }
}
