//! Readers for Rust: rustc, clippy, cargo, rustfmt, tests.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"but `[\w-]+` does not have (?:these|that) features?"#,
        "cargo/no-such-feature",
        &[(
            "depends on `b`, with features: `x` but `b` does not have these features.",
            "cargo/no-such-feature",
        )],
    ),
    reader(
        r"^error: no tests to run",
        "cargo-test/no-tests",
        &[("error: no tests to run", "cargo-test/no-tests")],
    ),
    reader(
        r"clippy::(?P<rule>[a-z_-]+)",
        "clippy/$rule",
        &[
            (
                "   = note: `#[warn(clippy::needless_return)]` on by default",
                "clippy/needless_return",
            ),
            (
                "  = note: `-D clippy::redundant-clone` implied by `-D warnings`",
                "clippy/redundant_clone",
            ),
        ],
    ),
    reader(
        r"rust-clippy/[\w.-]+/index\.html#([a-z_]+)",
        "clippy/$1",
        &[(
            concat!(
                "  = help: for further information visit ",
                "https://rust-lang.github.io/rust-clippy/rust-1.95.0/index.html#too_many_ar",
                "guments",
            ),
            "clippy/too_many_arguments",
        )],
    ),
    reader(
        r"^\s*error\[(E\d{4})\]",
        "rustc/$1",
        &[("error[E0308]: mismatched types", "rustc/E0308")],
    ),
    reader(
        concat!(
            r"(?:note|requested on the command line with).*?`",
            r"(?:#\[(?:warn|deny|forbid)\(|-[DF] )(?:rustdoc::)?(?P<rule>[a-z][a-z_-]+)(?:\)\])?`",
        ),
        "rustc-lint/$rule",
        &[
            (
                "   = note: `#[deny(unused_must_use)]` on by default",
                "rustc-lint/unused_must_use",
            ),
            (
                "   = note: `-D unused-imports` implied by `-D warnings`",
                "rustc-lint/unused_imports",
            ),
        ],
    ),
    reader(
        concat!(
            r#"^error: (?P<msg>expected|cannot find (?:macro|attribute|derive macro)|this file c"#,
            r#"ontains an un\w+ delimiter|mismatched closing delimiter|unexpected closing delimi"#,
            r#"ter|unknown start of token|no rules expected|format argument must be|environment "#,
            r#"variable .* not defined)"#,
        ),
        "rustc/$msg",
        &[
            (
                "error: expected one of `;` or `}`, found `let`",
                "rustc/expected",
            ),
            (
                "error: cannot find macro `foo` in this scope",
                "rustc/cannot find macro",
            ),
        ],
    ),
    reader(
        concat!(
            r#"^error\[(banned|rejected|unlicensed|vulnerability|unmaintained|unsound|yanked|dup"#,
            r#"licate|source-not-allowed|license-not-encountered)\]"#,
        ),
        "cargo-deny/$1",
        &[(
            "error[banned]: crate 'foo' is explicitly banned",
            "cargo-deny/banned",
        )],
    ),
    reader(
        r#"\b(RUSTSEC-\d{4}-\d{4})\b"#,
        "cargo-audit/$1",
        &[(
            "ID:        RUSTSEC-2020-0071",
            "cargo-audit/RUSTSEC-2020-0071",
        )],
    ),
    reader(
        r"^error: linking with `[^`]+` failed",
        "rustc/linking",
        &[(
            "error: linking with `cc` failed: exit status: 1",
            "rustc/linking",
        )],
    ),
    reader(
        r"^test .+ \.\.\. FAILED$|^\s+(?:FAIL|TIMEOUT|SIG[A-Z]+) \[\s*[\d.]+s\]",
        "cargo-test/failed",
        &[
            ("test tests::it_adds ... FAILED", "cargo-test/failed"),
            (
                "        FAIL [   0.826s] app::cli it_adds",
                "cargo-test/failed",
            ),
        ],
    ),
    reader(
        r"^thread '.*' (?:\(\d+\) )?panicked at",
        "cargo-test/panic",
        &[(
            "thread 'main' panicked at src/main.rs:4:5:",
            "cargo-test/panic",
        )],
    ),
    reader(
        r"^Diff in .+:\d+:?$|^Diff in .+ at line \d+",
        "rustfmt/unformatted",
        &[("Diff in /home/a/b/src/lib.rs:12:", "rustfmt/unformatted")],
    ),
    reader(
        concat!(
            r"^error: (?P<msg>no matching package named|failed to select a version|failed ",
            r"to (?:load|parse|read|get) [a-z ]+|no such command|package ID specification|",
            r"no (?:bin|example|test|bench) target|no default toolchain|toolchain .* is not ",
            r"installed|couldn't load source)",
        ),
        "cargo/$msg",
        &[
            (
                "error: no matching package named `foo` found",
                "cargo/no matching package named",
            ),
            ("error: no such command: `nextest`", "cargo/no such command"),
            (
                "error: failed to parse manifest at `/a/Cargo.toml`",
                "cargo/failed to parse manifest at",
            ),
        ],
    ),
    reader(
        r"^error: (?:the lock file|cannot update the lock file) .*--locked",
        "cargo/lock-file-out-of-date",
        &[(
            "error: the lock file /a/Cargo.lock needs to be updated but --locked was passed",
            "cargo/lock-file-out-of-date",
        )],
    ),
    reader(
        r"is not supported by the following packages?:|requires rustc \d+\.\d+",
        "cargo/rustc-too-old",
        &[(
            "error: package `foo v1.0.0` cannot be built because it requires rustc 1.90 or newer",
            "cargo/rustc-too-old",
        )],
    ),
    reader(
        r"Blocking waiting for file lock",
        "cargo/waiting for the lock",
        &[(
            "    Blocking waiting for file lock on build directory",
            "cargo/waiting for the lock",
        )],
    ),
];
