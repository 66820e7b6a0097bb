//! Readers for the tools around the JVM: test runners, linters, Scala, exceptions.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r"there is no POM in this directory",
        "maven/no-pom",
        &[(
            concat!(
                "[ERROR] The goal requires a project but there is no POM in this direct",
                "ory (/w)."
            ),
            "maven/no-pom",
        )],
    ),
    reader(
        concat!(
            r"JAVA_HOME is not set|Could not find tools\.jar|No Java compiler found|Unab",
            r"le to locate a Java Runtime"
        ),
        "jvm/no-jdk",
        &[(
            "ERROR: JAVA_HOME is not set and no 'java' command could be found",
            "jvm/no-jdk",
        )],
    ),
    reader(
        concat!(
            r"Unsupported class file major version|invalid (?:target|source) release|Uns",
            r"upportedClassVersionError"
        ),
        "jvm/wrong-java-version",
        &[(
            "> Unsupported class file major version 65",
            "jvm/wrong-java-version",
        )],
    ),
    reader(
        r"^SDK location not found",
        "android/no-sdk",
        &[(
            "SDK location not found. Define a valid SDK location with ANDROID_HOME",
            "android/no-sdk",
        )],
    ),
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
