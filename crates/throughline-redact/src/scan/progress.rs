//! What one pass over a text remembers, so that its cost stays linear.
//!
//! A rule that fails over a long run of characters would fail again at each of its literals in that run,
//! and each attempt would read the run to its end. [`Progress`] lets a rule try again only when half
//! of the run is left: all attempts together then read the run twice, and a secret at the end of a run
//! is still tried with at most as much again before it.

use crate::format::seams;

/// Shorter stretches are not worth remembering.
const RUN_BYTES_MIN: usize = 64;

/// How far each rule has come in the text, and what was measured on the way.
#[derive(Debug)]
pub(crate) struct ScanProgress {
    /// By number of the format rule: literals before this offset are passed over.
    formats: Vec<usize>,
    /// The same for the other kinds of anchors.
    pub(crate) word: ResumeOffset,
    pub(crate) failed_pairs: usize,
    pub(crate) vendor: ResumeOffset,
    pub(crate) url: ResumeOffset,
    pub(crate) cookie: ResumeOffset,
    pub(crate) block: ResumeOffset,
    pub(crate) private: ResumeOffset,
    token_run: ByteRun,
    field_run: ByteRun,
    /// The end of the last run that was looked at, and whether it goes on behind a seam.
    seam: (usize, bool),
    /// Bytes of pieces that were joined.
    pub(crate) joined: usize,
    /// How many bytes the rules have read: what tests hold against the text's length.
    pub(crate) work: u64,
}

/// The offset from which one kind of rule may try again.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct ResumeOffset(usize);

impl ResumeOffset {
    pub(crate) fn skips(self, at: usize) -> bool {
        at < self.0
    }

    /// Passes over everything before `end`.
    pub(crate) fn skip_to(&mut self, end: usize) {
        self.0 = self.0.max(end);
    }

    /// Remembers an attempt at `at` that read up to `end` in vain.
    pub(crate) fn record_failure(&mut self, at: usize, end: usize) {
        if end.saturating_sub(at) >= RUN_BYTES_MIN {
            self.skip_to(at + (end - at) / 2);
        }
    }
}

/// A stretch of bytes of one class, measured once.
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
            failed_pairs: 0,
            vendor: ResumeOffset::default(),
            url: ResumeOffset::default(),
            cookie: ResumeOffset::default(),
            block: ResumeOffset::default(),
            private: ResumeOffset::default(),
            token_run: ByteRun::default(),
            field_run: ByteRun::default(),
            seam: (usize::MAX, false),
            joined: 0,
            work: 0,
        }
    }

    /// Says whether the run of token characters that ends at `end` goes on behind a seam.
    pub(crate) fn has_seam(&mut self, bytes: &[u8], end: usize) -> bool {
        if self.seam.0 != end {
            self.seam = (end, seams::next_piece(bytes, end).is_some());
        }
        self.seam.1
    }

    /// Says whether pieces may still be joined; a text of tokens in pieces joins each a few times.
    pub(crate) fn may_join_pieces(&self, text_len: usize) -> bool {
        const TIMES_MAX: usize = 8;
        const FREE_BYTES: usize = 64 << 10;
        self.joined <= TIMES_MAX * text_len + FREE_BYTES
    }

    pub(crate) fn count_work(&mut self, bytes: usize) {
        self.work += bytes as u64;
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
}

/// A character that tokens of some format contain.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.%~$:".contains(&byte)
}

/// A character of a value without quotes.
fn is_field_byte(byte: u8) -> bool {
    !byte.is_ascii_whitespace() && !b"\"'`<>".contains(&byte)
}
