//! Private keys that span lines: PEM, OpenSSH, PGP and PuTTY blocks.

use super::scan::{Found, Tier, floor};

/// What brings the automaton here.
pub(super) const LITERALS: &[&str] = &["-----BEGIN ", "---- BEGIN ", "Private-Lines:"];

const BLOCK_BYTES_MAX: usize = 64 << 10;
/// An Ed25519 key has 64 characters; less is an example or an elision.
const BODY_BYTES_MIN: usize = 32;

/// Finds the body of the block whose first line holds the literal at `at`.
pub(super) fn find(text: &str, at: usize) -> Option<Found> {
    let limit = floor(text, (at + BLOCK_BYTES_MAX).min(text.len()));
    let block = &text[at..limit];
    let (rule, from, wanted) = if block.starts_with("Private-Lines:") {
        let line = block.find('\n')?;
        let count: usize = block["Private-Lines:".len()..line].trim().parse().ok()?;
        ("putty-key", line, count.min(200))
    } else {
        let label = block.trim_start_matches(['-', ' ']);
        let head = label.find("--").filter(|&len| len < 80)?;
        let title = &label[..head];
        if !title.contains("PRIVATE KEY") {
            return None;
        }
        let rule = if title.contains("PGP") {
            "pgp-private-key"
        } else {
            "private-key"
        };
        let head = block.len() - label.len() + head;
        (
            rule,
            head + block[head..].bytes().take_while(|&b| b == b'-').count(),
            usize::MAX,
        )
    };
    let (start, end) = body(&block[from..], wanted)?;
    Some(Found {
        rule,
        tier: Tier::Certain,
        start: at + from + start,
        end: at + from + end,
    })
}

/// The stretch from the first to the last line of key material.
fn body(text: &str, wanted: usize) -> Option<(usize, usize)> {
    let stop = end_line(text);
    let closed = stop.is_some();
    let text = &text[..stop.unwrap_or(text.len())];
    let (mut start, mut end, mut size, mut lines) = (None, 0, 0, 0);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let (lead, content) = content(line);
        // A quote inside the line ends the string the block is in.
        let (content, ends) = match content.find(['"', '\'', '`']) {
            Some(quote) => (&content[..quote], true),
            None => (content, false),
        };
        if !content.is_empty() {
            let material = is_material(content);
            if !closed && !material && !is_header(content) {
                break;
            }
            start.get_or_insert(at + lead);
            end = at + lead + content.len();
            if material {
                size += content.len();
            }
            lines += 1;
            if lines >= wanted {
                break;
            }
        }
        if ends {
            break;
        }
        at += line.len();
    }
    (size >= BODY_BYTES_MIN).then_some((start?, end))
}

fn end_line(text: &str) -> Option<usize> {
    let at = memchr::memmem::find(text.as_bytes(), b"-- END ")
        .or_else(|| memchr::memmem::find(text.as_bytes(), b"--END "))?;
    let dashes = text[..at].bytes().rev().take_while(|&b| b == b'-').count();
    Some(at - dashes)
}

/// What is left of a line without line numbers, diff marks, quotes and escapes; and where it starts.
fn content(line: &str) -> (usize, &str) {
    let mut rest = line;
    for _ in 0..3 {
        rest = rest.trim_start();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = &rest[digits..];
        let unnumbered = numbered.strip_prefix(['→', '\t', '|', ':']);
        if let Some(after) = unnumbered.filter(|_| (1..=6).contains(&digits)) {
            rest = after;
            continue;
        }
        // `path/to/file:12:` as grep writes it.
        let file = rest
            .find(':')
            .filter(|&at| at < 120 && rest[..at].contains(['.', '/']));
        if let Some(at) = file {
            let after = &rest[at + 1..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 && after[digits..].starts_with([':', '-']) {
                rest = &after[digits + 1..];
                continue;
            }
        }
        let marks = rest.trim_start_matches(['"', '\'', '>', '|', '#', '*', '`', ',']);
        let marks = if marks.len() == rest.len() && line.len() - rest.len() < 2 {
            rest.strip_prefix(['+', '-']).unwrap_or(rest)
        } else {
            marks
        };
        if marks.len() == rest.len() {
            break;
        }
        rest = marks;
    }
    let lead = line.len() - rest.len();
    let tail = rest.trim_end_matches(|c: char| c.is_whitespace() || "\"'`,;+\\()".contains(c));
    // A trailing `\n` that no view decoded, as in Python's adjacent strings.
    let tail = tail.strip_suffix("\\n").unwrap_or(tail);
    (lead, tail)
}

fn is_material(line: &str) -> bool {
    let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    line.len() >= 4 && line.bytes().all(base64)
        || line.len() >= 64
            && line.bytes().filter(|&b| base64(b)).count() * 10 >= line.len() * 9
            && !line.contains(' ')
}

fn is_header(line: &str) -> bool {
    [
        "Proc-Type:",
        "DEK-Info:",
        "Version:",
        "Comment:",
        "Hash:",
        "Charset:",
        "Subject:",
        "Bag Attributes",
    ]
    .iter()
    .any(|head| line.starts_with(head))
}
