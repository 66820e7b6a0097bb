//! Rules that compare a request with the conversation it was cut from.

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

/// What an assistant says right after thinking is not sent without the thought. Where responses
/// have names, [`parted`] sees to it.
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

/// No thought that is sent differs from the one that was thought, and those of the last turn are
/// all there.
fn thinking(before: &[Message], turns: &[Turn<'_>], broken: &mut Vec<Broken>) {
    let spoken: Vec<_> = turns
        .iter()
        .filter(|turn| turn.role == Role::Assistant)
        .collect();
    let Some(last) = spoken.last() else {
        return;
    };
    let is_whole = if is_damaged(before, &spoken) {
        excused(before, &spoken)
    } else {
        strict(before, last)
    };
    if is_altered(before, &spoken) || !is_whole {
        broken.push(Broken::ThinkingChanged);
    }
}

/// Says whether a thought is sent that its message did not hold, or in another order.
fn is_altered(before: &[Message], spoken: &[&Turn<'_>]) -> bool {
    let mut thought: HashMap<&MessageId, Vec<&Block>> = HashMap::new();
    for message in before {
        let blocks = message.blocks.iter().filter(|block| is_thought(block));
        thought.entry(&message.id).or_default().extend(blocks);
    }
    let mut left: HashMap<&MessageId, std::slice::Iter<'_, &Block>> = thought
        .iter()
        .map(|(id, blocks)| (*id, blocks.iter()))
        .collect();
    let parts = spoken.iter().flat_map(|turn| &turn.content);
    let mut thoughts = parts.filter(|part| is_thought(part.block));
    thoughts.any(|part| {
        let known = left.get_mut(&part.message.id);
        known.is_some_and(|known| !known.any(|block| *block == part.block))
    })
}

/// The thoughts of the last turn are those of all entries of its responses, byte for byte. Only one
/// that would end the turn may be left out, and must be.
fn strict(before: &[Message], last: &Turn<'_>) -> bool {
    let origin = Origins::of(last);
    let said = before.iter().filter(|message| origin.holds(message));
    let said = said.flat_map(|message| &message.blocks);
    let mut expected: Vec<_> = said.filter(|block| is_said(block)).collect();
    let sent: Vec<_> = last.content.iter().map(|part| part.block).collect();
    let sent: Vec<_> = sent.into_iter().filter(|block| is_thought(block)).collect();
    let leading = thoughts(expected.clone());
    expected.retain(|block| is_thought(block));
    sent == expected || sent == leading
}

/// Which messages and responses a turn is made of.
struct Origins<'a> {
    ids: HashSet<&'a MessageId>,
    responses: HashSet<&'a ApiId>,
}

impl<'a> Origins<'a> {
    fn of(turn: &Turn<'a>) -> Self {
        let messages = || turn.content.iter().map(|part| part.message);
        Self {
            ids: messages().map(|message| &message.id).collect(),
            responses: messages().filter_map(|m| m.api_id.as_ref()).collect(),
        }
    }

    fn holds(&self, message: &Message) -> bool {
        let response = message.api_id.as_ref();
        message.role == Role::Assistant
            && (self.ids.contains(&message.id)
                || response.is_some_and(|api| self.responses.contains(api)))
    }
}

/// Says whether the log is at odds with itself where the last turn comes from: a call that is
/// written twice, an entry that answers itself, a response with another one or a prompt inside, or
/// an entry of which a part had to go to another turn.
fn is_damaged(before: &[Message], spoken: &[&Turn<'_>]) -> bool {
    let Some((last, earlier)) = spoken.split_last() else {
        return false;
    };
    let origin = Origins::of(last);
    let mut written: HashMap<CallId, usize> = HashMap::new();
    for call in before.iter().flat_map(|m| &m.blocks).filter_map(called) {
        *written.entry(call).or_default() += 1;
    }
    let is_odd = |block: &Block| {
        let answers = matches!(block, Block::ToolResult(_));
        answers || called(block).is_some_and(|call| written[&call] > 1)
    };
    let own = || before.iter().filter(|message| origin.holds(message));
    let parts = earlier.iter().flat_map(|turn| &turn.content);
    own().flat_map(|message| &message.blocks).any(is_odd)
        || parts.into_iter().any(|part| origin.holds(part.message))
        || origin.responses.iter().any(|api| is_parted(before, api))
}

/// Says whether anything but results stands between the entries of a response.
fn is_parted(before: &[Message], api: &ApiId) -> bool {
    let is_own = |message: &Message| message.api_id.as_ref() == Some(api);
    let first = before.iter().position(is_own);
    let last = before.iter().rposition(is_own);
    let Some((first, last)) = first.zip(last) else {
        return false;
    };
    let speaks = |message: &Message| {
        let talks = |block: &Block| is_sent(block) && !matches!(block, Block::ToolResult(_));
        message.role != Role::System && message.blocks.iter().any(talks)
    };
    let between = before[first..last].iter();
    between
        .into_iter()
        .any(|message| !is_own(message) && speaks(message))
}

/// The same for a damaged log, response by response. A message may be sent in pieces, the first of
/// them in an earlier turn. A thought that led to nothing in its own response may be left out.
fn excused(before: &[Message], spoken: &[&Turn<'_>]) -> bool {
    let Some(last) = spoken.last() else {
        return true;
    };
    let mut responses: BTreeMap<Option<&ApiId>, Vec<&MessageId>> = BTreeMap::new();
    for part in &last.content {
        let ids = responses.entry(part.message.api_id.as_ref()).or_default();
        if !ids.contains(&&part.message.id) {
            ids.push(&part.message.id);
        }
    }
    responses.values().all(|ids| {
        let (mut sent, mut expected) = (Vec::new(), Vec::new());
        for id in ids {
            let parts = spoken.iter().flat_map(|turn| &turn.content);
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
        sent == expected || sent == leading
    })
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
