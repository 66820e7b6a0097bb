//! In which sessions an event could have occurred.

use memory::SignalKind;

use crate::detect::SessionGroup;

/// What a group of diagnostics is about.
struct Subject {
    /// The beginnings of the diagnostics' names.
    programs: &'static [&'static str],
    /// The endings of the files that they check.
    endings: &'static [&'static str],
    /// The commands that report them.
    commands: &'static [&'static str],
}

#[rustfmt::skip]
const SUBJECTS: &[Subject] = &[
    Subject {
        programs: &["golangci", "go", "go-build", "go-test", "go-vet"],
        endings: &["go"],
        commands: &["go", "golangci-lint"],
    },
    Subject {
        programs: &["rustc", "rustc-lint", "clippy", "cargo", "cargo-test", "rustfmt"],
        endings: &["rs"],
        commands: &["cargo", "rustc"],
    },
    Subject {
        programs: &[
            "tsc", "eslint", "biome", "prettier", "js-test", "js-error", "node", "bundler",
            "playwright",
        ],
        endings: &["ts", "tsx", "js", "jsx", "mjs", "cjs", "vue", "svelte"],
        commands: &["tsc", "eslint", "node"],
    },
    Subject {
        programs: &[
            "ruff", "mypy", "pylint", "pyright", "pytest", "python", "python-format", "pip",
        ],
        endings: &["py", "pyi"],
        commands: &["python", "python3", "pytest", "ruff", "mypy", "pip"],
    },
    Subject {
        programs: &["javac", "kotlinc", "gradle", "maven", "jvm", "checkstyle"],
        endings: &["java", "kt", "kts"],
        commands: &["gradle", "gradlew", "mvn"],
    },
    Subject {
        programs: &["cc", "cc-error", "ld", "cmake", "make"],
        endings: &["c", "cc", "cpp", "h", "hpp"],
        commands: &["make", "cmake", "gcc", "clang"],
    },
    Subject { programs: &["csc", "dotnet"], endings: &["cs"], commands: &["dotnet"] },
    Subject { programs: &["swiftc"], endings: &["swift"], commands: &["swift", "xcodebuild"] },
    Subject {
        programs: &["rubocop", "rspec"],
        endings: &["rb"],
        commands: &["rubocop", "rspec", "bundle"],
    },
    Subject { programs: &["markdownlint"], endings: &["md"], commands: &["markdownlint"] },
    Subject {
        programs: &["npm", "pnpm", "yarn"],
        endings: &[],
        commands: &["npm", "pnpm", "yarn", "npx", "bun"],
    },
];
/// Programs that run whatever the project configured, linters and tests included.
#[rustfmt::skip]
const TASK_RUNNERS: &[&str] = &[
    "bun", "just", "make", "mise", "npm", "nox", "nx", "pnpm", "poetry", "pre-commit", "task",
    "tox", "turbo", "uv", "yarn",
];
/// Programs whose diagnostics are named after themselves.
const COMMANDS: &[&str] = &["git", "gh", "ssh", "docker", "kubectl", "terraform", "rg"];

/// Says whether a session could have been affected. Where the log cannot tell, every session could.
pub(super) fn has_opportunity(kind: SignalKind, name: &str, group: &SessionGroup<'_>) -> bool {
    if is_affected(kind, name, group) {
        return true;
    }
    let mixes = || {
        group
            .signals
            .iter()
            .filter(|signal| signal.kind == SignalKind::Mix)
    };
    let edited = |ending: &str| mixes().any(|mix| mix.name.strip_prefix("edit/") == Some(ending));
    let ran = |program: &str| mixes().any(|mix| mix.name.strip_prefix("run/") == Some(program));
    if kind == SignalKind::Tool && name.starts_with("edit-") {
        return mixes().any(|mix| mix.name.starts_with("edit/"));
    }
    let Some((program, _)) = name.split_once('/').filter(|_| kind == SignalKind::Diag) else {
        return true;
    };
    match SUBJECTS
        .iter()
        .find(|subject| subject.programs.contains(&program))
    {
        Some(subject) => {
            subject.endings.iter().any(|ending| edited(ending))
                || subject
                    .commands
                    .iter()
                    .chain(TASK_RUNNERS)
                    .any(|command| ran(command))
        }
        None if COMMANDS.contains(&program) => ran(program),
        None => mixes().any(|mix| mix.name.starts_with("run/")),
    }
}

/// Says whether the event occurred in a session.
pub(super) fn is_affected(kind: SignalKind, name: &str, group: &SessionGroup<'_>) -> bool {
    let is_missing = kind == SignalKind::Instruction || name.starts_with("path-missing ");
    group.signals.iter().any(|signal| {
        let bare = signal.name.strip_prefix("shell/").unwrap_or(&signal.name);
        (signal.kind == kind && signal.name == name) || (is_missing && bare == name)
    })
}
