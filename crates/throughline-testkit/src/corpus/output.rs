//! What tools print: source files, test runs, searches, diffs.

use std::fmt::Write;

use super::rng::Rng;
use super::vocabulary::Vocabulary;

/// Returns Rust-like source of about this size.
pub fn source(rng: &mut Rng, words: &Vocabulary, size_bytes: usize) -> String {
    let mut text = format!("//! {}\n\nuse std::fmt;\n", words.sentence(rng));
    while text.len() < size_bytes {
        let (name, of) = (words.snake(rng), words.camel(rng));
        if rng.chance(0.4) {
            let _ = writeln!(text, "\n/// {}", words.sentence(rng));
        } else {
            text.push('\n');
        }
        let _ = writeln!(
            text,
            "pub fn {name}(&self, input: &{of}) -> Result<(), Error> {{"
        );
        for _ in 0..rng.between(2, 9) {
            let _ = writeln!(text, "    {}", statement(rng, words));
        }
        text.push_str("    Ok(())\n}\n");
    }
    text
}

pub fn statement(rng: &mut Rng, words: &Vocabulary) -> String {
    let (a, b) = (words.snake(rng), words.snake(rng));
    match rng.between(0, 7) {
        0 => format!("let {a} = self.{b}(input)?;"),
        1 => format!(
            "if {a}.is_empty() {{ return Err(Error::{}); }}",
            words.camel(rng)
        ),
        2 => format!("for {a} in &self.{b} {{ total += {a}.len(); }}"),
        3 => format!("// {}", words.sentence(rng)),
        4 => format!("assert_eq!({a}, {}, \"{b}\");", rng.between(0, 900)),
        5 => format!(
            "self.{a}.insert(\"{b}\", {}::new({}));",
            words.camel(rng),
            rng.between(1, 64)
        ),
        _ => format!("tracing::debug!({a}, \"{}\");", words.word(rng)),
    }
}

/// Returns a file with line numbers, as reading tools show it.
pub fn numbered(text: &str, separator: char) -> String {
    let mut out = String::with_capacity(text.len() * 9 / 8);
    for (index, line) in text.lines().enumerate() {
        let _ = writeln!(out, "{:>6}{separator}{line}", index + 1);
    }
    out
}

/// Returns a test run and whether it failed.
pub fn test_run(rng: &mut Rng, words: &Vocabulary, size_bytes: usize) -> (String, bool) {
    let failed = rng.chance(0.3);
    let mut out = format!(
        "   Compiling {} v0.{}.{}\n    Finished `test` profile in {}.{:02}s\n\nrunning {} tests\n",
        words.snake(rng),
        rng.between(1, 9),
        rng.between(0, 20),
        rng.between(1, 90),
        rng.between(0, 100),
        rng.between(3, 200),
    );
    while out.len() < size_bytes {
        let _ = writeln!(
            out,
            "test {}::tests::{} ... ok",
            words.snake(rng),
            words.snake(rng)
        );
    }
    if !failed {
        out.push_str("\ntest result: ok. 0 failed; 0 ignored; 0 measured; 0 filtered out\n");
        return (out, false);
    }
    let test = format!("{}::tests::{}", words.snake(rng), words.snake(rng));
    let _ = writeln!(
        out,
        "test {test} ... FAILED\n\nfailures:\n\n---- {test} stdout ----\n\n\
         thread '{test}' panicked at {}:{}:9:\n\
         assertion `left == right` failed: {}\n  left: {}\n right: {}\n\nerror[E0{}]: {}",
        words.path(rng),
        rng.between(10, 400),
        words.sentence(rng),
        rng.between(0, 999),
        rng.between(0, 999),
        rng.between(100, 800),
        words.sentence(rng),
    );
    (out, true)
}

/// Returns the hits of a search.
pub fn hits(rng: &mut Rng, words: &Vocabulary, size_bytes: usize) -> String {
    let mut out = String::new();
    while out.len() < size_bytes.max(60) {
        let (path, statement) = (words.path(rng), statement(rng, words));
        let _ = writeln!(out, "{path}:{}:    {statement}", rng.between(1, 900));
    }
    out
}

/// Returns log lines of a service, a listing or a history.
pub fn shell(rng: &mut Rng, words: &Vocabulary, size_bytes: usize) -> String {
    let mut out = String::new();
    while out.len() < size_bytes.max(40) {
        let _ = match rng.between(0, 4) {
            0 => writeln!(out, "{} {}", rng.hex(7), words.sentence(rng)),
            1 => writeln!(
                out,
                "2026-0{}-1{}T0{}:{}:{}Z  INFO {}: {} status={} elapsed={}ms",
                rng.between(1, 9),
                rng.between(0, 9),
                rng.between(0, 9),
                rng.between(10, 60),
                rng.between(10, 60),
                words.snake(rng),
                words.sentence(rng),
                rng.pick(&["200", "201", "404", "500"]),
                rng.between(1, 900),
            ),
            2 => writeln!(
                out,
                "-rw-r--r-- 1 dev dev {:>7} {}",
                rng.between(40, 90_000),
                words.path(rng)
            ),
            _ => writeln!(out, " M {}", words.path(rng)),
        };
    }
    out
}

/// Returns the lines of a change: what goes and what comes.
pub fn change(rng: &mut Rng, words: &Vocabulary) -> (String, String) {
    let lines = |rng: &mut Rng| {
        let count = rng.between(1, 9);
        let lines: Vec<_> = (0..count)
            .map(|_| format!("    {}", statement(rng, words)))
            .collect();
        lines.join("\n")
    };
    (lines(rng), lines(rng))
}

/// Returns a change as the body of a unified diff.
pub fn diff(rng: &mut Rng, old: &str, new: &str) -> String {
    let at = rng.between(1, 600);
    let (removed, added) = (old.lines().count(), new.lines().count());
    let mut out = format!("@@ -{at},{removed} +{at},{added} @@\n");
    for (sign, text) in [('-', old), ('+', new)] {
        for line in text.lines() {
            let _ = writeln!(out, "{sign}{line}");
        }
    }
    out
}
