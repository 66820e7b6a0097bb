//! Tokens that are secret by themselves, such as `ghp_…`: a prefix, a length, an alphabet.
//!
//! [`rules`] lists the formats. [`FormatMatcher`] applies one of them where the scanner has found
//! its literal, also when a terminal has wrapped the token ([`seams`]) or a line break splits the
//! literal itself ([`split_literals`]).

pub(crate) mod rules;
pub(crate) mod seams;
pub(crate) mod split_literals;

use std::sync::OnceLock;

use regex::bytes::{Regex, RegexBuilder};

use self::rules::{BodyKind, FormatRule, LiteralBoundary};
use crate::assignment::prefilter;
use crate::scan::progress::{ScanProgress, is_token_byte};
use crate::scan::{Confidence, Detection};
use crate::value;

/// How far behind its literal a pattern of several words may match, and one for the password of a
/// command.
const WINDOW_BYTES_MAX: usize = 8 << 10;
const COMMAND_BYTES_MAX: usize = 1 << 10;
/// A pattern of several words that has failed is not tried again on so much of the same line.
const LINE_SKIP_BYTES: usize = 256;
/// Bounds of [`FormatMatcher::first_piece_min`].
const PIECE_BYTES_MIN: usize = 8;
const PIECE_BYTES_MAX: usize = 16;
/// A literal this long does not occur by chance.
const LONG_LITERAL_BYTES: usize = 6;
/// A token with a short literal may have so many letters of other text glued to its end.
const GLUED_BYTES_MAX: usize = 8;

/// A format rule with what is derived from its examples and literals.
#[derive(Debug)]
pub(crate) struct FormatMatcher {
    rule: &'static FormatRule,
    /// Compiled when the literal first occurs. Most installations see a handful of the formats.
    pattern: OnceLock<Option<Regex>>,
    /// How long the word at the literal must be before the pattern is tried. A wrapped token has
    /// only its first piece there. 0 for patterns of several words.
    first_piece_min: usize,
    /// True when the literal itself holds a dot or a slash, so that the word may hold them too.
    literal_has_separator: bool,
    /// How long the word around a literal that stands in the middle of it must be.
    enclosing_word_min: usize,
    boundary: LiteralBoundary,
    /// True when the pattern matches nothing but one run of token characters, however long.
    is_single_run: bool,
    literal_min: usize,
}

impl FormatMatcher {
    pub(crate) fn new(rule: &'static FormatRule) -> Self {
        let is_plain = |literal: &&str| literal.bytes().all(is_token_byte);
        let is_single_run = rule.literals.iter().all(is_plain)
            && ![" ", "\\s", "\"", "'", "[^", "\\n", "@"]
                .iter()
                .any(|part| rule.pattern.contains(part))
            && !pattern_matches_comma(rule.pattern);
        let plain =
            rule.body == BodyKind::Random && rule.before == 0 && rule.literals.iter().all(is_plain);
        let shortest = rule
            .catches
            .iter()
            .map(|example| rules::expanded_len(example))
            .min()
            .unwrap_or(0);
        let literals = || rule.literals.iter().map(|literal| literal.len());
        let short = literals().max().unwrap_or(0) <= 3;
        let first_piece_min = if plain {
            (shortest / if short { 2 } else { 4 }).clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX)
        } else {
            0
        };
        let boundary = if rule.body == BodyKind::HumanChosen {
            LiteralBoundary::WordStart
        } else {
            rule.boundary
        };
        Self {
            rule,
            pattern: OnceLock::new(),
            first_piece_min,
            literal_has_separator: rule
                .literals
                .iter()
                .any(|literal| literal.contains(['/', '.'])),
            enclosing_word_min: if shortest >= 34 { 24 } else { 12 },
            boundary,
            is_single_run,
            literal_min: literals().min().unwrap_or(0),
        }
    }

    /// Returns the secret whose literal is at `at`. `index` is the rule's index in `progress`.
    pub(crate) fn find(
        &self,
        index: usize,
        text: &str,
        at: usize,
        literal: &str,
        progress: &mut ScanProgress,
    ) -> Option<Detection> {
        let bytes = text.as_bytes();
        let is_distinctive = self.has_distinctive(literal);
        let starts_with_literal = bytes[at..].starts_with(literal.as_bytes());
        if progress.skips_format(index, at)
            || self.rule.before == 0
                && (self.is_inside_word(bytes, at, is_distinctive)
                    // When a line break splits the literal, the text does not start with it.
                    || starts_with_literal && !self.has_first_piece(bytes, at))
        {
            return None;
        }
        let from = text.floor_char_boundary(at.saturating_sub(self.rule.before));
        let run_end = progress.token_end(bytes, at);
        let to = if self.is_single_run {
            run_end.max(at)
        } else {
            let reach = match self.rule.body {
                BodyKind::HumanChosen if self.rule.before > 0 => LINE_SKIP_BYTES,
                BodyKind::HumanChosen => COMMAND_BYTES_MAX,
                BodyKind::Random | BodyKind::PatternOnly => WINDOW_BYTES_MAX,
            };
            text.floor_char_boundary(at + reach)
        };
        let whole = self
            .match_window(text, from, to, at, is_distinctive)
            .map(|(start, end)| {
                // A token that fills the window continues behind it.
                let end = if end == to && !self.is_single_run {
                    token_list_end(text, end, progress)
                } else {
                    end
                };
                (start, end)
            });
        // A failed attempt reads a run to its end; a pattern of several words stops early.
        progress.count_work(match whole {
            Some((start, end)) => end - start,
            None if self.is_single_run => to - from,
            None => (to - from).min(COMMAND_BYTES_MAX / 2),
        });
        let pieces = if self.rule.body == BodyKind::HumanChosen {
            None
        } else {
            self.match_across_seams(text, at, run_end, whole, is_distinctive, progress)
        };
        let Some((start, end)) = pieces.or(whole) else {
            if self.is_single_run {
                progress.format_failed(index, at, to);
            } else if self.rule.body == BodyKind::HumanChosen {
                progress.format_failed(index, at, command_end(bytes, at));
            }
            return None;
        };
        progress.format_found(index, end);
        Some(Detection {
            rule: self.rule.name,
            confidence: Confidence::Certain,
            start,
            end,
        })
    }

    /// Says cheaply, of text that may still be escaped, whether [`FormatMatcher::find`] could
    /// succeed.
    pub(crate) fn may_find(&self, text: &str, at: usize, end: usize) -> bool {
        let bytes = text.as_bytes();
        if self.rule.before > 0 {
            return self.rule.body != BodyKind::Random
                || has_long_word(
                    &bytes[at.saturating_sub(self.rule.before)..],
                    self.rule.before,
                    self.enclosing_word_min,
                );
        }
        // The letter of an escape such as `\n` is not part of the word.
        let escaped =
            at >= 2 && b"\\%".contains(&bytes[at - 2]) || at >= 3 && bytes[at - 3] == b'%';
        (escaped || !self.is_inside_word(bytes, at, self.has_distinctive(&text[at..end])))
            && self.has_first_piece(bytes, at)
    }

    /// True when the word at the literal is long enough for the first piece of a secret, or ends
    /// where its line does.
    fn has_first_piece(&self, bytes: &[u8], at: usize) -> bool {
        if self.first_piece_min == 0 {
            return true;
        }
        let rest = &bytes[at..];
        let word = |b: &&u8| {
            b.is_ascii_alphanumeric()
                || b"_-+=$:%~".contains(b)
                || self.literal_has_separator && b"./".contains(b)
        };
        let len = rest
            .iter()
            .take(self.first_piece_min)
            .take_while(word)
            .count();
        len >= self.first_piece_min
            || self.literal_min >= 4 && len >= self.literal_min && seams::may_be_seam(&rest[len..])
    }

    /// Returns the secret in `from..to` that holds the literal at `at`.
    fn match_window(
        &self,
        text: &str,
        from: usize,
        to: usize,
        at: usize,
        is_distinctive: bool,
    ) -> Option<(usize, usize)> {
        let pattern = self.pattern.get_or_init(|| self.compile()).as_ref()?;
        let window = &text.as_bytes()[from..to];
        let at = at - from;
        let mut next = 0;
        loop {
            // Capture groups cost more than bounds, and most attempts fail.
            let whole = pattern.find_at(window, next)?;
            if whole.end() <= at {
                next = whole.end().max(next + 1);
                continue;
            }
            if whole.start() > at {
                return None;
            }
            let (start, end) = (whole.start(), whole.end());
            let first = from + start;
            let is_glued_before = first > 0
                && text.as_bytes()[first - 1].is_ascii_alphanumeric()
                && window[start].is_ascii_alphanumeric();
            if is_glued_before && !is_distinctive {
                return None;
            }
            if is_masked(text.as_bytes(), from + end) {
                return None;
            }
            let glued = self.glued_len_after(text.as_bytes(), from + end, is_distinctive)?;
            // A literal of letters alone may be part of base64 or of a name in capitals.
            let is_bare = self.literal_min < LONG_LITERAL_BYTES
                && window[at..].iter().take(4).all(u8::is_ascii_alphanumeric);
            let is_chance = is_glued_before && is_bare;
            if is_chance
                && window
                    .get(end + glued)
                    .is_some_and(|b| b.is_ascii_alphanumeric() || b"+/".contains(b))
            {
                return None;
            }
            let secret = if pattern.captures_len() > 1 {
                let groups = pattern.captures_at(window, next)?;
                let secret = groups.iter().skip(1).flatten().next();
                secret.map_or((start, end), |group| (group.start(), group.end()))
            } else {
                (start, end)
            };
            let body = text.get(from + secret.0..from + secret.1)?;
            let judged = value::judged_prefix(body);
            let fits = match self.rule.body {
                BodyKind::Random => is_random_body(judged),
                BodyKind::HumanChosen => value::is_password(body),
                BodyKind::PatternOnly => !is_chance || is_random_body(judged),
            };
            let tail = if secret.1 == end { glued } else { 0 };
            return (fits && !value::is_placeholder(judged))
                .then_some((from + secret.0, from + secret.1 + tail));
        }
    }

    /// Returns how many letters directly behind a match belong to its word, or `None` when there
    /// are so many that the match is a coincidence.
    fn glued_len_after(&self, bytes: &[u8], end: usize, is_distinctive: bool) -> Option<usize> {
        if !bytes[end - 1].is_ascii_alphanumeric() {
            return Some(0);
        }
        let limit = match self.boundary {
            LiteralBoundary::NonAlphanumeric | LiteralBoundary::Anywhere => {
                GLUED_BYTES_MAX << usize::from(2 * u8::from(is_distinctive))
            }
            LiteralBoundary::WordStart => 0,
        };
        let len = bytes[end..]
            .iter()
            .take(limit + 1)
            .take_while(|b| b.is_ascii_alphanumeric())
            .count();
        if len <= limit {
            return Some(len);
        }
        (is_distinctive && self.boundary != LiteralBoundary::WordStart).then_some(0)
    }

    /// Returns the secret whose first piece holds the literal, when it continues behind a seam.
    fn match_across_seams(
        &self,
        text: &str,
        at: usize,
        run_end: usize,
        whole: Option<(usize, usize)>,
        is_distinctive: bool,
        progress: &mut ScanProgress,
    ) -> Option<(usize, usize)> {
        // With a literal in the middle of the secret, the start of the first piece is unknown.
        if self.rule.before > 0 {
            return None;
        }
        if !progress.may_join_pieces(text.len()) || !progress.has_seam(text.as_bytes(), run_end) {
            return None;
        }
        // In a list of tokens each line is a token of its own.
        let joined = seams::JoinedValue::at(text, at, self.rule.literals)?;
        progress.joined += joined.text.len();
        progress.count_work(joined.text.len());
        let (start, end) =
            self.match_window(&joined.text, 0, joined.text.len(), 0, is_distinctive)?;
        let last = joined.source_end(end)?;
        if whole.is_some_and(|(_, end)| last <= end.max(run_end)) {
            return None;
        }
        // A complete token may end at the end of a line; the next line must look like more of it.
        if whole.is_some() && !joined.is_wrapped(end) && !is_continuation(joined.last_piece(end)) {
            return None;
        }
        Some((at + start, last))
    }

    /// True when letters directly before the literal do not make it a coincidence.
    fn has_distinctive(&self, literal: &str) -> bool {
        self.boundary == LiteralBoundary::Anywhere || is_distinctive(literal)
    }

    /// True when the literal is the middle of a longer word, where it occurs by chance.
    fn is_inside_word(&self, bytes: &[u8], at: usize, is_distinctive: bool) -> bool {
        let Some(&before) = at.checked_sub(1).map(|before| &bytes[before]) else {
            return false;
        };
        if !bytes[at].is_ascii_alphanumeric() {
            return false;
        }
        match self.boundary {
            LiteralBoundary::Anywhere => is_inside_base64(bytes, at),
            LiteralBoundary::NonAlphanumeric if is_distinctive => is_inside_base64(bytes, at),
            LiteralBoundary::NonAlphanumeric => {
                before.is_ascii_alphanumeric() || is_inside_base64(bytes, at)
            }
            LiteralBoundary::WordStart => {
                // A diff sign is not part of the word.
                let line_start = at < 2 || bytes[at - 2] == b'\n';
                let goes_on = !line_start && bytes[at - 2].is_ascii_alphanumeric();
                before.is_ascii_alphanumeric()
                    || before == b'-' && goes_on
                    || b"_.+/".contains(&before) && !line_start
            }
        }
    }

    fn compile(&self) -> Option<Regex> {
        let pattern = self.rule.pattern;
        let anchored = if self.rule.before == 0 {
            format!("^(?:{pattern})")
        } else {
            pattern.to_owned()
        };
        // Secrets are ASCII; Unicode classes would only cost time.
        RegexBuilder::new(&anchored).unicode(false).build().ok()
    }
}

/// True for `xoxb-123-456-####`: the public parts of a token with its secret part masked.
fn is_masked(bytes: &[u8], end: usize) -> bool {
    const MASK_BYTES_MIN: usize = 8;
    let mask = bytes[end..].iter().take(MASK_BYTES_MIN);
    bytes[end - 1] == b'-' && mask.take_while(|b| b"#*".contains(b)).count() == MASK_BYTES_MIN
}

/// True when a pattern matches commas. Those of `{20,}` do not count.
fn pattern_matches_comma(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    memchr::memchr_iter(b',', bytes).any(|at| at == 0 || !bytes[at - 1].is_ascii_digit())
}

/// True for a literal that neither ends a word nor occurs in base64 by chance: it has an
/// underscore, or is long, or mixes letters as no word does.
fn is_distinctive(literal: &str) -> bool {
    literal.len() >= LONG_LITERAL_BYTES
        || literal.len() >= 4
            && literal
                .bytes()
                .any(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        || literal.starts_with("xox")
}

/// True when base64 stands directly before the literal, which is then part of it.
fn is_inside_base64(bytes: &[u8], at: usize) -> bool {
    const BLOB_BYTES_MIN: usize = 12;
    let before = bytes[..at].iter().rev().take(4 * BLOB_BYTES_MIN);
    let len = before
        .take_while(|b| b.is_ascii_alphanumeric() || b"+/".contains(b))
        .count();
    if len < BLOB_BYTES_MIN {
        return false;
    }
    let Ok(run) = std::str::from_utf8(&bytes[at - len..at]) else {
        return false;
    };
    let shape = value::shape(run);
    shape.digits > 0 && shape.upper > 1 && shape.lower > 1 && shape.common_pair_share < 0.34
}

/// Returns the end of a comma-separated list of tokens that continues at `at`.
fn token_list_end(text: &str, at: usize, progress: &mut ScanProgress) -> usize {
    let bytes = text.as_bytes();
    let len = bytes[at..]
        .iter()
        .take_while(|&&b| is_token_byte(b) || b == b',')
        .count();
    progress.count_work(len);
    at + len
}

/// Returns the end of the command or line that holds `at`, or the end of the part that is skipped.
fn command_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..(at + LINE_SKIP_BYTES).min(bytes.len())];
    at + memchr::memchr3(b'\n', b';', b'|', rest).unwrap_or(rest.len())
}

/// True for a random body: it has digits, or its letters form no words.
fn is_random_body(body: &str) -> bool {
    let shape = value::shape(body);
    shape.distinct >= 8
        && (shape.digits > 0 && shape.common_pair_share < 0.5 || shape.common_pair_share < 0.34)
}

/// True when a piece looks like the last line of a wrapped token, not like a word or a name.
fn is_continuation(piece: &str) -> bool {
    let shape = value::shape(value::judged_prefix(piece));
    shape.len >= 16 && (shape.digits > 2 || shape.digits > 0 && shape.upper > 1 && shape.lower > 1)
        || shape.len >= 4
            && shape.digits > 0
            && shape.lower + shape.upper > 0
            && shape.common_pair_share < 0.3
        || shape.len >= 8 && shape.lower > 1 && shape.upper > 1 && shape.common_pair_share < 0.3
}

/// True when a word of `len_min` bytes or more, with a digit or a capital, stands around the
/// literal.
fn has_long_word(rest: &[u8], before: usize, len_min: usize) -> bool {
    let rest = &rest[..rest.len().min(before + 32)];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-%.+/=~:".contains(byte);
    let mut end = 0;
    rest.split(|byte| !is_word(byte)).any(|word| {
        end += word.len();
        let is_cut = end == rest.len();
        end += 1;
        word.len() >= len_min && (is_cut || prefilter::may_be_generated(word))
    })
}

/// True when a token starts with a literal that is recognised even with letters glued to it.
#[cfg(test)]
pub(crate) fn starts_with_distinctive_literal(token: &str) -> bool {
    rules::all().any(|rule| {
        rule.boundary != LiteralBoundary::WordStart
            && rule
                .literals
                .iter()
                .any(|literal| token.starts_with(literal) && is_distinctive(literal))
    })
}
