//! Fingerprints of errors: the same error gets the same fingerprint in another checkout, on another
//! line and at another time.
//!
//! The text of an error is reduced to its most informative line, and that line to the words that do
//! not depend on place and time. The subject of the error (the name of a missing module, an error
//! code) stays, because another subject is another error.

use serde::{Deserialize, Serialize};

/// The number of bytes that are scanned at either end; the informative line is at one of them.
const SCANNED_BYTES: usize = 8 << 10;
/// The rest of a longer line does not help to identify the error.
const LINE_BYTES_MAX: usize = 400;
/// Twelve hexadecimal digits are enough to distinguish the errors of one machine.
const NAME_BYTES: usize = 6;

/// Identifies an error.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ErrorFingerprint(String);

impl ErrorFingerprint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ErrorFingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the fingerprint of the error that a text reports.
pub fn fingerprint(text: &str) -> ErrorFingerprint {
    let normal = normalize_line(&error_line(text));
    let hash = blake3::hash(normal.as_bytes());
    ErrorFingerprint(
        hash.as_bytes()[..NAME_BYTES]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect(),
    )
}

/// Returns the input of the fingerprint: the words of a line that do not depend on place and time,
/// and placeholders such as `<path>` for the others.
pub fn normalized_line(line: &str) -> String {
    normalize_line(line).trim().to_owned()
}

/// Returns the line of an error's text that says what failed.
pub fn error_line(text: &str) -> String {
    let plain = without_escapes(&both_ends(text));
    let lines = || plain.lines().map(str::trim).filter(|line| has_words(line));
    let python = plain.contains("Traceback (most recent call last)");
    let is_raised = |line: &&str| {
        let name = line.split(':').next().unwrap_or_default();
        name.ends_with("Error") || name.ends_with("Exception") || name.ends_with("Exit")
    };
    let found = if python {
        lines().rfind(is_raised)
    } else {
        None
    };
    let line = found
        .or_else(|| lines().find(|line| mentions_error(line)))
        .or_else(|| lines().next())
        .unwrap_or_default();
    line[..line.floor_char_boundary(LINE_BYTES_MAX)].to_owned()
}

fn both_ends(text: &str) -> String {
    if text.len() <= 2 * SCANNED_BYTES {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(SCANNED_BYTES)];
    let tail = &text[text.ceil_char_boundary(text.len() - SCANNED_BYTES)..];
    format!("{head}\n{tail}")
}

/// Removes terminal escape sequences.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            chars.by_ref().find(char::is_ascii_alphabetic);
        } else {
            out.push(c);
        }
    }
    out
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphabetic)
}

/// Words with which tools report an error.
#[rustfmt::skip]
const ERROR_WORDS: &[&str] = &[
    "error", "exception", "panicked", "fatal", "cannot", "can't", "could not", "not found",
    "no such", "denied", "refused", "failed", "does not exist", "unsupported", "timed out",
];

fn mentions_error(line: &str) -> bool {
    let lower = line.to_lowercase();
    // "0 errors" and "no errors" report success.
    ERROR_WORDS.iter().any(|word| lower.contains(word))
        && !lower.starts_with("0 ")
        && !lower.contains("0 errors")
        && !lower.contains("no errors")
}

/// Replaces the words of a line that depend on place and time by placeholders.
fn normalize_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut before = String::new();
    for token in line.split(|c: char| c.is_whitespace() || QUOTES.contains(&c)) {
        let token = token.trim_matches(|c: char| c.is_ascii_punctuation() && c != '/' && c != '#');
        if token.is_empty() {
            continue;
        }
        let lower = token.to_lowercase();
        let word = normalize_token(&lower, &before);
        if !(word.starts_with('<') && out.ends_with(word)) {
            out.push(' ');
            out.push_str(word);
        }
        before = lower;
    }
    out
}

const QUOTES: &[char] = &['\'', '"', '`', '‘', '’', '“', '”', '«', '»'];
/// A number after one of these words is an error code and is kept.
const CODE_WORDS: &[&str] = &["exit", "code", "status", "errno", "http", "signal", "error"];
/// A name without a slash is a file if it has one of these extensions.
const EXTENSIONS: &[&str] = &[
    "c", "cc", "cfg", "cpp", "css", "go", "h", "html", "ini", "java", "js", "json", "jsonl", "jsx",
    "kt", "lock", "log", "md", "mjs", "php", "py", "rb", "rs", "sh", "sql", "swift", "toml", "ts",
    "tsx", "txt", "xml", "yaml", "yml",
];

fn normalize_token<'t>(token: &'t str, before: &str) -> &'t str {
    if is_path(token) {
        "<path>"
    } else if is_time(token) {
        "<time>"
    } else if token.starts_with(|c: char| c.is_ascii_digit()) && !is_id(token) {
        if CODE_WORDS.contains(&before) && token.len() <= 3 {
            token
        } else {
            "<number>"
        }
    } else if is_id(token) {
        "<id>"
    } else {
        token
    }
}

fn is_path(token: &str) -> bool {
    if token.contains('/') && token.len() > 1 || token.contains(":\\") {
        return true;
    }
    let name = token.split(':').next().unwrap_or_default();
    name.rsplit_once('.')
        .is_some_and(|(stem, end)| !stem.is_empty() && EXTENSIONS.contains(&end))
}

fn is_time(token: &str) -> bool {
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let marks = token.bytes().filter(|b| b":-.tz+".contains(b)).count();
    digits >= 4 && marks >= 2 && digits + marks == token.len()
}

/// Says whether a token is a hash, an address or another generated name.
fn is_id(token: &str) -> bool {
    let bare = token.strip_prefix("0x").unwrap_or(token);
    let digits = token.bytes().filter(u8::is_ascii_digit).count();
    let is_hex = |text: &str| text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let hex = is_hex(bare) && (bare.len() >= 7 || bare.len() < token.len());
    let letters = token.bytes().any(|b| b.is_ascii_alphabetic());
    let plain = token
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    (hex && digits > 0 && (letters || bare.len() >= 12))
        || (plain && letters && token.len() > 8 && digits >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_marked() {
        assert_eq!(
            normalized_line("at 0x7ffe12 after 12 ms in /a/b.rs"),
            "at <id> after <number> ms in <path>"
        );
    }

    /// Each row is one error, reported in several forms.
    const SAME: &[&[&str]] = &[
        &[
            "error[E0308]: mismatched types\n --> src/main.rs:12:5",
            "error[E0308]: mismatched types\n  --> /home/me/other/src/lib.rs:400:17",
        ],
        &[
            "cat: /home/a/x.toml: No such file or directory",
            "cat: '/tmp/run-77/y.toml': No such file or directory",
            "\u{1b}[31mcat: missing/config.toml: No such file or directory\u{1b}[0m",
        ],
        &[
            "Traceback (most recent call last):\n  File \"/a/b.py\", line 3, in <module>\n\
             ModuleNotFoundError: No module named 'yaml'",
            "Traceback (most recent call last):\n  File \"c.py\", line 88, in f\n    import yaml\n\
             ModuleNotFoundError: No module named \"yaml\"",
        ],
        &[
            "thread 'main' panicked at src/a.rs:10:3:\nindex out of bounds",
            "thread 'main' panicked at crates/b/src/a.rs:99:14:\nindex out of bounds",
        ],
        &[
            "2026-01-05T09:00:00Z ERROR request 3f9a1c2b77de failed after 120ms",
            "2026-11-15T23:59:59Z ERROR request 9b8c7d6e5f40 failed after 7ms",
        ],
        &[
            "fatal: bad object 5cf8ed6aa0", "fatal: bad object 15e0538b1c",
        ],
        &[
            "process 4711 exited: exit code 2, error",
            "process 12 exited: exit code 2, error",
        ],
    ];

    /// No two of these are the same error.
    const DIFFERENT: &[&str] = &[
        "error[E0308]: mismatched types",
        "error[E0433]: failed to resolve: use of undeclared crate",
        "ModuleNotFoundError: No module named 'yaml'",
        "ModuleNotFoundError: No module named 'toml'",
        "cat: /a/b: No such file or directory",
        "cat: /a/b: Permission denied",
        "request failed with status 401",
        "request failed with status 500",
        "Command failed with exit code 1",
        "Command failed with exit code 127",
        "unsupported call: memory_search",
        "error TS2322: Type 'string' is not assignable",
        "error TS2345: Type 'string' is not assignable",
    ];

    #[test]
    fn the_same_error_elsewhere_has_the_same_name() {
        for row in SAME {
            for other in &row[1..] {
                let (a, b) = (
                    normalize_line(&error_line(row[0])),
                    normalize_line(&error_line(other)),
                );
                assert_eq!(a, b);
                assert_eq!(fingerprint(row[0]), fingerprint(other));
            }
        }
    }

    #[test]
    fn another_error_has_another_name() {
        for (at, one) in DIFFERENT.iter().enumerate() {
            for other in &DIFFERENT[at + 1..] {
                assert_ne!(fingerprint(one), fingerprint(other), "{one} / {other}");
            }
        }
    }

    #[test]
    fn the_telling_line_is_found() {
        let log = "running 3 tests\nok\nerror: it broke\nsee above";
        assert_eq!(error_line(log), "error: it broke");
        assert_eq!(error_line("\n\n---\nplain words\n"), "plain words");
        assert_eq!(error_line(""), "");
        assert_eq!(error_line("0 errors\nfatal: gone"), "fatal: gone");
        let long = format!("{}\nfatal: at the end", "x\n".repeat(100_000));
        assert_eq!(error_line(&long), "fatal: at the end");
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_name(text in "\\PC{0,200}(\n\\PC{0,80}){0,4}") {
            let name = fingerprint(&text);
            proptest::prop_assert_eq!(name.as_str().len(), 2 * NAME_BYTES);
            proptest::prop_assert_eq!(name, fingerprint(&text));
        }
    }
}
