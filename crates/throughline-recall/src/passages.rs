//! Reading a candidate: which of the question's words it holds, where they stand together, what it is about.
//!
//! A long text is read in passages, so that it does not win by its length. Words are looked up once per
//! question, however many texts they occur in.

use store::terms::{self, WordHashMap};

use crate::ask::{ParsedQuestion, TERMS_MAX};
use crate::candidates::TermSet;
use crate::meaning::{DIMS, Embedding, EmbeddingTable, WordPieces, cosine, dot};

/// A passage ends at the first end of a sentence after this.
const PASSAGE_BYTES: usize = 300;
/// A part of a short text that may mean something of its own.
const SENTENCE_BYTES: usize = 100;
/// A text with more than this is read in part: its head and its tail.
const READ_BYTES_MAX: usize = 12 << 10;
/// Question words this near to each other stand together.
const ADJACENT_WORDS_MAX: usize = 3;
/// Words less alike than this have nothing to do with each other.
const TERM_COSINE_MIN: f32 = 0.25;
/// A word of more pieces is a name: what its pieces mean says nothing about it.
const SIMILAR_PIECES_MAX: usize = 2;

/// Words that tell of a time.
const TIME_WORDS: &[&str] = &[
    "ago",
    "april",
    "august",
    "days",
    "december",
    "evening",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "last",
    "march",
    "monday",
    "month",
    "months",
    "morning",
    "next",
    "november",
    "october",
    "recently",
    "saturday",
    "september",
    "since",
    "sunday",
    "thursday",
    "today",
    "tomorrow",
    "tuesday",
    "wednesday",
    "week",
    "weekend",
    "weeks",
    "year",
    "years",
    "yesterday",
];

/// Words that tell how many.
const NUMBER_WORDS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "dozen",
    "hundred", "thousand", "couple", "once", "twice", "daily", "weekly", "monthly",
];

/// Reads texts with one question in mind.
#[derive(Debug)]
pub struct PassageReader<'q> {
    question: &'q ParsedQuestion,
    meanings: Option<EmbeddingTable>,
    /// What the question is about.
    query_vector: Embedding,
    /// What each term is about, at length one.
    term_vectors: Vec<Option<Embedding>>,
    index_by_hash: WordHashMap<usize>,
    vocabulary: Vec<VocabularyEntry>,
}

/// What is known of a word.
#[derive(Debug)]
struct VocabularyEntry {
    /// The term it is a form of.
    term: Option<usize>,
    is_exact: bool,
    is_time: bool,
    is_number: bool,
    pieces: WordPieces,
    /// Terms that mean something alike, and how much.
    similar_terms: Vec<(usize, f32)>,
}

/// What a text shows.
#[derive(Clone, Debug, Default)]
pub struct TextMatch {
    pub passages: Vec<Passage>,
    /// Terms that occur as they were typed.
    pub exact: TermSet,
    /// Terms that follow the one before them in the question closely.
    pub adjacent: TermSet,
    /// How near the nearest word comes to each term that does not occur.
    pub similarity: [f32; TERMS_MAX],
    pub has_time: bool,
    pub has_number: bool,
    pub is_question: bool,
    /// How near the whole, and its nearest sentence or passage, are to the question.
    pub cosine: f32,
    pub cosine_max: f32,
    pub words: u32,
}

/// A part of a text.
#[derive(Clone, Debug, Default)]
pub struct Passage {
    pub counts: [u8; TERMS_MAX],
    pub words: u32,
}

impl TextMatch {
    /// Returns the terms that occur in some form.
    pub fn matched_terms(&self) -> TermSet {
        let mut bits = 0;
        for passage in &self.passages {
            for (at, count) in passage.counts.iter().enumerate() {
                bits |= TermSet::from(*count > 0) << at;
            }
        }
        bits
    }
}

impl<'q> PassageReader<'q> {
    pub fn new(question: &'q ParsedQuestion, meanings: Option<EmbeddingTable>) -> Self {
        let mut query_vector = [0.0; DIMS];
        let mut term_vectors = Vec::new();
        for term in &question.terms {
            let mut vector = [0.0; DIMS];
            let has = meanings.is_some_and(|meanings| meanings.add_word(&term.folded, &mut vector));
            if has && term.is_topical() {
                for (sum, value) in query_vector.iter_mut().zip(vector) {
                    *sum += value;
                }
            }
            term_vectors.push(has.then(|| normalise_vector(vector)));
        }
        Self {
            question,
            meanings,
            query_vector,
            term_vectors,
            index_by_hash: WordHashMap::default(),
            vocabulary: Vec::new(),
        }
    }

    pub fn match_text(&mut self, text: &str) -> TextMatch {
        let mut reading = TextMatch {
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
                    self.end_sentence(&mut state, &mut reading, PASSAGE_BYTES);
                }
                state.end = word.end;
                self.add_word(
                    &word.folded,
                    word.end - word.start,
                    &mut state,
                    &mut reading,
                );
            });
            self.end_sentence(&mut state, &mut reading, 0);
            state.end = 0;
        }
        reading.cosine = cosine(&self.query_vector, &state.whole);
        reading.cosine_max = reading.cosine_max.max(reading.cosine);
        reading.words = state.position;
        reading
    }

    fn add_word(
        &mut self,
        folded: &str,
        bytes: usize,
        state: &mut PassageState,
        reading: &mut TextMatch,
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
        reading.has_time |= word.is_time;
        reading.has_number |= word.is_number;
        if let Some(meanings) = &self.meanings {
            for piece in word.pieces.as_slice() {
                meanings.add_piece(*piece, &mut state.sentence);
            }
        }
        for (term, alike) in &word.similar_terms {
            reading.similarity[*term] = reading.similarity[*term].max(*alike);
        }
        let Some(term) = word.term else { return };
        reading.exact |= TermSet::from(word.is_exact) << term;
        state.passage.counts[term] = state.passage.counts[term].saturating_add(1);
        if let Some((last, position)) = state.last
            && term == last + 1
            && (state.position - position) as usize <= ADJACENT_WORDS_MAX
        {
            reading.adjacent |= 1 << term;
        }
        state.last = Some((term, state.position));
    }

    /// Closes a sentence, and with it a passage of at least `passage_min` bytes.
    fn end_sentence(&self, state: &mut PassageState, reading: &mut TextMatch, passage_min: usize) {
        if state.sentence_bytes < SENTENCE_BYTES && passage_min > 0 {
            return;
        }
        add_vector(&mut state.whole, &state.sentence);
        add_vector(&mut state.about, &state.sentence);
        // Only short texts are looked at sentence by sentence: long ones would win by their many chances.
        if state.passages == 0 && state.sentence_bytes > 0 {
            let near = cosine(&self.query_vector, &state.sentence);
            reading.cosine_max = reading.cosine_max.max(near);
        }
        state.sentence = [0.0; DIMS];
        state.sentence_bytes = 0;
        if state.passage_bytes >= passage_min && state.passage_bytes > 0 {
            let near = cosine(&self.query_vector, &state.about);
            reading.cosine_max = reading.cosine_max.max(near);
            state.about = [0.0; DIMS];
            state.passage_bytes = 0;
            state.passages += 1;
            reading.passages.push(std::mem::take(&mut state.passage));
        }
    }

    fn add_to_vocabulary(&mut self, folded: &str, hash: u64) -> usize {
        let stem = terms::stem::stem(folded);
        let fits = |term: &crate::ask::QuestionTerm| {
            term.term == stem
                || term.folded == folded
                || (term.is_prefix && stem.starts_with(&term.term))
        };
        let term = self.question.terms.iter().position(fits);
        let pieces = match &self.meanings {
            Some(meanings) if terms::is_content(folded) => meanings.split_word(folded),
            _ => WordPieces::default(),
        };
        let at = self.vocabulary.len();
        self.vocabulary.push(VocabularyEntry {
            is_exact: term.is_some_and(|term| self.question.terms[term].folded == folded),
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

    /// Returns the terms that mean something like a word, and how much.
    fn similar_terms(&self, pieces: &WordPieces) -> Vec<(usize, f32)> {
        let Some(meanings) = &self.meanings else {
            return Vec::new();
        };
        if !(1..=SIMILAR_PIECES_MAX).contains(&pieces.as_slice().len()) {
            return Vec::new();
        }
        let mut vector = [0.0; DIMS];
        for piece in pieces.as_slice() {
            meanings.add_piece(*piece, &mut vector);
        }
        let unit = normalise_vector(vector);
        let terms = self.term_vectors.iter().enumerate();
        terms
            .filter_map(|(at, term)| Some((at, dot(&unit, term.as_ref()?))))
            .filter(|(_, near)| *near > TERM_COSINE_MIN)
            .collect()
    }
}

#[derive(Debug)]
struct PassageState {
    whole: Embedding,
    about: Embedding,
    sentence: Embedding,
    sentence_bytes: usize,
    passage: Passage,
    passage_bytes: usize,
    passages: usize,
    position: u32,
    last: Option<(usize, u32)>,
    end: usize,
}

impl Default for PassageState {
    fn default() -> Self {
        Self {
            whole: [0.0; DIMS],
            about: [0.0; DIMS],
            sentence: [0.0; DIMS],
            sentence_bytes: 0,
            passage: Passage::default(),
            passage_bytes: 0,
            passages: 0,
            position: 0,
            last: None,
            end: 0,
        }
    }
}

/// Returns what is read of a text.
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
    fn forms_and_words_as_typed() {
        let reading = read("fixed parsers", "He fixes the parsers.");
        assert_eq!((reading.matched_terms(), reading.exact), (0b11, 0b10));
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
        assert!(reading.similarity[0] > 0.1 && reading.matched_terms() == 0 && reading.has_time);
    }

    #[test]
    fn odd_texts() {
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
