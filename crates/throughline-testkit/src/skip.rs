//! Tests that need something of the machine: a tool, or a right.
//!
//! On a machine without it such a test is skipped. A skip is never silent: it is written to the
//! file that `THROUGHLINE_SKIPPED` names, which `./test` prints, and it is a failure where
//! `THROUGHLINE_REQUIRE` lists what is missing, as it does in CI.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::panic,
    reason = "tests are told by the environment what the machine must have"
)]

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that the running test is skipped because the machine lacks `what`: one word, such as
/// `mount` or `node`.
///
/// # Panics
///
/// When the environment says that the machine must have it.
#[track_caller]
pub fn skip(what: &str, why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    let report = format!("skipped: {name} needs {what}: {why}");
    let required = std::env::var("THROUGHLINE_REQUIRE").unwrap_or_default();
    let is_required = required
        .split(',')
        .any(|word| word == what || word == "all");
    assert!(!is_required, "{report}");
    eprintln!("{report}");
    if let Some(list) = std::env::var_os("THROUGHLINE_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(&list);
        let written = file.and_then(|mut file| writeln!(file, "{report}"));
        if let Err(error) = written {
            panic!("cannot note a skipped test in {}: {error}", list.display());
        }
    }
}
