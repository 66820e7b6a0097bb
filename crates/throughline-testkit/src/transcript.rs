//! Conversations written down as text, and shown as text again.
//!
//! A line is a message: who says it, then its blocks with `+` between them. Its id is the number of
//! the line.
//!
//! ```text
//! u prompt ~500            a prompt of 500 tokens
//! a think + use #1 @A      a thought and a call, in the API response A
//! a use #2 Read @A         another entry of the same response, with the tool's name
//! u result #1 + result #2
//! s boundary
//! u summary
//! a sorted, all tests pass
//! ```
//!
//! Other blocks are `image`, `blank` (an empty text) and `error`; any other words are a text.

use memory::tokens::estimate;
use memory::{
    ApiId, Block, Boundary, CallId, Flavor, Message, MessageId, Origin, Role, SessionId,
    ToolResult, ToolUse,
};

/// Returns the messages of a transcript.
pub fn transcript(text: &str) -> Vec<Message> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    (1..)
        .zip(lines)
        .map(|(line, text)| message(line, text))
        .collect()
}

/// Returns a text of exactly so many tokens.
///
/// # Panics
///
/// When the estimator knows no such text.
pub fn words(tokens: u64) -> String {
    let mut words = usize::try_from(tokens).unwrap_or(usize::MAX);
    for _ in 0..64 {
        let text = vec!["it"; words].join(" ");
        let size = estimate(&text).0;
        if size == tokens {
            return text;
        }
        words = words.saturating_add_signed(
            isize::try_from(i128::from(tokens) - i128::from(size)).unwrap_or_default(),
        );
    }
    assert_eq!(tokens, 0, "no text has that many tokens");
    String::new()
}

/// Shows messages in one line: `prompt 17 | use #4 | result #4`.
pub fn line(messages: &[Message]) -> String {
    let blocks = messages
        .iter()
        .flat_map(|message| message.blocks.iter().map(move |block| show(message, block)));
    blocks.collect::<Vec<_>>().join(" | ")
}

fn message(line: u64, text: &str) -> Message {
    let (who, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (rest, api) = match rest.rsplit_once(" @") {
        Some((rest, api)) => (rest, Some(ApiId::new(api))),
        None => (rest, None),
    };
    let blocks: Vec<_> = rest.split(" + ").map(block).collect();
    let answers = blocks.iter().any(|b| matches!(b, Block::ToolResult(_)));
    let (role, origin) = match who {
        "a" => (Role::Assistant, Origin::Model),
        "s" => (Role::System, Origin::Harness),
        _ if answers => (Role::User, Origin::Tool),
        _ => (Role::User, Origin::Human),
    };
    let session = SessionId::of(Flavor::Claude, "s");
    let mut message = Message::new(MessageId::new(line.to_string()), session, role, origin);
    message.api_id = api;
    message.line = line;
    message.blocks = blocks;
    message
}

fn block(text: &str) -> Block {
    let (text, size) = match text.rsplit_once('~') {
        Some((text, size)) => (text.trim(), size.trim().parse().ok()),
        None => (text.trim(), None),
    };
    let content = size.map_or_else(|| text.to_owned(), words);
    let (first, rest) = text.split_once(" #").unwrap_or((text, ""));
    let (call, tool) = rest.split_once(' ').unwrap_or((rest, "Bash"));
    match first {
        "use" => Block::ToolUse(ToolUse {
            call: CallId::new(call),
            tool: tool.to_owned(),
            input: size.map_or_else(|| r#"{"command":"ls"}"#.to_owned(), words),
            path: None,
        }),
        "result" => Block::ToolResult(ToolResult {
            call: (!call.is_empty()).then(|| CallId::new(call)),
            tool: Some(tool.to_owned()),
            content,
            ..ToolResult::default()
        }),
        "think" => Block::Thinking(content),
        "image" => Block::Image {
            media_type: "image/png".to_owned(),
            size_bytes: 9_000,
        },
        "boundary" => Block::Boundary(Boundary::default()),
        "summary" => Block::Summary(content),
        "blank" => Block::Text(" ".to_owned()),
        "error" => Block::Error("overloaded".to_owned()),
        _ => Block::Text(content),
    }
}

fn show(message: &Message, block: &Block) -> String {
    let id = &message.id;
    match block {
        Block::Text(_) => match (message.role, message.origin) {
            (Role::Assistant, _) => format!("text {id}"),
            (_, Origin::Human) => format!("prompt {id}"),
            _ => format!("note {id}"),
        },
        Block::Thinking(_) => format!("think {id}"),
        Block::ToolUse(call) => format!("use #{}", call.call),
        Block::ToolResult(result) => {
            let call = result.call.as_ref().map_or("?", CallId::as_str);
            let made = if message.origin == Origin::Harness {
                " (made)"
            } else {
                ""
            };
            format!("result #{call}{made}")
        }
        Block::Image { .. } => format!("image {id}"),
        Block::Boundary(_) => "boundary".to_owned(),
        Block::Summary(_) => "summary".to_owned(),
        Block::Error(_) => format!("error {id}"),
        Block::Approval(_) => format!("approval {id}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_shows_as_what_it_says() {
        let messages = transcript(
            "u prompt\na think + use #1 @A\na use #2 Read @A\nu result #1 + image\ns boundary\n\
             u summary\na blank\nu result #\na all sorted",
        );
        assert_eq!(
            line(&messages),
            "prompt 1 | think 2 | use #1 | use #2 | result #1 | image 4 | boundary | summary | \
             text 7 | result #? | text 9"
        );
        assert_eq!(messages[1].api_id, messages[2].api_id);
        assert_eq!(messages[8].blocks, [Block::Text("all sorted".into())]);
    }

    #[test]
    fn a_size_is_exact() {
        for size in [1, 2, 999, 1_000, 1_001, 10_000, 40_001] {
            assert_eq!(estimate(&words(size)).0, size);
        }
        let messages = transcript("u prompt ~7\na use #1 ~9");
        assert_eq!(messages[0].tokens().0, 7);
    }
}
