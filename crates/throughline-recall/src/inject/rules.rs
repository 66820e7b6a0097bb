//! Rules: decisions and standing orders of the user that govern a prompt.
//!
//! The gate is fitted to questions, which name their topic. A task names a file and a feature, and
//! the rule that governs it may share only one word with it. So a rule in the user's own words may
//! be shown when it shares a name, a number or several topic words with the prompt, or when it was
//! stated in a turn that changed the file which the prompt names.

use std::collections::BTreeSet;

use memory::words::{self, StemmedText};
use memory::{RecordKind, Trust};

use crate::query::utterance;

/// Longer texts are reports or pastes, not rules.
const RULE_BYTES_MAX: usize = 800;
/// The topic words that a rule must share with a prompt if they share no name, and the least share
/// of the prompt's topic words.
const SHARED_MIN: usize = 2;
const SHARED_SHARE: f64 = 0.3;
/// Longer texts share words with many prompts by chance.
const FOCUSED_BYTES_MAX: usize = 300;
/// The least share if the prompt asks for a decision.
const DECIDED_SHARE: f64 = 0.5;
/// Numbers with fewer digits do not identify anything.
const NUMBER_DIGITS_MIN: usize = 3;

/// Words by which people state rules.
const RULE_WORDS: &[&str] = &[
    "agreed", "always", "avoid", "chose", "chosen", "decided", "decision", "dont", "forbidden",
    "instead", "must", "mustnt", "never", "only", "prefer", "rule", "settled", "shouldnt", "stick",
];
/// Words of a rule without exceptions, and the size up to which a text is only such a rule.
const STRICT_WORDS: &[&str] = &["always", "decided", "must", "mustnt", "never"];
const STRICT_BYTES_MAX: usize = 240;
const RULE_OPENINGS: &[&str] = &["keep", "no", "put", "serve", "use"];
/// Stems by which a prompt asks for a decision.
const DECISION_STEMS: &[&str] = &[
    "agre", "agreed", "choos", "chose", "decid", "decision", "policy", "rule", "settl", "settled",
];

/// Returns whether a record is a rule in the user's own words.
pub(super) fn is_rule(kind: RecordKind, trust: Trust, text: &str) -> bool {
    if kind != RecordKind::Prompt || trust != Trust::User || text.len() > RULE_BYTES_MAX {
        return false;
    }
    !utterance::is_bare_question(text)
        && utterance::sentences(text).any(|sentence| {
            let words = utterance::plain_words(sentence);
            let opens = words
                .first()
                .is_some_and(|word| RULE_OPENINGS.contains(&word.as_str()));
            let rules = |word: &String| RULE_WORDS.contains(&word.as_str());
            !sentence.trim_end().ends_with('?') && (opens || words.iter().any(rules))
        })
}

/// The topics of a prompt, to be compared with rules.
#[derive(Debug)]
pub(super) struct PromptTopics {
    /// Stems of content words.
    topic_stems: BTreeSet<String>,
    /// Identifiers and numbers.
    names: BTreeSet<String>,
    /// Files, by the last part of their path.
    pub files: BTreeSet<String>,
    asks_decision: bool,
    /// The prompt contains other words too: it says what to do with its topics.
    says_more: bool,
}

impl PromptTopics {
    pub(super) fn of(prompt: &str) -> Self {
        let said = StemmedText::parse(prompt);
        let asks_decision =
            utterance::has_question(prompt) && said.stems.iter().any(|stem| is_decision_stem(stem));
        let mut topics = Self {
            topic_stems: BTreeSet::new(),
            names: BTreeSet::new(),
            files: BTreeSet::new(),
            asks_decision,
            says_more: false,
        };
        for stem in said.stems {
            if let Some(file) = file_name(&stem) {
                topics.files.insert(file.to_owned());
            } else if is_name(&stem) {
                topics.names.insert(stem);
            } else if is_topic_stem(&stem) {
                topics.topic_stems.insert(stem);
            } else {
                topics.says_more = true;
            }
        }
        topics
    }

    /// Returns whether a rule governs the prompt, by the words they share.
    pub(super) fn are_governed_by(&self, text: &str) -> bool {
        let rule = StemmedText::parse(text);
        if self.names.intersection(&rule.stems).next().is_some() {
            return true;
        }
        let shared = self.topic_stems.intersection(&rule.stems).count();
        let share = shared as f64 / self.topic_stems.len().max(1) as f64;
        let mut files = rule.stems.iter().filter_map(|stem| file_name(stem));
        let names_file = files.any(|file| self.files.contains(file));
        (shared >= SHARED_MIN && share >= SHARED_SHARE && text.len() <= FOCUSED_BYTES_MAX)
            || (shared >= 1 && names_file)
            || (shared >= 1 && self.asks_decision && share >= DECIDED_SHARE)
            || (shared == 1 && self.topic_stems.len() == 1 && self.is_subject_of(text))
    }

    /// Returns whether the only topic of the prompt is the subject of a short, strict rule. In a
    /// longer text, or in another sentence of it, the word may occur by chance.
    fn is_subject_of(&self, text: &str) -> bool {
        let rules = |sentence: &str| {
            let words = utterance::plain_words(sentence);
            let is_strict = words
                .iter()
                .any(|word| STRICT_WORDS.contains(&word.as_str()));
            let stems = StemmedText::parse(sentence).stems;
            is_strict && self.topic_stems.iter().all(|stem| stems.contains(stem))
        };
        text.len() <= STRICT_BYTES_MAX && self.says_more && utterance::sentences(text).any(rules)
    }

    /// Returns whether the prompt names the file at a path.
    pub(super) fn names_file(&self, path: Option<&str>) -> bool {
        path.is_some_and(|path| {
            let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
            self.files.contains(&file.to_lowercase())
        })
    }

    /// Returns whether a text contains an identifier or a number that the prompt names.
    pub(super) fn shares_name_with(&self, text: &str) -> bool {
        !self.names.is_empty() && !self.names.is_disjoint(&StemmedText::parse(text).stems)
    }

    /// Returns whether a record about a file that the prompt names, or the rule of its turn, shares
    /// another topic with the prompt.
    pub(super) fn shares_words_with(&self, text: &StemmedText, rule: &StemmedText) -> bool {
        let shares = |stem: &String| text.stems.contains(stem) || rule.stems.contains(stem);
        self.topic_stems.iter().chain(&self.names).any(shares)
    }
}

fn is_decision_stem(stem: &str) -> bool {
    DECISION_STEMS.contains(&stem)
}

fn is_topic_stem(stem: &str) -> bool {
    stem.chars().count() > 2 && words::weight(stem) >= 1.0 && !is_decision_stem(stem)
}

/// Returns whether a stem is an identifier or a number.
fn is_name(stem: &str) -> bool {
    let digits = stem.chars().filter(char::is_ascii_digit).count();
    let is_number = digits == stem.len();
    if is_number {
        return digits >= NUMBER_DIGITS_MIN;
    }
    stem.contains('_') && stem.len() > 3
}

/// Returns the last part of the path if a word is a file name with an extension.
fn file_name(stem: &str) -> Option<&str> {
    let name = stem.rsplit('/').next().unwrap_or(stem);
    let (base, extension) = name.rsplit_once('.')?;
    let is_extension = (1..=5).contains(&extension.len())
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_extension && base.contains(char::is_alphanumeric)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "We decided that the threshold must come from config.toml, not from code. \
        Never hard-code it again.";

    fn is_governed(prompt: &str, rule: &str) -> bool {
        PromptTopics::of(prompt).are_governed_by(rule)
    }

    #[test]
    fn rules_and_reports() {
        let is = |text: &str| is_rule(RecordKind::Prompt, Trust::User, text);
        assert!(is(RULE) && is("Use uv, never pip."));
        assert!(!is("The build fails on Windows."));
        assert!(!is("Should we always use uv?"));
        assert!(!is_rule(RecordKind::ToolResult, Trust::Tool, RULE));
    }

    #[test]
    fn a_rule_is_tied_by_names_and_words() {
        assert!(is_governed("What did we decide about the threshold?", RULE));
        assert!(is_governed("change the threshold to 9", RULE));
        assert!(!is_governed("never mind", "Mind the gap, always."));
        let port = "We decided to serve metrics on port 8123, since Prometheus took 9090.";
        assert!(is_governed("why aren't we on 9090?", port));
        assert!(is_governed(
            "which port should prometheus scrape, why not the default?",
            port
        ));
        assert!(!is_governed("rename the customer struct", port));
        assert!(!is_governed("What did we decide about the logo?", port));
    }

    #[test]
    fn a_file_ties_a_task_to_the_rule_of_its_turn() {
        let rule = StemmedText::parse(RULE);
        let edit = StemmedText::parse("-REORDER_AT = 5\n+REORDER_AT = load_config()");
        let touches = |prompt: &str| {
            let topics = PromptTopics::of(prompt);
            topics.names_file(Some("/src/inventory.py")) && topics.shares_words_with(&edit, &rule)
        };
        assert!(touches("add a constant REORDER_AT = 10 to inventory.py"));
        assert!(touches(
            "implement the reorder threshold feature in inventory.py"
        ));
        assert!(!touches("add a docstring to inventory.py"));
        assert!(!touches("raise the threshold in orders.py"));
    }
}
