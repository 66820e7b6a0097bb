//! What can only be seen beside the conversation that was cut.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory::{ApiId, Block, CallId, Message, MessageId, Role};

use super::Broken;
use super::shape::{Turn, called, turns};

pub fn broken(before: &[Message], sent: &[Message]) -> Vec<Broken> {
    let mut broken = Vec::new();
    parted(before, sent, &mut broken);
    reasoning(before, sent, &mut broken);
    thinking(before, &turns(sent), &mut broken);
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
    let said = |m: &&Message| m.role != Role::System && m.blocks.iter().any(is_sent);
    for message in before.iter().filter(said) {
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

/// The thoughts of every response in the last turn are as they were, byte for byte. A message may
/// be sent in pieces, the first of them in an earlier turn. A thought that led to nothing in its own
/// response may be left out: where it ends a turn, it must be.
fn thinking(before: &[Message], turns: &[Turn<'_>], broken: &mut Vec<Broken>) {
    let spoken = || turns.iter().filter(|turn| turn.role == Role::Assistant);
    let Some(last) = spoken().next_back() else {
        return;
    };
    let mut responses: BTreeMap<Option<&ApiId>, Vec<&MessageId>> = BTreeMap::new();
    for part in &last.content {
        let ids = responses.entry(part.message.api_id.as_ref()).or_default();
        if !ids.contains(&&part.message.id) {
            ids.push(&part.message.id);
        }
    }
    for ids in responses.values() {
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for id in ids {
            let parts = spoken().flat_map(|turn| &turn.content);
            let pieces: Vec<_> = parts
                .filter(|part| part.message.id == **id)
                .map(|part| part.block)
                .collect();
            let original = before.iter().filter(|message| message.id == **id);
            let original = original.flat_map(|message| &message.blocks);
            expected.extend(without_repeats(original.filter(|b| is_said(b)), &pieces));
            sent.extend(pieces);
        }
        sent.retain(|block| is_thought(block));
        let leading = thoughts(expected.clone());
        expected.retain(|block| is_thought(block));
        if sent != expected && sent != leading {
            broken.push(Broken::ThinkingChanged);
        }
    }
}

/// Leaves out calls that were written more often than they were sent: the thought before such a
/// one leads to nothing.
fn without_repeats<'a>(blocks: impl Iterator<Item = &'a Block>, sent: &[&Block]) -> Vec<&'a Block> {
    let is_named = |name: &CallId, call: &CallId| {
        name == call || name.as_str().starts_with(&format!("{call}-"))
    };
    let mut seen: HashMap<CallId, usize> = HashMap::new();
    let is_sent = |block: &&Block| {
        let Some(call) = called(block) else {
            return true;
        };
        let names = sent.iter().filter_map(|block| called(block));
        let most = names.filter(|name| is_named(name, &call)).count();
        let seen = seen.entry(call).or_default();
        *seen += 1;
        *seen <= most
    };
    blocks.filter(is_sent).collect()
}

/// Returns the thoughts that lead to something.
fn thoughts(mut blocks: Vec<&Block>) -> Vec<&Block> {
    while blocks.last().is_some_and(|block| is_thought(block)) {
        blocks.pop();
    }
    blocks.retain(|block| is_thought(block));
    blocks
}

fn is_thought(block: &Block) -> bool {
    matches!(block, Block::Thinking(_))
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
