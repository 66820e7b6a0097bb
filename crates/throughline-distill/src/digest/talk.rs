//! What a prompt says of the work so far.

/// How a user goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Neutral,
    /// Contradicts what was done.
    Corrects,
    /// Is content with it.
    Content,
}

/// Long prompts are new work; what they say of the old stands at their beginning.
const LOOKED_AT_CHARS: usize = 160;

pub(super) fn mood(prompt: &str) -> Mood {
    let head: String = prompt.trim().chars().take(LOOKED_AT_CHARS).collect();
    let head = head.to_lowercase().replace('’', "'");
    let starts = |list: &[&str]| {
        list.iter().any(|word| {
            let rest = head.strip_prefix(word);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    };
    if starts(CONTRADICTIONS) || COMPLAINTS.iter().any(|part| head.contains(part)) {
        Mood::Corrects
    } else if starts(THANKS) {
        Mood::Content
    } else {
        Mood::Neutral
    }
}

const CONTRADICTIONS: &[&str] = &[
    "no",
    "nope",
    "stop",
    "wrong",
    "revert",
    "undo",
    "don't",
    "do not",
    "not like that",
    "wait",
    "that's not",
    "that is not",
    "why did you",
    "you forgot",
    "you missed",
    "you broke",
    "nein",
];

const COMPLAINTS: &[&str] = &[
    "that's wrong",
    "that is wrong",
    "this is wrong",
    "not what i",
    "doesn't work",
    "does not work",
    "didn't work",
    "did not work",
    "still fails",
    "still failing",
    "still broken",
    "still not",
    "same error",
    "i said",
    "i told you",
    "as i said",
    "you should not have",
    "you shouldn't have",
    "revert that",
    "undo that",
    "roll that back",
    "instead of what you",
    "undid your",
    "undid that",
    "reverted your",
    "try again",
    "broke it",
    "broke the",
];

const THANKS: &[&str] = &[
    "thanks",
    "thank you",
    "perfect",
    "great",
    "excellent",
    "awesome",
    "lgtm",
    "looks good",
    "nice",
    "works",
    "it works",
    "well done",
    "danke",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moods() {
        for (prompt, expected) in [
            ("No, use the other file", Mood::Corrects),
            ("that’s wrong: the limit is 5", Mood::Corrects),
            ("The test still fails", Mood::Corrects),
            ("revert", Mood::Corrects),
            ("Note the limit", Mood::Neutral),
            ("Now add a test", Mood::Neutral),
            ("Northern wind", Mood::Neutral),
            ("Thanks! Now commit it", Mood::Content),
            ("perfect", Mood::Content),
        ] {
            assert_eq!(mood(prompt), expected, "{prompt}");
        }
    }
}
