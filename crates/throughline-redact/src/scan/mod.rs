//! The scanner: one pass over a text for the literals of all detectors.
//!
//! Most texts hold no secret, so [`SecretScanner::find_secrets`] first asks each literal's detector
//! for a cheap answer on the undecoded text. Only a text that may hold a secret is decoded and
//! scanned. Every `may_find` must therefore accept whatever the detector's `find` would accept.

mod literals;
pub(crate) mod progress;
mod spans;
pub(crate) mod view;

use std::ops::Range;

use self::literals::{LiteralFinder, LiteralMatch};
use self::progress::ScanProgress;
use self::view::{DecodedView, Encodings};
use crate::assignment::{self, names, prefilter};
use crate::detect::{
    auth_header, bare_format, cookie, encoded, graphql, key_block, kubernetes, private_tag, prose,
    service_name, sql_insert, table, terraform, url,
};
use crate::format::split_literals::SplitLiterals;
use crate::format::{FormatMatcher, rules, seams};
use crate::mark;
use crate::session::SessionSecrets;

/// How sure a detection is. Certain and probable ones are replaced, possible ones only tag the
/// text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Certain,
    Probable,
    Possible,
}

/// A secret in the bytes of the text as the caller passed it.
#[derive(Debug, Clone)]
pub(crate) struct SourceDetection {
    pub(crate) rule: &'static str,
    pub(crate) confidence: Confidence,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The decoded value.
    pub(crate) value: String,
}

/// A secret in the bytes of a decoded view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Detection {
    pub(crate) rule: &'static str,
    pub(crate) confidence: Confidence,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The detector that a literal belongs to.
#[derive(Debug, Clone, Copy)]
enum LiteralKind {
    /// The index of a format rule.
    Format(usize),
    SecretName,
    Phrase,
    Vendor,
    KeyBlock,
    Url,
    AuthScheme,
    Cookie,
    PrivateTag,
    Encoded,
    GraphQl,
    Kubernetes,
    Terraform,
    SqlInsert,
    /// Colour codes, invisible characters and the like: the text must be decoded first.
    HiddenSequence,
    /// `\u00`: the text must be decoded if the escape stands for a character of a literal.
    Escape,
}

#[derive(Debug)]
pub(crate) struct SecretScanner {
    literals: LiteralFinder,
    /// In the order of the literals.
    literal_kinds: Vec<LiteralKind>,
    formats: Vec<FormatMatcher>,
    split_literals: SplitLiterals,
}

impl SecretScanner {
    pub(crate) fn new() -> Self {
        let formats: Vec<FormatMatcher> = rules::all().map(FormatMatcher::new).collect();
        let mut literals: Vec<String> = Vec::new();
        let mut literal_kinds = Vec::new();
        let mut add = |kind: LiteralKind, words: &[&str]| {
            literals.extend(words.iter().map(|word| (*word).to_owned()));
            literal_kinds.extend(words.iter().map(|_| kind));
        };
        for (index, rule) in rules::all().enumerate() {
            add(LiteralKind::Format(index), rule.literals);
        }
        let capitalized = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        for word in names::LITERALS {
            // Names are spelt `token`, `TOKEN` or `accessToken`; no other case occurs in a name.
            add(
                LiteralKind::SecretName,
                &[word, &word.to_ascii_uppercase(), &capitalized(word)],
            );
        }
        for name in service_name::LITERALS {
            add(LiteralKind::Vendor, &[name, &capitalized(name)]);
        }
        add(LiteralKind::Phrase, prose::LITERALS);
        add(LiteralKind::KeyBlock, key_block::LITERALS);
        add(LiteralKind::Url, url::LITERALS);
        add(LiteralKind::AuthScheme, auth_header::AUTH_SCHEMES);
        add(LiteralKind::Cookie, cookie::LITERALS);
        add(LiteralKind::PrivateTag, private_tag::LITERALS);
        for literal in encoded::literals() {
            add(LiteralKind::Encoded, &[&literal]);
        }
        add(LiteralKind::GraphQl, graphql::LITERALS);
        add(LiteralKind::Kubernetes, kubernetes::LITERALS);
        add(LiteralKind::Terraform, terraform::LITERALS);
        add(LiteralKind::SqlInsert, sql_insert::LITERALS);
        add(LiteralKind::HiddenSequence, view::HIDDEN_SEQUENCES);
        add(LiteralKind::Escape, &["\\u00"]);
        let split_literals =
            SplitLiterals::new(rules::all().flat_map(|rule| rule.literals.iter().copied()));
        Self {
            literals: LiteralFinder::new(&literals),
            literal_kinds,
            formats,
            split_literals,
        }
    }

    /// Returns the secrets of `text` in order, without overlaps, and adds them to `session`. The
    /// text outside the ranges `unchecked` is known to hold none by itself.
    pub(crate) fn find_secrets(
        &self,
        text: &str,
        unchecked: &[Range<usize>],
        key: &[u8; 32],
        session: &mut SessionSecrets,
    ) -> Vec<SourceDetection> {
        if !session.may_find(text) && !self.may_hold_secret(text, unchecked) {
            return Vec::new();
        }
        let mut views = vec![DecodedView::innermost(text, Encodings::Escapes)];
        if view::has_percent(text) {
            views.push(DecodedView::innermost(text, Encodings::EscapesAndPercent));
        }
        let mut detections_by_view = Vec::new();
        for view in &views {
            let decoded = view.as_ref().map_or(text, DecodedView::text);
            let (mut found, _) = self.scan(decoded);
            spans::exclude_marks(&mut found, decoded);
            for secret in &found {
                // Text in a private tag is prose: its words are no secrets elsewhere.
                if secret.confidence != Confidence::Possible && secret.rule != private_tag::RULE {
                    let value = seams::join_pieces(&decoded[secret.start..secret.end]);
                    session.add(secret.rule, &value, key);
                }
            }
            detections_by_view.push(found);
        }
        let mut detections = self.find_behind_backslashes(text);
        for (view, mut found) in views.iter().zip(detections_by_view) {
            let decoded = view.as_ref().map_or(text, DecodedView::text);
            session.find_recurrences(decoded, key, &mut found);
            spans::exclude_marks(&mut found, decoded);
            detections.extend(found.into_iter().filter_map(|found| {
                let (start, end) = match view {
                    Some(view) => view.source_range(found.start, found.end),
                    None => (found.start, found.end),
                };
                (start < end).then(|| SourceDetection {
                    rule: found.rule,
                    confidence: found.confidence,
                    start,
                    end,
                    value: decoded[found.start..found.end].to_owned(),
                })
            }));
        }
        spans::merge_overlapping(&mut detections, text);
        let is_json = ["{\"", "[\"", "[{", "{ \""]
            .iter()
            .any(|head| text.starts_with(head));
        if is_json {
            spans::clip_to_json_strings(&mut detections, text);
        }
        detections
    }

    /// Says cheaply whether a text may hold a secret that begins in one of the ranges. Most texts
    /// do not.
    fn may_hold_secret(&self, text: &str, ranges: &[Range<usize>]) -> bool {
        ranges.iter().any(|range| {
            self.may_hold_secret_undecoded(text, range)
                || bare_format::any(text, range, |_| true)
                || self
                    .split_literals
                    .any_split(text, range, |_, head, window| {
                        self.find_split_literal(head, window).is_some()
                    })
        }) || ranges
            .iter()
            .any(|range| view::has_percent(&text[range.clone()]))
            && DecodedView::innermost(text, Encodings::EscapesAndPercent).is_some_and(|view| {
                self.may_hold_secret_undecoded(view.text(), &(0..view.text().len()))
            })
    }

    fn may_hold_secret_undecoded(&self, text: &str, range: &Range<usize>) -> bool {
        let bytes = text.as_bytes();
        let mut next_at_sign = NextAtSign::default();
        self.literals.any(bytes, range, |found| {
            let LiteralMatch {
                literal,
                start,
                end,
            } = found;
            match self.literal_kinds[literal] {
                LiteralKind::Format(index) => self.formats[index].may_find(text, start, end),
                LiteralKind::SecretName => {
                    prefilter::may_find(text, start, end) || table::may_find(bytes, start, end)
                }
                LiteralKind::Vendor => service_name::may_find(text, start, end),
                LiteralKind::Url => next_at_sign.is_near(bytes, end) && url::may_find(text, start),
                LiteralKind::AuthScheme => auth_header::may_find(text, end),
                LiteralKind::Escape => hides_literal_char(&bytes[end..]),
                LiteralKind::Phrase => prose::may_find(text, start, end),
                LiteralKind::GraphQl => graphql::may_find(bytes, start),
                LiteralKind::Terraform => terraform::may_find(bytes, end),
                LiteralKind::SqlInsert => sql_insert::may_find(bytes, end),
                LiteralKind::KeyBlock
                | LiteralKind::Encoded
                | LiteralKind::Kubernetes
                | LiteralKind::Cookie
                | LiteralKind::PrivateTag
                | LiteralKind::HiddenSequence => true,
            }
        })
    }

    /// Finds tokens such as `C:\npm_…`, whose first letter the decoder takes for part of an escape.
    fn find_behind_backslashes(&self, text: &str) -> Vec<SourceDetection> {
        let mut detections = Vec::new();
        let progress = &mut ScanProgress::new(self.formats.len());
        self.split_literals.any_escaped(text, |at, window| {
            let first = self.first_format(window, |literal| literal.start == 0);
            let found = first.and_then(|(index, literal)| {
                self.formats[index].find(index, text, at, &window[literal], progress)
            });
            detections.extend(found.map(|found| SourceDetection {
                rule: found.rule,
                confidence: found.confidence,
                start: found.start,
                end: found.end,
                value: text[found.start..found.end].to_owned(),
            }));
            false
        });
        detections
    }

    /// Finds the format literal that a line break behind the first `head` bytes of `window` splits.
    /// Returns the format's index and the literal's range in the window.
    fn find_split_literal(&self, head: usize, window: &str) -> Option<(usize, Range<usize>)> {
        self.first_format(window, |literal| literal.start < head && literal.end > head)
    }

    /// Returns the first literal of a format in `window` that is wanted: the format's index and the
    /// literal's range.
    fn first_format(
        &self,
        window: &str,
        is_wanted: impl Fn(&LiteralMatch) -> bool,
    ) -> Option<(usize, Range<usize>)> {
        let mut first = None;
        self.literals.for_each(window.as_bytes(), |literal| {
            if let LiteralKind::Format(index) = self.literal_kinds[literal.literal]
                && first.is_none()
                && is_wanted(&literal)
            {
                first = Some((index, literal.start..literal.end));
            }
        });
        first
    }

    /// Returns the secrets of a decoded text and how many bytes the detectors read to find them.
    pub(crate) fn scan(&self, text: &str) -> (Vec<Detection>, u64) {
        let mut found = Vec::new();
        let progress = &mut ScanProgress::new(self.formats.len());
        let mut next_at_sign = NextAtSign::default();
        let marks = if mark::has_mark(text) {
            mark::find_marks(text)
        } else {
            Vec::new()
        };
        self.literals.for_each(text.as_bytes(), |literal| {
            let LiteralMatch {
                literal,
                start,
                end,
            } = literal;
            progress.work += 1;
            // The rule's name inside a mark, such as `password`, is not the name of a secret.
            let mark = marks.partition_point(|mark| mark.1 <= start);
            if marks.get(mark).is_some_and(|mark| mark.0 <= start) {
                return;
            }
            match self.literal_kinds[literal] {
                LiteralKind::Format(index) => {
                    if progress.is_covered(text.as_bytes(), start) {
                        return;
                    }
                    let literal = &text[start..end];
                    let secret = self.formats[index].find(index, text, start, literal, progress);
                    if let Some(secret) = secret {
                        progress.cover(secret.start..secret.end);
                        found.push(secret);
                    }
                }
                LiteralKind::SecretName => {
                    assignment::find(text, start, end, progress, &mut found);
                    table::find(text, start, end, progress, &mut found);
                }
                LiteralKind::Phrase => prose::find(text, start, end, progress, &mut found),
                LiteralKind::Vendor => service_name::find(text, start, end, progress, &mut found),
                LiteralKind::KeyBlock => found.extend(key_block::find(text, start, progress)),
                LiteralKind::Url => {
                    if next_at_sign.is_near(text.as_bytes(), end) {
                        url::find(text, start, progress, &mut found);
                    }
                }
                LiteralKind::AuthScheme => {
                    auth_header::find(text, start, end, progress, &mut found);
                }
                LiteralKind::Cookie => cookie::find(text, end, progress, &mut found),
                LiteralKind::PrivateTag => found.extend(private_tag::find(text, start, progress)),
                LiteralKind::Encoded => encoded::find(text, start, end, progress, &mut found),
                LiteralKind::GraphQl => graphql::find(text, start, end, progress, &mut found),
                LiteralKind::Kubernetes => {
                    kubernetes::find(text, start, end, progress, &mut found);
                }
                LiteralKind::Terraform => terraform::find(text, start, end, progress, &mut found),
                LiteralKind::SqlInsert => sql_insert::find(text, end, progress, &mut found),
                LiteralKind::HiddenSequence | LiteralKind::Escape => {}
            }
        });
        let whole = &(0..text.len());
        bare_format::any(text, whole, |secret| {
            found.push(secret);
            false
        });
        self.split_literals
            .any_split(text, whole, |from, head, window| {
                progress.count_work(window.len());
                if let Some((index, literal)) = self.find_split_literal(head, window) {
                    let at = from + literal.start;
                    let literal = &window[literal];
                    found.extend(self.formats[index].find(index, text, at, literal, progress));
                }
                false
            });
        (found, progress.work)
    }
}

/// The position of the next `@`. Most URLs have none, so it is searched for once per stretch
/// instead of once per URL.
#[derive(Debug, Default)]
struct NextAtSign {
    searched_from: usize,
    position: Option<usize>,
}

impl NextAtSign {
    /// True when an `@` follows `from` within the reach of a URL.
    fn is_near(&mut self, bytes: &[u8], from: usize) -> bool {
        let is_known = self.searched_from > 0
            && self.searched_from <= from
            && self.position.is_none_or(|at| at >= from);
        if !is_known {
            self.position = memchr::memchr(b'@', &bytes[from..]).map(|at| from + at);
            self.searched_from = from.max(1);
        }
        self.position
            .is_some_and(|at| at >= from && at - from <= url::AUTHORITY_BYTES_MAX)
    }
}

/// True when the last two digits of a `\u00` escape stand for a character of a literal or for the
/// start of a colour code.
fn hides_literal_char(digits: &[u8]) -> bool {
    let digit = |at: usize| {
        let value = digits.get(at).and_then(|&b| char::from(b).to_digit(16));
        value
            .and_then(|value| u8::try_from(value).ok())
            .unwrap_or(0)
    };
    let byte = digit(0) * 16 + digit(1);
    byte == 0x1b || byte.is_ascii_alphanumeric() || b"-_.:/=@$".contains(&byte)
}
