//! Private keys that span lines: PEM, OpenSSH, PGP and PuTTY blocks.
//!
//! A block is read word by word, not line by line: its words may be separated by line breaks,
//! spaces (`echo $KEY`), comment and diff signs, line numbers, borders of a table, or quotes of
//! adjacent strings.

use crate::mark;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};

pub(crate) const LITERALS: &[&str] = &["-----BEGIN ", "---- BEGIN ", "Private-Lines:"];

const BLOCK_BYTES_MAX: usize = 64 << 10;
/// An Ed25519 key has 64 characters. Much less is an example or a shortened key.
const BODY_BYTES_MIN: usize = 32;
/// The shortest word that counts as key material by itself. The last one of a key may be shorter.
const MATERIAL_BYTES_MIN: usize = 16;
/// How many words in a row may be something else, such as the header `DEK-Info: …`.
const OTHER_WORDS_MAX: usize = 12;

/// Finds the body of the block whose first line holds the literal at `at`.
pub(crate) fn find(text: &str, at: usize, progress: &mut ScanProgress) -> Option<Detection> {
    if progress.block.skips(at) {
        return None;
    }
    let limit = text.floor_char_boundary(at + BLOCK_BYTES_MAX);
    let block = &text[at..limit];
    let (rule, from) = if block.starts_with("Private-Lines:") {
        ("putty-key", block.find('\n')?)
    } else {
        let label = block.trim_start_matches(['-', ' ']);
        let head = label.floor_char_boundary(80.min(label.len()));
        let title = &label[..label[..head].find("--")?];
        if !title.contains("PRIVATE KEY") {
            return None;
        }
        let rule = if title.contains("PGP") {
            "pgp-private-key"
        } else {
            "private-key"
        };
        let head = block.len() - label.len() + title.len();
        (
            rule,
            head + block[head..].bytes().take_while(|&b| b == b'-').count(),
        )
    };
    let body = read_key_body(&block[from..]);
    progress.count_work(from + body.bytes_read);
    progress.block.skip_to(at + from + body.bytes_read);
    let (start, end) = body
        .span
        .filter(|_| body.material_bytes >= BODY_BYTES_MIN)?;
    Some(Detection {
        rule,
        confidence: Confidence::Certain,
        start: at + from + start,
        end: at + from + end,
    })
}

/// The result of reading a block.
#[derive(Default)]
struct KeyBody {
    /// From the first to the last word of key material.
    span: Option<(usize, usize)>,
    /// Bytes of key material.
    material_bytes: usize,
    /// How many bytes of the block were read.
    bytes_read: usize,
}

fn read_key_body(text: &str) -> KeyBody {
    let mut body = KeyBody::default();
    let mut others = 0;
    // A header such as `DEK-Info: …` is replaced together with the key.
    let mut first_word = None;
    for (at, word) in words(text) {
        body.bytes_read = at + word.len();
        if mark::is_mark(word) {
            others = 0;
            body.material_bytes += MATERIAL_BYTES_MIN;
            continue;
        }
        if word.starts_with("--") && (word.contains("END") || word.contains("BEGIN"))
            || word == "END"
        {
            break;
        }
        let content = strip_line_prefix(word);
        if content.is_empty() {
            continue;
        }
        let start = at + (content.as_ptr() as usize - word.as_ptr() as usize);
        let is_material = content.len() >= MATERIAL_BYTES_MIN && is_key_material(content);
        // The last line of a key is short.
        let is_rest = body.span.is_some() && others == 0 && is_last_line(content);
        if is_material || is_rest {
            let first = body.span.map_or(first_word.unwrap_or(start), |span| span.0);
            body.span = Some((first, start + content.len()));
            body.material_bytes += content.len();
            others = 0;
        } else if !is_number(content) {
            others += 1;
            first_word = first_word.or(Some(start));
            // A key that a log has cut off is followed by prose.
            if others > OTHER_WORDS_MAX
                || body.span.is_some() && others > 1 && !has_end_marker(text, at)
            {
                break;
            }
        }
    }
    body
}

/// True when the block's end marker follows shortly behind `at`.
fn has_end_marker(text: &str, at: usize) -> bool {
    const NEAR_BYTES: usize = 512;
    let near = &text.as_bytes()[at..(at + NEAR_BYTES).min(text.len())];
    memchr::memmem::find(near, b"END ").is_some()
}

/// Returns the words of a block and their offsets. Spaces, quotes, commas and borders separate
/// them.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_gap = |c: char| {
        c.is_whitespace() || "\"'`,;|\\()<>→".contains(c) || ('\u{2500}'..='\u{257f}').contains(&c)
    };
    let mut rest = 0;
    std::iter::from_fn(move || {
        let start = rest + text[rest..].find(|c| !is_gap(c))?;
        let len = text[start..].find(is_gap).unwrap_or(text.len() - start);
        rest = start + len;
        Some((start, &text[start..rest]))
    })
}

/// Removes from a word the `path:12:` that `grep` puts before a line, and comment and diff signs.
fn strip_line_prefix(word: &str) -> &str {
    let mut word = word;
    if let Some((path, rest)) = word.rsplit_once([':', '-'])
        && path.contains(['.', '/', ':'])
        && !word.starts_with("--")
        && rest.bytes().all(is_base64)
    {
        word = rest;
    }
    let word = word.trim_start_matches(['-', '#', '*', '>']);
    let word = match word.strip_prefix('+') {
        // A line of base64 may itself start with a plus; then the length tells.
        Some(rest) if rest.len().is_multiple_of(4) => rest,
        _ => word,
    };
    word.trim_end_matches(['*', ':', '.'])
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

fn is_key_material(word: &str) -> bool {
    let base64 = word.bytes().filter(|&b| is_base64(b)).count();
    base64 == word.len() || word.len() >= 64 && base64 * 10 >= word.len() * 9
}

fn is_last_line(word: &str) -> bool {
    const REST_BYTES_MIN: usize = 2;
    let is_word = word.len() >= 4 && word.bytes().all(|b| b.is_ascii_lowercase());
    word.len() >= REST_BYTES_MIN && word.bytes().all(is_base64) && !is_word && !is_number(word)
}

fn is_number(word: &str) -> bool {
    word.len() <= 6 && word.bytes().all(|b| b.is_ascii_digit() || b == b':')
}
