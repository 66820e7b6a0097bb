//! [`Redactor`]: cleans texts, one by one or as part of a session.

use std::borrow::Cow;
use std::ops::Range;
use std::slice::from_ref;
use std::sync::OnceLock;

use crate::mark;
use crate::panic_guard::catch_panic;
use crate::scan::{Confidence, SecretScanner, SourceDetection};
use crate::session::{Secret, SessionSecrets};
use crate::{CheckedTexts, CleanString, CleanText};

/// A changed text is scanned again, because a mark may divide what a detector had read as one
/// value. Two passes are enough except for contrived input.
const PASSES_MAX: usize = 6;

/// A shorter line holds no secret: no name, no format and no known value fits into it.
const LINE_BYTES_MIN: usize = 7;

/// Finds secrets and replaces them by typed marks. It is built once and shared by reference.
#[derive(Debug)]
pub struct Redactor {
    key: [u8; 32],
    /// Built on first use: building it takes longer than answering a query, and a process that only
    /// answers queries never needs it.
    scanner: OnceLock<SecretScanner>,
}

/// A stretch of a text that [`Redactor::clean`] would replace (or only tag, when it is
/// [`Confidence::Possible`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    pub start: usize,
    pub end: usize,
    pub tier: Confidence,
    pub mark: String,
}

impl Redactor {
    /// `key` belongs to one installation: marks and fingerprints made with different keys cannot be
    /// compared.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            scanner: OnceLock::new(),
        }
    }

    /// Cleans a text that belongs to no session.
    pub fn clean<'a>(&self, text: &'a str) -> CleanText<'a> {
        self.clean_in_session(text, &mut SessionSecrets::default())
    }

    /// Cleans a text of a session: secrets that the session has shown before are replaced as well,
    /// and the secrets of this text are added to `session`.
    pub fn clean_in_session<'a>(
        &self,
        text: &'a str,
        session: &mut SessionSecrets,
    ) -> CleanText<'a> {
        self.clean_unchecked(text, from_ref(&(0..text.len())), session)
    }

    /// Cleans a text whose bytes outside the ranges `unchecked` are known to hold no secret by
    /// themselves.
    fn clean_unchecked<'a>(
        &self,
        text: &'a str,
        unchecked: &[Range<usize>],
        session: &mut SessionSecrets,
    ) -> CleanText<'a> {
        catch_panic(|| self.clean_by_detectors(text, unchecked, session)).unwrap_or_else(|| {
            CleanText {
                text: Cow::Owned(format!(
                    "[not kept: redaction failed, {} bytes]",
                    text.len()
                )),
                sensitive: true,
            }
        })
    }

    fn clean_by_detectors<'a>(
        &self,
        text: &'a str,
        unchecked: &[Range<usize>],
        session: &mut SessionSecrets,
    ) -> CleanText<'a> {
        let (mut cleaned, mut sensitive) = self.replace_secrets(text, unchecked, session);
        for _ in 1..PASSES_MAX {
            let Some(before) = &cleaned else { break };
            let (after, tagged) =
                self.replace_secrets(before, from_ref(&(0..before.len())), session);
            sensitive |= tagged;
            if after.is_none() {
                break;
            }
            cleaned = after;
        }
        CleanText {
            text: cleaned.map_or(Cow::Borrowed(text), Cow::Owned),
            sensitive,
        }
    }

    /// Cleans an owned text. Text without secrets is moved, not copied.
    pub fn clean_owned(&self, text: String, session: &mut SessionSecrets) -> CleanString {
        let clean = self.clean_in_session(&text, session);
        let sensitive = clean.sensitive;
        if clean.is_changed() {
            return clean.into_owned();
        }
        CleanString { text, sensitive }
    }

    /// Cleans a text line by line: most lines of a log hold no secret and cost one pass.
    /// `others` are sessions whose secrets the text may hold too, and `checked` are texts that were
    /// cleaned with these sessions before.
    pub fn clean_lines(
        &self,
        text: &str,
        checked: &CheckedTexts<'_>,
        session: &mut SessionSecrets,
        others: &mut [&mut SessionSecrets],
    ) -> CleanString {
        let mut cleaned = String::with_capacity(text.len());
        let mut sensitive = false;
        let mut unchecked = Vec::new();
        for line in text.split_inclusive('\n') {
            if line.len() < LINE_BYTES_MIN {
                cleaned.push_str(line);
                continue;
            }
            checked.unchecked_ranges(line, &mut unchecked);
            let clean = self.clean_unchecked(line, &unchecked, session);
            sensitive |= clean.sensitive;
            let mut clean = clean.into_cow();
            for other in others.iter_mut() {
                // The detectors have seen the line; only the other session's values may be new.
                if other.may_find(&clean) {
                    let other = self.clean_in_session(&clean, other).into_owned();
                    clean = other.into_string().into();
                }
            }
            cleaned.push_str(&clean);
        }
        CleanString {
            text: cleaned,
            sensitive,
        }
    }

    /// Adds the secrets of `text` to `session`. A caller that cleans a batch runs this over all of
    /// it first, so that a value recognised in the last record is replaced in the first one too.
    pub fn collect_secrets(&self, text: &str, session: &mut SessionSecrets) {
        let detect = || self.detect(text, from_ref(&(0..text.len())), session);
        // A text that a detector fails on is not kept, so its secrets are not needed.
        catch_panic(detect);
    }

    /// Adds a value that the caller knows to be secret to those of a session.
    pub fn add_secret(&self, rule: &'static str, value: &str, session: &mut SessionSecrets) {
        session.add(rule, value, &self.key);
    }

    /// Returns a session that has shown these secrets.
    pub fn session_with(&self, secrets: &[Secret]) -> SessionSecrets {
        let mut session = SessionSecrets::default();
        for secret in secrets {
            session.add(secret.rule, &secret.value, &self.key);
        }
        session
    }

    /// Lists what [`Redactor::clean`] would replace or tag.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        self.detect(
            text,
            from_ref(&(0..text.len())),
            &mut SessionSecrets::default(),
        )
        .into_iter()
        .map(|found| Finding {
            rule: found.rule,
            start: found.start,
            end: found.end,
            tier: found.confidence,
            mark: mark::format_mark(&self.key, found.rule, &found.value),
        })
        .collect()
    }

    /// Hashes `parts` with the installation's key. No other installation can compute the hash, so
    /// it does not give away a text that could be guessed. Each part is hashed with its length, so
    /// that moving a byte from one part to the next changes the hash.
    pub fn keyed_hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        self.hash_parts(parts.iter().copied())
    }

    /// [`Redactor::keyed_hash`] for one purpose: the same parts hash differently for another one.
    pub fn keyed_hash_for(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 16] {
        self.hash_parts(std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()))
    }

    fn hash_parts<'p>(&self, parts: impl Iterator<Item = &'p [u8]>) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    }

    /// Returns the text with its secrets replaced, or `None` when it has none, and whether the text
    /// holds a possible secret.
    fn replace_secrets(
        &self,
        text: &str,
        unchecked: &[Range<usize>],
        session: &mut SessionSecrets,
    ) -> (Option<String>, bool) {
        let detections = self.detect(text, unchecked, session);
        let is_possible = |found: &&SourceDetection| found.confidence == Confidence::Possible;
        let sensitive = detections.iter().any(|found| is_possible(&found));
        if detections.iter().all(|found| is_possible(&found)) {
            return (None, sensitive);
        }
        let mut cleaned = String::with_capacity(text.len());
        let mut copied = 0;
        for found in detections.iter().filter(|found| !is_possible(found)) {
            cleaned.push_str(&text[copied..found.start]);
            cleaned.push_str(&mark::format_mark(&self.key, found.rule, &found.value));
            copied = found.end;
        }
        cleaned.push_str(&text[copied..]);
        (Some(cleaned), sensitive)
    }

    fn detect(
        &self,
        text: &str,
        unchecked: &[Range<usize>],
        session: &mut SessionSecrets,
    ) -> Vec<SourceDetection> {
        let scanner = self.scanner();
        scanner.find_secrets(text, unchecked, &self.key, session)
    }

    pub(crate) fn scanner(&self) -> &SecretScanner {
        self.scanner.get_or_init(SecretScanner::new)
    }
}
