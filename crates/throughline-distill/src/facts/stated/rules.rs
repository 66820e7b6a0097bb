//! The words that identify a lasting statement, and those that rule one out.

use memory::FactKind;

/// Recognizes one form of a lasting statement, with examples that a test checks.
pub(super) struct StatementRule {
    pub(super) kind: FactKind,
    pub(super) prefixes: &'static [&'static str],
    /// One of these phrases must occur as well, unless the list is empty.
    required_phrases: &'static [&'static str],
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the rule's proof, fed by a test")
    )]
    pub(super) catches: &'static [&'static str],
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the rule's proof, fed by a test")
    )]
    pub(super) spares: &'static [&'static str],
}

#[rustfmt::skip]
pub(super) const STATEMENT_RULES: &[StatementRule] = &[
    StatementRule {
        kind: FactKind::Preference,
        prefixes: &[
            "always ", "never ", "from now on", "going forward", "in future ", "in the future ",
            "i prefer ", "i'd prefer ", "i would prefer ", "we prefer ", "i always want ",
            "i want you to always ", "please always ", "please never ", "you should always ",
            "you should never ", "make sure to always ", "make sure you always ", "do not ever ",
            "don't ever ", "my preference is ", "prefer ",
        ],
        required_phrases: &[],
        catches: &[
            "Always run the linter before you commit.", "Never commit generated files",
            "From now on write commit messages in English.",
            "please always use the staging database for experiments",
            "I prefer small functions over long ones",
            "Prefer composition over inheritance in the domain layer",
        ],
        spares: &[
            "Never mind, leave it", "always failing on CI, why?", "Should I always run it?",
            "never mind", "I prefer that one", "Always check this file first now",
            "never saw this error before", "Never was a string in the path",
            "always works on my machine",
        ],
    },
    StatementRule {
        kind: FactKind::Preference,
        prefixes: &[
            "we use ", "we always ", "we never ", "we only ", "we don't use ", "we do not use ",
            "in this repo we ", "in this repo, we ", "in this project we ", "in this project, we ",
            "in this codebase we ", "in this repository we ", "the convention is ",
            "our convention is ", "this project uses ", "this repo uses ", "the project uses ",
        ],
        required_phrases: &[],
        catches: &[
            "We use pnpm, not npm",
            "we never log request bodies in production",
            "In this repo we write tests with pytest",
            "This project uses tabs for indentation.",
        ],
        spares: &[
            "we use this here",
            "do we use pnpm?",
            "we use it because it broke",
        ],
    },
    StatementRule {
        kind: FactKind::Preference,
        prefixes: &[
            "don't ", "do not ", "please don't ", "please do not ", "dont ",
        ],
        required_phrases: &[
            "ever", "anymore", "in tests", "in comments", "in commit messages", "in production",
            "directly to main", "directly to master", "to main", "to master", "force push",
            "force-push",
        ],
        catches: &[
            "don't push directly to main",
            "Please don't add emojis in commit messages",
            "Do not use mocks in tests",
            "don't force push",
        ],
        spares: &[
            "don't touch that line now", "don't worry about the tests", "don't forget to save",
            "do not change this function in tests yet", "don't know why it happens in production",
        ],
    },
    StatementRule {
        kind: FactKind::Note,
        prefixes: &[
            "remember that ", "remember: ", "remember, ", "please remember that ",
            "note for later: ", "for future reference, ", "for future reference: ",
            "keep in mind that ", "for the record, ",
        ],
        required_phrases: &[],
        catches: &[
            "Remember that the staging server is rebuilt every Monday",
            "Keep in mind that the API rejects dates before 1970",
        ],
        spares: &[
            "remember that one?",
            "do you remember that the tests failed?",
        ],
    },
    StatementRule {
        kind: FactKind::Decision,
        prefixes: &[
            "let's go with ", "lets go with ", "we decided to ", "we decided on ",
            "we decided that ", "we've decided to ", "i decided to ", "i've decided to ",
            "we agreed to ", "we agreed on ", "decision: ", "we are going with ",
            "we're going with ", "we settled on ", "we will go with ", "we'll go with ",
        ],
        required_phrases: &[],
        catches: &[
            "Let's go with SQLite for the local cache",
            "We decided to drop support for Python 3.8",
            "Decision: the queue stays in memory",
        ],
        spares: &[
            "let's go with that",
            "let's go with option 2",
            "should we go with SQLite?",
            "let's go with the first one",
        ],
    },
];

/// Prefixes of a correction. The rest of the sentence must itself match a rule or be a choice.
#[rustfmt::skip]
pub(super) const CORRECTION_PREFIXES: &[&str] = &[
    "no, ", "no - ", "nope, ", "actually, ", "actually ", "wrong, ", "that's wrong, ",
    "that is wrong, ", "not like that, ", "that's not right, ", "no. ", "no! ",
];

/// Words that tie a sentence to the current moment.
#[rustfmt::skip]
pub(super) const MOMENTARY_WORDS: &[&str] = &[
    "now", "this", "that", "these", "those", "here", "it", "them", "yet", "again", "today",
    "tonight", "above", "below", "just", "currently", "temporarily", "instead", "first", "second",
    "option", "one", "mind", "saw", "seen", "worry", "know", "think", "understand", "forget",
    "failing", "because", "wait",
];

/// Phrases that contain such a word and are lasting nevertheless.
#[rustfmt::skip]
pub(super) const LASTING_PHRASES: &[&str] = &[
    "from now on", "in this repo", "in this project", "in this codebase", "in this repository",
    "this project", "this repo", "so that", "instead of", "remember that", "decided that",
    "mind that", "keep in mind", "first commit", "one at a time", "make sure that", "instead",
];

impl StatementRule {
    pub(super) fn matches_sentence(&self, said: &str) -> bool {
        self.prefixes.iter().any(|begin| said.starts_with(begin))
            && (self.required_phrases.is_empty()
                || self
                    .required_phrases
                    .iter()
                    .any(|word| has_phrase(said, word)))
    }
}

/// Words after "always" or "never" that start a description instead of a rule.
pub(super) const NARRATIVE_WORDS: &[&str] = &[
    "a", "an", "the", "was", "were", "is", "are", "had", "has", "have", "been", "i", "you", "he",
    "she", "we", "they", "in", "on", "at", "works", "worked", "fails", "failed", "happens",
    "happened", "heard", "got", "gets", "returns", "returned", "did", "does", "really", "quite",
    "to",
];

fn has_phrase(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + phrase.len()..].chars().next();
        let is_boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
        is_boundary(before) && is_boundary(after)
    })
}
