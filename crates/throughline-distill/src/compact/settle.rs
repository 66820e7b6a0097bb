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
pub struct RequestMessages {
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
pub fn merge_turns(messages: &[Message]) -> RequestMessages {
    let mut turns = TurnMerger::default();
    for message in messages.iter().filter(|m| m.role != Role::System) {
        turns.take(message);
    }
    turns.finish()
}

#[derive(Default)]
struct TurnMerger<'a> {
    turns: Vec<MergedTurn>,
    responses: HashMap<&'a ApiId, usize>,
    calls: HashMap<&'a CallId, MergedCall>,
    /// Names of calls that are taken.
    names: HashSet<CallId>,
    repairs: Vec<Repair>,
}

struct MergedTurn {
    role: Role,
    spoken: Vec<Message>,
    /// The calls of an assistant's turn, in order, and whether they are answered.
    calls: Vec<(CallId, bool)>,
    results: Vec<Message>,
}

/// The last call of a name.
struct MergedCall {
    turn: usize,
    /// Where in its turn's calls it stands.
    index: usize,
    id: CallId,
}

impl<'a> TurnMerger<'a> {
    fn take(&mut self, message: &'a Message) {
        let mut own = Vec::new();
        let mut words = Vec::new();
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
                Block::ToolResult(result) => {
                    // A thought leads to what comes next, so it waits for it behind the result.
                    let said = own.iter().rposition(|b| !matches!(b, Block::Thinking(_)));
                    let said: Vec<_> = own.drain(..said.map_or(0, |last| last + 1)).collect();
                    self.say(message, &said);
                    self.answer(message, result);
                }
                Block::Boundary(_) | Block::Summary(_) | Block::Error(_) | Block::Approval(_) => {}
            }
        }
        self.say(message, &own);
        if !words.is_empty() {
            self.user(piece(message, Role::User, words));
        }
    }

    /// Adds to the turn of the same response, else to the last one where that is the assistant's and
    /// not answered yet.
    fn say(&mut self, message: &'a Message, blocks: &[&'a Block]) {
        let blocks = self.without_repeats(message, blocks);
        if blocks.is_empty() {
            return;
        }
        let response = message.api_id.as_ref();
        let known = response.and_then(|api| self.responses.get(api)).copied();
        let turn = known.unwrap_or_else(|| self.turn_to_say());
        let mut kept = Vec::with_capacity(blocks.len());
        for block in &blocks {
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
                .spoken
                .push(piece(message, Role::Assistant, kept));
        }
    }

    /// Leaves out calls that were written before and still wait for their answer, so that they
    /// begin no turn.
    fn without_repeats(&mut self, message: &Message, blocks: &[&'a Block]) -> Vec<&'a Block> {
        let mut kept = Vec::with_capacity(blocks.len());
        for block in blocks {
            match block {
                Block::ToolUse(call) if self.is_open(&call.call) => {
                    self.repairs.push(Repair::RepeatedCall {
                        message: message.id.clone(),
                        call: call.call.clone(),
                    });
                }
                block => kept.push(*block),
            }
        }
        kept
    }

    fn is_open(&self, call: &CallId) -> bool {
        let noted = self.calls.get(call);
        noted.is_some_and(|noted| !self.turns[noted.turn].calls[noted.index].1)
    }

    /// Returns the last turn where that is the assistant's and not answered yet, else a new one. A
    /// thought at the end of an answered turn leads to what comes now and goes with it.
    fn turn_to_say(&mut self) -> usize {
        let mut said = Vec::new();
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::Assistant && turn.results.is_empty() => {
                return self.turns.len() - 1;
            }
            Some(turn) if turn.role == Role::Assistant => said = turn.take_last_thoughts(),
            _ => {}
        }
        self.turns.push(MergedTurn {
            spoken: said,
            ..MergedTurn::new(Role::Assistant)
        });
        self.turns.len() - 1
    }

    /// Notes a call and returns its name, or `None` when it is only written twice.
    fn call(&mut self, message: &Message, call: &'a CallId, turn: usize) -> Option<CallId> {
        if self.is_open(call) {
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
        let noted = MergedCall {
            turn,
            index: calls.len() - 1,
            id: name.clone(),
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
        let answered = &mut turn.calls[noted.index].1;
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
            call: Some(noted.id.clone()),
            ..result.clone()
        });
        match turn.results.last_mut() {
            Some(piece) if piece.id == message.id => piece.blocks.push(block),
            _ => turn.results.push(piece(message, Role::User, vec![block])),
        }
    }

    fn user(&mut self, message: Message) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => turn.spoken.push(message),
            _ => self.turns.push(MergedTurn {
                spoken: vec![message],
                ..MergedTurn::new(Role::User)
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

    fn finish(mut self) -> RequestMessages {
        self.drop_lone_thoughts();
        self.turns.retain(|turn| !turn.spoken.is_empty());
        let mut settled = RequestMessages::default();
        let last = self.turns.len().saturating_sub(1);
        for (place, turn) in self.turns.into_iter().enumerate() {
            let is_last = place == last;
            let open = turn.calls.iter().filter(|(_, answered)| !answered);
            let open: Vec<CallId> = open.map(|(call, _)| call.clone()).collect();
            let made = (!is_last && !open.is_empty())
                .then(|| turn.spoken.last().map(|said| unanswered(said, &open)))
                .flatten();
            if is_last {
                settled.open = open;
            } else {
                let repair = |call| Repair::UnansweredCall { call };
                self.repairs.extend(open.into_iter().map(repair));
            }
            for message in turn.spoken.into_iter().chain(turn.results).chain(made) {
                settled.push(message);
            }
        }
        settled.repairs = self.repairs;
        settled
    }

    /// A turn cannot end with a thought: the answer was interrupted before it began.
    fn drop_lone_thoughts(&mut self) {
        for turn in &mut self.turns {
            while let Some(message) = turn.spoken.last_mut() {
                if !matches!(message.blocks.last(), Some(Block::Thinking(_))) {
                    break;
                }
                message.blocks.pop();
                self.repairs.push(Repair::LoneThought {
                    message: message.id.clone(),
                });
                if message.blocks.is_empty() {
                    turn.spoken.pop();
                } else if !matches!(message.blocks.last(), Some(Block::Thinking(_))) {
                    break;
                }
            }
        }
    }
}

impl MergedTurn {
    fn new(role: Role) -> Self {
        Self {
            role,
            spoken: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
        }
    }

    /// Takes the thoughts off the end, but for those of a named response: it stays whole.
    fn take_last_thoughts(&mut self) -> Vec<Message> {
        let mut thoughts = Vec::new();
        while let Some(message) = self.spoken.last_mut().filter(|m| m.api_id.is_none()) {
            let is_thought = |block: &Block| matches!(block, Block::Thinking(_));
            let kept = message.blocks.iter().rposition(|block| !is_thought(block));
            let blocks = message.blocks.split_off(kept.map_or(0, |last| last + 1));
            if !blocks.is_empty() {
                thoughts.push(piece(message, Role::Assistant, blocks));
            }
            if !message.blocks.is_empty() {
                break;
            }
            self.spoken.pop();
        }
        thoughts.reverse();
        thoughts
    }
}

impl RequestMessages {
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
