//! Readers for build tools, containers, clusters and databases.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r"Execution failed for task '(?::[\w-]+)*:([\w-]+)'",
        "gradle/$1",
        &[(
            "Execution failed for task ':app:compileJava'.",
            "gradle/compileJava",
        )],
    ),
    reader(
        r"Could not resolve all (?:files|dependencies|artifacts)|Could not resolve dependencies",
        "jvm/unresolved-dependencies",
        &[(
            "Could not resolve all files for configuration ':app:x'.",
            "jvm/unresolved-dependencies",
        )],
    ),
    reader(
        r"Failed to execute goal (?:[\w.]+:)?([\w-]+)(?::[\w.-]+)?:([\w-]+)",
        "maven/$1:$2",
        &[(
            concat!(
                "[ERROR] Failed to execute goal org.apache.maven.plugins:maven-surefire-plu",
                "gin:3.0.0:test (default-test)",
            ),
            "maven/maven-surefire-plugin:test",
        )],
    ),
    reader(
        r"\(([A-Z]\w+)\) ?\[Checkstyle\]|\[Checkstyle\].*\[(\w+)\]$",
        "checkstyle/violation",
        &[(
            "[WARN] /a/B.java:3: Missing a Javadoc comment. [Checkstyle] [MissingJavadoc]",
            "checkstyle/violation",
        )],
    ),
    reader(
        r"^CMake Error",
        "cmake/error",
        &[(
            "CMake Error at CMakeLists.txt:3 (find_package):",
            "cmake/error",
        )],
    ),
    reader(
        r"[Nn]o rule to make target [`']([\w./-]+)'",
        "make/no-rule $1",
        &[(
            "make: *** No rule to make target 'lint'.  Stop.",
            "make/no-rule lint",
        )],
    ),
    reader(
        concat!(
            r"Justfile does not contain recipe [`']([\w-]+)|no tasks? ['`]?([\w:-]+)['`]? ",
            r"found|Task ['`]([\w:-]+)['`] not found",
        ),
        "task-runner/unknown-task",
        &[(
            "error: Justfile does not contain recipe `lint`.",
            "task-runner/unknown-task",
        )],
    ),
    reader(
        r"\b(SC\d{4})\b",
        "shellcheck/$1",
        &[(
            "a.sh:3:5: note: Double quote to prevent globbing [SC2086]",
            "shellcheck/SC2086",
        )],
    ),
    reader(
        r"\b(DL[34]\d{3})\b",
        "hadolint/$1",
        &[(
            "Dockerfile:3 DL3008 warning: Pin versions in apt get install",
            "hadolint/DL3008",
        )],
    ),
    reader(
        r"Cannot connect to the Docker daemon|docker daemon is not running|docker\.sock: connect",
        "docker/no-daemon",
        &[(
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
            "docker/no-daemon",
        )],
    ),
    reader(
        r"No such (container|image|service)",
        "docker/no-such-$1",
        &[(
            "Error response from daemon: No such container: db",
            "docker/no-such-container",
        )],
    ),
    reader(
        r"port is already allocated",
        "net/port-in-use",
        &[(
            "Bind for 0.0.0.0:5432 failed: port is already allocated",
            "net/port-in-use",
        )],
    ),
    reader(
        r"pull access denied|manifest unknown|manifest for .* not found",
        "docker/no-such-image",
        &[(
            "Error response from daemon: pull access denied for x",
            "docker/no-such-image",
        )],
    ),
    reader(
        r"Error from server \((\w+)\)",
        "kubectl/$1",
        &[(
            "Error from server (NotFound): pods \"x\" not found",
            "kubectl/NotFound",
        )],
    ),
    reader(
        concat!(
            r"^(?:│|\|)? ?Error: (?P<msg>(?:Unsupported|Missing|Invalid|Reference to|",
            r"Inconsistent|Failed to query)[\w ]+)",
        ),
        "terraform/$msg",
        &[(
            "│ Error: Unsupported argument",
            "terraform/unsupported argument",
        )],
    ),
    reader(
        concat!(
            r"^(?:psql:.*)?ERROR:\s+(relation|column|syntax error|duplicate key|permission ",
            r"denied|function|database)",
        ),
        "postgres/$1",
        &[(
            "ERROR:  relation \"users\" does not exist",
            "postgres/relation",
        )],
    ),
    reader(
        r"psql: error|could not connect to server|SQLSTATE\[?(\w{5})",
        "postgres/no-connection",
        &[(
            "psql: error: connection to server at \"localhost\" failed",
            "postgres/no-connection",
        )],
    ),
];
