//! A question taken apart: what to look for, how much each word says, and which days it names.

use jiff::Timestamp;
use memory::SessionId;
use store::search::{Form, Wanted, Words};
use store::{Query, terms};

use crate::dates::Dates;

/// More terms than this are no question but a paste; the rarest are looked for.
pub const TERMS_MAX: usize = 24;

/// What somebody wants to know, and from where.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    pub query: Query,
    /// The key of the workspace the asker stands in; its records come first.
    pub here: Option<String>,
    /// The session that asks: what it said itself is no news to it.
    pub not_from: Option<SessionId>,
    /// How many candidates are read, for those in a hurry. A hundred find nearly as well.
    pub read_max: Option<usize>,
}

/// The question of an [`Ask`], taken apart.
#[derive(Clone, Debug)]
pub struct Question {
    pub words: Words,
    pub terms: Vec<Term>,
    /// Words that stood together: compounds and "phrases", folded, one space between.
    pub phrases: Vec<Vec<String>>,
    /// Quoted phrases must occur.
    pub required: Vec<Vec<String>>,
    pub dates: Dates,
    /// Asks for a time.
    pub asks_when: bool,
    /// Asks for a number.
    pub asks_count: bool,
}

/// A term to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// As it was typed, folded.
    pub folded: String,
    /// As the index knows it.
    pub term: String,
    pub is_prefix: bool,
    /// Stands in for another word and counts less.
    pub is_substitute: bool,
}

impl Term {
    /// Returns the index's form of it.
    pub fn expression(&self) -> String {
        let quoted = store::search::quote(&self.term);
        if self.is_prefix {
            format!("{quoted} OR {quoted} *")
        } else {
            quoted
        }
    }
}

impl Question {
    pub fn read(text: &str, now: Timestamp) -> Self {
        let words = Words::parse(text);
        let mut terms: Vec<Term> = Vec::new();
        let mut phrases = Vec::new();
        let mut required = Vec::new();
        for wanted in &words.wanted {
            let folded = folded_words(&wanted.text);
            add_terms(wanted, &mut terms);
            if folded.len() > 1 {
                if wanted.form == Form::Phrase {
                    required.push(folded.clone());
                }
                phrases.push(folded);
            }
        }
        shorten(&mut terms);
        let all = folded_words(&text[..text.floor_char_boundary(4096)]);
        let asks_when = all.first().is_some_and(|first| first == "when")
            || all.windows(2).any(|pair| {
                pair[0] == "what"
                    && matches!(pair[1].as_str(), "date" | "day" | "month" | "year" | "time")
            })
            || all
                .windows(2)
                .any(|pair| pair[0] == "how" && pair[1] == "long");
        let asks_count = all.windows(2).any(|pair| {
            pair[0] == "how" && matches!(pair[1].as_str(), "many" | "much" | "often" | "old")
        });
        Self {
            dates: Dates::read(&all, now),
            words,
            terms,
            phrases,
            required,
            asks_when,
            asks_count,
        }
    }
}

fn add_terms(wanted: &Wanted, terms: &mut Vec<Term>) {
    let mut found = Vec::new();
    terms::words(&wanted.text, |word| {
        let term = terms::term(&word);
        if word.is_whole || wanted.terms.contains(&term) {
            found.push(Term {
                folded: word.folded.clone().into_owned(),
                term,
                is_prefix: false,
                is_substitute: word.is_whole,
            });
        }
    });
    if wanted.form == Form::Prefix
        && let Some(last) = found.last_mut()
    {
        last.is_prefix = true;
    }
    for term in found {
        if !terms.iter().any(|known| known.term == term.term) {
            terms.push(term);
        }
    }
}

/// Keeps the terms that say most: a long word is rarer than a short one, one with digits rarer still.
fn shorten(terms: &mut Vec<Term>) {
    if terms.len() <= TERMS_MAX {
        return;
    }
    let weight = |term: &Term| {
        term.term.len().min(12) + 4 * usize::from(term.term.bytes().any(|b| b.is_ascii_digit()))
    };
    let mut order: Vec<_> = (0..terms.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(weight(&terms[*at])));
    order.truncate(TERMS_MAX);
    order.sort_unstable();
    *terms = order.into_iter().map(|at| terms[at].clone()).collect();
}

/// Returns the words of a text, folded, without the wholes of compounds.
pub fn folded_words(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    terms::words(text, |word| {
        if !word.is_whole {
            all.push(word.folded.into_owned());
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let question = Question::read(text, Timestamp::UNIX_EPOCH);
        let shown: Vec<_> = question
            .terms
            .iter()
            .map(|term| term.term.as_str())
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn questions_as_typed() {
        check(
            "How did we fix the flaky parser tests?",
            "fix flaki parser test",
        );
        check("error E0308 in src/ask.rs", "error e0308 src ask rs");
        check(
            "what does parseConfigFile do",
            "parseconfigfil pars config file",
        );
        check("--dry-run", "dry run");
    }

    #[test]
    fn a_paste_is_cut_to_what_is_rare() {
        let text: String = (0..500).map(|n| format!("word{n} it ok ")).collect();
        assert_eq!(
            Question::read(&text, Timestamp::UNIX_EPOCH).terms.len(),
            TERMS_MAX
        );
    }

    #[test]
    fn any_text_is_a_question() {
        for text in [
            "",
            "\0\0",
            "\"",
            "-",
            "*",
            "'; DROP TABLE records; --",
            "🎉 שלום",
            "NEAR(a b)",
        ] {
            Question::read(text, Timestamp::UNIX_EPOCH);
        }
    }
}
