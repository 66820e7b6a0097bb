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
        programs: &[
            "golangci", "go", "go-build", "go-test", "go-vet", "gofmt", "staticcheck",
        ],
        endings: &["go"],
        commands: &["go", "golangci-lint", "gofmt", "staticcheck"],
    },
    Subject {
        programs: &[
            "rustc", "rustc-lint", "clippy", "cargo", "cargo-test", "cargo-deny", "cargo-audit",
            "rustfmt",
        ],
        endings: &["rs"],
        commands: &["cargo", "rustc"],
    },
    Subject {
        programs: &[
            "tsc", "eslint", "oxlint", "biome", "prettier", "js-test", "node", "bundler",
            "playwright", "svelte-check", "prisma", "deno",
        ],
        endings: &["ts", "tsx", "js", "jsx", "mjs", "cjs", "vue", "svelte"],
        commands: &["tsc", "eslint", "node", "npx", "deno"],
    },
    Subject {
        programs: &["stylelint"],
        endings: &["css", "scss", "less", "vue", "svelte"],
        commands: &["stylelint"],
    },
    Subject {
        programs: &[
            "ruff", "mypy", "pylint", "pyright", "pytest", "python", "python-format", "pip",
            "isort", "ty", "bandit", "uv", "poetry",
        ],
        endings: &["py", "pyi"],
        commands: &["python", "python3", "pytest", "ruff", "mypy", "pip"],
    },
    Subject {
        programs: &[
            "javac", "kotlinc", "scalac", "gradle", "maven", "jvm", "junit", "checkstyle", "pmd",
            "ktlint", "detekt", "spotless",
        ],
        endings: &["java", "kt", "kts", "scala"],
        commands: &["gradle", "gradlew", "mvn", "sbt"],
    },
    Subject {
        programs: &[
            "cc", "cc-error", "msvc", "ld", "cmake", "make", "meson", "clang-tidy", "sanitizer",
            "configure",
        ],
        endings: &["c", "cc", "cpp", "cxx", "h", "hpp"],
        commands: &["make", "cmake", "gcc", "clang", "meson", "ninja"],
    },
    Subject {
        programs: &["csc", "dotnet", "dotnet-test", "dotnet-analyzer", "dotnet-format"],
        endings: &["cs", "csproj"],
        commands: &["dotnet"],
    },
    Subject {
        programs: &["swiftc", "swiftlint", "xctest", "xcode"],
        endings: &["swift"],
        commands: &["swift", "xcodebuild", "swiftlint"],
    },
    Subject {
        programs: &["rubocop", "rspec", "ruby", "minitest", "bundle", "rake"],
        endings: &["rb"],
        commands: &["rubocop", "rspec", "bundle", "ruby", "rake", "rails"],
    },
    Subject {
        programs: &["php", "phpunit", "phpstan", "phpcs", "php-cs-fixer", "composer"],
        endings: &["php"],
        commands: &["php", "composer", "phpunit", "phpstan"],
    },
    Subject {
        programs: &["elixir", "exunit", "credo", "mix"],
        endings: &["ex", "exs"],
        commands: &["mix"],
    },
    Subject { programs: &["dart", "dartc"], endings: &["dart"], commands: &["dart", "flutter"] },
    Subject { programs: &["ghc"], endings: &["hs"], commands: &["ghc", "cabal", "stack"] },
    Subject { programs: &["ocaml"], endings: &["ml", "mli"], commands: &["dune", "ocaml"] },
    Subject { programs: &["zig"], endings: &["zig"], commands: &["zig"] },
    Subject { programs: &["lua", "luacheck"], endings: &["lua"], commands: &["lua"] },
    Subject { programs: &["shellcheck"], endings: &["sh", "bash"], commands: &["shellcheck"] },
    Subject { programs: &["buf", "protoc"], endings: &["proto"], commands: &["buf", "protoc"] },
    Subject { programs: &["sqlfluff"], endings: &["sql"], commands: &["sqlfluff"] },
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
