//! One pass of an automaton over all literals; each hit calls what the literal belongs to.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};

use super::format::FormatMatcher;
use super::progress::ScanProgress;
use super::seen::SessionSecrets;
use super::view::{self, DecodedView, Encodings};
use super::{context, glance, header, join, mark, pem, phrase, rules, url, vendor, words};

/// How sure a finding is. Certain and probable are removed, possible only tags the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    Certain,
    Probable,
    Possible,
}

/// A secret in a text, in the bytes of the text as it was given.
#[derive(Debug, Clone)]
pub(super) struct SourceDetection {
    pub(super) rule: &'static str,
    pub(super) tier: Confidence,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The decoded value.
    pub(super) value: String,
}

/// A secret in a decoded view.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detection {
    pub(super) rule: &'static str,
    pub(super) tier: Confidence,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a literal belongs to.
#[derive(Debug, Clone, Copy)]
enum LiteralKind {
    Format(usize),
    SecretName,
    Phrase,
    Vendor,
    KeyBlock,
    Url,
    AuthScheme,
    Cookie,
    PrivateTag,
    /// Colour codes, invisible characters and the like: the text must be decoded first.
    HiddenSequence,
    /// `\u00`: the same, if the escape stands for a character of a literal.
    Escape,
}

pub(super) const PRIVATE_RULE: &str = "private";
const PRIVATE_OPEN: &str = "<private>";
const PRIVATE_CLOSE: &str = "</private>";

#[derive(Debug)]
pub(super) struct SecretScanner {
    automaton: AhoCorasick,
    /// By pattern number of the automaton.
    literal_kinds: Vec<LiteralKind>,
    formats: Vec<FormatMatcher>,
    split_literals: join::SplitLiterals,
}

impl SecretScanner {
    pub(super) fn new() -> Self {
        let formats: Vec<FormatMatcher> = rules::all().map(FormatMatcher::new).collect();
        let mut literals: Vec<String> = Vec::new();
        let mut literal_kinds = Vec::new();
        let mut add = |anchor: LiteralKind, words: &[&str]| {
            literals.extend(words.iter().map(|word| (*word).to_owned()));
            literal_kinds.extend(words.iter().map(|_| anchor));
        };
        for (index, rule) in rules::all().enumerate() {
            add(LiteralKind::Format(index), rule.literals);
        }
        let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
        for word in words::LITERALS {
            // Names come as `token`, `TOKEN` and `accessToken`; any other case is no name.
            add(
                LiteralKind::SecretName,
                &[word, &word.to_ascii_uppercase(), &capital(word)],
            );
        }
        for name in vendor::LITERALS {
            add(LiteralKind::Vendor, &[name, &capital(name)]);
        }
        add(LiteralKind::Phrase, phrase::LITERALS);
        add(LiteralKind::KeyBlock, pem::LITERALS);
        add(LiteralKind::Url, url::LITERALS);
        add(LiteralKind::AuthScheme, header::AUTH_SCHEMES);
        add(LiteralKind::Cookie, header::COOKIE_LITERALS);
        add(LiteralKind::PrivateTag, &[PRIVATE_OPEN]);
        add(LiteralKind::HiddenSequence, view::HIDDEN_SEQUENCES);
        add(LiteralKind::Escape, &["\\u00"]);
        #[expect(
            clippy::expect_used,
            reason = "the literals are constants, built by every test"
        )]
        let automaton = AhoCorasickBuilder::new()
            .kind(Some(AhoCorasickKind::DFA))
            .build(&literals)
            .expect("literals build");
        let split_literals =
            join::SplitLiterals::new(rules::all().flat_map(|rule| rule.literals.iter().copied()));
        Self {
            automaton,
            literal_kinds,
            formats,
            split_literals,
        }
    }

    /// The secrets of `text` in order, none overlapping another.
    pub(super) fn find_secrets(
        &self,
        text: &str,
        key: &[u8; 32],
        seen: &mut SessionSecrets,
    ) -> Vec<SourceDetection> {
        if !seen.may_find(text) && !self.may_hold_secret(text) {
            return Vec::new();
        }
        let mut views = vec![DecodedView::innermost(text, Encodings::Escapes)];
        if view::has_percent(text) {
            views.push(DecodedView::innermost(text, Encodings::EscapesAndPercent));
        }
        let mut all = Vec::new();
        for view in &views {
            let decoded = view.as_ref().map_or(text, DecodedView::text);
            let (mut found, _) = self.scan(decoded);
            exclude_marks(&mut found, decoded);
            for secret in &found {
                // What is marked private is prose; its words are no secret elsewhere.
                if secret.tier != Confidence::Possible && secret.rule != PRIVATE_RULE {
                    let value = join::join_pieces(&decoded[secret.start..secret.end]);
                    seen.add(secret.rule, &value, key);
                }
            }
            all.push(found);
        }
        let mut hits = self.find_behind_backslashes(text);
        for (view, mut found) in views.iter().zip(all) {
            let decoded = view.as_ref().map_or(text, DecodedView::text);
            seen.find_recurrences(decoded, key, &mut found);
            exclude_marks(&mut found, decoded);
            hits.extend(found.into_iter().filter_map(|found| {
                let (start, end) = match view {
                    Some(view) => view.source_range(found.start, found.end),
                    None => (found.start, found.end),
                };
                (start < end).then(|| SourceDetection {
                    rule: found.rule,
                    tier: found.tier,
                    start,
                    end,
                    value: decoded[found.start..found.end].to_owned(),
                })
            }));
        }
        merge_overlapping(&mut hits, text);
        let is_json = ["{\"", "[\"", "[{", "{ \""]
            .iter()
            .any(|head| text.starts_with(head));
        if is_json {
            clip_to_json_strings(&mut hits, text);
        }
        hits
    }

    /// Says whether a text is worth a closer look. Most are not.
    fn may_hold_secret(&self, text: &str) -> bool {
        self.may_hold_secret_undecoded(text)
            || self.split_literals.any_split(text, |_, head, window| {
                self.find_split_literal(head, window).is_some()
            })
            || view::has_percent(text)
                && DecodedView::innermost(text, Encodings::EscapesAndPercent)
                    .is_some_and(|view| self.may_hold_secret_undecoded(view.text()))
    }

    fn may_hold_secret_undecoded(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let mut next_at = NextAtSign::default();
        self.automaton.find_overlapping_iter(text).any(|hit| {
            let (start, end) = (hit.start(), hit.end());
            match self.literal_kinds[hit.pattern().as_usize()] {
                LiteralKind::Format(index) => self.formats[index].may_find(text, start, end),
                LiteralKind::SecretName => glance::may_find(text, start, end),
                LiteralKind::Vendor => vendor::may_find(text, start, end),
                LiteralKind::Url => next_at.is_near(bytes, end) && url::may_find(text, start),
                LiteralKind::AuthScheme => header::may_find_auth_scheme(text, end),
                LiteralKind::Escape => hides_literal_char(&bytes[end..]),
                LiteralKind::Phrase => phrase::may_find(text, start, end),
                LiteralKind::KeyBlock
                | LiteralKind::Cookie
                | LiteralKind::PrivateTag
                | LiteralKind::HiddenSequence => true,
            }
        })
    }

    /// Tokens whose first letter a backslash before them makes an escape.
    fn find_behind_backslashes(&self, text: &str) -> Vec<SourceDetection> {
        let mut hits = Vec::new();
        let progress = &mut ScanProgress::new(self.formats.len());
        self.split_literals.any_escaped(text, |at, window| {
            let first = self
                .automaton
                .find_overlapping_iter(window)
                .find_map(|hit| match self.literal_kinds[hit.pattern().as_usize()] {
                    LiteralKind::Format(index) if hit.start() == 0 => Some((index, hit.end())),
                    _ => None,
                });
            let found = first.and_then(|(index, len)| {
                self.formats[index].find(index, text, at, &window[..len], progress)
            });
            hits.extend(found.map(|found| SourceDetection {
                rule: found.rule,
                tier: found.tier,
                start: found.start,
                end: found.end,
                value: text[found.start..found.end].to_owned(),
            }));
            false
        });
        hits
    }

    /// Where in the window the literal of a format starts that a line break behind `head` bytes cuts.
    fn find_split_literal(
        &self,
        head: usize,
        window: &str,
    ) -> Option<(usize, std::ops::Range<usize>)> {
        self.automaton
            .find_overlapping_iter(window)
            .find_map(|hit| match self.literal_kinds[hit.pattern().as_usize()] {
                LiteralKind::Format(index) if hit.start() < head && hit.end() > head => {
                    Some((index, hit.range()))
                }
                _ => None,
            })
    }

    /// The secrets of a decoded text, and how many bytes were read to find them.
    pub(super) fn scan(&self, text: &str) -> (Vec<Detection>, u64) {
        let mut found = Vec::new();
        let progress = &mut ScanProgress::new(self.formats.len());
        let mut next_at = NextAtSign::default();
        let marks = if mark::has_mark(text) {
            mark::find_marks(text)
        } else {
            Vec::new()
        };
        for hit in self.automaton.find_overlapping_iter(text) {
            let (start, end) = (hit.start(), hit.end());
            progress.work += 1;
            // The name of a mark's rule names no secret.
            let mark = marks.partition_point(|mark| mark.1 <= start);
            if marks.get(mark).is_some_and(|mark| mark.0 <= start) {
                continue;
            }
            match self.literal_kinds[hit.pattern().as_usize()] {
                LiteralKind::Format(index) => {
                    let literal = &text[start..end];
                    found.extend(self.formats[index].find(index, text, start, literal, progress));
                }
                LiteralKind::SecretName => context::find(text, start, end, progress, &mut found),
                LiteralKind::Phrase => phrase::find(text, start, end, progress, &mut found),
                LiteralKind::Vendor => vendor::find(text, start, end, progress, &mut found),
                LiteralKind::KeyBlock => found.extend(pem::find(text, start, progress)),
                LiteralKind::Url => {
                    if next_at.is_near(text.as_bytes(), end) {
                        url::find(text, start, progress, &mut found);
                    }
                }
                LiteralKind::AuthScheme => {
                    header::find_auth_scheme(text, start, end, progress, &mut found)
                }
                LiteralKind::Cookie => header::find_cookies(text, end, progress, &mut found),
                LiteralKind::PrivateTag => found.extend(find_private_span(text, start, progress)),
                LiteralKind::HiddenSequence | LiteralKind::Escape => {}
            }
        }
        self.split_literals.any_split(text, |from, head, window| {
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

/// The next `@`, looked for once: most URLs have none.
#[derive(Debug, Default)]
struct NextAtSign {
    from: usize,
    at: Option<usize>,
}

impl NextAtSign {
    /// True when an `@` follows `from` within the reach of a URL.
    fn is_near(&mut self, bytes: &[u8], from: usize) -> bool {
        let is_known = self.from > 0 && self.from <= from && self.at.is_none_or(|at| at >= from);
        if !is_known {
            self.at = memchr::memchr(b'@', &bytes[from..]).map(|at| from + at);
            self.from = from.max(1);
        }
        self.at
            .is_some_and(|at| at >= from && at - from <= url::AUTHORITY_BYTES_MAX)
    }
}

/// True when an escape's last two digits stand for a character of a literal, or for a colour code.
fn hides_literal_char(digits: &[u8]) -> bool {
    let digit = |at: usize| {
        digits
            .get(at)
            .and_then(|&b| char::from(b).to_digit(16))
            .unwrap_or(0) as u8
    };
    let byte = digit(0) * 16 + digit(1);
    byte == 0x1b || byte.is_ascii_alphanumeric() || b"-_.:/=@$".contains(&byte)
}

/// Ends each hit where the JSON string it starts in ends: a quote of another kind may have opened in
/// one string and closed in the next. A key may be an array of strings, one for each line; each of
/// them is a hit then.
fn clip_to_json_strings(hits: &mut Vec<SourceDetection>, text: &str) {
    let bytes = text.as_bytes();
    let is_quote = |at: &usize| {
        let escapes = bytes[..*at].iter().rev().take_while(|&&b| b == b'\\');
        bytes[*at] == b'"' && escapes.count().is_multiple_of(2)
    };
    let mut clipped = Vec::with_capacity(hits.len());
    let (mut counted, mut is_inside) = (0, false);
    for hit in hits.drain(..) {
        let before = memchr::memchr_iter(b'"', &bytes[counted..hit.start]);
        is_inside ^= before.filter(|at| is_quote(&(counted + at))).count() % 2 == 1;
        counted = hit.start;
        let mut quotes = (hit.start..hit.end).filter(is_quote).peekable();
        if quotes.peek().is_none() {
            clipped.push(hit);
            continue;
        }
        let is_block = hit.rule.ends_with("private-key") || hit.rule == "putty-key";
        let mut from = is_inside.then_some(hit.start);
        for quote in quotes.chain([hit.end]) {
            if let Some(start) = from
                && start < quote
                && (!is_block || may_be_secret_part(&text[start..quote]))
            {
                clipped.push(SourceDetection {
                    start,
                    end: quote,
                    value: text[start..quote].to_owned(),
                    ..hit
                });
            }
            if !is_block && from.is_some() {
                break;
            }
            from = if from.is_some() {
                None
            } else {
                Some(quote + 1)
            };
        }
    }
    *hits = clipped;
}

/// The text between `<private>` and its `</private>`, or to the end when nothing closes it.
fn find_private_span(text: &str, at: usize, progress: &mut ScanProgress) -> Option<Detection> {
    if progress.private.skips(at) {
        return None;
    }
    let start = at + PRIVATE_OPEN.len();
    let mut depth = 1_usize;
    let mut end = text.len();
    for sign in memchr::memchr_iter(b'<', &text.as_bytes()[start..]) {
        let rest = &text.as_bytes()[start + sign..];
        if rest.starts_with(PRIVATE_OPEN.as_bytes()) {
            depth += 1;
        } else if rest.starts_with(PRIVATE_CLOSE.as_bytes()) {
            depth -= 1;
        }
        if depth == 0 {
            end = start + sign;
            break;
        }
    }
    progress.count_work(end - start);
    progress.private.skip_to(end);
    let inner = text[start..end].trim();
    if inner.is_empty() || mark::is_mark(inner) {
        return None;
    }
    Some(Detection {
        rule: PRIVATE_RULE,
        tier: Confidence::Certain,
        start,
        end,
    })
}

/// Takes the marks out of what was found: a text cleaned before stays as it is, and what stands
/// beside a mark is judged without it.
fn exclude_marks(found: &mut Vec<Detection>, text: &str) {
    if found.is_empty() || !mark::has_mark(text) {
        return;
    }
    let marks = mark::find_marks(text);
    let mut kept = Vec::with_capacity(found.len());
    for next in found.drain(..) {
        let first = marks.partition_point(|&(_, end)| end <= next.start);
        let inside = marks[first..].iter().take_while(|mark| mark.0 < next.end);
        if next.rule == PRIVATE_RULE || inside.clone().next().is_none() {
            kept.push(next);
            continue;
        }
        let mut from = next.start;
        let limits = inside.copied().chain([(next.end, next.end)]);
        for (start, end) in limits {
            if from < start
                && may_be_secret_part(&text[from..start])
                && next.tier != Confidence::Possible
            {
                kept.push(Detection {
                    start: from,
                    end: start,
                    ..next
                });
            }
            from = end.max(from);
        }
    }
    *found = kept;
}

/// True when what is left beside a mark may be a part of a secret.
fn may_be_secret_part(piece: &str) -> bool {
    const BYTES_MIN: usize = 3;
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
    piece.as_bytes().iter().filter(|b| is_word(b)).count() >= BYTES_MIN
}

/// Sorts and joins what overlaps; the surer rule names the join.
fn merge_overlapping(hits: &mut Vec<SourceDetection>, text: &str) {
    hits.sort_by_key(|hit| (hit.start, hit.tier, std::cmp::Reverse(hit.end)));
    let mut kept: Vec<SourceDetection> = Vec::with_capacity(hits.len());
    for next in hits.drain(..) {
        match kept.last_mut() {
            Some(last) if next.start < last.end => {
                if next.tier < last.tier {
                    last.rule = next.rule;
                    last.tier = next.tier;
                }
                if next.end > last.end {
                    last.end = next.end;
                    last.value.clear();
                }
            }
            _ => kept.push(next),
        }
    }
    for hit in kept.iter_mut().filter(|hit| hit.value.is_empty()) {
        text[hit.start..hit.end].clone_into(&mut hit.value);
    }
    *hits = kept;
}

/// The last character boundary at or before `at`.
pub(super) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
