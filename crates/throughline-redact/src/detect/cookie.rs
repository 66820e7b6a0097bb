//! Session values in `Cookie` and `Set-Cookie` headers.

use crate::assignment::VALUE_BYTES_MAX;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

pub(crate) const LITERALS: &[&str] = &[
    "ookie:", "OOKIE:", "ookie\":", "ookie',", "ookie\",", "-b \"", "-b '", "--cookie ",
];

/// Finds the session values of the header whose name ends at `at`.
pub(crate) fn find(text: &str, at: usize, progress: &mut ScanProgress, found: &mut Vec<Detection>) {
    // The first header of a line has read the whole line.
    if progress.cookie.skips(at) {
        return;
    }
    let bytes = text.as_bytes();
    let len = bytes[at..]
        .iter()
        .take(VALUE_BYTES_MAX)
        .take_while(|&&b| b != b'\n')
        .count();
    let end = text.floor_char_boundary(at + len);
    progress.count_work(end - at);
    progress.cookie.skip_to(end);
    let mut from = at;
    while from < end {
        let to = bytes[from..end]
            .iter()
            .position(|b| b"; \"'".contains(b))
            .map_or(end, |len| from + len);
        if let Some(sign) = bytes[from..to].iter().position(|&b| b == b'=') {
            let name = text[from..from + sign].to_ascii_lowercase();
            let value_at = from + sign + 1;
            let skip = ["s%3A", "s:"]
                .iter()
                .find(|lead| text[value_at..to].starts_with(**lead))
                .map_or(0, |lead| lead.len());
            let secret = &text[value_at + skip..to];
            let harmless = [
                "csrf", "xsrf", "_ga", "_gid", "_gcl", "utm", "locale", "theme", "consent",
                "nonce", "experiment", "ab_",
            ]
            .iter()
            .any(|part| name.contains(part));
            if !harmless && value::is_random(value::judged_prefix(secret), 16) {
                found.push(Detection {
                    rule: "cookie",
                    confidence: Confidence::Probable,
                    start: value_at + skip,
                    end: to,
                });
            }
        }
        from = to + 1;
    }
}
