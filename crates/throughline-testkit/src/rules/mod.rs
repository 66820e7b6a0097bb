//! The rules by which model APIs accept a conversation.
//!
//! [`broken`] projects messages to the shapes that are sent ([`shape`]: Anthropic Messages, OpenAI
//! chat completions, OpenAI responses) and names every rule they break. The projection joins
//! consecutive messages of one role, as every client does, and repairs nothing.

mod anthropic;
mod openai;
pub mod shape;
mod whole;
pub mod wire;

use memory::{Block, CallId, Message, MessageId, Origin, Role, Tokens, ToolResult};

/// A rule that is broken, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A conversation begins with the user.
    FirstNotUser,
    /// Roles take turns.
    RoleTwice(usize),
    EmptyTurn(usize),
    /// A text must have more than white space.
    BlankText(usize),
    /// Every call is answered in the next turn.
    Unanswered(CallId),
    /// Every result has its call in the turn before.
    StrayResult(CallId),
    CallTwice(CallId),
    ResultTwice(CallId),
    /// A result names its call.
    NamelessResult(usize),
    /// Results stand before anything else in their turn.
    ResultsNotFirst(usize),
    /// A turn does not end with a thought.
    ThinkingLast(usize),
    /// Only the assistant thinks and calls.
    UserThinks(usize),
    UserCalls(CallId),
    /// Only the user answers and shows images.
    AssistantAnswers(usize),
    AssistantImage(usize),
    /// What only logs hold was sent.
    NotContent(usize),
    /// Thoughts of the last assistant turn are as they were.
    ThinkingChanged,
    /// Entries of one response are all there, in one turn.
    PartedResponse(String),
    TooLong {
        tokens: Tokens,
        window: Tokens,
    },
    /// Chat: a tool's message comes right after the calls, one for each.
    ToolNotAfterCalls(CallId),
    ChatUnanswered(CallId),
    /// Responses: a call has one output, and an output its call before it.
    CallWithoutOutput(CallId),
    OutputWithoutCall(CallId),
    OutputTwice(CallId),
    /// Responses: reasoning keeps the item it led to.
    ReasoningAlone(usize),
    /// Responses: an item keeps the reasoning that led to it.
    ReasoningLost(MessageId),
}

/// A request to a model, and the conversation that it was made from.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// The conversation it was made of.
    pub before: &'a [Message],
    pub messages: &'a [Message],
    /// Calls that the caller answers with its next message.
    pub open: &'a [CallId],
    /// The most tokens the model takes.
    pub window: Option<Tokens>,
}

/// Returns every rule that is broken, for every provider.
pub fn broken(sent: &Sent<'_>) -> Vec<Broken> {
    let mut messages = sent.messages.to_vec();
    messages.extend(answers(sent));
    let turns = shape::turns(&messages);
    let mut broken = anthropic::broken(&turns);
    broken.extend(openai::chat_broken(&shape::chat(&turns)));
    broken.extend(openai::responses_broken(&shape::responses(&turns)));
    broken.extend(whole::broken(sent.before, &messages));
    if let Some(window) = sent.window {
        let tokens = messages.iter().map(Message::tokens).sum();
        if tokens > window {
            broken.push(Broken::TooLong { tokens, window });
        }
    }
    broken
}

/// Returns the message that answers the open calls.
fn answers(sent: &Sent<'_>) -> Option<Message> {
    let last = sent.messages.last()?;
    let answer = |call: &CallId| {
        Block::ToolResult(ToolResult {
            call: Some(call.clone()),
            content: "done".to_owned(),
            ..ToolResult::default()
        })
    };
    let mut message = Message::new(
        MessageId::new("answers"),
        last.session.clone(),
        Role::User,
        Origin::Tool,
    );
    message.blocks = sent.open.iter().map(answer).collect();
    (!message.blocks.is_empty()).then_some(message)
}

#[cfg(test)]
mod tests;
