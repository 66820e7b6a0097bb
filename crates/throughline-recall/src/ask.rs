//! A question taken apart: what to look for, how much each word says, and which days it names.

use jiff::Timestamp;
use memory::SessionId;
use store::search::{QueryWord, QueryWordKind, QueryWords};
use store::{Query, terms};

use crate::dates::QueryDates;
use crate::wishes::contains_any_phrase;

/// More terms than this are no question but a paste; the rarest are looked for.
pub const TERMS_MAX: usize = 24;

/// How people ask for many things at once.
const OVERVIEW_PHRASES: &[&[&str]] = &[
    &["overview"],
    &["recap"],
    &["order", "in", "which"],
    &["list", "the", "order"],
    &["throughout"],
    &["over", "time"],
    &["across", "our"],
    &["across", "my"],
    &["across", "the"],
    &["walk", "me", "through"],
    &["progressed"],
    &["evolved"],
];
/// How people ask what to do.
const ADVICE_PHRASES: &[&[&str]] = &[
    &["suggest"],
    &["recommend"],
    &["which"],
    &["should", "i"],
    &["could", "you"],
    &["can", "you", "help"],
    &["can", "you", "show"],
    &["can", "you", "explain"],
    &["can", "you", "give"],
    &["can", "you", "walk"],
    &["can", "you", "suggest"],
    &["can", "you", "recommend"],
    &["how", "do", "i"],
    &["how", "can", "i"],
    &["how", "should", "i"],
    &["how", "would", "i"],
    &["how", "do", "you"],
    &["how", "would", "you"],
    &["what", "are"],
    &["what", "should"],
    &["what", "would"],
    &["what", "do"],
    &["what", "kind"],
    &["what", "features"],
];
/// Words of a question for many things that say how the answer is wanted.
const PHRASING_WORDS: &[&str] = &[
    "across",
    "aspect",
    "aspects",
    "bring",
    "brought",
    "chat",
    "chats",
    "comprehensive",
    "conversation",
    "conversations",
    "detailed",
    "different",
    "discussed",
    "discussion",
    "discussions",
    "eight",
    "five",
    "four",
    "including",
    "item",
    "items",
    "list",
    "mention",
    "mentioned",
    "nine",
    "order",
    "overview",
    "progressed",
    "provide",
    "recap",
    "related",
    "seven",
    "six",
    "summaries",
    "summarise",
    "summarize",
    "summary",
    "ten",
    "three",
    "throughout",
    "time",
    "topics",
    "two",
    "various",
    "walk",
];

/// What somebody wants to know, and from where.
#[derive(Clone, Debug, Default)]
pub struct RecallQuery {
    pub query: Query,
    /// The key of the workspace the asker stands in; its records come first.
    pub home_workspace: Option<String>,
    /// The session that asks: what it said itself is no news to it.
    pub exclude_session: Option<SessionId>,
    /// How many candidates are read, for those in a hurry.
    pub read_max: Option<usize>,
}

/// The question of an [`Ask`], taken apart.
#[derive(Clone, Debug)]
pub struct ParsedQuestion {
    pub words: QueryWords,
    pub terms: Vec<QuestionTerm>,
    /// Words that stood together: compounds and "phrases", folded, one space between.
    pub phrases: Vec<Vec<String>>,
    /// Quoted phrases must occur.
    pub required_phrases: Vec<Vec<String>>,
    pub dates: QueryDates,
    /// Asks for a time.
    pub asks_for_time: bool,
    /// Asks for a number.
    pub asks_for_count: bool,
    /// Asks for many things at once: an order, an overview, how something went over time.
    pub asks_for_overview: bool,
    /// Asks what to do, or how.
    pub asks_for_advice: bool,
    /// Is put as a question, not as words to look for.
    pub is_question: bool,
}

/// A term to look for.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionTerm {
    /// As it was typed, folded.
    pub folded: String,
    /// As the index knows it.
    pub term: String,
    pub is_prefix: bool,
    /// Stands in for another word and counts less.
    pub is_compound: bool,
    /// Says how the answer is wanted, not what it is about.
    pub is_phrasing: bool,
}

impl QuestionTerm {
    /// Says whether it is a word of what the question is about.
    pub fn is_topical(&self) -> bool {
        !self.is_compound && !self.is_phrasing
    }

    /// Returns how much it counts beside the others.
    pub fn weight(&self) -> f64 {
        if self.is_phrasing {
            0.2
        } else if self.is_compound {
            0.5
        } else {
            1.0
        }
    }

    /// Returns the index's form of it.
    pub fn match_expression(&self) -> String {
        let quoted = store::search::quote_term(&self.term);
        if self.is_prefix {
            format!("{quoted} OR {quoted} *")
        } else {
            quoted
        }
    }
}

impl ParsedQuestion {
    pub fn parse(text: &str, now: Timestamp) -> Self {
        let words = QueryWords::parse(text);
        let mut terms: Vec<QuestionTerm> = Vec::new();
        let mut phrases = Vec::new();
        let mut required_phrases = Vec::new();
        for wanted in &words.required {
            let folded = folded_words(&wanted.text);
            add_terms(wanted, &mut terms);
            if folded.len() > 1 {
                if wanted.kind == QueryWordKind::Phrase {
                    required_phrases.push(folded.clone());
                }
                phrases.push(folded);
            }
        }
        let all = folded_words(&text[..text.floor_char_boundary(4096)]);
        let asks_for_time = all.first().is_some_and(|first| first == "when")
            || all.windows(2).any(|pair| {
                pair[0] == "what"
                    && matches!(pair[1].as_str(), "date" | "day" | "month" | "year" | "time")
            })
            || all
                .windows(2)
                .any(|pair| pair[0] == "how" && pair[1] == "long");
        let asks_for_count = all.windows(2).any(|pair| {
            pair[0] == "how" && matches!(pair[1].as_str(), "many" | "much" | "often" | "old")
        });
        let asks_for_overview = asks_for_overview(&all);
        if asks_for_overview {
            mark_phrasing(&mut terms);
        }
        keep_longest_terms(&mut terms);
        let asks_for_advice = !asks_for_overview && contains_any_phrase(&all, ADVICE_PHRASES);
        Self {
            is_question: asks_for_overview || asks_for_advice || text.trim_end().ends_with('?'),
            asks_for_advice,
            asks_for_overview,
            dates: QueryDates::parse(&all, now),
            words,
            terms,
            phrases,
            required_phrases,
            asks_for_time,
            asks_for_count,
        }
    }
}

fn asks_for_overview(words: &[String]) -> bool {
    let in_order = words.windows(2).enumerate().any(|(at, pair)| {
        pair[0] == "in" && pair[1] == "order" && words.get(at + 2).is_none_or(|next| next != "to")
    });
    in_order
        || words.iter().any(|word| word.starts_with("summar"))
        || contains_any_phrase(words, OVERVIEW_PHRASES)
}

/// Marks what says how the answer is wanted, unless nothing else is said.
fn mark_phrasing(terms: &mut [QuestionTerm]) {
    let is = |term: &QuestionTerm| PHRASING_WORDS.binary_search(&term.folded.as_str()).is_ok();
    if terms.iter().all(is) {
        return;
    }
    for term in terms.iter_mut().filter(|term| is(term)) {
        term.is_phrasing = true;
    }
}

fn add_terms(wanted: &QueryWord, terms: &mut Vec<QuestionTerm>) {
    let mut found = Vec::new();
    terms::words(&wanted.text, |word| {
        let term = terms::term(&word);
        if word.is_compound || wanted.terms.contains(&term) {
            found.push(QuestionTerm {
                folded: word.folded.clone().into_owned(),
                term,
                is_prefix: false,
                is_compound: word.is_compound,
                is_phrasing: false,
            });
        }
    });
    if wanted.kind == QueryWordKind::Prefix
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
fn keep_longest_terms(terms: &mut Vec<QuestionTerm>) {
    if terms.len() <= TERMS_MAX {
        return;
    }
    let weight = |term: &QuestionTerm| {
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
        if !word.is_compound {
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
        let question = ParsedQuestion::parse(text, Timestamp::UNIX_EPOCH);
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

    #[track_caller]
    fn meant(text: &str) -> String {
        let question = ParsedQuestion::parse(text, Timestamp::UNIX_EPOCH);
        let meant = question.terms.iter().filter(|term| term.is_topical());
        let meant: Vec<_> = meant.map(|term| term.term.as_str()).collect();
        format!("{} {}", meant.join(" "), question.asks_for_overview)
    }

    #[test]
    fn how_an_answer_is_wanted_is_not_what_it_is_about() {
        assert!(PHRASING_WORDS.is_sorted());
        let text = "List the order in which I brought up the parser across our conversations";
        assert_eq!(meant(text), "parser true");
        assert_eq!(meant("Summarize the parser work"), "parser work true");
        assert_eq!(
            meant("sort the items in order to compare"),
            "sort item order compar false"
        );
        assert_eq!(meant("an overview"), "overview true");
    }

    #[test]
    fn a_paste_is_cut_to_what_is_rare() {
        let text: String = (0..500).map(|n| format!("word{n} it ok ")).collect();
        assert_eq!(
            ParsedQuestion::parse(&text, Timestamp::UNIX_EPOCH)
                .terms
                .len(),
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
            ParsedQuestion::parse(text, Timestamp::UNIX_EPOCH);
        }
    }
}
