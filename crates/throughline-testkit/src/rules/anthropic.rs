//! Anthropic's Messages API.

use std::collections::HashSet;

use memory::{Block, CallId, Role};

use super::Broken;
use super::shape::{Turn, answered, called};

pub fn broken(turns: &[Turn<'_>]) -> Vec<Broken> {
    let mut broken = Vec::new();
    if turns.first().is_none_or(|turn| turn.role != Role::User) {
        broken.push(Broken::FirstNotUser);
    }
    let mut called_before = HashSet::new();
    for (place, turn) in turns.iter().enumerate() {
        if place > 0 && turns[place - 1].role == turn.role {
            broken.push(Broken::RoleTwice(place));
        }
        content(place, turn, &mut broken);
        for call in turn.content.iter().filter_map(|part| called(part.block)) {
            if !called_before.insert(call.clone()) {
                broken.push(Broken::CallTwice(call));
            }
        }
        let next = turns.get(place + 1);
        answers(turn, next, &mut broken);
        if place == 0 {
            stray(&HashSet::new(), turn, &mut broken);
        }
    }
    broken
}

/// What a turn may hold, and in which order.
fn content(place: usize, turn: &Turn<'_>, broken: &mut Vec<Broken>) {
    if turn.content.is_empty() {
        broken.push(Broken::EmptyTurn(place));
    }
    let mut other = false;
    for part in &turn.content {
        let is_assistant = turn.role == Role::Assistant;
        match part.block {
            Block::Text(text) | Block::Summary(text) if text.trim().is_empty() => {
                broken.push(Broken::BlankText(place));
            }
            Block::Thinking(_) if !is_assistant => broken.push(Broken::UserThinks(place)),
            Block::ToolUse(call) if !is_assistant => {
                broken.push(Broken::UserCalls(call.call.clone()));
            }
            Block::Image { .. } if is_assistant => broken.push(Broken::AssistantImage(place)),
            Block::ToolResult(_) if is_assistant => broken.push(Broken::AssistantAnswers(place)),
            Block::ToolResult(result) => {
                if result.call.is_none() {
                    broken.push(Broken::NamelessResult(place));
                }
                if other {
                    broken.push(Broken::ResultsNotFirst(place));
                }
            }
            Block::Error(_) | Block::Approval(_) | Block::Boundary(_) => {
                broken.push(Broken::NotContent(place));
            }
            _ => {}
        }
        other |= !matches!(part.block, Block::ToolResult(_));
    }
    let last = turn.content.last().map(|part| part.block);
    if matches!(last, Some(Block::Thinking(_))) {
        broken.push(Broken::ThinkingLast(place));
    }
}

/// Calls of a turn against the results of the next.
fn answers(turn: &Turn<'_>, next: Option<&Turn<'_>>, broken: &mut Vec<Broken>) {
    let calls: HashSet<CallId> = (turn.content.iter())
        .filter_map(|part| called(part.block))
        .collect();
    let mut results = HashSet::new();
    if let Some(next) = next {
        stray(&calls, next, broken);
        for call in next.content.iter().filter_map(|part| answered(part.block)) {
            if !results.insert(call.clone()) {
                broken.push(Broken::ResultTwice(call));
            }
        }
    }
    let mut open: Vec<_> = calls.difference(&results).cloned().collect();
    open.sort();
    broken.extend(open.into_iter().map(Broken::Unanswered));
}

fn stray(calls: &HashSet<CallId>, turn: &Turn<'_>, broken: &mut Vec<Broken>) {
    let results = turn.content.iter().filter_map(|part| answered(part.block));
    let stray = results.filter(|call| !calls.contains(call));
    broken.extend(stray.map(Broken::StrayResult));
}
