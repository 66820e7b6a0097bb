//! Patterns of file names, and a quick check whether a text names such a file at all.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, Input, Match, Span, packed};

/// Patterns of files. `*` matches any characters; a pattern with `/` matches the end of a path, a
/// pattern without matches a file name.
#[derive(Clone, Debug, Default)]
pub struct FilePatterns {
    patterns: Vec<String>,
    /// Finds the longest literal part of every pattern. Built when it is first needed.
    literals: OnceLock<Option<LiteralSearch>>,
}

/// A search for several literals at once.
#[derive(Clone, Debug)]
enum LiteralSearch {
    /// Compares many bytes at once: several times as fast, but only for some dozens of literals and
    /// on some processors.
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

impl LiteralSearch {
    fn new(literals: &[String]) -> Option<Self> {
        let packed = packed::Searcher::new(literals).map(Self::Packed);
        // The literals begin with dots and common letters, so a prefilter would stop too often.
        let automaton = || {
            AhoCorasickBuilder::new()
                .kind(Some(AhoCorasickKind::DFA))
                .prefilter(false)
                .build(literals)
        };
        packed.or_else(|| automaton().ok().map(Self::Automaton))
    }

    /// Returns the first literal from an offset on. Of several that overlap it may be any.
    fn find(&self, text: &str, from: usize) -> Option<Match> {
        match self {
            Self::Packed(searcher) => searcher.find_in(text, Span::from(from..text.len())),
            Self::Automaton(automaton) => automaton.find(Input::new(text).range(from..)),
        }
    }
}

impl From<Vec<String>> for FilePatterns {
    fn from(patterns: Vec<String>) -> Self {
        Self {
            patterns,
            literals: OnceLock::new(),
        }
    }
}

impl FilePatterns {
    pub fn into_vec(self) -> Vec<String> {
        self.patterns
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(String::as_str)
    }

    /// Says whether a text may name a file that matches. Every path that matches passes, with
    /// either kind of slash, but not with both kinds.
    pub(super) fn may_be_named_in(&self, text: &str) -> bool {
        self.mentions(text).any_in(0..text.len())
    }

    /// Returns the same check for the parts of a text.
    pub(super) fn mentions<'a>(&'a self, text: &'a str) -> Mentions<'a> {
        let literals = self.literals.get_or_init(|| build_literals(&self.patterns));
        Mentions {
            literals: literals.as_ref(),
            text,
            next: None,
        }
    }

    /// Says whether a path, with slashes and no backslashes, matches a pattern.
    pub(super) fn matches(&self, path: &str) -> bool {
        self.may_be_named_in(path) && self.iter().any(|pattern| matches_pattern(pattern, path))
    }
}

/// Where a text may name a file. The text is searched once, however many parts it has.
#[derive(Debug)]
pub(super) struct Mentions<'a> {
    /// Without an automaton every text is looked at closely.
    literals: Option<&'a LiteralSearch>,
    text: &'a str,
    /// The offset that was searched from, and the first literal after it.
    next: Option<(usize, Option<Match>)>,
}

impl Mentions<'_> {
    /// Says whether a part of the text may name a file. The parts must be asked for from left to
    /// right.
    pub(super) fn any_in(&mut self, part: Range<usize>) -> bool {
        let Some(literals) = self.literals else {
            return true;
        };
        let is_known = self.next.is_some_and(|(from, found)| {
            from <= part.start && found.is_none_or(|found| found.start() >= part.start)
        });
        if !is_known {
            self.next = Some((part.start, literals.find(self.text, part.start)));
        }
        let found = self.next.and_then(|(_, found)| found);
        // A shorter literal may end in this part where a longer one does not.
        found.is_some_and(|found| found.start() < part.end || found.end() <= part.end)
    }
}

fn build_literals(patterns: &[String]) -> Option<LiteralSearch> {
    let literals = patterns.iter().flat_map(|pattern| {
        let literal = pattern.split('*').max_by_key(|part| part.len());
        let literal = literal.unwrap_or_default().trim_matches('/');
        let with_backslashes = literal.contains('/').then(|| literal.replace('/', "\\"));
        std::iter::once(literal.to_owned()).chain(with_backslashes)
    });
    LiteralSearch::new(&literals.collect::<Vec<_>>())
}

fn matches_pattern(pattern: &str, path: &str) -> bool {
    let depth = pattern.matches('/').count() + 1;
    let mut ends = path.rmatch_indices('/').map(|(at, _)| at + 1);
    let start = ends.nth(depth - 1).unwrap_or(0);
    let tail = &path[start..];
    // `.ssh/*` means everything below the folder, at any depth.
    let below = pattern.strip_suffix("/*").is_some_and(|folder| {
        path.contains(&format!("/{folder}/")) || path.starts_with(&format!("{folder}/"))
    });
    below || matches_wildcard(pattern, tail)
}

fn matches_wildcard(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, tail)) => {
            text.len() >= head.len() + tail.len() && text.starts_with(head) && text.ends_with(tail)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_part_is_judged_on_its_own() {
        let patterns = FilePatterns::from(vec![".env".to_owned(), "*.key".to_owned()]);
        let text = "a\n.env b\nc\n.key .env\n.ke\ny";
        let mut mentions = patterns.mentions(text);
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let end = start + line.len();
            let expected = line.contains(".env") || line.contains(".key");
            assert_eq!(mentions.any_in(start..end), expected, "{line}");
            start = end;
        }
    }

    proptest! {
        /// The quick check rejects no path that a pattern matches.
        #[test]
        fn every_match_passes_the_quick_check(
            patterns in prop::collection::vec(
                "[ab.]{0,2}[*/]?[ab.]{0,2}[*/]?[ab.]{0,2}(/\\*)?",
                0..4,
            ),
            path in "[ab./*]{0,10}",
        ) {
            let patterns = FilePatterns::from(patterns);
            let expected = patterns.iter().any(|pattern| matches_pattern(pattern, &path));
            prop_assert_eq!(patterns.matches(&path), expected);
            if expected {
                let (sentence, windows) = (format!("see {path}:1"), path.replace('/', "\\"));
                prop_assert!(patterns.may_be_named_in(&sentence));
                prop_assert!(patterns.may_be_named_in(&windows));
            }
        }
    }
}
