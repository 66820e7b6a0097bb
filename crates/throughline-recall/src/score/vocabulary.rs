//! The words of the texts that were read, with what a search needs to know of each.
//!
//! Splitting a word into pieces and adding up their vectors costs far more than looking the word
//! up, and most words recur from text to text and from query to query. So a vocabulary outlives its
//! search: the next one takes it over, and only what depends on the query is computed again.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use store::terms::{self, WordHashMap};

use super::embedding::{DIMS, Embedding, EmbeddingTable, WordPieces, dot};
use crate::query::{ParsedQuestion, QuestionTerm};

/// The most words that are kept from one search to the next: those that were met first, which are
/// the most frequent.
const WORDS_MAX: usize = 48 << 10;
/// The most words whose vectors are kept, of half a kilobyte each.
const VECTORS_MAX: usize = 8 << 10;
/// After so many searches a vocabulary starts empty again, because the topics have changed.
const SEARCHES_MAX: u32 = 4096;
/// The number of no query. A vocabulary starts empty again long before it reaches this number.
const NO_QUERY: u32 = u32::MAX;
/// Vocabularies that wait for later searches: as many searches can share them at the same time.
const SPARE_MAX: usize = 2;
static SPARE: Mutex<Vec<Vocabulary>> = Mutex::new(Vec::new());

/// Words whose cosine is lower are unrelated. The features have a threshold of their own,
/// [`SIMILARITY_MIN`](super::features::SIMILARITY_MIN); this one only keeps the lists short.
const TERM_COSINE_MIN: f32 = 0.25;
/// A word of more pieces is a name, which its pieces say nothing about.
const SIMILAR_PIECES_MAX: usize = 2;

/// Words that name a time; sorted.
const TIME_WORDS: &[&str] = &[
    "ago", "april", "august", "days", "december", "evening", "february", "friday", "january",
    "july", "june", "last", "march", "monday", "month", "months", "morning", "next", "november",
    "october", "recently", "saturday", "september", "since", "sunday", "thursday", "today",
    "tomorrow", "tuesday", "wednesday", "week", "weekend", "weeks", "year", "years", "yesterday",
];

/// Words that name a number.
const NUMBER_WORDS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "dozen",
    "hundred", "thousand", "couple", "once", "twice", "daily", "weekly", "monthly",
];

/// The terms of a query, in the form in which words are compared with them.
#[derive(Debug)]
pub(super) struct QueryTerms<'q> {
    question: &'q ParsedQuestion,
    /// The unit vector of each term that has one.
    vectors: Vec<Option<Embedding>>,
    /// The first bytes of the terms, one bit each. A stem begins like its word, so a word with
    /// another first byte is a form of no term.
    first_bytes: [bool; 256],
}

impl<'q> QueryTerms<'q> {
    pub(super) fn new(question: &'q ParsedQuestion, vectors: Vec<Option<Embedding>>) -> Self {
        let mut first_bytes = [false; 256];
        for term in &question.terms {
            for form in [&term.term, &term.folded] {
                if let Some(first) = form.bytes().next() {
                    first_bytes[usize::from(first)] = true;
                }
            }
        }
        Self {
            question,
            vectors,
            first_bytes,
        }
    }

    /// Returns the index of the term that a word is a form of.
    fn term_of(&self, folded: &str) -> Option<usize> {
        let first = folded.bytes().next()?;
        if !self.first_bytes[usize::from(first)] {
            return None;
        }
        let stem = terms::stem::stem(folded);
        let fits = |term: &QuestionTerm| term.term == stem || term.is_exactly(folded);
        self.question.terms.iter().position(fits)
    }
}

/// The words that were met so far.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    index_by_hash: WordHashMap<u32>,
    words: Vec<KnownWord>,
    /// The hashes of the words beyond [`WORDS_MAX`], which are only kept for this search.
    surplus: Vec<u64>,
    vectors: Vec<Embedding>,
    /// Terms that words are similar to, with their cosines; of the current query.
    similar_terms: Vec<(usize, f32)>,
    /// The number of the current query.
    query: u32,
}

/// The properties of a word.
#[derive(Debug)]
pub(super) struct KnownWord {
    pieces: WordPieces,
    /// The index of its vector, which is kept from its second occurrence on: half of all words
    /// occur once.
    vector: Option<u32>,
    has_occurred: bool,
    pub(super) is_time: bool,
    pub(super) is_number: bool,
    /// The query that the fields below belong to.
    query: u32,
    /// The index of the term that the word is a form of.
    pub(super) term: Option<u8>,
    pub(super) is_exact: bool,
    similar_terms: Range<u32>,
}

impl Vocabulary {
    /// Takes a vocabulary over from an earlier search, or starts one.
    pub(super) fn take() -> Self {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut vocabulary = spare.pop().unwrap_or_default();
        if vocabulary.query == SEARCHES_MAX {
            vocabulary = Self::default();
        }
        vocabulary.similar_terms.clear();
        vocabulary.query += 1;
        vocabulary
    }

    /// Leaves the vocabulary to later searches.
    pub(super) fn give_back(mut self) {
        self.drop_surplus();
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < SPARE_MAX {
            spare.push(self);
        }
    }

    fn drop_surplus(&mut self) {
        for hash in self.surplus.drain(..) {
            self.index_by_hash.remove(&hash);
        }
        self.words.truncate(WORDS_MAX);
    }

    /// Returns the index of a folded word, which is looked up when it is met for the first time.
    pub(super) fn find(
        &mut self,
        folded: &str,
        terms: &QueryTerms<'_>,
        embeddings: Option<&EmbeddingTable>,
    ) -> usize {
        let hash = terms::hash_word(folded);
        let at = match self.index_by_hash.get(&hash) {
            Some(at) => *at as usize,
            None => self.add(folded, hash, embeddings),
        };
        if self.words[at].query != self.query {
            self.compare_with_query(at, folded, terms, embeddings);
        }
        at
    }

    pub(super) fn word(&self, at: usize) -> &KnownWord {
        &self.words[at]
    }

    /// Returns the terms that a word is similar to, with their cosines.
    pub(super) fn similar_terms(&self, word: &KnownWord) -> &[(usize, f32)] {
        let Range { start, end } = word.similar_terms;
        &self.similar_terms[start as usize..end as usize]
    }

    /// Adds the vector of a word to a sum.
    pub(super) fn add_vector(&mut self, at: usize, table: &EmbeddingTable, sum: &mut Embedding) {
        let word = &mut self.words[at];
        let pieces = word.pieces.as_slice();
        if pieces.is_empty() {
            return;
        }
        if let Some(vector) = word.vector.and_then(|at| self.vectors.get(at as usize)) {
            add_vector(sum, vector);
            return;
        }
        // The pieces are always added up first. Otherwise the rounding would depend on what was
        // searched for before, and equal searches would differ.
        let vector = word_vector(table, pieces);
        add_vector(sum, &vector);
        let occurs_again = std::mem::replace(&mut word.has_occurred, true);
        // The vector of a surplus word would stay when the word goes.
        if occurs_again && self.vectors.len() < VECTORS_MAX && at < WORDS_MAX {
            word.vector = Some(index(self.vectors.len()));
            self.vectors.push(vector);
        }
    }

    fn add(&mut self, folded: &str, hash: u64, embeddings: Option<&EmbeddingTable>) -> usize {
        let pieces = match embeddings {
            Some(table) if terms::is_content(folded) => table.split_word(folded),
            _ => WordPieces::default(),
        };
        let at = self.words.len();
        self.words.push(KnownWord {
            pieces,
            vector: None,
            has_occurred: false,
            is_time: TIME_WORDS.binary_search(&folded).is_ok()
                || (folded.len() == 4 && (folded.starts_with("20") || folded.starts_with("19"))),
            is_number: NUMBER_WORDS.contains(&folded)
                || (folded.len() < 4 && folded.bytes().all(|byte| byte.is_ascii_digit())),
            query: NO_QUERY,
            term: None,
            is_exact: false,
            similar_terms: 0..0,
        });
        if at >= WORDS_MAX {
            self.surplus.push(hash);
        }
        self.index_by_hash.insert(hash, index(at));
        at
    }

    fn compare_with_query(
        &mut self,
        at: usize,
        folded: &str,
        terms: &QueryTerms<'_>,
        embeddings: Option<&EmbeddingTable>,
    ) {
        let term = terms.term_of(folded);
        let start = self.similar_terms.len();
        if term.is_none()
            && let Some(table) = embeddings
        {
            self.add_similar_terms(at, terms, table);
        }
        let word = &mut self.words[at];
        word.query = self.query;
        word.term = term.and_then(|term| u8::try_from(term).ok());
        word.is_exact = term.is_some_and(|at| terms.question.terms[at].is_exactly(folded));
        word.similar_terms = index(start)..index(self.similar_terms.len());
    }

    fn add_similar_terms(&mut self, at: usize, terms: &QueryTerms<'_>, table: &EmbeddingTable) {
        let word = &self.words[at];
        let pieces = word.pieces.as_slice();
        if !(1..=SIMILAR_PIECES_MAX).contains(&pieces.len()) {
            return;
        }
        let known = word.vector.and_then(|at| self.vectors.get(at as usize));
        let vector = known.map_or_else(|| word_vector(table, pieces), |vector| *vector);
        let norm = dot(&vector, &vector).sqrt();
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        for (at, term) in terms.vectors.iter().enumerate() {
            let Some(term) = term else { continue };
            let cosine = scale * dot(&vector, term);
            if cosine > TERM_COSINE_MIN {
                self.similar_terms.push((at, cosine));
            }
        }
    }
}

/// Narrows an index: no search meets four billion words.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn word_vector(table: &EmbeddingTable, pieces: &[u16]) -> Embedding {
    let mut vector = [0.0; DIMS];
    for piece in pieces {
        table.add_piece(*piece, &mut vector);
    }
    vector
}

pub(super) fn add_vector(sum: &mut Embedding, vector: &Embedding) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_sorted() {
        assert!(TIME_WORDS.is_sorted());
    }

    fn parse(text: &str) -> ParsedQuestion {
        ParsedQuestion::parse(text, jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_word_is_compared_with_each_query_anew() {
        let table = EmbeddingTable::load().unwrap();
        let mut vocabulary = Vocabulary {
            query: 1,
            ..Vocabulary::default()
        };
        let mut term = |query: u32, question: &str, word: &str| {
            let question = parse(question);
            let terms = QueryTerms::new(&question, vec![None; question.terms.len()]);
            vocabulary.query = query;
            let at = vocabulary.find(word, &terms, Some(&table));
            (vocabulary.word(at).term, vocabulary.word(at).is_exact)
        };
        assert_eq!(term(1, "parser crash", "parsers"), (Some(0), false));
        assert_eq!(term(2, "crash parsers", "parsers"), (Some(1), true));
        assert_eq!(term(3, "newline", "parsers"), (None, false));
    }

    #[test]
    fn the_vector_of_a_word_is_the_same_at_every_occurrence() {
        let table = EmbeddingTable::load().unwrap();
        let question = parse("automobile");
        let terms = QueryTerms::new(&question, vec![None]);
        let mut vocabulary = Vocabulary::take();
        let at = vocabulary.find("carburettor", &terms, Some(&table));
        let mut vector = || {
            let mut sum = [1e3; DIMS];
            vocabulary.add_vector(at, &table, &mut sum);
            sum
        };
        let first = vector();
        assert_ne!(first, [1e3; DIMS]);
        assert_eq!([vector(), vector()], [first, first]);
    }

    #[test]
    fn only_so_many_words_are_kept() {
        let question = parse("parser");
        let terms = QueryTerms::new(&question, vec![None]);
        let mut vocabulary = Vocabulary::default();
        for number in 0..WORDS_MAX + 10 {
            vocabulary.find(&format!("word{number}"), &terms, None);
        }
        assert_eq!(vocabulary.surplus.len(), 10);
        vocabulary.drop_surplus();
        assert_eq!(vocabulary.words.len(), WORDS_MAX);
        assert_eq!(vocabulary.index_by_hash.len(), WORDS_MAX);
    }
}
