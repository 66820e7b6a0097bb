//! Matches the text of a candidate with the query: terms, adjacent terms, similar words, vectors.
//!
//! A long text is split into passages, so that it does not win by its length. Each word is looked
//! up once per query, however many texts it occurs in.

use store::terms;

use super::embedding::{DIMS, Embedding, EmbeddingTable, dot};
use super::vocabulary::{QueryTerms, Vocabulary, add_vector};
use crate::query::{ParsedQuestion, TERMS_MAX};
use crate::retrieve::TermSet;

/// A passage ends with the first sentence that makes it this long.
const PASSAGE_BYTES: usize = 300;
/// Sentences shorter than this are joined with the next.
const SENTENCE_BYTES: usize = 100;
/// Of a longer text, only the head and the tail are read.
pub(crate) const READ_BYTES_MAX: usize = 12 << 10;
/// Terms at most this many words apart count as adjacent.
const ADJACENT_WORDS_MAX: u32 = 3;
/// Matches texts with one query.
#[derive(Debug)]
pub(crate) struct PassageReader<'q> {
    question: &'q ParsedQuestion,
    embeddings: Option<EmbeddingTable>,
    query_vector: Embedding,
    /// The square of its length.
    query_norm: f32,
    terms: QueryTerms<'q>,
    vocabulary: Vocabulary,
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
            query_norm: dot(&query_vector, &query_vector),
            query_vector,
            terms: QueryTerms::new(question, term_vectors),
            // Without vectors, words are known by less than a vocabulary holds of them.
            vocabulary: match embeddings {
                Some(_) => Vocabulary::take(),
                None => Vocabulary::default(),
            },
            embeddings,
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
        matched.cosine = self.query_cosine(&state.whole);
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
        let table = self.embeddings.as_ref();
        let at = self.vocabulary.find(folded, &self.terms, table);
        if let Some(table) = table {
            self.vocabulary.add_vector(at, table, &mut state.sentence);
        }
        let word = self.vocabulary.word(at);
        state.position += 1;
        state.passage.words += 1;
        state.sentence_bytes += bytes + 1;
        state.passage_bytes += bytes + 1;
        matched.has_time |= word.is_time;
        matched.has_number |= word.is_number;
        for (term, cosine) in self.vocabulary.similar_terms(word) {
            matched.similarity[*term] = matched.similarity[*term].max(*cosine);
        }
        let Some(term) = word.term.map(usize::from) else {
            return;
        };
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
            let near = self.query_cosine(&state.sentence);
            matched.cosine_max = matched.cosine_max.max(near);
        }
        state.sentence = [0.0; DIMS];
        state.sentence_bytes = 0;
        if state.passage_bytes >= passage_min && state.passage_bytes > 0 {
            let near = self.query_cosine(&state.passage_vector);
            matched.cosine_max = matched.cosine_max.max(near);
            state.passage_vector = [0.0; DIMS];
            state.passage_bytes = 0;
            matched.passages.push(std::mem::take(&mut state.passage));
        }
    }

    /// Returns the cosine of a vector and the query, 0 if one of them is zero.
    fn query_cosine(&self, vector: &Embedding) -> f32 {
        let norms = (self.query_norm * dot(vector, vector)).sqrt();
        if norms > 0.0 {
            dot(&self.query_vector, vector) / norms
        } else {
            0.0
        }
    }
}

impl Drop for PassageReader<'_> {
    fn drop(&mut self) {
        if self.embeddings.is_some() {
            std::mem::take(&mut self.vocabulary).give_back();
        }
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
