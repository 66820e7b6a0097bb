//! A query, parsed: the terms to look up, how much each weighs, and the kind of question it is.
//!
//! [`dates`] reads the days that a query names, [`preferences`] finds standing instructions and
//! preferences in prompts, [`spelling`] corrects terms that the index does not hold, [`utterance`]
//! tells questions, announcements and calls of memory tools from statements. All of these work on
//! words alone; the phrase lists are English.

pub(crate) mod dates;
mod phrases;
pub(crate) mod preferences;
pub(crate) mod spelling;
pub mod utterance;

use jiff::Timestamp;
use memory::SessionId;
use store::search::{QueryWord, QueryWordKind, QueryWords};
use store::{Query, terms};

use self::dates::QueryDates;
use self::phrases::contains_any_phrase;

/// Terms that one query looks up. A longer text is a paste; its longest words are kept.
pub(crate) const TERMS_MAX: usize = 24;
/// How much of a text is read to tell what kind of question it is.
const QUESTION_BYTES_MAX: usize = 4096;

/// How much a word of [`PHRASING_WORDS`] counts beside a word of the topic.
const PHRASING_WEIGHT: f64 = 0.2;
/// How much a compound counts as a whole; its parts are terms of their own.
const COMPOUND_WEIGHT: f64 = 0.5;

/// Phrases by which people ask for many things at once.
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
/// Phrases by which people ask what to do.
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
/// Phrases by which people ask for the cause of a problem.
const CAUSE_PHRASES: &[&[&str]] = &[
    &["what", "broke"],
    &["what", "caused"],
    &["what", "causes"],
    &["what", "went", "wrong"],
    &["what", "was", "wrong"],
    &["what", "s", "wrong"],
    &["what", "is", "wrong"],
    &["root", "cause"],
    &["the", "cause", "of"],
    &["the", "reason"],
    &["how", "come"],
];
/// Phrases by which people ask for a place in the code or the documents.
const PLACE_PHRASES: &[&[&str]] = &[
    &["which", "file"],
    &["which", "folder"],
    &["which", "directory"],
    &["which", "module"],
    &["what", "file"],
    &["in", "which"],
];
/// Words that describe the form of an overview instead of its topic; sorted.
const PHRASING_WORDS: &[&str] = &[
    "across", "aspect", "aspects", "bring", "brought", "chat", "chats", "comprehensive",
    "conversation", "conversations", "detailed", "different", "discussed", "discussion",
    "discussions", "eight", "five", "four", "including", "item", "items", "list", "mention",
    "mentioned", "nine", "order", "overview", "progressed", "provide", "recap", "related", "seven",
    "six", "summaries", "summarise", "summarize", "summary", "ten", "three", "throughout", "time",
    "topics", "two", "various", "walk",
];

/// A query with the context it is asked in.
#[derive(Clone, Debug, Default)]
pub struct RecallQuery {
    pub query: Query,
    /// The key of the caller's workspace, whose records get a small bonus.
    pub home_workspace: Option<String>,
    /// The caller's own session, whose records are left out.
    pub exclude_session: Option<SessionId>,
    /// Limits how many texts are read, for callers with a deadline.
    pub read_max: Option<usize>,
    /// Leaves the snippets of hits at the beginnings of their texts, for callers that show other
    /// parts.
    pub plain_snippets: bool,
    /// Fills [`RankedHit::parts`](crate::RankedHit::parts) and `features`.
    pub explain: bool,
    /// Fills [`RankedHits::sessions`](crate::RankedHits::sessions).
    pub rank_sessions: bool,
    /// The query is still being typed: its last word is the beginning of a word, and fewer texts
    /// are read.
    pub typing: bool,
}

impl From<&str> for RecallQuery {
    fn from(text: &str) -> Self {
        Self {
            query: Query {
                text: text.to_owned(),
                limit: 20,
                ..Query::default()
            },
            ..Self::default()
        }
    }
}

/// The text of a query, parsed.
#[derive(Clone, Debug)]
pub(crate) struct ParsedQuestion {
    pub(crate) words: QueryWords,
    pub(crate) terms: Vec<QuestionTerm>,
    /// Quoted phrases, folded, which a hit must contain.
    pub(crate) required_phrases: Vec<Vec<String>>,
    pub(crate) dates: QueryDates,
    pub(crate) asks_for_time: bool,
    pub(crate) asks_for_count: bool,
    /// The text asks for many things at once: an order, a summary, a development over time.
    pub(crate) asks_for_overview: bool,
    /// The text asks what to do, or how.
    pub(crate) asks_for_advice: bool,
    /// The text is a question, not a list of keywords.
    pub(crate) is_question: bool,
    /// The text contains a question, with or without its question mark.
    pub(crate) asks: bool,
    /// The text asks why something happened.
    pub(crate) asks_for_cause: bool,
    /// The text asks where something is.
    pub(crate) asks_for_place: bool,
}

/// A term to look up.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuestionTerm {
    /// The word as typed, folded.
    pub(crate) folded: String,
    /// The stem that the index holds.
    pub(crate) term: String,
    pub(crate) is_prefix: bool,
    /// The term is the whole of a compound such as `parseConfig`.
    pub(crate) is_compound: bool,
    /// The term describes the form of the answer, not the topic.
    pub(crate) is_phrasing: bool,
}

impl QuestionTerm {
    /// Returns whether the term is a plain word of the query's topic.
    pub(crate) fn is_topical(&self) -> bool {
        !self.is_compound && !self.is_phrasing
    }

    pub(crate) fn weight(&self) -> f64 {
        if self.is_phrasing {
            PHRASING_WEIGHT
        } else if self.is_compound {
            COMPOUND_WEIGHT
        } else {
            1.0
        }
    }

    /// Returns whether a folded word is the one that was typed, or begins with it.
    pub(crate) fn is_exactly(&self, folded: &str) -> bool {
        self.folded == folded || (self.is_prefix && folded.starts_with(&self.folded))
    }

    /// Returns the word as snippets mark it.
    pub(crate) fn highlight(&self) -> String {
        let star = if self.is_prefix { "*" } else { "" };
        format!("{}{star}", self.folded)
    }

    /// Returns the terms of the index that the term stands for, as a pattern of the store's lookup.
    pub(crate) fn pattern(&self) -> String {
        if !self.is_prefix {
            return self.term.clone();
        }
        let mut pattern = format!("{}*", self.folded);
        for stem in unfinished_stems(&self.folded) {
            pattern.push(' ');
            pattern += &stem;
        }
        pattern
    }

    /// Returns the term as an expression of the full-text index.
    pub(crate) fn match_expression(&self) -> String {
        let quoted = store::search::quote_term(&self.term);
        if self.is_prefix {
            format!("{quoted} OR {quoted} *")
        } else {
            quoted
        }
    }
}

/// Endings that the stemmer removes. While one of them is typed, the text is longer than the stem
/// in the index: `migratio` would not find `migrat`.
const ENDINGS: &[&str] = &[
    "able", "al", "ance", "ation", "ational", "ative", "ator", "ed", "ence", "ement", "ent", "er",
    "es", "ible", "ical", "ies", "ing", "ion", "ism", "ity", "ive", "iveness", "ization", "ize",
    "ly", "ment", "ness", "ous", "s", "y",
];
/// Shorter stems have too many words.
const UNFINISHED_STEM_BYTES_MIN: usize = 3;

/// Returns the stems, other than the beginnings that a prefix finds, of words that begin with
/// `typed`.
fn unfinished_stems(typed: &str) -> Vec<String> {
    let mut stems = Vec::new();
    let mut add = |word: &str| {
        let stem = terms::stem::stem(word);
        let is_new = !stem.starts_with(typed) && !stems.iter().any(|known| *known == stem);
        if stem.len() >= UNFINISHED_STEM_BYTES_MIN && is_new {
            stems.push(stem.into_owned());
        }
    };
    add(typed);
    for ending in ENDINGS {
        let begun = (1..ending.len()).rev();
        for cut in begun.filter(|cut| typed.ends_with(&ending[..*cut])) {
            add(&format!("{typed}{}", &ending[cut..]));
        }
    }
    stems
}

impl ParsedQuestion {
    pub(crate) fn parse(text: &str, now: Timestamp) -> Self {
        Self::from_words(text, QueryWords::parse(text), now)
    }

    /// Parses a query whose last word is being typed.
    pub(crate) fn parse_typing(text: &str, now: Timestamp) -> Self {
        Self::from_words(text, QueryWords::parse_typing(text), now)
    }

    fn from_words(text: &str, words: QueryWords, now: Timestamp) -> Self {
        let mut terms: Vec<QuestionTerm> = Vec::new();
        let mut required_phrases = Vec::new();
        for word in &words.required {
            add_terms(word, &mut terms);
            let folded = folded_words(&word.text);
            if folded.len() > 1 && word.kind == QueryWordKind::Phrase {
                required_phrases.push(folded);
            }
        }
        let all = folded_words(&text[..text.floor_char_boundary(QUESTION_BYTES_MAX)]);
        let has_pair = |first: &str, second: &[&str]| {
            let mut pairs = all.windows(2);
            pairs.any(|pair| pair[0] == first && second.contains(&pair[1].as_str()))
        };
        let asks_for_time = all.first().is_some_and(|first| first == "when")
            || has_pair("what", &["date", "day", "month", "year", "time"])
            || has_pair("how", &["long"]);
        let asks_for_overview = asks_for_overview(&all);
        if asks_for_overview {
            mark_phrasing(&mut terms);
        }
        keep_longest_terms(&mut terms);
        let asks_for_advice = !asks_for_overview && contains_any_phrase(&all, ADVICE_PHRASES);
        let head = &text[..text.floor_char_boundary(QUESTION_BYTES_MAX)];
        let opens_with = |word: &str| all.first().is_some_and(|first| first == word);
        Self {
            asks: utterance::has_question(head),
            asks_for_cause: opens_with("why") || contains_any_phrase(&all, CAUSE_PHRASES),
            asks_for_place: opens_with("where") || contains_any_phrase(&all, PLACE_PHRASES),
            is_question: asks_for_overview || asks_for_advice || text.trim_end().ends_with('?'),
            asks_for_advice,
            asks_for_overview,
            asks_for_count: has_pair("how", &["many", "much", "often", "old"]),
            asks_for_time,
            dates: QueryDates::parse(&all, now),
            words,
            terms,
            required_phrases,
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

/// Marks the terms that describe the form of the answer, unless the query has no others.
fn mark_phrasing(terms: &mut [QuestionTerm]) {
    let is = |term: &QuestionTerm| PHRASING_WORDS.binary_search(&term.folded.as_str()).is_ok();
    if terms.iter().all(is) {
        return;
    }
    for term in terms.iter_mut().filter(|term| is(term)) {
        term.is_phrasing = true;
    }
}

fn add_terms(word: &QueryWord, terms: &mut Vec<QuestionTerm>) {
    let mut found = Vec::new();
    terms::words(&word.text, |part| {
        let term = terms::term(&part);
        if part.is_compound || word.terms.contains(&term) {
            found.push(QuestionTerm {
                folded: part.folded.clone().into_owned(),
                term,
                is_prefix: false,
                is_compound: part.is_compound,
                is_phrasing: false,
            });
        }
    });
    if word.kind == QueryWordKind::Prefix
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

/// Keeps at most [`TERMS_MAX`] terms, in their order. Document frequencies are not known yet, so
/// length stands for rarity, and digits count like four more letters.
fn keep_longest_terms(terms: &mut Vec<QuestionTerm>) {
    if terms.len() <= TERMS_MAX {
        return;
    }
    let rarity = |term: &QuestionTerm| {
        term.term.len().min(12) + 4 * usize::from(term.term.bytes().any(|b| b.is_ascii_digit()))
    };
    let mut order: Vec<_> = (0..terms.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(rarity(&terms[*at])));
    order.truncate(TERMS_MAX);
    order.sort_unstable();
    *terms = order.into_iter().map(|at| terms[at].clone()).collect();
}

/// Returns the words of a text, folded; compounds come only as their parts.
pub(crate) fn folded_words(text: &str) -> Vec<String> {
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

    fn topic(text: &str) -> String {
        let question = ParsedQuestion::parse(text, Timestamp::UNIX_EPOCH);
        let topical = question.terms.iter().filter(|term| term.is_topical());
        let topical: Vec<_> = topical.map(|term| term.term.as_str()).collect();
        format!("{} {}", topical.join(" "), question.asks_for_overview)
    }

    #[test]
    fn phrasing_words_are_not_topical() {
        assert!(PHRASING_WORDS.is_sorted());
        let text = "List the order in which I brought up the parser across our conversations";
        assert_eq!(topic(text), "parser true");
        assert_eq!(topic("Summarize the parser work"), "parser work true");
        assert_eq!(
            topic("sort the items in order to compare"),
            "sort item order compar false"
        );
        assert_eq!(topic("an overview"), "overview true");
    }

    #[test]
    fn a_paste_is_cut_to_its_longest_words() {
        let text: String = (0..500).map(|n| format!("word{n} it ok ")).collect();
        assert_eq!(
            ParsedQuestion::parse(&text, Timestamp::UNIX_EPOCH)
                .terms
                .len(),
            TERMS_MAX
        );
    }

    #[test]
    fn a_word_is_found_while_its_ending_is_typed() {
        let pattern = |text: &str| {
            let question = ParsedQuestion::parse_typing(text, Timestamp::UNIX_EPOCH);
            question.terms.last().map(QuestionTerm::pattern).unwrap()
        };
        assert_eq!(pattern("r"), "r*");
        assert_eq!(pattern("run the "), "run");
        for (typed, stem) in [
            ("migrati", "migrat"),
            ("migration", "migrat"),
            ("runni", "run"),
            ("happines", "happi"),
        ] {
            let pattern = pattern(typed);
            let mut alternatives = pattern.split(' ');
            assert_eq!(alternatives.next(), Some(format!("{typed}*").as_str()));
            assert!(
                alternatives.any(|found| found == stem),
                "{typed}: {pattern}"
            );
        }
    }

    #[test]
    fn parsing_never_panics() {
        for text in [
            "", "\0\0", "\"", "-", "*", "'; DROP TABLE records; --", "🎉 שלום", "NEAR(a b)", "a é",
        ] {
            ParsedQuestion::parse(text, Timestamp::UNIX_EPOCH);
            ParsedQuestion::parse_typing(text, Timestamp::UNIX_EPOCH);
        }
    }
}
