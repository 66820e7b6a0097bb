//! One pass of an automaton over all literals; each hit calls what the literal belongs to.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use super::format::Format;
use super::seen::Seen;
use super::view::View;
use super::{context, glance, header, join, mark, pem, rules, url, vendor, words};

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

/// What a literal belongs to.
#[derive(Debug, Clone, Copy)]
enum Anchor {
    Format(usize),
    Word,
    Vendor,
    Block,
    Url,
    Scheme,
    Cookie,
    Private,
}

const PRIVATE: &str = "private";

#[derive(Debug)]
pub(super) struct Scanner {
    automaton: AhoCorasick,
    /// By pattern number of the automaton.
    anchors: Vec<Anchor>,
    formats: Vec<Format>,
}

impl Scanner {
    pub(super) fn new() -> Self {
        let formats: Vec<Format> = rules::all().map(Format::new).collect();
        let mut literals: Vec<String> = Vec::new();
        let mut anchors = Vec::new();
        let mut add = |anchor: Anchor, words: &[&str]| {
            literals.extend(words.iter().map(|word| (*word).to_owned()));
            anchors.extend(words.iter().map(|_| anchor));
        };
        for (index, rule) in rules::all().enumerate() {
            add(Anchor::Format(index), rule.literals);
        }
        let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        for word in words::LITERALS {
            // Names come as `token`, `TOKEN` and `accessToken`; any other case is no name.
            add(
                Anchor::Word,
                &[word, &word.to_ascii_uppercase(), &capital(word)],
            );
        }
        for name in vendor::LITERALS {
            add(Anchor::Vendor, &[name, &capital(name)]);
        }
        add(Anchor::Block, pem::LITERALS);
        add(Anchor::Url, url::LITERALS);
        add(Anchor::Scheme, header::SCHEMES);
        add(Anchor::Cookie, header::COOKIES);
        add(Anchor::Private, &["<private>"]);
        #[expect(
            clippy::expect_used,
            reason = "the literals are constants, built by every test"
        )]
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::DFA))
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
        if !seen.may_find(text) && !self.may_hit(text) {
            return Vec::new();
        }
        let view = View::innermost(text);
        let decoded = view.as_ref().map_or(text, View::text);
        let mut found = self.scan(decoded);
        let source = |found: &Found| match &view {
            Some(view) => view.source(found.start, found.end),
            None => (found.start, found.end),
        };
        found.retain(|found| {
            let (start, end) = source(found);
            start < end && (found.rule != PRIVATE || string_end(text, start, end).is_none())
        });
        drop_marked(&mut found, decoded);
        for secret in &found {
            // What is marked private is prose; its words are no secret elsewhere.
            if secret.tier != Tier::Possible && secret.rule != PRIVATE {
                seen.add(
                    secret.rule,
                    &join::without_seams(&decoded[secret.start..secret.end]),
                    key,
                );
            }
        }
        seen.find(decoded, key, &mut found);
        drop_marked(&mut found, decoded);
        merge(&mut found);
        found
            .into_iter()
            .filter_map(|found| {
                let (start, mut end) = source(&found);
                let mut value = &decoded[found.start..found.end];
                if !found.rule.ends_with("private-key")
                    && let Some(quote) = string_end(text, start, end)
                {
                    end = quote;
                    value = &text[start..end];
                }
                (start < end).then(|| Hit {
                    rule: found.rule,
                    tier: found.tier,
                    start,
                    end,
                    value: value.to_owned(),
                })
            })
            .collect()
    }

    /// Says, without decoding or allocating, whether a text is worth a closer look. Most are not.
    fn may_hit(&self, text: &str) -> bool {
        // A literal may be written in escapes, or a colour code may touch it.
        let bytes = text.as_bytes();
        if memchr::memchr(0x1b, bytes).is_some()
            || memchr::memmem::find_iter(bytes, b"\\u00").any(|at| hides(&bytes[at + 4..]))
        {
            return true;
        }
        self.automaton.find_overlapping_iter(text).any(|hit| {
            let (start, end) = (hit.start(), hit.end());
            match self.anchors[hit.pattern().as_usize()] {
                Anchor::Format(index) => self.formats[index].may_find(text, start),
                Anchor::Word => glance::may_find(text, start, end),
                Anchor::Vendor => vendor::may_find(text, start, end),
                Anchor::Url => url::may_find(text, start),
                Anchor::Scheme => header::may_find_scheme(text, end),
                Anchor::Block | Anchor::Cookie | Anchor::Private => true,
            }
        })
    }

    fn scan(&self, text: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for hit in self.automaton.find_overlapping_iter(text) {
            let (start, end) = (hit.start(), hit.end());
            match self.anchors[hit.pattern().as_usize()] {
                Anchor::Format(index) => found.extend(self.formats[index].find(text, start)),
                Anchor::Word => context::find(text, start, end, &mut found),
                Anchor::Vendor => vendor::find(text, start, end, &mut found),
                Anchor::Block => found.extend(pem::find(text, start)),
                Anchor::Url => url::find(text, start, &mut found),
                Anchor::Scheme => header::find_scheme(text, start, end, &mut found),
                Anchor::Cookie => header::find_cookies(text, end, &mut found),
                Anchor::Private => found.extend(private(text, end)),
            }
        }
        found
    }
}

/// True when an escape's last two digits stand for a character of a literal, or for a colour code.
fn hides(digits: &[u8]) -> bool {
    let digit = |at: usize| {
        digits
            .get(at)
            .and_then(|&b| char::from(b).to_digit(16))
            .unwrap_or(0) as u8
    };
    let byte = digit(0) * 16 + digit(1);
    byte == 0x1b || byte.is_ascii_alphanumeric() || b"-_.:/=@$".contains(&byte)
}

/// Where in a JSON text the string around `start` ends, if that is before `end`. A quote of another kind
/// may have opened in one string and closed in the next.
fn string_end(text: &str, start: usize, end: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_json = ["{\"", "[\"", "[{", "{ \""]
        .iter()
        .any(|head| text.starts_with(head));
    let is_quote = |at: &usize| {
        bytes[*at] == b'"'
            && bytes[..*at]
                .iter()
                .rev()
                .take_while(|&&b| b == b'\\')
                .count()
                .is_multiple_of(2)
    };
    if is_json {
        (start..end).find(is_quote)
    } else {
        None
    }
}

/// The text between `<private>` and `</private>`.
fn private(text: &str, start: usize) -> Option<Found> {
    let len = text[start..].find("</private>")?;
    let inner = text[start..start + len].trim();
    if inner.is_empty() || mark::is_mark(inner) {
        return None;
    }
    Some(Found {
        rule: PRIVATE,
        tier: Tier::Certain,
        start,
        end: start + len,
    })
}

/// Drops what touches a mark: a text cleaned before stays as it is.
fn drop_marked(found: &mut Vec<Found>, text: &str) {
    if found.is_empty() || !mark::has_mark(text) {
        return;
    }
    let marks = mark::marks(text);
    found.retain(|found| {
        !marks
            .iter()
            .any(|&(start, end)| found.start < end && start < found.end)
    });
}

/// Sorts and joins what overlaps; the surer rule names the join.
fn merge(found: &mut Vec<Found>) {
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
