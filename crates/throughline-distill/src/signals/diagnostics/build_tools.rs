//! Readers for build tools, containers, clusters and databases.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"^error: (relation|column) ".*" does not exist"#,
        "postgres/$1",
        &[(
            "error: relation \"orders\" does not exist",
            "postgres/relation",
        )],
    ),
    reader(
        r#"\*\*\* missing separator"#,
        "make/missing-separator",
        &[(
            "Makefile:12: *** missing separator.  Stop.",
            "make/missing-separator",
        )],
    ),
    reader(
        concat!(
            r"^Error: template: .*: (?P<msg>nil pointer|undefined variable|error calling|",
            r"can.t evaluate field|function .* not defined)",
        ),
        "helm/template $msg",
        &[(
            "Error: template: a.yaml:1:2: executing \"a\" at <.x.y>: nil pointer evaluating x",
            "helm/template nil pointer",
        )],
    ),
    reader(
        r#"\.proto:\d+:\d+:.*\(([A-Z][A-Z_]+)\)$"#,
        "buf/$1",
        &[(
            "a.proto:3:5:Field name \"userId\" is camel case. (FIELD_LOWER_SNAKE_CASE)",
            "buf/FIELD_LOWER_SNAKE_CASE",
        )],
    ),
    reader(
        r#"^L:\s+\d+ \| P:\s+\d+ \| ([A-Z]{2}\d{2}) "#,
        "sqlfluff/$1",
        &[(
            "L:   3 | P:  10 | LT01 | Expected only single space",
            "sqlfluff/LT01",
        )],
    ),
    reader(
        r"password authentication failed|no pg_hba\.conf entry",
        "postgres/authentication",
        &[(
            "FATAL:  password authentication failed for user \"shop\"",
            "postgres/authentication",
        )],
    ),
    reader(
        r"\bdatabase is locked\b",
        "sql/database-locked",
        &[(
            "sqlite3.OperationalError: database is locked",
            "sql/database-locked",
        )],
    ),
    reader(
        r"UNIQUE constraint failed",
        "sql/unique-constraint",
        &[(
            "sqlite3.IntegrityError: UNIQUE constraint failed: items.id",
            "sql/unique-constraint",
        )],
    ),
    reader(
        r"\bMongo\w*Error: (E\d+)",
        "mongo/$1",
        &[(
            "MongoServerError: E11000 duplicate key error collection: a.b",
            "mongo/E11000",
        )],
    ),
    reader(
        r"^\(error\) ([A-Z]{3,}) ",
        "redis/$1",
        &[(
            "(error) WRONGTYPE Operation against a key holding the wrong kind",
            "redis/WRONGTYPE",
        )],
    ),
    reader(
        r"^CMake Error at \S+ \((\w+)\):",
        "cmake/$1",
        &[(
            "CMake Error at CMakeLists.txt:3 (target_link_libraries):",
            "cmake/target_link_libraries",
        )],
    ),
    reader(
        concat!(
            r#"package configuration file provided by "(\w+)"|providing "Find(\w+)\.cmake"|"#,
            r#"Could NOT find (\w+)"#,
        ),
        "cmake/missing-package $1$2$3",
        &[(
            "  By not providing \"FindBoost.cmake\" in CMAKE_MODULE_PATH this project has",
            "cmake/missing-package Boost",
        )],
    ),
    reader(
        r"^configure: error: (?P<msg>.+)",
        "configure/$msg",
        &[(
            "configure: error: C compiler cannot create executables",
            "configure/c compiler cannot create executables",
        )],
    ),
    reader(
        r"container name .* is already in use",
        "docker/name-in-use",
        &[(
            concat!(
                "Error response from daemon: Conflict. The container name \"/db\" is alre",
                "ady in use"
            ),
            "docker/name-in-use",
        )],
    ),
    reader(
        r"[Dd]ockerfile parse error|unknown instruction: ",
        "docker/invalid-dockerfile",
        &[(
            concat!(
                "ERROR: failed to solve: dockerfile parse error on line 3: unknown inst",
                "ruction: RNU"
            ),
            "docker/invalid-dockerfile",
        )],
    ),
    reader(
        r"connection to the server \S+ was refused",
        "kubectl/no-connection",
        &[(
            "The connection to the server localhost:8080 was refused - did you specify",
            "kubectl/no-connection",
        )],
    ),
    reader(
        r"error validating data|unable to recognize \S+\.ya?ml",
        "kubectl/invalid-manifest",
        &[(
            "error: error validating \"a.yaml\": error validating data: unknown field \"x\"",
            "kubectl/invalid-manifest",
        )],
    ),
    reader(
        r"^(?:Warning|Error|Notice): .*\((terraform_\w+)\)",
        "tflint/$1",
        &[(
            concat!(
                "Warning: variable \"x\" is declared but not used (terraform_unused_decla",
                "rations)"
            ),
            "tflint/terraform_unused_declarations",
        )],
    ),
    reader(
        concat!(
            r"^yaml: line \d+|yaml: unmarshal errors|ScannerError: |ParserError: while p",
            r"arsing a block"
        ),
        "yaml/invalid",
        &[("yaml: line 9: did not find expected key", "yaml/invalid")],
    ),
    reader(
        r"^mise ERROR no tasks? (?:named )?[\w:-]+ found|^task: Task .* does not exist",
        "task-runner/unknown-task",
        &[(
            "mise ERROR no tasks named lint found",
            "task-runner/unknown-task",
        )],
    ),
    reader(
        r"^E: Unable to locate package (\S+)",
        "apt/no-package $1",
        &[("E: Unable to locate package foo", "apt/no-package foo")],
    ),
    reader(
        r"Could not get lock /var/lib/(?:dpkg|apt)",
        "apt/locked",
        &[(
            "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 9",
            "apt/locked",
        )],
    ),
    reader(
        r"No available formula (?:or cask )?with the name",
        "brew/no-formula",
        &[(
            "Error: No available formula with the name \"fooo\".",
            "brew/no-formula",
        )],
    ),
    reader(
        r"^direnv: error .* is blocked",
        "direnv/blocked",
        &[(
            concat!(
                "direnv: error /w/.envrc is blocked. Run `direnv allow` to approve its ",
                "content"
            ),
            "direnv/blocked",
        )],
    ),
    reader(
        r"^No version is set for command (\S+)",
        "asdf/no-version $1",
        &[("No version is set for command node", "asdf/no-version node")],
    ),
    reader(
        r"^nginx: \[emerg\] (?P<msg>\w+ \w+)",
        "nginx/$msg",
        &[(
            "nginx: [emerg] unknown directive \"servr\" in /etc/nginx/nginx.conf:3",
            "nginx/unknown directive",
        )],
    ),
    reader(
        r"^\s+❯+❱ (\S+)|^❯+❱ (\S+)",
        "semgrep/$1$2",
        &[(
            "❯❯❱ python.lang.security.audit.eval-detected",
            "semgrep/python.lang.security.audit.eval-detected",
        )],
    ),
    reader(
        r"\bleaks found: [1-9]",
        "gitleaks/leak",
        &[("1:00PM WRN leaks found: 1", "gitleaks/leak")],
    ),
    reader(
        concat!(
            r"^\s+\d+:\d+\s+(?:error|warning|suggestion)\s+.*\s{2,}([A-Z][A-Za-z]+\.[A-Z",
            r"]\w+)$"
        ),
        "vale/$1",
        &[(
            " 3:5  error  Use 'x' instead of 'y'.  Vale.Terms",
            "vale/Vale.Terms",
        )],
    ),
    reader(
        r" - Unknown word \(",
        "cspell/unknown-word",
        &[("a.ts:3:5 - Unknown word (fooo)", "cspell/unknown-word")],
    ),
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
        r"^CMake Error",
        "cmake/error",
        &[("CMake Error: Could not find CMAKE_ROOT !!!", "cmake/error")],
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
            r"found|Task ['`]([\w:-]+)['`] not found|Cannot locate tasks that match",
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
        r#"permission denied while trying to connect to the [Dd]ocker"#,
        "docker/no-permission",
        &[(
            concat!(
                "permission denied while trying to connect to the Docker daemon socket at unix://",
                "/var/run/docker.sock",
            ),
            "docker/no-permission",
        )],
    ),
    reader(
        r#"failed to compute cache key|failed to calculate checksum"#,
        "docker/missing-file",
        &[(
            "ERROR: failed to compute cache key: \"/foo\": not found",
            "docker/missing-file",
        )],
    ),
    reader(
        r#"failed to solve: process "#,
        "docker/build-failed",
        &[(
            concat!(
                "ERROR: failed to solve: process \"/bin/sh -c npm ci\" did not complete successfu",
                "lly: exit code: 1",
            ),
            "docker/build-failed",
        )],
    ),
    reader(
        r#"no configuration file provided"#,
        "docker/no-compose-file",
        &[(
            "no configuration file provided: not found",
            "docker/no-compose-file",
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
        r"[Nn]o such (container|image|service): ",
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
            r#"^(?:(?:│|\|) )?Error: (?P<msg>Unsupported (?:argument|block type|attribute)|Missi"#,
            r#"ng required argument|Invalid (?:reference|function argument|value for|index|for_e"#,
            r#"ach|count|provider)|Reference to undeclared \w+|Inconsistent dependency|Failed to"#,
            r#" query)"#,
        ),
        "terraform/$msg",
        &[
            (
                "│ Error: Unsupported argument",
                "terraform/unsupported argument",
            ),
            (
                "Error: Reference to undeclared resource",
                "terraform/reference to undeclared resource",
            ),
        ],
    ),
    reader(
        r"^│ Error: (?P<msg>[^:]+)",
        "terraform/$msg",
        &[(
            "│ Error: Error acquiring the state lock",
            "terraform/error acquiring the state lock",
        )],
    ),
    reader(
        concat!(
            r"^(?:psql:.*)?(?:ERROR:|error: error returned from database:)\s+",
            r"(relation|column|syntax error|duplicate key|permission ",
            r"denied|function|database)",
        ),
        "postgres/$1",
        &[(
            "ERROR:  relation \"users\" does not exist",
            "postgres/relation",
        )],
    ),
    reader(
        r"psql: error|could not connect to server",
        "postgres/no-connection",
        &[(
            "psql: error: connection to server at \"localhost\" failed",
            "postgres/no-connection",
        )],
    ),
    reader(
        r#"SQLSTATE\[(\w{5})\]"#,
        "sql/$1",
        &[(
            "SQLSTATE[42S02]: Base table or view not found: 1146 Table 'a.b' doesn't exist",
            "sql/42S02",
        )],
    ),
    reader(
        r#"^ERROR (\d{4}) \(\w{5}\)"#,
        "mysql/$1",
        &[(
            "ERROR 1045 (28000): Access denied for user 'root'@'localhost'",
            "mysql/1045",
        )],
    ),
    reader(
        r#"no such (table|column): "#,
        "sql/no-such-$1",
        &[("Error: in prepare, no such table: foo", "sql/no-such-table")],
    ),
    reader(
        r#"An error occurred \((\w+)\) when calling the"#,
        "aws/$1",
        &[(
            concat!(
                "An error occurred (AccessDenied) when calling the ListBuckets operation: Access ",
                "Denied",
            ),
            "aws/AccessDenied",
        )],
    ),
    reader(
        r#"Unable to locate credentials|NoCredentialsError|ExpiredToken\b"#,
        "aws/no-credentials",
        &[(
            "Unable to locate credentials. You can configure them by running \"aws configure\".",
            "aws/no-credentials",
        )],
    ),
    reader(
        r#"ERROR: \(gcloud\.[\w.-]+\) ([A-Z_]{4,})"#,
        "gcloud/$1",
        &[(
            "ERROR: (gcloud.run.deploy) PERMISSION_DENIED: Permission denied on resource",
            "gcloud/PERMISSION_DENIED",
        )],
    ),
    reader(
        r#"^Error: (?:INSTALLATION|UPGRADE|UNINSTALLATION) FAILED: (?P<msg>.+)"#,
        "helm/$msg",
        &[(
            "Error: INSTALLATION FAILED: cannot re-use a name that is still in use",
            "helm/cannot re-use a name that is still in use",
        )],
    ),
    reader(
        r#"the server doesn't have a resource type"#,
        "kubectl/unknown-resource",
        &[(
            "error: the server doesn't have a resource type \"foos\"",
            "kubectl/unknown-resource",
        )],
    ),
    reader(
        r#"^fatal: \[[^\]]+\]: (FAILED|UNREACHABLE)!"#,
        "ansible/$1",
        &[(
            "fatal: [host1]: FAILED! => {\"changed\": false}",
            "ansible/FAILED",
        )],
    ),
    reader(
        r#"^error: attribute '.*' missing"#,
        "nix/missing-attribute",
        &[("error: attribute 'foo' missing", "nix/missing-attribute")],
    ),
    reader(
        r#"meson\.build:\d+:\d+: ERROR: "#,
        "meson/error",
        &[(
            "meson.build:3:0: ERROR: Dependency \"foo\" not found, tried pkgconfig",
            "meson/error",
        )],
    ),
    reader(
        concat!(
            r#"^ERROR: .*(?:BUILD|\.bzl|MODULE|//).*?: (?P<msg>no such target|no such package|"#,
            r#"[\w ]+ not found)"#,
        ),
        "bazel/$msg",
        &[(
            "ERROR: /app/BUILD:3:11: no such target '//a:b': target 'b' not declared",
            "bazel/no such target",
        )],
    ),
    reader(
        r#"^- hook id: ([\w-]+)"#,
        "pre-commit/$1",
        &[(
            "- hook id: trailing-whitespace",
            "pre-commit/trailing-whitespace",
        )],
    ),
    reader(
        r#"\.github/workflows/\S+:\d+:\d+: .*\[([\w-]+)\]$"#,
        "actionlint/$1",
        &[(
            ".github/workflows/a.yml:3:5: property \"foo\" is not defined [expression]",
            "actionlint/expression",
        )],
    ),
    reader(
        r#"^\s+\d+:\d+\s+error\s+.*\s{2}\(([\w-]+)\)$"#,
        "yamllint/$1",
        &[(
            "  3:5       error    wrong indentation: expected 4 but found 2  (indentation)",
            "yamllint/indentation",
        )],
    ),
    reader(
        r#"^✖\s+.*\[([a-z-]+)\]$"#,
        "commitlint/$1",
        &[(
            "✖   subject may not be empty [subject-empty]",
            "commitlint/subject-empty",
        )],
    ),
    reader(
        r#":\d+: \S+ ==> \S"#,
        "codespell/typo",
        &[("a.md:3: teh ==> the", "codespell/typo")],
    ),
    reader(
        r#"\.proto:\d+:\d+: ?(?P<msg>.+)"#,
        "protoc/$msg",
        &[(
            "a.proto:3:5: \"Foo\" is not defined.",
            "protoc/is not defined",
        )],
    ),
];
