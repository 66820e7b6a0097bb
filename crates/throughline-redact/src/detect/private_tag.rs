//! `<private>…</private>`: text that the user has marked as not to be stored.

use crate::mark;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};

pub(crate) const RULE: &str = "private";
pub(crate) const LITERALS: &[&str] = &[OPEN];
const OPEN: &str = "<private>";
const CLOSE: &str = "</private>";

/// Finds the text between the tag at `at` and the tag that closes it, or to the end of the text
/// when nothing closes it: a log may have cut the closing tag off.
pub(crate) fn find(text: &str, at: usize, progress: &mut ScanProgress) -> Option<Detection> {
    if progress.private.skips(at) {
        return None;
    }
    let start = at + OPEN.len();
    let mut depth = 1_usize;
    let mut end = text.len();
    for angle in memchr::memchr_iter(b'<', &text.as_bytes()[start..]) {
        let rest = &text.as_bytes()[start + angle..];
        if rest.starts_with(OPEN.as_bytes()) {
            depth += 1;
        } else if rest.starts_with(CLOSE.as_bytes()) {
            depth -= 1;
        }
        if depth == 0 {
            end = start + angle;
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
        rule: RULE,
        confidence: Confidence::Certain,
        start,
        end,
    })
}
