//! Merges kept messages into turns that a provider accepts.
//!
//! A log is written in order of events: results arrive between the entries of one response, a user
//! types while a tool runs, a call is interrupted, a result has lost its call. A request consists
//! of turns: the assistant's message, the results of all its calls, then the user's message.
//! Messages that fit this form are kept unchanged. The others are repaired, and each repair is
//! reported.

use std::collections::{HashMap, HashSet};

use memory::{ApiId, Block, CallId, Message, MessageId, Origin, Role, ToolResult};
use serde::Serialize;

/// The text of a result that was never recorded.
const MISSING_RESULT_TEXT: &str =
    "[no result: the call was interrupted, or its result was not recorded]";

/// Messages in the form of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestMessages {
    /// A message whose results moved to their calls occurs in two pieces.
    pub messages: Vec<Message>,
    pub repairs: Vec<Repair>,
    /// Calls of the last turn whose results the caller sends with its next message.
    pub open: Vec<CallId>,
}

/// A change that was necessary to make a valid request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "repair", rename_all = "snake_case")]
pub enum Repair {
    /// A result without its call was dropped.
    StrayResult { message: MessageId },
    /// A second result of a call was dropped.
    RepeatedResult { message: MessageId, call: CallId },
    /// A result was moved to its call, before messages that were written in between.
    MovedResult { message: MessageId, call: CallId },
    /// A repeated call without a result in between was dropped.
    RepeatedCall { message: MessageId, call: CallId },
    /// Another call has the same id, so this call and its result got a new one.
    RenamedCall {
        message: MessageId,
        call: CallId,
        name: CallId,
    },
    /// A call without a result got a placeholder result.
    UnansweredCall { call: CallId },
    /// Thinking without a following answer was dropped.
    LoneThought { message: MessageId },
    /// An image in an assistant message, which no API accepts, was dropped.
    AssistantImage { message: MessageId },
    /// The output of a command that the user ran was converted to text.
    QuotedOutput { message: MessageId },
}

/// Merges messages into turns. Boundaries, old summaries and messages from the agent program to its
/// user are dropped.
pub fn merge_turns(messages: &[Message]) -> RequestMessages {
    let mut turns = TurnMerger::default();
    for message in messages.iter().filter(|m| m.role != Role::System) {
        turns.add_message(message);
    }
    turns.finish()
}

#[derive(Default)]
struct TurnMerger<'a> {
    turns: Vec<MergedTurn>,
    responses: HashMap<&'a ApiId, usize>,
    calls: HashMap<&'a CallId, MergedCall>,
    /// The call ids in use.
    names: HashSet<CallId>,
    repairs: Vec<Repair>,
}

struct MergedTurn {
    role: Role,
    spoken: Vec<Message>,
    /// The calls of an assistant turn in order, and whether they have a result.
    calls: Vec<(CallId, bool)>,
    results: Vec<Message>,
}

/// The last call with an original id.
struct MergedCall {
    turn: usize,
    /// The index in the calls of its turn.
    index: usize,
    id: CallId,
}

impl<'a> TurnMerger<'a> {
    fn add_message(&mut self, message: &'a Message) {
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
                    words.extend(self.quote_output(message, result));
                }
                Block::ToolResult(result) => {
                    // Thinking belongs to the next message, so it goes after the result.
                    let said = own.iter().rposition(|b| !matches!(b, Block::Thinking(_)));
                    let said: Vec<_> = own.drain(..said.map_or(0, |last| last + 1)).collect();
                    self.add_assistant_blocks(message, &said);
                    self.add_result(message, result);
                }
                Block::Boundary(_) | Block::Summary(_) | Block::Error(_) | Block::Approval(_) => {}
            }
        }
        self.add_assistant_blocks(message, &own);
        if !words.is_empty() {
            self.add_user_message(message_with_blocks(message, Role::User, words));
        }
    }

    /// Adds blocks to the turn of the same response, else to the last turn if it is an assistant
    /// turn without results.
    fn add_assistant_blocks(&mut self, message: &'a Message, blocks: &[&'a Block]) {
        let blocks = self.drop_repeated_calls(message, blocks);
        if blocks.is_empty() {
            return;
        }
        let response = message.api_id.as_ref();
        let known = response.and_then(|api| self.responses.get(api)).copied();
        let turn = known.unwrap_or_else(|| self.open_assistant_turn());
        let mut kept = Vec::with_capacity(blocks.len());
        for block in &blocks {
            match block {
                Block::ToolUse(call) => {
                    let name = self.register_call(message, &call.call, turn);
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
                .push(message_with_blocks(message, Role::Assistant, kept));
        }
    }

    /// Drops repeated calls that still wait for their result, so that they do not start a turn.
    fn drop_repeated_calls(&mut self, message: &Message, blocks: &[&'a Block]) -> Vec<&'a Block> {
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
        let registered = self.calls.get(call);
        registered.is_some_and(|registered| !self.turns[registered.turn].calls[registered.index].1)
    }

    /// Returns the last turn if it is an assistant turn without results, else a new one. Thinking
    /// at the end of a turn with results belongs to the next message and moves to the new turn.
    fn open_assistant_turn(&mut self) -> usize {
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

    /// Registers a call and returns its id in the request, or `None` if it is a repetition.
    fn register_call(
        &mut self,
        message: &Message,
        call: &'a CallId,
        turn: usize,
    ) -> Option<CallId> {
        if self.is_open(call) {
            self.repairs.push(Repair::RepeatedCall {
                message: message.id.clone(),
                call: call.clone(),
            });
            return None;
        }
        let name = self.unused_call_id(call);
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
        let registered = MergedCall {
            turn,
            index: calls.len() - 1,
            id: name.clone(),
        };
        self.calls.insert(call, registered);
        Some(name)
    }

    fn unused_call_id(&self, call: &CallId) -> CallId {
        if !self.names.contains(call) {
            return call.clone();
        }
        // Start high, so that a log with one id for all calls does not make this quadratic.
        let mut number = self.names.len() + 1;
        loop {
            let name = CallId::new(format!("{call}-{number}"));
            if !self.names.contains(&name) {
                return name;
            }
            number += 1;
        }
    }

    fn add_result(&mut self, message: &Message, result: &ToolResult) {
        let Some((call, registered)) =
            (result.call.as_ref()).and_then(|call| Some((call, self.calls.get(call)?)))
        else {
            self.repairs.push(Repair::StrayResult {
                message: message.id.clone(),
            });
            return;
        };
        let last = self.turns.len() - 1;
        let turn = &mut self.turns[registered.turn];
        let answered = &mut turn.calls[registered.index].1;
        if *answered {
            self.repairs.push(Repair::RepeatedResult {
                message: message.id.clone(),
                call: call.clone(),
            });
            return;
        }
        *answered = true;
        if registered.turn < last {
            self.repairs.push(Repair::MovedResult {
                message: message.id.clone(),
                call: call.clone(),
            });
        }
        let block = Block::ToolResult(ToolResult {
            call: Some(registered.id.clone()),
            ..result.clone()
        });
        match turn.results.last_mut() {
            Some(piece) if piece.id == message.id => piece.blocks.push(block),
            _ => turn
                .results
                .push(message_with_blocks(message, Role::User, vec![block])),
        }
    }

    fn add_user_message(&mut self, message: Message) {
        match self.turns.last_mut() {
            Some(turn) if turn.role == Role::User => turn.spoken.push(message),
            _ => self.turns.push(MergedTurn {
                spoken: vec![message],
                ..MergedTurn::new(Role::User)
            }),
        }
    }

    /// Converts the output of a command that the user ran in the agent's prompt to text, because it
    /// has no call.
    fn quote_output(&mut self, message: &Message, result: &ToolResult) -> Option<Block> {
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
        let mut request = RequestMessages::default();
        let last = self.turns.len().saturating_sub(1);
        for (index, turn) in self.turns.into_iter().enumerate() {
            let is_last = index == last;
            let open = turn.calls.iter().filter(|(_, answered)| !answered);
            let open: Vec<CallId> = open.map(|(call, _)| call.clone()).collect();
            let answered = |message| unanswered_results(message, &open);
            let placeholder = turn.spoken.last().map(answered);
            let placeholder = placeholder.filter(|_| !is_last && !open.is_empty());
            if is_last {
                request.open = open;
            } else {
                let repair = |call| Repair::UnansweredCall { call };
                self.repairs.extend(open.into_iter().map(repair));
            }
            for message in turn
                .spoken
                .into_iter()
                .chain(turn.results)
                .chain(placeholder)
            {
                request.push(message);
            }
        }
        request.repairs = self.repairs;
        request
    }

    /// Drops thinking at the end of turns, which no API accepts: the answer was interrupted before
    /// it began.
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

    /// Removes the thinking blocks at the end, except those of a response with an id, which stays
    /// complete.
    fn take_last_thoughts(&mut self) -> Vec<Message> {
        let mut thoughts = Vec::new();
        while let Some(message) = self.spoken.last_mut().filter(|m| m.api_id.is_none()) {
            let is_thought = |block: &Block| matches!(block, Block::Thinking(_));
            let kept = message.blocks.iter().rposition(|block| !is_thought(block));
            let blocks = message.blocks.split_off(kept.map_or(0, |last| last + 1));
            if !blocks.is_empty() {
                thoughts.push(message_with_blocks(message, Role::Assistant, blocks));
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
    /// Appends a message, and joins adjacent pieces of the same message.
    fn push(&mut self, message: Message) {
        match self.messages.last_mut() {
            Some(last) if last.id == message.id && last.role == message.role => {
                last.blocks.extend(message.blocks);
            }
            _ => self.messages.push(message),
        }
    }
}

/// Returns a copy of a message with other blocks.
fn message_with_blocks(message: &Message, role: Role, blocks: Vec<Block>) -> Message {
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

fn unanswered_results(said: &Message, calls: &[CallId]) -> Message {
    let result = |call: &CallId| {
        Block::ToolResult(ToolResult {
            call: Some(call.clone()),
            content: MISSING_RESULT_TEXT.to_owned(),
            is_error: true,
            ..ToolResult::default()
        })
    };
    Message {
        id: MessageId::new(format!("{}/unanswered", said.id)),
        origin: Origin::Harness,
        ..message_with_blocks(said, Role::User, calls.iter().map(result).collect())
    }
}
