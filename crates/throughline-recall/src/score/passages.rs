//! Matches the text of a candidate with the query: terms, adjacent terms, similar words, vectors.
//!
//! A long text is split into passages, so that it does not win by its length. Each word is looked
//! up once per query, however many texts it occurs in.

use store::terms::{self, WordHashMap};

use super::embedding::{DIMS, Embedding, EmbeddingTable, WordPieces, cosine, dot};
use crate::query::{ParsedQuestion, QuestionTerm, TERMS_MAX};
use crate::retrieve::TermSet;

/// A passage ends with the first sentence that makes it this long.
const PASSAGE_BYTES: usize = 300;
/// Sentences shorter than this are joined with the next.
const SENTENCE_BYTES: usize = 100;
/// Of a longer text, only the head and the tail are read.
pub(crate) const READ_BYTES_MAX: usize = 12 << 10;
/// Terms at most this many words apart count as adjacent.
const ADJACENT_WORDS_MAX: u32 = 3;
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

/// Matches texts with one query.
#[derive(Debug)]
pub(crate) struct PassageReader<'q> {
    question: &'q ParsedQuestion,
    embeddings: Option<EmbeddingTable>,
    query_vector: Embedding,
    /// The unit vector of each term that has one.
    term_vectors: Vec<Option<Embedding>>,
    index_by_hash: WordHashMap<usize>,
    vocabulary: Vec<VocabularyEntry>,
}

/// The data that the reader keeps for a word.
#[derive(Debug)]
struct VocabularyEntry {
    /// The index of the term that the word is a form of.
    term: Option<usize>,
    is_exact: bool,
    is_time: bool,
    is_number: bool,
    pieces: WordPieces,
    /// Terms that the word is similar to, with their cosines.
    similar_terms: Vec<(usize, f32)>,
}

/// How a text matches the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextMatch {
    pub(crate) passages: Vec<Passage>,
    /// Terms that occur in some form.
    pub(crate) matched: TermSet,
    /// Terms that occur as they were typed.
    pub(crate) exact: TermSet,
    /// Terms that occur right after the term before them in the query.
    pub(crate) adjacent: TermSet,
    /// The cosine of the most similar word to each term that does not occur.
    pub(crate) similarity: [f32; TERMS_MAX],
    pub(crate) has_time: bool,
    pub(crate) has_number: bool,
    pub(crate) is_question: bool,
    /// The cosine of the whole text and the query.
    pub(crate) cosine: f32,
    /// The highest cosine of the text, a passage of it, or, in a short text, a sentence.
    pub(crate) cosine_max: f32,
    pub(crate) words: u32,
}

/// A part of a text, with how often each term occurs in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Passage {
    pub(crate) counts: [u8; TERMS_MAX],
    pub(crate) words: u32,
}

impl<'q> PassageReader<'q> {
    pub(crate) fn new(question: &'q ParsedQuestion, embeddings: Option<EmbeddingTable>) -> Self {
        let mut query_vector = [0.0; DIMS];
        let mut term_vectors = Vec::new();
        for term in &question.terms {
            let mut vector = [0.0; DIMS];
            let has = embeddings.is_some_and(|table| table.add_word(&term.folded, &mut vector));
            if has && term.is_topical() {
                add_vector(&mut query_vector, &vector);
            }
            term_vectors.push(has.then(|| normalise_vector(vector)));
        }
        Self {
            question,
            embeddings,
            query_vector,
            term_vectors,
            index_by_hash: WordHashMap::default(),
            vocabulary: Vec::new(),
        }
    }

    pub(crate) fn match_text(&mut self, text: &str) -> TextMatch {
        let mut matched = TextMatch {
            is_question: text.trim_end().ends_with('?'),
            ..TextMatch::default()
        };
        let mut state = PassageState::default();
        for part in head_and_tail(text) {
            terms::words(part, |word| {
                if word.is_compound && !self.question.terms.iter().any(|t| t.folded == word.folded)
                {
                    return;
                }
                let gap = &part.as_bytes()[state.end.min(word.start)..word.start];
                if state.end <= word.start && ends_sentence(gap) {
                    self.end_sentence(&mut state, &mut matched, PASSAGE_BYTES);
                }
                state.end = word.end;
                self.add_word(
                    &word.folded,
                    word.end - word.start,
                    &mut state,
                    &mut matched,
                );
            });
            self.end_sentence(&mut state, &mut matched, 0);
            state.end = 0;
        }
        matched.cosine = cosine(&self.query_vector, &state.whole);
        matched.cosine_max = matched.cosine_max.max(matched.cosine);
        matched.words = state.position;
        matched
    }

    fn add_word(
        &mut self,
        folded: &str,
        bytes: usize,
        state: &mut PassageState,
        matched: &mut TextMatch,
    ) {
        let hash = terms::hash_word(folded);
        let at = match self.index_by_hash.get(&hash) {
            Some(at) => *at,
            None => self.add_to_vocabulary(folded, hash),
        };
        let word = &self.vocabulary[at];
        state.position += 1;
        state.passage.words += 1;
        state.sentence_bytes += bytes + 1;
        state.passage_bytes += bytes + 1;
        matched.has_time |= word.is_time;
        matched.has_number |= word.is_number;
        if let Some(embeddings) = &self.embeddings {
            for piece in word.pieces.as_slice() {
                embeddings.add_piece(*piece, &mut state.sentence);
            }
        }
        for (term, cosine) in &word.similar_terms {
            matched.similarity[*term] = matched.similarity[*term].max(*cosine);
        }
        let Some(term) = word.term else { return };
        matched.matched |= 1 << term;
        matched.exact |= TermSet::from(word.is_exact) << term;
        state.passage.counts[term] = state.passage.counts[term].saturating_add(1);
        if let Some((last, position)) = state.last
            && term == last + 1
            && state.position - position <= ADJACENT_WORDS_MAX
        {
            matched.adjacent |= 1 << term;
        }
        state.last = Some((term, state.position));
    }

    /// Ends a sentence, and with it the passage if that has at least `passage_min` bytes.
    fn end_sentence(&self, state: &mut PassageState, matched: &mut TextMatch, passage_min: usize) {
        if state.sentence_bytes < SENTENCE_BYTES && passage_min > 0 {
            return;
        }
        add_vector(&mut state.whole, &state.sentence);
        add_vector(&mut state.passage_vector, &state.sentence);
        // Sentences count only in the first passage: a long text would win by its many sentences.
        if matched.passages.is_empty() && state.sentence_bytes > 0 {
            let near = cosine(&self.query_vector, &state.sentence);
            matched.cosine_max = matched.cosine_max.max(near);
        }
        state.sentence = [0.0; DIMS];
        state.sentence_bytes = 0;
        if state.passage_bytes >= passage_min && state.passage_bytes > 0 {
            let near = cosine(&self.query_vector, &state.passage_vector);
            matched.cosine_max = matched.cosine_max.max(near);
            state.passage_vector = [0.0; DIMS];
            state.passage_bytes = 0;
            matched.passages.push(std::mem::take(&mut state.passage));
        }
    }

    /// Looks a word up and returns its index in the vocabulary.
    fn add_to_vocabulary(&mut self, folded: &str, hash: u64) -> usize {
        let stem = terms::stem::stem(folded);
        let fits = |term: &QuestionTerm| term.term == stem || term.is_exactly(folded);
        let term = self.question.terms.iter().position(fits);
        let pieces = match &self.embeddings {
            Some(embeddings) if terms::is_content(folded) => embeddings.split_word(folded),
            _ => WordPieces::default(),
        };
        let at = self.vocabulary.len();
        self.vocabulary.push(VocabularyEntry {
            is_exact: term.is_some_and(|term| self.question.terms[term].is_exactly(folded)),
            is_time: TIME_WORDS.binary_search(&folded).is_ok()
                || (folded.len() == 4 && (folded.starts_with("20") || folded.starts_with("19"))),
            is_number: NUMBER_WORDS.contains(&folded)
                || (folded.len() < 4 && folded.bytes().all(|byte| byte.is_ascii_digit())),
            similar_terms: if term.is_none() {
                self.similar_terms(&pieces)
            } else {
                Vec::new()
            },
            term,
            pieces,
        });
        self.index_by_hash.insert(hash, at);
        at
    }

    /// Returns the terms that a word is similar to, with their cosines.
    fn similar_terms(&self, pieces: &WordPieces) -> Vec<(usize, f32)> {
        let Some(embeddings) = &self.embeddings else {
            return Vec::new();
        };
        if !(1..=SIMILAR_PIECES_MAX).contains(&pieces.as_slice().len()) {
            return Vec::new();
        }
        let mut vector = [0.0; DIMS];
        for piece in pieces.as_slice() {
            embeddings.add_piece(*piece, &mut vector);
        }
        let unit = normalise_vector(vector);
        let terms = self.term_vectors.iter().enumerate();
        terms
            .filter_map(|(at, term)| Some((at, dot(&unit, term.as_ref()?))))
            .filter(|(_, near)| *near > TERM_COSINE_MIN)
            .collect()
    }
}

/// How far a text has been read.
#[derive(Debug)]
struct PassageState {
    whole: Embedding,
    passage_vector: Embedding,
    sentence: Embedding,
    sentence_bytes: usize,
    passage: Passage,
    passage_bytes: usize,
    /// The number of words so far.
    position: u32,
    /// The last term that occurred, and its position.
    last: Option<(usize, u32)>,
    /// Where the last word ended, in bytes.
    end: usize,
}

impl Default for PassageState {
    fn default() -> Self {
        Self {
            whole: [0.0; DIMS],
            passage_vector: [0.0; DIMS],
            sentence: [0.0; DIMS],
            sentence_bytes: 0,
            passage: Passage::default(),
            passage_bytes: 0,
            position: 0,
            last: None,
            end: 0,
        }
    }
}

/// Returns the parts of a text that are read.
fn head_and_tail(text: &str) -> impl Iterator<Item = &str> {
    let (head, tail) = if text.len() <= READ_BYTES_MAX {
        (text, None)
    } else {
        let head = text.floor_char_boundary(READ_BYTES_MAX * 3 / 4);
        let tail = text.ceil_char_boundary(text.len() - READ_BYTES_MAX / 4);
        (&text[..head], Some(&text[tail..]))
    };
    std::iter::once(head).chain(tail)
}

fn ends_sentence(gap: &[u8]) -> bool {
    gap.contains(&b'\n')
        || gap
            .windows(2)
            .any(|pair| matches!(pair[0], b'.' | b'!' | b'?') && pair[1].is_ascii_whitespace())
}

fn add_vector(sum: &mut Embedding, vector: &Embedding) {
    for (sum, value) in sum.iter_mut().zip(vector) {
        *sum += value;
    }
}

fn normalise_vector(mut vector: Embedding) -> Embedding {
    let norm = dot(&vector, &vector).sqrt();
    if norm > 0.0 {
        for value in &mut vector {
            *value /= norm;
        }
    }
    vector
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn read(question: &str, text: &str) -> TextMatch {
        let question = ParsedQuestion::parse(question, Timestamp::UNIX_EPOCH);
        PassageReader::new(&question, EmbeddingTable::load()).match_text(text)
    }

    #[test]
    fn times_are_sorted() {
        assert!(TIME_WORDS.is_sorted());
    }

    #[test]
    fn stems_and_exact_words() {
        let reading = read("fixed parsers", "He fixes the parsers.");
        assert_eq!((reading.matched, reading.exact), (0b11, 0b10));
        assert_eq!(reading.adjacent, 0b10);
    }

    #[test]
    fn a_long_text_is_read_in_passages() {
        let text = "The parser failed on newlines again. ".repeat(60);
        let reading = read("parser newlines", &text);
        assert!(reading.passages.len() > 4, "{}", reading.passages.len());
        assert!(reading.passages.iter().all(|passage| passage.words < 100));
    }

    #[test]
    fn words_that_mean_the_same() {
        let reading = read("automobile", "She bought a new car yesterday.");
        assert!(reading.similarity[0] > 0.1 && reading.matched == 0 && reading.has_time);
    }

    #[test]
    fn matching_never_panics() {
        for text in [
            "",
            "\0",
            "🎉",
            "x".repeat(100_000).as_str(),
            "ß".repeat(20_000).as_str(),
        ] {
            read("what is x", text);
        }
    }
}
