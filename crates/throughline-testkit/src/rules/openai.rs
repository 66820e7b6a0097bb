//! OpenAI's chat completions and responses.

use std::collections::HashSet;

use memory::CallId;

use super::Broken;
use super::shape::{Chat, Item};

pub fn chat_broken(messages: &[Chat]) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut open: Vec<CallId> = Vec::new();
    for message in messages {
        match message {
            Chat::Tool(call) => match open.iter().position(|known| known == call) {
                Some(place) => {
                    open.swap_remove(place);
                }
                None => broken.push(Broken::ToolNotAfterCalls(call.clone())),
            },
            Chat::User => broken.extend(open.drain(..).map(Broken::ChatUnanswered)),
            Chat::Assistant { calls } => {
                broken.extend(open.drain(..).map(Broken::ChatUnanswered));
                open.clone_from(calls);
            }
        }
    }
    broken.extend(open.into_iter().map(Broken::ChatUnanswered));
    broken
}

pub fn responses_broken(items: &[Item]) -> Vec<Broken> {
    let mut broken = Vec::new();
    let (mut called, mut answered) = (HashSet::new(), HashSet::new());
    for (place, item) in items.iter().enumerate() {
        match item {
            Item::Call(call) => {
                called.insert(call);
            }
            Item::Output(call) if !called.contains(call) => {
                broken.push(Broken::OutputWithoutCall(call.clone()));
            }
            Item::Output(call) => {
                if !answered.insert(call) {
                    broken.push(Broken::OutputTwice(call.clone()));
                }
            }
            Item::Reasoning => {
                let next = items.get(place + 1);
                let led = matches!(
                    next,
                    Some(Item::Reasoning | Item::Assistant | Item::Call(_))
                );
                if !led {
                    broken.push(Broken::ReasoningAlone(place));
                }
            }
            Item::User | Item::Assistant => {}
        }
    }
    let mut open: Vec<_> = called.difference(&answered).collect();
    open.sort();
    broken.extend(
        open.into_iter()
            .map(|call| Broken::CallWithoutOutput((*call).clone())),
    );
    broken
}
