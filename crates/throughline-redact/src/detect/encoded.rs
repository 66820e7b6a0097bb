//! Environment files in base64: `echo REJfUEFTU1dPUkQ9… | base64 -d > .env`.
//!
//! Base64 turns three bytes into four letters, so a word has three spellings, one for each offset
//! modulo three. The scanner looks for the spellings of common names; the run around one of them
//! is decoded, and it is a secret when an assignment in it is one.

use crate::assignment;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};

/// Names that environment files give to secrets.
const NAMES: &[&str] = &[
    "PASSWORD", "SECRET", "TOKEN", "API_KEY", "password", "secret", "token", "apiKey",
];
/// A shorter run holds no name and value; a longer one is an archive or an image.
const RUN_BYTES_MIN: usize = 20;
const RUN_BYTES_MAX: usize = 64 << 10;

/// The letters of each name that are the same whatever stands before and behind it.
pub(crate) fn literals() -> Vec<String> {
    let mut literals = Vec::new();
    for name in NAMES {
        for offset in 0..3 {
            let mut bytes = vec![0; offset];
            bytes.extend(name.bytes());
            let encoded = encode(&bytes);
            // The first letters mix with the bytes before the name, the last with those behind it.
            let from = (offset * 8).div_ceil(6);
            let to = bytes.len() * 8 / 6;
            literals.push(encoded[from..to].to_owned());
        }
    }
    literals
}

/// Finds the run of base64 around the literal at `start..end` when it hides an assignment.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.encoded.skips(start) {
        return;
    }
    let run = base64_run(text.as_bytes(), start, end);
    progress.encoded.skip_to(run.end);
    progress.count_work(run.len());
    if run.len() < RUN_BYTES_MIN {
        return;
    }
    let letters: Vec<u8> = text.as_bytes()[run.clone()]
        .iter()
        .copied()
        .filter(|&b| is_letter(b))
        .collect();
    // A path or a name may touch the run, which shifts every group of four letters.
    let is_secret = (0..4).any(|shift| {
        let decoded = decode(letters.get(shift..).unwrap_or_default());
        let decoded = String::from_utf8_lossy(&decoded);
        holds_secret(&decoded)
    });
    if is_secret {
        found.push(Detection {
            rule: "base64-secret",
            confidence: Confidence::Probable,
            start: run.start,
            end: run.end,
        });
    }
}

/// True when a name in a decoded text has a value that is a secret.
fn holds_secret(decoded: &str) -> bool {
    let mut progress = ScanProgress::new(0);
    let mut found = Vec::new();
    NAMES.iter().any(|name| {
        memchr::memmem::find_iter(decoded.as_bytes(), name).any(|at| {
            assignment::find(decoded, at, at + name.len(), &mut progress, &mut found);
            found
                .iter()
                .any(|hit| hit.confidence != Confidence::Possible)
        })
    })
}

/// The letters of base64 around `start..end`. They continue on the next line when their own line is
/// as wide as a tool wraps base64; a shorter line ends for another reason.
fn base64_run(bytes: &[u8], start: usize, end: usize) -> std::ops::Range<usize> {
    const WRAPPED_BYTES_MIN: usize = 60;
    let letters_before = |at: usize| {
        bytes[..at]
            .iter()
            .rev()
            .take_while(|&&b| is_letter(b))
            .count()
    };
    let letters_behind = |at: usize| bytes[at..].iter().take_while(|&&b| is_letter(b)).count();
    let mut from = start - letters_before(start);
    let mut to = end + letters_behind(end);
    let mut width = to - from;
    while width >= WRAPPED_BYTES_MIN && to - start < RUN_BYTES_MAX && bytes.get(to) == Some(&b'\n')
    {
        width = letters_behind(to + 1);
        to += 1 + width;
    }
    while let Some(line_break) = from.checked_sub(1).filter(|&at| bytes[at] == b'\n') {
        let width = letters_before(line_break);
        if width < WRAPPED_BYTES_MIN || end - from > RUN_BYTES_MAX {
            break;
        }
        from = line_break - width;
    }
    let padding = bytes[to..]
        .iter()
        .take(2)
        .take_while(|&&b| b == b'=')
        .count();
    from..to + padding
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk
            .iter()
            .fold(0_u32, |bits, &b| bits << 8 | u32::from(b))
            << (8 * (3 - chunk.len()));
        for index in 0..=chunk.len() {
            let letter = (bits >> (18 - 6 * index)).to_be_bytes()[3] & 63;
            out.push(char::from(ALPHABET[usize::from(letter)]));
        }
    }
    out
}

fn decode(run: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(run.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in run {
        let Some(letter) = letter_value(*byte) else {
            continue;
        };
        bits = bits << 6 | u32::from(letter);
        count += 1;
        if count == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
            (bits, count) = (0, 0);
        }
    }
    if count > 1 {
        out.extend_from_slice(&(bits << (6 * (4 - count))).to_be_bytes()[1..count]);
    }
    out
}

fn letter_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

fn is_letter(byte: u8) -> bool {
    letter_value(byte).is_some()
}
