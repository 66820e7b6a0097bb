//! Messages as they are sent.

use memory::{Block, CallId, Message, Role};

/// A turn of the Anthropic shape.
#[derive(Clone, Debug)]
pub struct Turn<'a> {
    pub role: Role,
    pub content: Vec<Part<'a>>,
}

/// A block of a turn, and the message it came with.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub message: &'a Message,
    pub block: &'a Block,
}

/// A message of the chat shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chat {
    User,
    Assistant { calls: Vec<CallId> },
    Tool(CallId),
}

/// An item of the responses shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    User,
    Assistant,
    Reasoning,
    Call(CallId),
    Output(CallId),
}

/// Joins consecutive messages of one role. Markers in a log are not sent.
pub fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let parts = message.blocks.iter();
        let parts = parts
            .filter(|block| !matches!(block, Block::Boundary(_)))
            .map(|block| Part { message, block });
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.content.extend(parts),
            _ => turns.push(Turn {
                role: message.role,
                content: parts.collect(),
            }),
        }
    }
    turns
}

/// A turn becomes its tools' messages and one for the rest.
pub fn chat(turns: &[Turn<'_>]) -> Vec<Chat> {
    let mut out = Vec::new();
    for turn in turns {
        if turn.role == Role::Assistant {
            let calls = turn.content.iter().filter_map(|part| called(part.block));
            out.push(Chat::Assistant {
                calls: calls.collect(),
            });
            continue;
        }
        let mut said = false;
        for part in &turn.content {
            match answered(part.block) {
                Some(call) => out.push(Chat::Tool(call)),
                None if !said => {
                    out.push(Chat::User);
                    said = true;
                }
                None => {}
            }
        }
    }
    out
}

pub fn responses(turns: &[Turn<'_>]) -> Vec<Item> {
    let item = |role: Role, block: &Block| match block {
        Block::Thinking(_) => Item::Reasoning,
        Block::ToolUse(call) => Item::Call(call.call.clone()),
        block => match (answered(block), role) {
            (Some(call), _) => Item::Output(call),
            (None, Role::Assistant) => Item::Assistant,
            (None, _) => Item::User,
        },
    };
    let parts = turns
        .iter()
        .flat_map(|turn| turn.content.iter().map(move |part| (turn.role, part.block)));
    parts.map(|(role, block)| item(role, block)).collect()
}

pub fn called(block: &Block) -> Option<CallId> {
    match block {
        Block::ToolUse(call) => Some(call.call.clone()),
        _ => None,
    }
}

pub fn answered(block: &Block) -> Option<CallId> {
    match block {
        Block::ToolResult(result) => result.call.clone(),
        _ => None,
    }
}
