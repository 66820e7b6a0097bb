//! Compares a new statement with an old one: it may repeat it, contradict it, or be unrelated.

use std::collections::BTreeSet;

use super::are_alternatives;
use crate::words::{StemmedText, split_words, stem};

/// How a new statement relates to an old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactRelation {
    Unrelated,
    /// Both say the same.
    Repeats,
    /// Both cannot be true.
    Contradicts,
}

/// Compares a new statement with an old one.
pub fn relation(new: &str, old: &str) -> FactRelation {
    ParsedStatement::parse(new).relation(&ParsedStatement::parse(old))
}

/// A statement parsed once, so that it can be compared with many others.
#[derive(Debug)]
pub struct ParsedStatement {
    words: StemmedText,
    gist: StatementGist,
    /// Whether the main clause is negated, and its words; a reason behind it does not count.
    clause: (bool, StatementGist),
    choice: Option<StatedChoice>,
    assignment: Option<(StemmedText, String)>,
}

impl ParsedStatement {
    pub fn parse(text: &str) -> Self {
        let words = StemmedText::parse(text);
        let choice = parse_choice(text);
        let rejected = choice.iter().flat_map(|choice| &choice.rejected);
        let rejected: Vec<&String> = rejected.collect();
        let clause = StemmedText::parse(main_clause(text));
        Self {
            gist: StatementGist::new(&words, &rejected),
            clause: (clause.negated, StatementGist::new(&clause, &rejected)),
            words,
            choice,
            assignment: parse_assignment(text),
        }
    }

    /// Compares this statement with an old one.
    pub fn relation(&self, old: &Self) -> FactRelation {
        let (a, b) = (&self.words, &old.words);
        if a.stems.is_empty() || b.stems.is_empty() {
            return FactRelation::Unrelated;
        }
        if a.stems == b.stems {
            return if a.negated == b.negated && self.agrees_on_choice(old) {
                FactRelation::Repeats
            } else {
                FactRelation::Contradicts
            };
        }
        if self.makes_same_choice(old) {
            return FactRelation::Repeats;
        }
        if self.gives_other_answer(old) {
            return FactRelation::Contradicts;
        }
        let is_same = self.gist.is_same(&old.gist) && self.agrees_on_choice(old);
        if a.negated == b.negated && (adds_only_words(a, b) || is_same) {
            return FactRelation::Repeats;
        }
        let is_denied = a.negated != b.negated && self.gist == old.gist
            || self.clause.0 != old.clause.0
                && self.clause.1 == old.clause.1
                && !self.clause.1.stems.is_empty();
        let is_other_value = !a.negated && !b.negated && self.gist.has_other_value(&old.gist);
        if is_denied || is_other_value {
            return FactRelation::Contradicts;
        }
        FactRelation::Unrelated
    }

    /// Tells "use pnpm, not npm" from "use npm, not pnpm", whose words are the same.
    fn agrees_on_choice(&self, old: &Self) -> bool {
        match (&self.choice, &old.choice) {
            (Some(new), Some(old)) => new.rejected.is_empty() || new.chosen == old.chosen,
            _ => true,
        }
    }

    /// Says whether both statements choose and reject the same for the same purpose: "use pnpm,
    /// never npm" and "use pnpm instead of npm". The word that rejects does not negate the
    /// statement.
    fn makes_same_choice(&self, old: &Self) -> bool {
        let (Some(new), Some(old)) = (&self.choice, &old.choice) else {
            return false;
        };
        let purpose = |choice: &StatedChoice| StatementGist::new(&choice.purpose, &[]);
        let rejects_same = !new.rejected.is_empty() && new.rejected == old.rejected;
        let is_same = rejects_same && new.chosen == old.chosen && new.negated == old.negated;
        is_same && purpose(new) == purpose(old)
    }

    /// Says whether both statements answer the same question differently.
    fn gives_other_answer(&self, old: &Self) -> bool {
        let by_choice = match (&self.choice, &old.choice) {
            (Some(new), Some(old)) => new.excludes(old),
            _ => false,
        };
        by_choice
            || match (&self.assignment, &old.assignment) {
                (Some((a, x)), Some((b, y))) => a == b && x != y,
                _ => false,
            }
    }
}

/// Returns a statement without the reason behind it: "never use tabs, the linter hates them". If a
/// condition comes first, the whole text counts.
fn main_clause(text: &str) -> &str {
    const CONDITIONS: &[&str] = &[
        "after", "as", "before", "for", "from", "if", "in", "on", "since", "unless", "when",
        "whenever", "with",
    ];
    let first = text.split_whitespace().next().unwrap_or_default();
    if CONDITIONS.contains(&first.to_lowercase().as_str()) {
        return text;
    }
    let ends = [", ", "; ", " because ", " since "];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    end.map_or(text, |end| &text[..end])
}

/// The words of a statement that tell it from others: synonyms are one word, words that only say
/// that something holds are left out, and values are separate.
#[derive(Debug, PartialEq, Eq)]
struct StatementGist {
    stems: BTreeSet<String>,
    values: BTreeSet<String>,
}

/// Stems that statements share whatever they are about.
#[rustfmt::skip]
const WEAK_STEMS: &[&str] = &[
    "use", "prefer", "keep", "make", "sure", "must", "shall", "every", "each", "longer", "anymore",
    "repo", "project", "switch", "move", "migrat", "decid", "agre", "settl", "chos", "pick", "went",
    "go", "get", "rather", "instead", "new", "has", "everywher", "throughout", "remember",
    "current", "listen", "live", "liv", "locat", "located", "sit", "found", "resid", "reside",
];

/// Stems and the one that stands for them.
const SYNONYMS: &[(&str, &str)] = &[
    ("codebas", "repo"),
    ("configuration", "config"),
    ("database", "db"),
    ("databas", "db"),
    ("directly", "direct"),
    ("directory", "folder"),
    ("documentation", "doc"),
    ("javascript", "js"),
    ("kubernet", "k8s"),
    ("linter", "lint"),
    ("postgresql", "postgres"),
    ("production", "prod"),
    ("repository", "repo"),
    ("typescript", "ts"),
];

/// Stems before a number that names one thing of many and is not a value.
const NUMBERED: &[&str] = &[
    "issue", "issu", "ticket", "pr", "step", "phas", "phase", "section",
];

impl StatementGist {
    fn new(words: &StemmedText, rejected: &[&String]) -> Self {
        let (mut stems, mut values) = (BTreeSet::new(), BTreeSet::new());
        for word in &words.stems {
            let synonym = SYNONYMS.iter().find(|(other, _)| other == word);
            let word = synonym.map_or(word.as_str(), |(_, stem)| stem);
            let is_value = word.starts_with(|c: char| c.is_ascii_digit());
            if is_value && !rejected.iter().any(|value| *value == word) {
                values.insert(word.to_owned());
            } else if !is_value && !WEAK_STEMS.contains(&word) {
                stems.insert(word.to_owned());
            }
        }
        Self { stems, values }
    }

    /// Says whether both texts say the same, or one says it with one more word.
    fn is_same(&self, other: &Self) -> bool {
        let differing = self.stems.symmetric_difference(&other.stems).count();
        let shared = self.stems.intersection(&other.stems).count();
        let is_within = self.stems.len().min(other.stems.len()) == shared;
        let has_same_words = differing == 0 && shared > 0 || differing == 1 && shared >= 3;
        has_same_words && is_within && self.values == other.values
    }

    /// Says whether the texts differ in the one value that each of them has.
    fn has_other_value(&self, other: &Self) -> bool {
        let is_name = NUMBERED.iter().any(|name| self.stems.contains(*name));
        let have_one = self.values.len() == 1 && other.values.len() == 1;
        let is_same_thing = self.stems == other.stems && !self.stems.is_empty();
        have_one && is_same_thing && self.values != other.values && !is_name
    }
}

/// Says whether one text is the other plus a few words, none of which is a value.
fn adds_only_words(a: &StemmedText, b: &StemmedText) -> bool {
    let within = a.stems.is_subset(&b.stems) || b.stems.is_subset(&a.stems);
    let is_value = |stem: &&String| stem.contains(|c: char| !c.is_alphabetic());
    let differs: Vec<_> = a.stems.symmetric_difference(&b.stems).collect();
    within && a.overlap(b) >= 0.75 && !differs.iter().any(is_value)
}

/// A statement of the form "use X for Y, not Z".
#[derive(Debug)]
struct StatedChoice {
    chosen: String,
    rejected: Vec<String>,
    /// The words that say what X is for; often empty.
    purpose: StemmedText,
    negated: bool,
}

impl StatedChoice {
    fn excludes(&self, old: &Self) -> bool {
        if self.negated || old.negated {
            return false;
        }
        let same_purpose = self.purpose.stems == old.purpose.stems;
        let rejects = self.rejected.contains(&old.chosen) && self.chosen != old.chosen;
        let instead = self.chosen != old.chosen
            && !old.rejected.contains(&self.chosen)
            && are_alternatives(&self.chosen, &old.chosen)
            || old.rejected.contains(&self.chosen) && old.chosen != self.chosen;
        let purpose_is_open = self.purpose.stems.is_empty() || old.purpose.stems.is_empty();
        rejects && (same_purpose || purpose_is_open) || instead && same_purpose
    }
}

#[rustfmt::skip]
const CHOICE_VERBS: &[&str] = &[
    "use", "uses", "using", "prefer", "prefers", "choose", "chose", "picked", "adopted", "switched",
    "switching", "moved", "moving", "migrated", "migrating", "settled", "replaced", "with",
];
const REJECTION_WORDS: &[&str] = &["not", "never", "over", "than", "of"];
const PURPOSE_WORDS: &[&str] = &["for", "in", "to", "when", "as", "on"];
/// Words for the whole project, which do not limit what a choice is for.
const EVERYWHERE: &[&str] = &[
    "codebase", "everywhere", "here", "now", "project", "repo", "repository", "this",
];

fn parse_choice(text: &str) -> Option<StatedChoice> {
    let words: Vec<_> = split_words(text).collect();
    let verb = words
        .iter()
        .position(|word| CHOICE_VERBS.contains(&word.as_str()))?;
    let negated = words[..verb]
        .iter()
        .any(|word| ["not", "never", "don", "dont", "avoid"].contains(&word.as_str()));
    let mut rest = &words[verb + 1..];
    let mut rejected = Vec::new();
    // "Switched from X to Y" and "replaced X with Y" name the rejected thing first.
    let is_replaced = words[verb] == "replaced";
    if is_replaced || rest.first().is_some_and(|word| word == "from") {
        let old = if is_replaced {
            rest.first()
        } else {
            rest.get(1)
        };
        rejected.extend(old.cloned());
        let to = rest
            .iter()
            .position(|word| ["to", "with", "by"].contains(&word.as_str()))?;
        rest = &rest[to..];
    }
    if let Some((first, behind)) = rest.split_first()
        && ["to", "on", "with", "by"].contains(&first.as_str())
    {
        rest = behind;
    }
    let chosen = rest.first()?.clone();
    let mut purpose = words[..verb].join(" ");
    let mut at = 1;
    while at < rest.len() {
        let word = rest[at].as_str();
        if REJECTION_WORDS.contains(&word) && at + 1 < rest.len() {
            rejected.push(rest[at + 1].clone());
            at += 2;
        } else {
            let is_everywhere = EVERYWHERE.contains(&word) || PURPOSE_WORDS.contains(&word);
            if !matches!(word, "instead" | "rather") && !is_everywhere {
                purpose += " ";
                purpose += word;
            }
            at += 1;
        }
    }
    Some(StatedChoice {
        chosen,
        rejected,
        purpose: StemmedText {
            negated: false,
            ..StemmedText::parse(&purpose)
        },
        negated,
    })
}

/// Phrases between a subject and the single value it can have.
#[rustfmt::skip]
const ASSIGNMENT_PHRASES: &[&str] = &[
    " run with ", " runs with ", " are run with ", " is run with ", " run via ", " listens on ",
    " listen on ", " is deployed to ", " are deployed to ", " deploys to ", " defaults to ",
    " is set to ", " lives in ", " live in ", " lives at ",
];

/// Splits "the tests run with X" into subject and value. A plain "is" counts only before a number,
/// because most subjects can be several things at once.
fn parse_assignment(text: &str) -> Option<(StemmedText, String)> {
    let text = text.to_lowercase();
    let split_at = |phrase: &str| {
        let (thing, value) = text.split_once(phrase)?;
        let value = value.trim().trim_end_matches(['.', '!']).to_owned();
        let phrase: String = phrase.split_whitespace().map(stem).collect();
        Some((StemmedText::parse(&format!("{thing} {phrase}")), value))
    };
    let plain = |found: &(StemmedText, String)| !found.0.negated && found.0.stems.len() > 1;
    ASSIGNMENT_PHRASES
        .iter()
        .find_map(|phrase| split_at(phrase))
        .filter(plain)
        .or_else(|| {
            split_at(" is ").filter(|(thing, value)| {
                let number = value.trim_start_matches(['v', '$']);
                thing.stems.len() > 1
                    && number.starts_with(|c: char| c.is_ascii_digit())
                    && value.split_whitespace().count() <= 2
            })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(new: &str, old: &str, expected: FactRelation) {
        assert_eq!(relation(new, old), expected, "{new:?} after {old:?}");
    }

    #[test]
    fn the_same_in_other_words() {
        use FactRelation::Repeats;
        check("Always use pnpm.", "use pnpm", Repeats);
        check(
            "run the tests with nextest", "Tests: run with nextest", Repeats,
        );
        check(
            "We never commit generated protobuf files",
            "never commit the generated protobuf file",
            Repeats,
        );
        check(
            "please always run cargo clippy before every commit",
            "always run cargo clippy before commit",
            Repeats,
        );
    }

    #[test]
    fn the_opposite_replaces() {
        use FactRelation::Contradicts;
        check("use pnpm", "use npm", Contradicts);
        check("Use pnpm, not npm", "use npm", Contradicts);
        check("use npm, not pnpm", "use pnpm, not npm", Contradicts);
        check(
            "we use tabs for indentation",
            "we use spaces for indentation",
            Contradicts,
        );
        check("don't use tabs", "use tabs", Contradicts);
        check(
            "The tests run with cargo nextest",
            "tests run with cargo test",
            Contradicts,
        );
        check(
            "The default port is 9090", "the default port is 8080", Contradicts,
        );
        check(
            "the server listens on 9000", "The server listens on 8000", Contradicts,
        );
        check("use vitest instead of jest", "use jest", Contradicts);
        check(
            "I prefer spaces over tabs", "I prefer tabs over spaces", Contradicts,
        );
    }

    #[test]
    fn near_duplicates_repeat() {
        use FactRelation::Repeats;
        check(
            "no mocks in the tests",
            "please don't use mocks in tests",
            Repeats,
        );
        check(
            "Never push to main directly", "don't push directly to main", Repeats,
        );
        check("we use pnpm in this repository", "use pnpm", Repeats);
        check(
            "always use pnpm instead of npm in this repository",
            "Use pnpm, never npm, in this repo",
            Repeats,
        );
        check(
            "run the linter before every commit",
            "always run the linter before committing",
            Repeats,
        );
        check(
            "All documentation is in English",
            "docs are in english",
            Repeats,
        );
    }

    #[test]
    fn a_change_replaces() {
        use FactRelation::Contradicts;
        check("use port 9000 now", "use port 8123", Contradicts);
        check(
            "The staging DB is on port 6000",
            "The staging database listens on port 5433",
            Contradicts,
        );
        check(
            "We use port 9000 now instead of 8123",
            "use port 8123",
            Contradicts,
        );
        check("we switched to pnpm", "we use npm", Contradicts);
        check("We switched from npm to pnpm", "we use npm", Contradicts);
        check("we replaced jest with vitest", "use jest", Contradicts);
        check("We no longer use Docker", "we use Docker", Contradicts);
        check(
            "we switched to pnpm", "We use npm in this repo", Contradicts,
        );
        check(
            "Never run make lint before you commit, CI does it",
            "Always run make lint before you commit",
            Contradicts,
        );
        check(
            "avoid lodash, we removed it",
            "use lodash for everything",
            FactRelation::Unrelated,
        );
        check("avoid lodash, we removed it", "use lodash", Contradicts);
        check(
            "lines are wrapped at 100 columns",
            "Lines are wrapped at 80 columns",
            Contradicts,
        );
    }

    #[test]
    fn numbers_and_negations_are_guarded() {
        use FactRelation::Unrelated;
        check("issue 12 needs a test", "issue 13 needs a test", Unrelated);
        check(
            "run the unit tests before every commit",
            "run the integration tests before every commit",
            Unrelated,
        );
        check(
            "the API runs on port 4000", "the app runs on port 3000", Unrelated,
        );
        check(
            "never use mocks in unit tests",
            "never use mocks in e2e tests",
            Unrelated,
        );
    }

    #[test]
    fn what_is_not_sure_lives_side_by_side() {
        use FactRelation::Unrelated;
        check("use serde", "use tokio", Unrelated);
        check("use pnpm in web", "use npm in docs", Unrelated);
        check("the parser is recursive", "the parser is fast", Unrelated);
        check(
            "the client uses port 80", "the client uses retries", Unrelated,
        );
        check("", "use npm", Unrelated);
        check("deploy with fly", "run the tests with nextest", Unrelated);
        check(
            "cache entries expire after 10 minutes",
            "cache entries expire after 10 minutes in 2 regions",
            Unrelated,
        );
    }
}
