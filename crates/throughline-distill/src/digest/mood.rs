//! Classifies what a prompt says about the work so far.

/// The user's reaction to the work so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptMood {
    Neutral,
    /// The user contradicts the agent.
    Correction,
    /// The user is satisfied.
    Satisfied,
}

/// Only the start of a prompt is examined: the rest of a long one describes new work.
const LOOKED_AT_CHARS: usize = 160;

pub(super) fn prompt_mood(prompt: &str) -> PromptMood {
    let head: String = prompt.trim().chars().take(LOOKED_AT_CHARS).collect();
    let head = head.to_lowercase().replace('’', "'");
    let starts = |list: &[&str]| {
        list.iter().any(|word| {
            let rest = head.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    };
    if starts(CONTRADICTIONS) || COMPLAINTS.iter().any(|part| head.contains(part)) {
        PromptMood::Correction
    } else if starts(THANKS) {
        PromptMood::Satisfied
    } else {
        PromptMood::Neutral
    }
}

#[rustfmt::skip]
const CONTRADICTIONS: &[&str] = &[
    "no", "nope", "stop", "wrong", "revert", "undo", "don't", "do not", "not like that", "wait",
    "that's not", "that is not", "why did you", "you forgot", "you missed", "you broke", "nein",
];

#[rustfmt::skip]
const COMPLAINTS: &[&str] = &[
    "that's wrong", "that is wrong", "this is wrong", "not what i", "doesn't work",
    "does not work", "didn't work", "did not work", "still fails", "still failing", "still broken",
    "still not", "same error", "i said", "i told you", "as i said", "you should not have",
    "you shouldn't have", "revert that", "undo that", "roll that back", "instead of what you",
    "undid your", "undid that", "reverted your", "try again", "broke it", "broke the",
];

#[rustfmt::skip]
const THANKS: &[&str] = &[
    "thanks", "thank you", "perfect", "great", "excellent", "awesome", "lgtm", "looks good",
    "nice", "works", "it works", "well done", "danke",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moods() {
        for (prompt, expected) in [
            ("No, use the other file", PromptMood::Correction),
            ("that’s wrong: the limit is 5", PromptMood::Correction),
            ("The test still fails", PromptMood::Correction),
            ("revert", PromptMood::Correction),
            ("Note the limit", PromptMood::Neutral),
            ("Now add a test", PromptMood::Neutral),
            ("Northern wind", PromptMood::Neutral),
            ("Thanks! Now commit it", PromptMood::Satisfied),
            ("perfect", PromptMood::Satisfied),
        ] {
            assert_eq!(prompt_mood(prompt), expected, "{prompt}");
        }
    }
}
