//! Signals: what happened in one session that may recur in others.
//!
//! A signal has a name that does not depend on the session, so that the same problem has the same
//! name in another session, in another checkout and under another agent.

use serde::{Deserialize, Serialize};

use crate::RecordId;

/// The version of the names. It changes when the same text would get another name, so that old
/// and new names are never mixed up.
pub const VERSION: u32 = 3;

/// The beginnings of names that stand for compile errors, failing tests and exceptions. Writing
/// code means meeting them; they are a problem only if they recur often.
#[rustfmt::skip]
const ROUTINE: &[&str] = &[
    "bundler/", "cargo-test/", "cc-error/", "clojure/", "csc/", "dartc/", "dotnet-test/",
    "elixir/", "elm/", "exception/", "exunit/", "forge-test/", "ghc/", "go-build/", "go-test/",
    "golangci/typecheck", "javac/", "js-test/failed", "julia/", "junit/", "kotlinc/", "lua/",
    "minitest/", "msvc/", "ocaml/", "php/", "phpunit/", "pytest/", "rspec/", "ruby/", "rustc/",
    "scalac/", "solc/", "swiftc/", "tsc/", "xctest/", "zig/",
];

/// Says whether a name stands for an event of normal work, which the next edit mends.
pub fn is_routine(name: &str) -> bool {
    ROUTINE.iter().any(|start| name.starts_with(start))
}

/// All occurrences of one event in one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    pub kind: SignalKind,
    pub name: String,
    /// An excerpt of the first occurrence.
    pub text: String,
    pub times: u64,
    /// The active time from the first occurrence until it was overcome, or until the session
    /// ended.
    pub ms: u64,
    /// The text that the conversation gained in that time, in tokens.
    pub tokens: u64,
    /// The same action succeeded later.
    pub overcome: bool,
    pub first_record: Option<RecordId>,
    /// The [`VERSION`] that produced the name.
    pub version: u32,
}

impl Signal {
    pub fn new(kind: SignalKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            text: String::new(),
            times: 1,
            ms: 0,
            tokens: 0,
            overcome: false,
            first_record: None,
            version: VERSION,
        }
    }

    /// Adds the occurrences in a later part of the session.
    pub fn join(&mut self, later: &Self) {
        self.times += later.times;
        self.ms += later.ms;
        self.tokens += later.tokens;
        self.overcome = later.overcome;
        self.version = self.version.min(later.version);
    }
}

named_enum! {
    /// What kind of event a signal reports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SignalKind {
        /// A compiler, linter or other program reported a problem.
        Diag = "diag",
        /// One of the agent's own tools refused a call.
        Tool = "tool",
        /// The user refused a call.
        Reject = "reject",
        /// The user contradicted the agent.
        Correction = "correction",
        /// A call was repeated unchanged after it had failed.
        Retry = "retry",
        /// A file was read again although it had not changed.
        Reread = "reread",
        /// A call that installed, downloaded or waited.
        Overhead = "overhead",
        /// The session ended before the work was finished.
        Abandon = "abandon",
        /// One command made another command succeed that had failed before.
        Fixpair = "fixpair",
        /// A path or a command from an instruction file does not exist.
        Instruction = "instruction",
        /// What the whole session cost.
        Cost = "cost",
        /// Which tools and programs ran and which kinds of files changed. It says in which sessions
        /// another signal could have occurred.
        Mix = "mix",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compile_errors_and_failing_tests_are_routine() {
        for name in [
            "rustc/E0308", "tsc/TS2345", "golangci/typecheck", "pytest/AssertionError",
        ] {
            assert!(is_routine(name), "{name}");
        }
        for name in [
            "clippy/needless_return", "golangci/errcheck", "ruff/F401", "git/conflict",
        ] {
            assert!(!is_routine(name), "{name}");
        }
    }

    #[test]
    fn every_kind_has_its_own_name() {
        for &kind in SignalKind::ALL {
            assert_eq!(SignalKind::from_name(kind.name()), Some(kind));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{kind}\""));
        }
    }
}
