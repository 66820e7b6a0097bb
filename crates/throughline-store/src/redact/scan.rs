//! One pass of an automaton over all literals; each hit calls what the literal belongs to.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use regex::Regex;

use super::rules::{self, Rule};
use super::seen::Seen;
use super::view::View;
use super::{context, mark, value, words};

/// The longest stretch after a literal that its rule may look at.
const WINDOW_BYTES_MAX: usize = 8 << 10;

/// How sure a finding is. Certain and probable are removed, possible only tags the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    Certain,
    Probable,
    Possible,
}

/// A secret in a text, in the bytes of the text as it was given.
#[derive(Debug, Clone)]
pub(super) struct Hit {
    pub(super) rule: &'static str,
    pub(super) tier: Tier,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The decoded value.
    pub(super) value: String,
}

/// A secret in a decoded view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) rule: &'static str,
    pub(super) tier: Tier,
    pub(super) start: usize,
    pub(super) end: usize,
}

#[derive(Debug, Clone, Copy)]
enum Anchor {
    Format(usize),
    Word,
}

#[derive(Debug)]
pub(super) struct Scanner {
    automaton: AhoCorasick,
    /// By pattern number of the automaton.
    anchors: Vec<Anchor>,
    formats: Vec<Format>,
}

#[derive(Debug)]
struct Format {
    rule: &'static Rule,
    /// Compiled when its literal is first met: most installations meet a handful.
    pattern: OnceLock<Option<Regex>>,
}

impl Scanner {
    pub(super) fn new() -> Self {
        let formats: Vec<Format> = rules::all()
            .map(|rule| Format {
                rule,
                pattern: OnceLock::new(),
            })
            .collect();
        let mut literals = Vec::new();
        let mut anchors = Vec::new();
        for (index, format) in formats.iter().enumerate() {
            for literal in format.rule.literals {
                literals.push(*literal);
                anchors.push(Anchor::Format(index));
            }
        }
        for word in words::LITERALS {
            literals.push(word);
            anchors.push(Anchor::Word);
        }
        #[expect(
            clippy::expect_used,
            reason = "the literals are constants; a test builds them"
        )]
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(true)
            .build(&literals)
            .expect("literals build");
        Self {
            automaton,
            anchors,
            formats,
        }
    }

    /// The secrets of `text` in order, none overlapping another.
    pub(super) fn hits(&self, text: &str, key: &[u8; 32], seen: &mut Seen) -> Vec<Hit> {
        let view = View::innermost(text);
        let decoded = view.as_ref().map_or(text, View::text);
        let mut found = self.scan(decoded);
        found.retain(|found| found.start < found.end);
        for secret in &found {
            if secret.tier != Tier::Possible {
                seen.add(secret.rule, &decoded[secret.start..secret.end], key);
            }
        }
        seen.find(decoded, key, &mut found);
        let source = |at: usize| view.as_ref().map_or(at, |view| view.source(at));
        merge(&mut found, decoded);
        found
            .into_iter()
            .map(|found| Hit {
                rule: found.rule,
                tier: found.tier,
                start: source(found.start),
                end: source(found.end),
                value: decoded[found.start..found.end].to_owned(),
            })
            .collect()
    }

    fn scan(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for hit in self.automaton.find_overlapping_iter(text) {
            match self.anchors[hit.pattern().as_usize()] {
                Anchor::Format(index) => found.extend(self.formats[index].find(text, hit.start())),
                Anchor::Word => context::find(text, hit.start(), hit.end(), &mut found),
            }
        }
        found
    }
}

impl Format {
    fn find(&self, text: &str, at: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        let from = floor(text, at.saturating_sub(self.rule.before));
        if self.rule.before == 0
            && at > 0
            && bytes[at - 1].is_ascii_alphanumeric()
            && self.rule.literals[0].as_bytes()[0].is_ascii_alphanumeric()
        {
            return None;
        }
        let window = &text[from..floor(text, (at + WINDOW_BYTES_MAX).min(text.len()))];
        let pattern = self.pattern.get_or_init(|| self.compile()).as_ref()?;
        let groups = pattern.captures(window)?;
        let whole = groups.get(0)?;
        let (start, end) = (from + whole.start(), from + whole.end());
        if start > at || end <= at || bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
            return None;
        }
        if start > 0
            && bytes[start - 1].is_ascii_alphanumeric()
            && bytes[start].is_ascii_alphanumeric()
        {
            return None;
        }
        let secret = groups.get(1).unwrap_or(whole);
        let body = secret.as_str();
        if value::is_placeholder(body) || !is_body(body) {
            return None;
        }
        Some(Found {
            rule: self.rule.name,
            tier: Tier::Certain,
            start: from + secret.start(),
            end: from + secret.end(),
        })
    }

    fn compile(&self) -> Option<Regex> {
        let pattern = self.rule.pattern;
        let anchored = if self.rule.before == 0 {
            format!("^(?:{pattern})")
        } else {
            pattern.to_owned()
        };
        Regex::new(&anchored).ok()
    }
}

/// A format's body is random: it has a digit, or is too odd for words.
fn is_body(body: &str) -> bool {
    let shape = value::shape(body);
    shape.distinct >= 8 && (shape.digits > 0 && shape.wordy < 0.5 || shape.wordy < 0.34)
}

/// Sorts, drops what touches a mark, and joins what overlaps; the surer and wider rule names the join.
fn merge(found: &mut Vec<Found>, text: &str) {
    if found.is_empty() {
        return;
    }
    if mark::has_mark(text) {
        let marks = mark::marks(text);
        found.retain(|found| {
            !marks
                .iter()
                .any(|&(start, end)| found.start < end && start < found.end)
        });
    }
    found.sort_by_key(|found| (found.start, found.tier, std::cmp::Reverse(found.end)));
    let mut kept: Vec<Found> = Vec::with_capacity(found.len());
    for next in found.drain(..) {
        match kept.last_mut() {
            Some(last) if next.start < last.end => {
                if next.tier < last.tier {
                    last.rule = next.rule;
                    last.tier = next.tier;
                }
                last.end = last.end.max(next.end);
            }
            _ => kept.push(next),
        }
    }
    *found = kept;
}

/// The last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
