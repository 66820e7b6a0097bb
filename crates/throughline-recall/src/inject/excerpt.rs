//! Excerpts: the part of a long text that has most to do with a prompt.

use memory::words::StemmedText;

/// An excerpt is at most this long. A shorter text is shown whole.
pub(super) const EXCERPT_BYTES_MAX: usize = 600;
/// How far into a text an excerpt is looked for.
const SEARCHED_BYTES_MAX: usize = 16 << 10;
/// What the beginning of a text counts beside a content word, which counts 1: an agent says first
/// what came of its work.
const OPENING_WEIGHT: f64 = 0.8;

/// Returns the run of whole lines that shares the most words with the prompt. A line that is too
/// long is cut at the ends of its sentences.
pub(super) fn best_excerpt(text: &str, prompt: &StemmedText) -> String {
    let text = &text[..text.floor_char_boundary(SEARCHED_BYTES_MAX)];
    let pieces: Vec<Piece<'_>> = pieces(text).map(|part| Piece::new(part, prompt)).collect();
    let mut best = 0..0;
    let mut best_weight = -1.0;
    for start in 0..pieces.len() {
        let end = window_end(&pieces, start);
        let mut weight = distinct_weight(&pieces[start..end]);
        if start == 0 {
            weight += OPENING_WEIGHT;
        }
        if weight > best_weight {
            (best, best_weight) = (start..end, weight);
        }
    }
    let parts: Vec<&str> = pieces[best].iter().map(|piece| piece.text).collect();
    parts.concat().trim().to_owned()
}

/// A line, or a sentence of a long line, with the line break after it.
struct Piece<'a> {
    text: &'a str,
    /// The stems that the prompt holds too.
    shared: Vec<String>,
}

impl<'a> Piece<'a> {
    fn new(text: &'a str, prompt: &StemmedText) -> Self {
        let words = StemmedText::parse(text);
        let shared = words.stems.intersection(&prompt.stems);
        Self {
            text,
            shared: shared.cloned().collect(),
        }
    }
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let is_long = line.len() > EXCERPT_BYTES_MAX / 2;
        let split: Vec<&str> = if is_long {
            line.split_inclusive(". ").flat_map(cut_long).collect()
        } else {
            vec![line]
        };
        split
    })
}

/// Cuts a text into parts that fit into an excerpt.
fn cut_long(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while rest.len() > EXCERPT_BYTES_MAX {
        let (part, tail) = rest.split_at(rest.floor_char_boundary(EXCERPT_BYTES_MAX));
        parts.push(part);
        rest = tail;
    }
    parts.push(rest);
    parts
}

/// Returns the end of the longest run of pieces from `start` that fits.
fn window_end(pieces: &[Piece<'_>], start: usize) -> usize {
    let mut bytes = 0;
    let fitting = pieces[start..].iter().take_while(|piece| {
        bytes += piece.text.len();
        bytes <= EXCERPT_BYTES_MAX
    });
    start + fitting.count()
}

fn distinct_weight(pieces: &[Piece<'_>]) -> f64 {
    let mut stems: Vec<&String> = pieces.iter().flat_map(|piece| &piece.shared).collect();
    stems.sort_unstable();
    stems.dedup();
    stems
        .into_iter()
        .map(|stem| memory::words::weight(stem))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_the_prompt_is_about_are_kept_whole() {
        let filler = "Nothing of interest was said here about the weather of that day.\n";
        let text = format!(
            "The release went out.\n{}The metrics endpoint listens on 8123.\n- 9090 is taken\n{}",
            filler.repeat(12),
            filler.repeat(12),
        );
        let prompt = StemmedText::parse("which port does the metrics endpoint use?");
        let excerpt = best_excerpt(&text, &prompt);
        assert!(excerpt.contains("The metrics endpoint listens on 8123.\n- 9090 is taken"));
        assert!(excerpt.len() <= EXCERPT_BYTES_MAX, "{}", excerpt.len());
        let other = best_excerpt(&text, &StemmedText::parse("who won the race?"));
        assert!(other.starts_with("The release went out."), "{other}");
    }

    #[test]
    fn any_text_has_an_excerpt() {
        let prompt = StemmedText::parse("metrics");
        for text in ["", "\n\n", &"ü".repeat(5000), &"metrics. ".repeat(900)] {
            let excerpt = best_excerpt(text, &prompt);
            assert!(excerpt.len() <= EXCERPT_BYTES_MAX);
            assert_eq!(excerpt.is_empty(), text.trim().is_empty());
        }
    }
}
