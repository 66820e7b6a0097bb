//! Lines that say that something failed, but not what.

use std::sync::LazyLock;

use regex::bytes::{RegexSet, RegexSetBuilder};

/// Forms of lines that task runners, shells and test runners print around the real message.
#[rustfmt::skip]
const WRAPPERS: &[&str] = &[
    concat!(
        r"(?i)^\s*(error: )?(process |script |command |task |program )?(exit(ed)?|returned|",
        r"completed|failed|terminated)( with)?( non-zero)?( exit)?( code| status)?:? ",
        r"?\(?(code )?-?\d+\)?\.?$",
    ),
    r"(?i)exit(ed)? (with )?(a )?(non-zero )?(code|status)",
    r"(?i)exit(ed)? with (code )?-?\d+|exit status \d+",
    concat!(
        r"(?i)^\W*error:? task failed|task failed$|command failed\b|run failed: command|",
        r"recipe .* failed|command finished with error|^task: Failed to run|^NX +Running target|",
        r"^nox > Session|^Failed to compile\.?$|^\*\* \w+ FAILED \*\*$|Compilation failed$",
    ),
    concat!(
        r"^FAIL(ED)?\b|^\s*FAIL\s|^ok\s|^\?\s|^\s*PASS\b|^=== (RUN|CONT|PAUSE|NAME)|^exit ",
        r"status|\[build failed\]",
    ),
    concat!(
        r"(?i)^\W*(found )?\d+ (issues?|errors?|problems?|failing|failed|tests? failed|",
        r"failures?|warnings?|vulnerabilities)\b",
    ),
    r"(?i)^\W*(tests?|test suites|suites|test files|checks):?\s+\d+ (failed|passed)",
    r"(?i)\b(found|reported) \d+ (errors?|problems?|issues?|warnings?)\b",
    r"(?i)errors? (were|was) emitted while|because of errors|due to (\d+ )?previous errors?",
    concat!(
        r"^(g|b|)make(\[\d+\])?: (\*\*\* )?\[|^(g|b|)make(\[\d+\])?: \*\*\* .*Error \d+|",
        r"^ninja: build stopped",
    ),
    concat!(
        r"ELIFECYCLE|^ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL|lerna ERR!|npm (ERR!|error) (A ",
        r"complete|errno|path|command|Lifecycle|Exit|location|workspace|in workspace|",
        r"Failed at|This is probably|Test failed)",
    ),
    concat!(
        r"^error: could not compile|^error: aborting due|^For more information about|^Some ",
        r"errors have detailed|^error: (test|doctest|build) failed|^error: process didn't|",
        r"^error: build failed|\d+ targets? failed",
    ),
    r"^test result: FAILED|^failures:$|^\s*\d+ passed|^=+ .* =+$|short test summary",
    concat!(
        r"^\[?(STARTED|SKIPPED|COMPLETED|FAILED)\b|^\[(STARTED|SKIPPED|COMPLETED|FAILED)\]|",
        r"script failed \(code",
    ),
    concat!(
        r"(?i)build failed( with an exception)?\.?$|^BUILD FAILURE|^FAILURE: Build failed|",
        r"^> Task .* FAILED|^\[ERROR\] (-> \[Help|To see|Re-run|For more|After|\s*$)",
    ),
    concat!(
        r"Sibling tool call errored|^Chunk ID:|^Wall time:|^Process (exited|running)|",
        r"^Original token count|^Total output lines",
    ),
    r"^\[?\d{4}-\d\d-\d\d|^\d{4}/\d\d/\d\d|^\s*at .*[(:]\d|^\s*at [\w.<>$]+ ?\(|^\s+\^|^\s*\d+ \|",
    r"^(collect2|ld|clang\+*|cc|gcc|g\+\+): (error: )?(ld returned|linker command failed)",
    r"^Traceback \(most recent|^During handling of|^Caused by:?$|^\s*File .*, line \d+",
    r"(?i)no errors|\b0 errors|^0 |errors?: 0\b|successfully",
    r"^\s*[-+]{1,3}[^-+\s]|^@@|^diff --git",
];

/// Words with which programs report a problem.
#[rustfmt::skip]
const REPORTS: &[&str] = &[
    r"(?i)^\W*([\w.-]+: )?(fatal|error|err!?|exception|panic|abort(ed)?|denied|refused|critical)\b",
    r"(?i)\b(\w*Error|\w*Exception)\b ?[:\[(]",
    concat!(
        r"(?i)\berror:|\b(cannot|can't|could not|couldn't|unable to|failed to|not found|no ",
        r"such|permission denied|does not exist|unsupported|timed out|unrecognized|",
        r"unexpected|unknown|invalid|missing|not allowed)\b",
    ),
];

/// Says whether a line only says that something failed.
pub(super) fn is_wrapper(line: &str) -> bool {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| compile(WRAPPERS));
    SET.is_match(line.as_bytes())
}

/// Says whether a line reports a problem.
pub(super) fn reports_error(line: &str) -> bool {
    static SET: LazyLock<RegexSet> = LazyLock::new(|| compile(REPORTS));
    SET.is_match(line.as_bytes())
}

/// Compiles patterns with ASCII classes, which keep the automaton small.
fn compile(patterns: &[&str]) -> RegexSet {
    let set = RegexSetBuilder::new(patterns).unicode(false).build();
    set.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::diagnostics;
    use super::*;

    #[test]
    fn wrappers_name_nothing() {
        for text in [
            "Exit code 1",
            "Exit code 1\n[lint] ERROR task failed",
            "FAIL\texample.com/pkg [build failed]",
            "3 issues:",
            "make: *** [Makefile:12: test] Error 2",
            " ELIFECYCLE  Command failed with exit code 2.",
            "error: could not compile `x` (lib) due to 2 previous errors",
            "npm error A complete log of this run can be found in: /tmp/x.log",
            "error Command failed with exit code 1.",
            "error: script \"test\" exited with code 1",
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            "  × Some errors were emitted while running checks.",
            "Found 3 errors.",
            "husky - pre-commit script failed (code 1)",
            "[FAILED] markdownlint --fix [FAILED]",
            "ERROR: \"build\" exited with 2.",
            "FAILURE: Build failed with an exception.",
            "error: Recipe `lint` failed on line 3 with exit code 1",
            "Process completed with exit code 1.",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored",
            "web:lint: ERROR: command finished with error: command (/a) pnpm run lint exited (1)",
            "task: Failed to run task \"test\": exit status 1",
            "** BUILD FAILED **",
            "[error] (Compile / compileIncremental) Compilation failed",
            "Failed to compile.",
            "NX   Running target lint for project web failed",
            "nox > Session tests failed.",
            "lerna ERR! npm run test exited 1 in 'a'",
        ] {
            assert_eq!(diagnostics(text), [], "{text}");
        }
    }

    #[test]
    fn the_patterns_are_valid() {
        assert_eq!(compile(WRAPPERS).len(), WRAPPERS.len());
        assert_eq!(compile(REPORTS).len(), REPORTS.len());
    }
}
