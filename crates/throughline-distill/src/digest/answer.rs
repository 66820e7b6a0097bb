//! Classifies what the agent's last message says about its work.

/// What the agent's last message reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AnswerReport {
    /// An answer without a claim about the work.
    #[default]
    Plain,
    /// The work is done.
    Done,
    /// The agent did not succeed.
    Failed,
    /// The agent asks the user something.
    Question,
    /// The agent announces its next step.
    Progress,
}

/// Reports stand at the beginning or at the end of a message.
const EDGE_CHARS: usize = 400;
/// A longer message is more than the announcement of a step.
const PROGRESS_CHARS_MAX: usize = 240;

pub(super) fn answer_report(answer: &str) -> AnswerReport {
    let prose = without_quotations(answer).to_lowercase().replace('’', "'");
    let prose = prose.trim();
    let edges = [
        &prose[..prose.floor_char_boundary(EDGE_CHARS)],
        &prose[prose.ceil_char_boundary(prose.len().saturating_sub(EDGE_CHARS))..],
    ];
    let has = |list: &[&str]| {
        edges
            .iter()
            .any(|edge| list.iter().any(|part| edge.contains(part)))
    };
    let last_sentence = prose.rsplit_once(". ").map_or(prose, |(_, last)| last);
    let announces = ANNOUNCEMENTS.iter().any(|start| prose.starts_with(start));
    let announces = announces
        || ["let me ", "now let me "]
            .iter()
            .any(|start| last_sentence.starts_with(start));
    if has(FAILURES) {
        AnswerReport::Failed
    } else if announces && prose.chars().count() <= PROGRESS_CHARS_MAX {
        AnswerReport::Progress
    } else if has(COMPLETIONS) {
        AnswerReport::Done
    } else if prose.ends_with('?') {
        AnswerReport::Question
    } else {
        AnswerReport::Plain
    }
}

/// Returns a text without code and without what it quotes: an error message in an answer is not
/// the agent's own report.
fn without_quotations(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !trimmed.starts_with('>') {
            let parts = line.split(['`', '"', '“', '”']);
            prose.extend(parts.step_by(2).flat_map(|part| [part, " "]));
            prose.push('\n');
        }
    }
    prose
}

#[rustfmt::skip]
const FAILURES: &[&str] = &[
    "i couldn't", "i could not", "i can't", "i cannot", "i was unable", "i am unable", "i'm unable",
    "i wasn't able", "i was not able", "i'm not able", "i am not able", "i failed to",
    "we could not", "we couldn't", "we cannot", "we can't", "was unable to complete",
    "could not complete", "couldn't complete", "could not be completed", "remains unresolved",
    "still failing", "still fails", "is still broken", "did not succeed", "i give up",
];

#[rustfmt::skip]
const ANNOUNCEMENTS: &[&str] = &[
    "let me ", "i'll ", "i will ", "i'm going to ", "i am going to ", "now let me", "now i'll ",
    "now i will", "first, let", "launching", "searching", "spawning", "starting", "checking",
    "looking", "running", "reading", "continuing", "i need to ", "next, i",
];

#[rustfmt::skip]
const COMPLETIONS: &[&str] = &[
    "done", "complete", "successful", "fixed", "implemented", "added", "updated", "created",
    "removed", "deleted", "pushed", "committed", "merged", "resolved", "renamed", "moved",
    "refactored", "replaced", " is now ", " are now ", " now has ", " now have ", "summary",
    "all tests pass", "tests pass", "passes", "verified", "finished", "wrote ", "installed",
    "is ready", "patched", "root cause",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports() {
        for (answer, expected) in [
            ("Done. I added the flag.", AnswerReport::Done),
            ("The parser is now recursive.", AnswerReport::Done),
            ("I couldn't find the file.", AnswerReport::Failed),
            (
                "The error \"cannot be found\" means that the SDK path is not set.",
                AnswerReport::Plain,
            ),
            ("Let me look at the logs.", AnswerReport::Progress),
            (
                "You're right. Let me find the place.",
                AnswerReport::Progress,
            ),
            ("Which of the two do you mean?", AnswerReport::Question),
            ("A mutex protects the queue.", AnswerReport::Plain),
            (
                "```\nI cannot go on\n```\nThat line comes from the server.",
                AnswerReport::Plain,
            ),
            ("", AnswerReport::Plain),
        ] {
            assert_eq!(answer_report(answer), expected, "{answer}");
        }
    }
}
