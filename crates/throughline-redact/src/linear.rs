//! The cost of a text grows with its length, whatever it holds.

use super::adversary::{SHAPES, repeated};
use super::view::{Encodings, View};
use super::*;

/// Bytes that the rules read of a text.
fn work(text: &str) -> u64 {
    let view = View::innermost(text, Encodings::EscapesAndPercent);
    let decoded = view.as_ref().map_or(text, View::text);
    let redactor = Redactor::new([7; 32]);
    let scanner = redactor.scanner.get_or_init(scan::Scanner::new);
    scanner.scan(decoded).1
}

#[test]
fn work_grows_with_the_length_of_every_shape() {
    const LEN: usize = 4 << 10;
    let mut slow = Vec::new();
    for (name, shape) in SHAPES {
        let (short, long) = (repeated(shape, LEN), repeated(shape, 8 * LEN));
        let (once, more) = (work(&short), work(&long));
        // Eight times the text may cost eight times the work and a little.
        let is_linear = more <= once * 10 + 16384;
        // Every byte may be read by some rules, not by hundreds.
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
    let token = rules::proof::expand("ghp_{w36}");
    for (name, shape) in SHAPES {
        // What a tag hides, or an open string or escape swallows, cannot be told from junk.
        if name.contains("private") {
            continue;
        }
        let text = format!("{}\n{token}\n", repeated(shape, 2 << 10));
        let clean = Redactor::new([7; 32]).clean(&text).into_owned();
        assert!(!clean.as_str().contains(&token[8..]), "{name}");
    }
}
