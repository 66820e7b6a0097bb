//! Moves a cut back until every kept message has the messages that it depends on.
//!
//! Three rules apply until nothing changes: a result needs its call, the entries of one API
//! response stay together, and an assistant message needs the thinking right before it. One pass of
//! each rule is not enough. Example: call 1, call 2 in another response, result 1, result 2. The
//! last result needs call 2, the cut before call 2 keeps result 1, and that needs call 1. Each
//! message stores the first message that it needs, so one walk from the end to a moving target
//! finds the fixed point.

use std::collections::{HashMap, HashSet};

use memory::{ApiId, Block, CallId, Message, Role};

/// The first message that must be kept with each message.
#[derive(Clone, Debug, Default)]
pub struct MessageTies {
    needs: Vec<usize>,
    /// The first message with a call whose result is still to come.
    in_flight: Option<usize>,
}

/// Builds [`MessageTies`] message by message, so that a caller with a loop of its own needs only
/// one pass.
#[derive(Default)]
pub(super) struct MessageTiesBuilder<'a> {
    calls: HashMap<&'a CallId, usize>,
    responses: HashMap<&'a ApiId, usize>,
    thought: Option<usize>,
    needs: Vec<usize>,
}

impl<'a> MessageTiesBuilder<'a> {
    pub(super) fn add_message(&mut self, message: &'a Message) {
        let index = self.needs.len();
        let mut first = index;
        if let Some(api) = &message.api_id {
            first = first.min(*self.responses.entry(api).or_insert(index));
        }
        for block in &message.blocks {
            match block {
                Block::ToolUse(call) => {
                    self.calls.insert(&call.call, index);
                }
                Block::ToolResult(result) => {
                    let call = result.call.as_ref().and_then(|call| self.calls.get(call));
                    first = first.min(call.copied().unwrap_or(index));
                }
                _ => {}
            }
        }
        if is_sent_message(message) {
            let plain = message.role == Role::Assistant && message.api_id.is_none();
            if plain {
                first = first.min(self.thought.unwrap_or(index));
            }
            let last = message.blocks.iter().rfind(|block| is_sent(block));
            let thinks = plain && matches!(last, Some(Block::Thinking(_)));
            self.thought = thinks.then_some(index);
        }
        self.needs.push(first);
    }

    /// Returns the ties of all messages that were added.
    pub(super) fn finish(self, messages: &[Message]) -> MessageTies {
        MessageTies {
            needs: self.needs,
            in_flight: in_flight(messages),
        }
    }
}

impl MessageTies {
    pub fn of(messages: &[Message]) -> Self {
        let mut ties = MessageTiesBuilder::default();
        for message in messages {
            ties.add_message(message);
        }
        ties.finish(messages)
    }

    /// Returns the last cut at or before `from` that keeps every dependency.
    pub fn move_cut_back(&self, from: usize) -> usize {
        let mut from = from.min(self.in_flight.unwrap_or(from));
        let mut index = self.needs.len();
        while index > from {
            index -= 1;
            from = from.min(self.needs[index]);
        }
        from
    }
}

/// Finds the first message with a call of the last assistant turn that has no result yet. The
/// caller sends the results with its next message, so the calls must be kept.
fn in_flight(messages: &[Message]) -> Option<usize> {
    let mut answered = HashSet::new();
    let mut first = None;
    let mut turn: Option<&Message> = None;
    let mut adjacent = true;
    let sent = messages.iter().enumerate().rev();
    for (index, message) in sent.filter(|(_, message)| is_sent_message(message)) {
        let results = message.blocks.iter().filter_map(|block| match block {
            Block::ToolResult(result) => result.call.as_ref(),
            _ => None,
        });
        answered.extend(results);
        if message.role == Role::User && message.blocks.iter().any(is_user_content) {
            break;
        }
        if !message.blocks.iter().any(is_assistant_content) {
            adjacent = false;
            continue;
        }
        let same = |last: &Message| last.api_id.is_some() && last.api_id == message.api_id;
        if turn.is_some_and(|last| !adjacent && !same(last)) {
            break;
        }
        (turn, adjacent) = (Some(message), true);
        let is_open = |block: &Block| match block {
            Block::ToolUse(call) => !answered.contains(&call.call),
            _ => false,
        };
        if message.blocks.iter().any(is_open) {
            first = Some(index);
        }
    }
    first
}

fn is_user_content(block: &Block) -> bool {
    is_sent(block) && matches!(block, Block::Text(_) | Block::Image { .. })
}

/// Says whether a block is the assistant's own, and not the output of a tool.
fn is_assistant_content(block: &Block) -> bool {
    is_sent(block) && !matches!(block, Block::ToolResult(_) | Block::Image { .. })
}

/// Says whether a message is sent to the provider.
fn is_sent_message(message: &Message) -> bool {
    message.role != Role::System && message.blocks.iter().any(is_sent)
}

/// Says whether a block is sent to the provider.
fn is_sent(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::Thinking(_) | Block::ToolUse(_) | Block::ToolResult(_) | Block::Image { .. } => true,
        Block::Boundary(_) | Block::Summary(_) | Block::Error(_) | Block::Approval(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use testkit::transcript::transcript;

    use super::*;

    #[track_caller]
    fn check(text: &str, cut: usize, kept_from: usize) {
        let messages = transcript(text);
        assert_eq!(
            MessageTies::of(&messages).move_cut_back(cut),
            kept_from,
            "{text}"
        );
    }

    #[test]
    fn a_result_keeps_its_call_however_far_back() {
        check("a use #1\nu result #1", 1, 0);
        check("u go\na use #1\nu a\na b\nu c\nu result #1", 5, 1);
        check("u go\na use #1 + use #2\nu result #2\nu result #1", 3, 1);
    }

    #[test]
    fn a_response_stays_whole() {
        check("u go\na think @A\na say @A\na use #1 @A\nu result #1", 3, 1);
        check(
            "u go\na use #1 @A\nu result #1\na use #2 @A\nu result #2",
            4,
            1,
        );
    }

    #[test]
    fn both_rules_are_repeated_until_nothing_moves() {
        // One pass of each rule would leave result 1 without its call.
        check("a use #1 @A\na use #2 @B\nu result #1\nu result #2", 3, 0);
        let chain = "a use #1 @A\na use #2 @B\nu result #1\na use #3 @B\nu result #2\na use #4 @C\n\
                     u result #3\nu result #4";
        check(chain, 7, 0);
    }

    #[test]
    fn a_thought_stays_with_what_it_led_to() {
        check("u go\na think\na say", 2, 1);
        check("u go\na think\ns note\na say", 3, 1);
        check("u go\na think\nu more\na say", 3, 3);
    }

    #[test]
    fn a_result_belongs_to_the_last_call_of_its_name() {
        check("a use #1\nu result #1\na use #1\nu result #1", 3, 2);
        check("u result #1\nu go", 1, 1);
    }

    #[test]
    fn a_call_in_flight_is_kept() {
        check(
            "u go\na say\nu more\na use #1 @A\na use #2 @A\nu result #2",
            6,
            3,
        );
        check("u go\na use #1 @A\nu result #1\na use #2 @A", 4, 1);
        check("u go\na use #1 @A\nu never mind\na say", 4, 4);
        check("u go\na use #1 @A\nu result #1\na say @B", 4, 4);
        check(
            "u go\na use #1 @A\na use #2 @B\nu result #2\na use #3 @C\nu result #3",
            6,
            6,
        );
    }

    #[test]
    fn the_rest_is_free() {
        check("u go\na use #1\nu result #1\na say\nu more", 4, 4);
        check("u go\na use #1\nu result #1\na say\nu more", 3, 3);
        check("u go\na use #1\nu result #1\na say\nu more", 0, 0);
        check("", 0, 0);
    }
}
