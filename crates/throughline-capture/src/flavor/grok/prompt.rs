//! Tells a person's words from Grok's own texts in messages of the user's role.

use memory::{Block, Origin};

/// The reason for a message that a person sends while the model works; Grok itself sends the
/// messages with any other reason.
const INTERJECTION: &str = "interjection";

/// The beginnings of Grok's own texts that have no reason.
const HARNESS_PREFIXES: &[&str] = &[
    "<user_info>", "<system-reminder>", "<system_reminder>", "<rules>", "<project_instructions",
    "<project_layout", "<git_status", "<background_context", "<task-notification",
    "<task_notification", "<subagent", "<monitor",
];

const QUERY: &str = "<user_query>";
const QUERY_END: &str = "</user_query>";

/// The beginning of the summary that replaces a compacted conversation.
const SUMMARY_PREFIX: &str = "This session is being continued from a previous conversation";

/// Returns the origin of a user message, and reduces its blocks to the person's words.
pub(crate) fn unwrap_prompt(blocks: &mut Vec<Block>, synthetic_reason: Option<&str>) -> Origin {
    if let Some(Block::Text(text)) = blocks.first()
        && text.starts_with(SUMMARY_PREFIX)
    {
        let text = text.clone();
        *blocks = vec![Block::Summary(text)];
        return Origin::Harness;
    }
    if synthetic_reason.is_some_and(|reason| reason != INTERJECTION) {
        return Origin::Harness;
    }
    let kept_blocks: Vec<Block> = blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => typed_text(text).map(|words| Block::Text(words.to_owned())),
            other => Some(other.clone()),
        })
        .collect();
    if kept_blocks.is_empty() {
        return Origin::Harness;
    }
    *blocks = kept_blocks;
    Origin::Human
}

/// Returns a person's words in a text, if there are any.
fn typed_text(text: &str) -> Option<&str> {
    let begin = text.trim_start();
    let enveloped = HARNESS_PREFIXES
        .iter()
        .any(|envelope| begin.starts_with(envelope));
    // A person may write about these tags, so they count only where Grok puts them, and the last
    // one closes.
    if enveloped || begin.starts_with(QUERY) {
        let (_, query) = begin.split_once(QUERY)?;
        let query = query
            .rsplit_once(QUERY_END)
            .map_or(query, |(query, _)| query);
        return Some(query.trim());
    }
    (!begin.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, reason: Option<&str>, origin: Origin, kept: &str) {
        let mut blocks = vec![Block::Text(text.into())];
        assert_eq!(unwrap_prompt(&mut blocks, reason), origin, "{text}");
        assert_eq!(blocks, [Block::Text(kept.into())]);
    }

    #[test]
    fn a_person_is_heard_through_the_envelope() {
        check("fix it", None, Origin::Human, "fix it");
        check(
            "<user_info>\nOS\n</user_info>\n<user_query>\nfix it\n</user_query>",
            None,
            Origin::Human,
            "fix it",
        );
        check("stop", Some("interjection"), Origin::Human, "stop");
        for text in ["<b>bold</b>", "what is a <user_query> for?"] {
            check(text, None, Origin::Human, text);
        }
    }

    #[test]
    fn the_program_is_not_a_person() {
        let reminder = "<system-reminder>\nx\n</system-reminder>";
        check(reminder, None, Origin::Harness, reminder);
        check(
            "policy",
            Some("project_instructions"),
            Origin::Harness,
            "policy",
        );
    }

    #[test]
    fn a_summary_is_neither() {
        let text = format!("{SUMMARY_PREFIX} that ran out of context.");
        let mut blocks = vec![Block::Text(text.clone())];
        assert_eq!(
            unwrap_prompt(&mut blocks, Some("compaction_meta")),
            Origin::Harness
        );
        assert_eq!(blocks, [Block::Summary(text)]);
    }
}
