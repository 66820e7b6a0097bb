//! What one scan remembers so that its cost stays linear in the length of the text.
//!
//! A detector that fails over a long run of characters would fail again at each of its literals in
//! that run, and each attempt would read the run to its end. [`ResumeOffset`] lets it try again
//! only when half of the run is left: all attempts together then read the run twice. A secret at
//! the end of a run is still found, because the last attempt starts with at most as much junk
//! before it as the secret itself is long.

use std::ops::Range;

use crate::assignment::names::NameStrength;
use crate::format::seams;

/// Shorter runs are cheap to read again.
const RUN_BYTES_MIN: usize = 64;

/// Within a secret this long, no other format is searched for.
const COVERED_BYTES_MIN: usize = 4 << 10;

/// How far each detector has come in the text, and what was measured on the way.
#[derive(Debug)]
pub(crate) struct ScanProgress {
    /// By index of the format rule: literals before this offset are skipped.
    formats: Vec<usize>,
    pub(crate) word: ResumeOffset,
    /// The last name that was classified, and the result. No name is empty.
    pub(crate) last_name: (Range<usize>, Option<NameStrength>),
    /// Names of `{name, value}` pairs for which no value was found.
    pub(crate) failed_pairs: usize,
    pub(crate) vendor: ResumeOffset,
    pub(crate) url: ResumeOffset,
    pub(crate) cookie: ResumeOffset,
    pub(crate) block: ResumeOffset,
    pub(crate) private: ResumeOffset,
    pub(crate) table: ResumeOffset,
    pub(crate) graphql: ResumeOffset,
    pub(crate) kubernetes: ResumeOffset,
    pub(crate) terraform: ResumeOffset,
    pub(crate) sql_insert: ResumeOffset,
    pub(crate) encoded: ResumeOffset,
    /// The end of the last long secret of a format.
    covered: usize,
    token_run: ByteRun,
    field_run: ByteRun,
    line_run: ByteRun,
    /// The end of the last run that was looked at, and whether it continues behind a seam.
    seam: (usize, bool),
    /// Bytes of pieces that were joined.
    pub(crate) joined: usize,
    /// How many bytes the detectors have read. A test compares it with the text's length.
    pub(crate) work: u64,
}

/// The offset from which a detector may try again.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ResumeOffset(usize);

impl ResumeOffset {
    /// True when the detector has dealt with the literal at `at` already.
    pub(crate) fn skips(self, at: usize) -> bool {
        at < self.0
    }

    /// Skips everything before `end` from now on.
    pub(crate) fn skip_to(&mut self, end: usize) {
        self.0 = self.0.max(end);
    }

    /// Records an attempt that read `at..end` and found nothing.
    pub(crate) fn record_failure(&mut self, at: usize, end: usize) {
        if end.saturating_sub(at) >= RUN_BYTES_MIN {
            self.skip_to(at + (end - at) / 2);
        }
    }
}

/// A run of bytes of one class, measured once.
#[derive(Debug, Default, Clone, Copy)]
struct ByteRun {
    start: usize,
    end: usize,
}

impl ByteRun {
    fn end(
        &mut self,
        bytes: &[u8],
        at: usize,
        class: impl Fn(u8) -> bool,
        work: &mut u64,
    ) -> usize {
        if at < self.start || at >= self.end {
            let len = bytes[at.min(bytes.len())..]
                .iter()
                .take_while(|&&byte| class(byte))
                .count();
            *work += len as u64;
            *self = Self {
                start: at,
                end: at + len,
            };
        }
        self.end
    }
}

impl ScanProgress {
    pub(crate) fn new(formats: usize) -> Self {
        Self {
            formats: vec![0; formats],
            word: ResumeOffset::default(),
            last_name: (0..0, None),
            failed_pairs: 0,
            vendor: ResumeOffset::default(),
            url: ResumeOffset::default(),
            cookie: ResumeOffset::default(),
            block: ResumeOffset::default(),
            private: ResumeOffset::default(),
            table: ResumeOffset::default(),
            graphql: ResumeOffset::default(),
            kubernetes: ResumeOffset::default(),
            terraform: ResumeOffset::default(),
            sql_insert: ResumeOffset::default(),
            encoded: ResumeOffset::default(),
            covered: 0,
            token_run: ByteRun::default(),
            field_run: ByteRun::default(),
            line_run: ByteRun::default(),
            seam: (usize::MAX, false),
            joined: 0,
            work: 0,
        }
    }

    /// True when the run of token characters that ends at `end` continues behind a seam.
    pub(crate) fn has_seam(&mut self, bytes: &[u8], end: usize) -> bool {
        if self.seam.0 != end {
            self.seam = (end, seams::next_piece(bytes, end).is_some());
        }
        self.seam.1
    }

    /// True while pieces may still be joined. A text made of tokens in pieces joins each piece a
    /// few times, which this limits.
    pub(crate) fn may_join_pieces(&self, text_len: usize) -> bool {
        const TIMES_MAX: usize = 8;
        const FREE_BYTES: usize = 64 << 10;
        self.joined <= TIMES_MAX * text_len + FREE_BYTES
    }

    pub(crate) fn count_work(&mut self, bytes: usize) {
        self.work += bytes as u64;
    }

    /// Records a secret of a format.
    pub(crate) fn cover(&mut self, secret: Range<usize>) {
        if secret.len() >= COVERED_BYTES_MIN {
            self.covered = self.covered.max(secret.end);
        }
    }

    /// True when the whole run of token characters at `at` belongs to a long secret that was found
    /// before. Other formats in it would be replaced with it anyway.
    pub(crate) fn is_covered(&mut self, bytes: &[u8], at: usize) -> bool {
        at < self.covered && self.token_end(bytes, at) <= self.covered
    }

    pub(crate) fn skips_format(&self, rule: usize, at: usize) -> bool {
        at < self.formats[rule]
    }

    pub(crate) fn format_found(&mut self, rule: usize, end: usize) {
        self.formats[rule] = self.formats[rule].max(end);
    }

    pub(crate) fn format_failed(&mut self, rule: usize, at: usize, end: usize) {
        let mut resume = ResumeOffset(self.formats[rule]);
        resume.record_failure(at, end);
        self.formats[rule] = resume.0;
    }

    /// Where the run of token characters that holds `at` ends.
    pub(crate) fn token_end(&mut self, bytes: &[u8], at: usize) -> usize {
        self.token_run.end(bytes, at, is_token_byte, &mut self.work)
    }

    /// Where a value without quotes that starts at `at` ends at the latest.
    pub(crate) fn field_end(&mut self, bytes: &[u8], at: usize) -> usize {
        self.field_run.end(bytes, at, is_field_byte, &mut self.work)
    }

    /// Where the line that holds `at` ends, before its line break.
    pub(crate) fn line_end(&mut self, bytes: &[u8], at: usize) -> usize {
        self.line_run
            .end(bytes, at, |byte| byte != b'\n', &mut self.work)
    }
}

/// True for a character that tokens of some format contain.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.%~$:".contains(&byte)
}

/// True for a character of a value without quotes.
fn is_field_byte(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`<>".contains(&byte)
}
