//! Extracts what a person typed from a user message.

use memory::{Block, Boundary, Origin};

use super::wire::Message;
use crate::flavor::gemini_content::GeminiPart;
use crate::title::first_line_title;

/// The beginnings of Gemini CLI's own messages.
const HARNESS_PREFIXES: &[&str] = &[
    "<session_context>",
    "This is the Gemini CLI. We are setting up the context",
    "Here is the user's editor context",
    "Here is a summary of changes in the user's editor context",
    "System: Please continue",
    "System: Potential loop detected",
    "<state_snapshot>",
    HOOK_BEGIN,
];

/// The markers around the context of hooks.
const HOOK_BEGIN: &str = "<hook_context>";
const HOOK_END: &str = "</hook_context>";

/// The markers around the files that a prompt names with `@`.
const FILES_BEGIN: &str = "--- Content from referenced files ---";
const FILES_END: &str = "--- End of content ---";

/// Returns the blocks of a user message and its origin.
pub(crate) fn read_prompt(message: &Message) -> (Vec<Block>, Origin) {
    let content = message
        .display_content
        .as_ref()
        .filter(|shown| !shown.0.is_empty());
    let parts = &content.unwrap_or(&message.content).0;
    let blocks = typed_parts(parts).filter_map(GeminiPart::block);
    let mut blocks: Vec<Block> = blocks.map(strip_hook_context).collect();
    let text = message.content.spoken_text();
    let text = after_hook_context(text.trim_start());
    if text.starts_with("<state_snapshot>") {
        let summary = Block::Summary(text.to_owned());
        blocks = vec![Block::Boundary(Boundary::default()), summary];
    }
    let is_harness = HARNESS_PREFIXES.iter().any(|begin| text.starts_with(begin));
    let origin = if is_harness {
        Origin::Harness
    } else {
        Origin::Human
    };
    (blocks, origin)
}

/// Skips the parts that Gemini CLI adds to a prompt: files and the context of hooks.
fn typed_parts(parts: &[GeminiPart]) -> impl Iterator<Item = &GeminiPart> {
    let mut in_files = false;
    parts.iter().filter(move |part| {
        let text = part.text.as_deref().unwrap_or_default().trim();
        let ends = text == FILES_END;
        in_files |= text == FILES_BEGIN;
        let kept = !in_files && !after_hook_context(text).starts_with(HOOK_BEGIN);
        in_files &= !ends;
        kept && !ends
    })
}

/// Returns a text after the context of a session's start, which precedes the first prompt in the
/// same text.
fn after_hook_context(text: &str) -> &str {
    let hook_output = text.strip_prefix(HOOK_BEGIN);
    let rest = hook_output.and_then(|hook_output| hook_output.split_once(HOOK_END));
    match rest.map(|(_, prompt)| prompt.trim_start()) {
        Some(prompt) if !prompt.is_empty() => prompt,
        _ => text,
    }
}

fn strip_hook_context(block: Block) -> Block {
    match block {
        Block::Text(text) if text.starts_with(HOOK_BEGIN) => {
            Block::Text(after_hook_context(&text).to_owned())
        }
        block => block,
    }
}

/// Returns the origin of an answer: Gemini CLI itself answers the summary of a compaction.
pub(crate) fn answer_origin(blocks: &[Block]) -> Origin {
    match blocks {
        [Block::Text(text)] if text == "Got it. Thanks for the additional context!" => {
            Origin::Harness
        }
        _ => Origin::Model,
    }
}

/// Returns the folder that the session's first message names.
pub(crate) fn workspace(text: &str) -> Option<&str> {
    let (_, list) = text.split_once("**Workspace Directories:**")?;
    let first = list.trim_start().lines().next()?;
    Some(first.strip_prefix("- ")?.trim()).filter(|path| !path.is_empty())
}

/// Returns the first line of a prompt as a title.
pub(crate) fn title(blocks: &[Block]) -> Option<String> {
    let text = blocks.iter().find_map(|block| match block {
        Block::Text(text) => Some(text),
        _ => None,
    })?;
    first_line_title(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let (blocks, origin) = read_prompt(&serde_json::from_str(json).unwrap());
        assert_eq!(format!("{origin:?} {blocks:?}"), expected);
    }

    #[test]
    fn files_and_hooks_are_not_the_prompt() {
        check(
            r#"{"content":[{"text":"see @a"},{"text":"\n--- Content from referenced files ---"},
                {"text":"\nContent from @a:\n"},{"text":"secret"},
                {"text":"\n--- End of content ---"},
                {"text":"<hook_context>remember</hook_context>"}]}"#,
            r#"Human [Text("see @a")]"#,
        );
        check(
            r#"{"content":[{"text":"<hook_context>remember</hook_context>\n\nWhy?"}]}"#,
            r#"Human [Text("Why?")]"#,
        );
        check(
            r#"{"content":[{"text":"<hook_context>remember</hook_context>"}]}"#,
            "Harness []",
        );
        check(
            r#"{"content":"/fix it, expanded","displayContent":"/fix it"}"#,
            r#"Human [Text("/fix it")]"#,
        );
    }

    #[test]
    fn the_program_speaks_as_the_user() {
        check(
            r#"{"content":[{"text":"<session_context>\nThis is"}]}"#,
            r#"Harness [Text("<session_context>\nThis is")]"#,
        );
        check(
            r#"{"content":[{"text":"<state_snapshot>goal</state_snapshot>"}]}"#,
            concat!(
                r#"Harness [Boundary(Boundary { trigger: None, tokens_before: None, last: None, "#,
                r#"tools: [], preserved: None }), Summary("<state_snapshot>goal</state_snapshot>"#,
                r#"")]"#,
            ),
        );
    }

    #[test]
    fn the_context_names_the_workspace() {
        let text = "x\n- **Workspace Directories:**\n  - /home/dev/proj\n  - /other\n";
        assert_eq!(workspace(text), Some("/home/dev/proj"));
        assert_eq!(workspace("- **Workspace Directories:**\n"), None);
    }
}
