//! The cost of a scan grows linearly with the length of the text, whatever the text holds.

use super::redactor;
use super::slow_texts::{SLOW_PATTERNS, repeat_to_len};
use crate::format::rules::template;
use crate::scan::view::{DecodedView, Encodings};

/// How many bytes the detectors read of a text.
fn work(text: &str) -> u64 {
    let view = DecodedView::innermost(text, Encodings::EscapesAndPercent);
    let decoded = view.as_ref().map_or(text, DecodedView::text);
    redactor().scanner().scan(decoded).1
}

#[test]
fn work_grows_with_the_length_of_every_shape() {
    const LEN: usize = 4 << 10;
    let mut slow = Vec::new();
    for (name, shape) in SLOW_PATTERNS {
        let (short, long) = (repeat_to_len(shape, LEN), repeat_to_len(shape, 8 * LEN));
        let (once, more) = (work(&short), work(&long));
        // Eight times the text may cost eight times the work and a little.
        let is_linear = more <= once * 10 + 16384;
        // Every byte may be read by several detectors, not by hundreds.
        let is_bounded = more <= 64 * long.len() as u64;
        if !is_linear || !is_bounded {
            slow.push(format!(
                "{name}: {once} of {} then {more} of {}",
                short.len(),
                long.len()
            ));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[test]
fn a_secret_behind_much_junk_is_found() {
    let token = template::expand("ghp_{w36}");
    for (name, shape) in SLOW_PATTERNS {
        // An open `<private>` tag hides the token, and with it the evidence.
        if name.contains("private") {
            continue;
        }
        let text = format!("{}\n{token}\n", repeat_to_len(shape, 2 << 10));
        let clean = redactor().clean(&text).into_owned();
        assert!(!clean.as_str().contains(&token[8..]), "{name}");
    }
}
