//! Words, names and sentences.
//!
//! The words are those of this repository's own sources and of `prose.txt`, most frequent first;
//! `prose.txt` was written for this purpose. Drawn by Zipf's law, they have the skew that makes
//! search hard: a few words in every record, most words in a handful.

use super::rng::Rng;

const WORDS: &str = include_str!("words.txt");
const PROSE: &str = include_str!("prose.txt");

/// How often a sentence is one of the written ones, unchanged.
const WRITTEN_SENTENCES: f64 = 0.3;

/// Extensions by how common they are.
const EXTENSIONS: [&str; 8] = ["rs", "rs", "rs", "ts", "py", "toml", "md", "json"];
const DIRECTORIES: [&str; 8] = [
    "src", "src", "src", "tests", "crates", "docs", "scripts", "examples",
];

#[derive(Debug)]
pub struct Vocabulary {
    words: Vec<&'static str>,
    /// The chance that a drawn word is this one or an earlier one.
    cumulative: Vec<f64>,
    /// Words that can be part of a name, in the same order.
    names: Vec<&'static str>,
    sentences: Vec<&'static str>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let words: Vec<_> = WORDS.lines().collect();
        let mut sum = 0.0;
        let mut cumulative: Vec<_> = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 2.7);
                sum
            })
            .collect();
        for chance in &mut cumulative {
            *chance /= sum;
        }
        Self {
            names: words
                .iter()
                .skip(30)
                .filter(|w| w.len() > 3)
                .copied()
                .collect(),
            sentences: PROSE.lines().collect(),
            words,
            cumulative,
        }
    }
}

impl Vocabulary {
    pub fn word(&self, rng: &mut Rng) -> &'static str {
        let drawn = rng.unit();
        let rank = self.cumulative.partition_point(|&chance| chance < drawn);
        self.words[rank.min(self.words.len() - 1)]
    }

    /// Returns a word for a name; the earlier half of the list comes more often.
    fn name(&self, rng: &mut Rng) -> &'static str {
        let skewed = rng.unit() * rng.unit();
        self.names[(skewed * self.names.len() as f64) as usize]
    }

    pub fn snake(&self, rng: &mut Rng) -> String {
        let words = rng.between(1, 4);
        let parts: Vec<_> = (0..words).map(|_| self.name(rng)).collect();
        parts.join("_")
    }

    pub fn camel(&self, rng: &mut Rng) -> String {
        let words = rng.between(1, 4);
        (0..words).map(|_| capitalised(self.name(rng))).collect()
    }

    /// Returns the path of a file in a repository.
    pub fn path(&self, rng: &mut Rng) -> String {
        let mut path = rng.pick(&DIRECTORIES).to_owned();
        for _ in 0..rng.between(0, 3) {
            path = format!("{path}/{}", self.name(rng));
        }
        format!("{path}/{}.{}", self.snake(rng), rng.pick(&EXTENSIONS))
    }

    pub fn sentence(&self, rng: &mut Rng) -> String {
        if rng.chance(WRITTEN_SENTENCES) {
            return self.sentences[rng.between(0, self.sentences.len())].to_owned();
        }
        let mut sentence = capitalised(self.word(rng));
        for _ in 0..rng.between(5, 18) {
            sentence.push_str(if rng.chance(0.07) { ", " } else { " " });
            match rng.between(0, 40) {
                0 | 1 => sentence.push_str(&format!("`{}`", self.snake(rng))),
                2 => sentence.push_str(&format!("`{}`", self.camel(rng))),
                3 => sentence.push_str(&self.path(rng)),
                4 => sentence.push_str(&rng.between(2, 5000).to_string()),
                5 if rng.chance(0.3) => sentence.push_str(&rng.hex(7)),
                _ => sentence.push_str(self.word(rng)),
            }
        }
        sentence.push('.');
        sentence
    }

    /// Returns prose of this size, or a little less: it ends with a word.
    pub fn prose_up_to(&self, rng: &mut Rng, size_bytes: usize) -> String {
        let mut text = self.prose(rng, size_bytes);
        if text.len() > size_bytes {
            text.truncate(text.floor_char_boundary(size_bytes));
            text.truncate(text.rfind(' ').unwrap_or(text.len()));
        }
        text
    }

    /// Returns sentences of about this many bytes together, in paragraphs.
    pub fn prose(&self, rng: &mut Rng, size_bytes: usize) -> String {
        let mut text = self.sentence(rng);
        while text.len() < size_bytes {
            text.push_str(if rng.chance(0.2) { "\n\n" } else { " " });
            text.push_str(&self.sentence(rng));
        }
        text
    }
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(usize::from(!word.is_empty()));
    format!("{}{rest}", first.to_ascii_uppercase())
}
