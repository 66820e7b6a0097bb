//! Applies a format rule where its literal was found.

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use super::rules::{self, Body, Rule};
use super::scan::{Found, Tier, floor};
use super::{context, join, value};

/// The longest stretch after a literal that its rule may look at.
const WINDOW_BYTES_MAX: usize = 8 << 10;
/// The first piece of a secret that goes on behind a seam, relative to the shortest example.
const PIECE_BYTES_MIN: usize = 8;
const PIECE_BYTES_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct Format {
    rule: &'static Rule,
    /// Compiled when its literal is first met: most installations meet a handful.
    pattern: OnceLock<Option<Regex>>,
    /// How many bytes of a word must follow before the pattern is tried; 0 for patterns of several words.
    piece: usize,
    /// True when the literal itself has a dot or a slash.
    parted: bool,
    /// How long a word around a literal in its middle must be.
    around: usize,
}

impl Format {
    pub(super) fn new(rule: &'static Rule) -> Self {
        let is_word = |b: u8| b.is_ascii_alphanumeric() || b"_-.+=$:%~/".contains(&b);
        let plain = rule.body == Body::Random
            && rule.before == 0
            && rule
                .literals
                .iter()
                .all(|literal| literal.bytes().all(is_word));
        let shortest = rule
            .catches
            .iter()
            .map(|example| rules::length(example))
            .min()
            .unwrap_or(0);
        let short = rule.literals.iter().all(|literal| literal.len() <= 3);
        let piece = if plain {
            (shortest / if short { 2 } else { 4 }).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
        } else {
            0
        };
        let around = if shortest >= 34 { 24 } else { 12 };
        let parted = rule
            .literals
            .iter()
            .any(|literal| literal.contains(['/', '.']));
        Self {
            rule,
            pattern: OnceLock::new(),
            piece,
            parted,
            around,
        }
    }

    /// The secret whose literal is at `at`.
    pub(super) fn find(&self, text: &str, at: usize) -> Option<Found> {
        let bytes = text.as_bytes();
        if self.rule.before == 0 && (self.is_inside(bytes, at) || !self.is_long(bytes, at)) {
            return None;
        }
        let from = floor(text, at.saturating_sub(self.rule.before));
        let window = &text[from..floor(text, (at + WINDOW_BYTES_MAX).min(text.len()))];
        let whole = self
            .matched(window, at - from)
            .map(|(start, end)| (from + start, from + end));
        let pieces = if self.rule.body == Body::Chosen {
            None
        } else {
            self.joined(text, at, whole)
        };
        let (start, end) = pieces.or(whole)?;
        if context::is_elided(text, end) {
            return None;
        }
        Some(Found {
            rule: self.rule.name,
            tier: Tier::Certain,
            start,
            end,
        })
    }

    /// Says cheaply whether [`Format::find`] could find something, in text that may still be escaped.
    pub(super) fn may_find(&self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        if self.rule.before > 0 {
            return self.rule.body != Body::Random
                || has_run(
                    &bytes[at.saturating_sub(self.rule.before)..],
                    self.rule.before,
                    self.around,
                );
        }
        // The letter of an escape such as `\n` is no part of the word.
        let escaped = at >= 2 && bytes[at - 2] == b'\\';
        (escaped || !self.is_inside(bytes, at)) && self.is_long(bytes, at)
    }

    /// True when enough follows the literal to be the first piece of a secret.
    fn is_long(&self, bytes: &[u8], at: usize) -> bool {
        let rest = &bytes[at..];
        let word = |b: &&u8| {
            b.is_ascii_alphanumeric() || b"_-+=$:%~".contains(b) || self.parted && b"./".contains(b)
        };
        self.piece == 0 || rest.iter().take(self.piece).take_while(word).count() >= self.piece
    }

    /// The secret in a window whose byte `at` is the literal's.
    fn matched(&self, window: &str, at: usize) -> Option<(usize, usize)> {
        let pattern = self.pattern.get_or_init(|| self.compile()).as_ref()?;
        let bytes = window.as_bytes();
        let mut from = 0;
        loop {
            let groups = pattern.captures_at(bytes, from)?;
            let whole = groups.get(0)?;
            if whole.end() <= at {
                from = whole.end().max(from + 1);
                continue;
            }
            let before = whole
                .start()
                .checked_sub(1)
                .map_or(b' ', |before| bytes[before]);
            let glued_before =
                before.is_ascii_alphanumeric() && bytes[whole.start()].is_ascii_alphanumeric();
            let glued_after = bytes[whole.end() - 1].is_ascii_alphanumeric()
                && bytes
                    .get(whole.end())
                    .is_some_and(u8::is_ascii_alphanumeric);
            if whole.start() > at || glued_before || glued_after {
                return None;
            }
            let secret = groups.iter().skip(1).flatten().next().unwrap_or(whole);
            let body = window.get(secret.range())?;
            let fits = match self.rule.body {
                Body::Random => is_body(body),
                Body::Chosen => value::is_password(body),
                Body::Any => true,
            };
            return (fits && !value::is_placeholder(body))
                .then_some((secret.start(), secret.end()));
        }
    }

    /// The secret whose first piece holds the literal, when it goes on behind a seam.
    fn joined(
        &self,
        text: &str,
        at: usize,
        whole: Option<(usize, usize)>,
    ) -> Option<(usize, usize)> {
        // Where the literal is inside the secret, the first piece starts before it.
        if self.rule.before > 0 {
            return None;
        }
        let joined = join::Joined::at(text, at)?;
        let (start, end) = self.matched(&joined.text, 0)?;
        let last = joined.source_end(end)?;
        if whole.is_some_and(|(_, end)| last <= end) {
            return None;
        }
        // A whole token may end a line by chance; what follows must look like more of it.
        if whole.is_some() && !is_rest(joined.last_piece(end)) {
            return None;
        }
        Some((at + start, last))
    }

    /// True when the literal is the middle of a longer word, where it is chance.
    fn is_inside(&self, bytes: &[u8], at: usize) -> bool {
        let Some(&before) = at.checked_sub(1).map(|before| &bytes[before]) else {
            return false;
        };
        if !bytes[at].is_ascii_alphanumeric() {
            return false;
        }
        // A diff mark is no part of the word.
        let line_start = at < 2 || bytes[at - 2] == b'\n';
        let goes_on = !line_start && bytes[at - 2].is_ascii_alphanumeric();
        // Two or three letters occur inside names, paths and blobs all the time.
        let short = self.rule.literals.iter().all(|literal| literal.len() <= 4);
        let path = short && before == b'/' && !self.rule.literals[0].ends_with('_');
        before.is_ascii_alphanumeric()
            || before == b'-' && goes_on
            || short && b"_.+".contains(&before) && !line_start
            || path
    }

    fn compile(&self) -> Option<Regex> {
        let pattern = self.rule.pattern;
        let anchored = if self.rule.before == 0 {
            format!("^(?:{pattern})")
        } else {
            pattern.to_owned()
        };
        // Secrets are ASCII; Unicode tables would only cost time.
        RegexBuilder::new(&anchored).unicode(false).build().ok()
    }
}

/// A format's body is random: it has a digit, or is too odd for words.
fn is_body(body: &str) -> bool {
    let shape = value::shape(body);
    shape.distinct >= 8 && (shape.digits > 0 && shape.wordy < 0.5 || shape.wordy < 0.34)
}

/// What a wrapped token's last line looks like: no word, no name.
fn is_rest(piece: &str) -> bool {
    let shape = value::shape(piece);
    shape.len >= 4 && shape.digits > 0 && shape.lower + shape.upper > 0 && shape.wordy < 0.3
        || shape.len >= 8 && shape.lower > 1 && shape.upper > 1 && shape.wordy < 0.3
}

/// A word of some length around the literal.
fn has_run(rest: &[u8], before: usize, len_min: usize) -> bool {
    let mut run = 0;
    for byte in rest.iter().take(before + 32) {
        run = if byte.is_ascii_alphanumeric() || b"_-%.+/=~:".contains(byte) {
            run + 1
        } else {
            0
        };
        if run >= len_min {
            return true;
        }
    }
    false
}
