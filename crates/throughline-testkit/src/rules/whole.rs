//! What can only be seen beside the conversation that was cut.

use std::collections::{HashMap, HashSet};

use memory::{Block, CallId, Message, MessageId, Role};

use super::Broken;
use super::shape::{Turn, called, turns};

pub fn broken(before: &[Message], sent: &[Message]) -> Vec<Broken> {
    let mut broken = Vec::new();
    parted(before, sent, &mut broken);
    reasoning(before, sent, &mut broken);
    if let Some(turn) = turns(sent)
        .iter()
        .rfind(|turn| turn.role == Role::Assistant)
    {
        thinking(before, turn, &mut broken);
    }
    broken
}

/// Every entry of a response is sent, all of them in one turn.
fn parted(before: &[Message], sent: &[Message], broken: &mut Vec<Broken>) {
    let mut turn_of = HashMap::new();
    for (place, turn) in turns(sent).iter().enumerate() {
        for part in &turn.content {
            let Some(api) = part.message.api_id.as_ref() else {
                continue;
            };
            if *turn_of.entry(api).or_insert(place) != place {
                broken.push(Broken::PartedResponse(api.to_string()));
            }
        }
    }
    let ids: HashSet<_> = sent.iter().map(|message| &message.id).collect();
    for message in before.iter().filter(|m| m.role == Role::Assistant) {
        // Thoughts may have led to nothing and calls may be repetitions; words are always sent.
        let speaks = |block: &Block| matches!(block, Block::Text(t) if !t.trim().is_empty());
        if let Some(api) = &message.api_id
            && turn_of.contains_key(api)
            && message.blocks.iter().any(speaks)
            && !ids.contains(&message.id)
        {
            broken.push(Broken::PartedResponse(api.to_string()));
        }
    }
}

/// What an assistant says right after thinking is not sent without the thought. Where responses have
/// names, [`parted`] sees to it.
fn reasoning(before: &[Message], sent: &[Message], broken: &mut Vec<Broken>) {
    let said = sent.iter().filter(|m| m.role == Role::Assistant);
    let ids: HashSet<_> = said.map(|message| &message.id).collect();
    let mut thought: Option<&Message> = None;
    for message in before.iter().filter(|m| m.blocks.iter().any(is_sent)) {
        let plain = message.role == Role::Assistant && message.api_id.is_none();
        if let Some(thought) = thought
            && plain
            && ids.contains(&message.id)
            && !ids.contains(&thought.id)
        {
            broken.push(Broken::ReasoningLost(thought.id.clone()));
        }
        let last = message.blocks.iter().rfind(|block| is_sent(block));
        thought = (plain && matches!(last, Some(Block::Thinking(_)))).then_some(message);
    }
}

/// The thoughts of the last turn are those of its messages, byte for byte.
fn thinking(before: &[Message], turn: &Turn<'_>, broken: &mut Vec<Broken>) {
    let mut calls: HashMap<CallId, u32> = HashMap::new();
    for call in before.iter().flat_map(|m| &m.blocks).filter_map(called) {
        *calls.entry(call).or_default() += 1;
    }
    let once = |block: &&Block| called(block).is_none_or(|call| calls[&call] == 1);
    let originals: HashMap<&MessageId, &Message> = before
        .iter()
        .map(|message| (&message.id, message))
        .collect();
    let mut expected: Vec<&Block> = Vec::new();
    let mut last = None;
    for part in &turn.content {
        if last != Some(&part.message.id) {
            last = Some(&part.message.id);
            let original = originals.get(&part.message.id);
            let blocks = original.iter().flat_map(|m| &m.blocks);
            expected.extend(blocks.filter(|block| is_said(block)));
        }
    }
    let sent = thoughts(turn.content.iter().map(|part| part.block).collect());
    // A call that was written twice may be sent once; then the thought before it leads to nothing.
    let without_repeats = expected.iter().copied().filter(once).collect();
    if sent != thoughts(expected) && sent != thoughts(without_repeats) {
        broken.push(Broken::ThinkingChanged);
    }
}

/// Returns the thoughts that lead to something; others cannot be sent.
fn thoughts(mut blocks: Vec<&Block>) -> Vec<&Block> {
    let is_thought = |block: &&Block| matches!(block, Block::Thinking(_));
    while blocks.last().is_some_and(is_thought) {
        blocks.pop();
    }
    blocks.retain(is_thought);
    blocks
}

fn is_sent(block: &Block) -> bool {
    is_said(block) || matches!(block, Block::ToolResult(_) | Block::Image { .. })
}

/// Says whether an assistant says this block.
fn is_said(block: &Block) -> bool {
    match block {
        Block::Text(text) => !text.trim().is_empty(),
        Block::Thinking(_) | Block::ToolUse(_) => true,
        _ => false,
    }
}
