//! Summarizes messages with the embedded extractor, into the same sections as the running summary.

use memory::summary::{SummaryLimits, Template};
use memory::{Message, Summary, Tokens, record};

use crate::record_view::ExtractorRecord;
use crate::summary::embedded::{SummaryBuilder, render_summary};

/// The summary is cut later, when it becomes a message.
const NO_LIMITS: SummaryLimits = SummaryLimits {
    section: Tokens(u64::MAX),
    whole: Tokens(u64::MAX),
};

/// Fills the sections of the template, or returns `None` if there is nothing to summarize.
pub fn summarize_messages(messages: &[Message], template: &Template) -> Option<Summary> {
    let mut builder = SummaryBuilder::new();
    for record in messages.iter().cloned().flat_map(record::project_records) {
        builder.add_record(&ExtractorRecord::from(&record));
    }
    (!builder.is_empty()).then(|| render_summary(&builder, None, template, None, &NO_LIMITS, ""))
}

#[cfg(test)]
mod tests {
    use memory::Block;
    use memory::summary::SECTIONS;
    use testkit::transcript::transcript;

    use super::*;

    fn account(messages: &[Message]) -> Option<Summary> {
        summarize_messages(messages, &Template::default())
    }

    #[test]
    fn what_users_miss_is_in_it_under_the_ten_headings() {
        let mut messages = transcript(
            "u Make the list sorted.\na use #1\nu result #1 ~3\na use #2 Read\nu result #2\n\
             u Never touch main.rs, and use tabs.\na done so far\nu Now the docs in docs/A.md\n\
             a use #3",
        );
        if let Block::ToolResult(result) = &mut messages[2].blocks[0] {
            result.is_error = true;
            result.exit_code = Some(101);
            result.content = "compiling\nerror: no list\n".to_owned();
        }
        if let Block::ToolUse(call) = &mut messages[3].blocks[0] {
            call.path = Some("/p/list.rs".to_owned());
            call.input = "{}".to_owned();
        }
        let account = account(&messages).unwrap();
        let headings: Vec<_> = account
            .sections
            .iter()
            .map(|s| s.heading.as_str())
            .collect();
        assert_eq!(headings, SECTIONS.map(|(heading, _)| heading));
        insta::assert_snapshot!(account);
    }

    #[test]
    fn nothing_has_no_account() {
        assert_eq!(account(&[]), None);
        assert_eq!(
            account(&transcript("s boundary\ns note\nu result #1")),
            None
        );
    }

    #[test]
    fn an_earlier_summary_is_carried_on() {
        let account = account(&transcript("s boundary\nu summary ~5\nu go on")).unwrap();
        assert_eq!(account.get("Earlier summary"), Some("> it it it it it"));
    }

    #[test]
    fn a_summary_of_our_own_is_carried_on_too() {
        let mut messages = transcript("s boundary\nu summary ~5\nu go on");
        let ours = memory::fence::enclose("summary", "# Task\nSort the list.");
        messages[1].blocks = vec![Block::Summary(ours)];
        let account = account(&messages).unwrap();
        let earlier = account.get("Earlier summary").unwrap();
        assert_eq!(earlier, "> # Task\n> Sort the list.");
    }
}
