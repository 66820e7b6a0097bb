//! Readers for the tools around the JVM: test runners, linters, Scala, exceptions.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        concat!(
            r#"Tests run: \d+, Failures: [1-9]|Tests run: \d+, Failures: \d+, Errors: [1-9]|^[\w"#,
            r#".$]+ > .* FAILED$|org\.opentest4j\.AssertionFailedError|^\s*java\.lang\.Assertion"#,
            r#"Error"#,
        ),
        "junit/failed",
        &[
            (
                "[ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 0",
                "junit/failed",
            ),
            ("ATest > adds FAILED", "junit/failed"),
            (
                "    org.opentest4j.AssertionFailedError at ATest.java:12",
                "junit/failed",
            ),
        ],
    ),
    reader(
        r#"\.kts?:\d+:\d+: .*\((?:[\w-]+:)?([a-z][\w-]+)\)$"#,
        "ktlint/$1",
        &[(
            "/app/A.kt:3:5: Unused import (standard:no-unused-imports)",
            "ktlint/no-unused-imports",
        )],
    ),
    reader(
        r#"\.kts?:\d+:\d+: .*\[([A-Z]\w+)\]$"#,
        "detekt/$1",
        &[(
            "/app/A.kt:3:5: The function foo is too long. [LongMethod]",
            "detekt/LongMethod",
        )],
    ),
    reader(
        r#"\.java:\d+(?::\d+)?: .*\[([A-Z]\w+)\]$"#,
        "checkstyle/$1",
        &[(
            "[ERROR] /a/B.java:3: Missing a Javadoc comment. [MissingJavadocMethod]",
            "checkstyle/MissingJavadocMethod",
        )],
    ),
    reader(
        r#"\.java:\d+:\s+([A-Z]\w+):\t"#,
        "pmd/$1",
        &[(
            "/a/B.java:3:\tUnusedLocalVariable:\tAvoid unused local variables",
            "pmd/UnusedLocalVariable",
        )],
    ),
    reader(
        r#"The following files had format violations"#,
        "spotless/unformatted",
        &[(
            "> The following files had format violations:",
            "spotless/unformatted",
        )],
    ),
    reader(
        concat!(
            r#"\.(?:scala|sc):\d+(?::\d+)?: (?P<msg>not found|type mismatch|value \S+ is not a m"#,
            r#"ember|overloaded|missing argument)"#,
        ),
        "scalac/$msg",
        &[(
            "[error] /app/A.scala:3:5: not found: value x",
            "scalac/not found",
        )],
    ),
    reader(
        r#"\.(?:scala|sc):\d+(?::\d+)?: "#,
        "scalac/error",
        &[(
            "[error] /app/A.scala:3:5: illegal start of expression",
            "scalac/error",
        )],
    ),
    reader(
        concat!(
            r#"^(?:Exception in thread "[^"]*"|Caused by:) ((?:[a-z]\w*\.)*[A-Z]\w*(?:Exception|"#,
            r#"Error))\b"#,
        ),
        "exception/$1",
        &[(
            "Exception in thread \"main\" java.lang.NullPointerException: x",
            "exception/java.lang.NullPointerException",
        )],
    ),
];
