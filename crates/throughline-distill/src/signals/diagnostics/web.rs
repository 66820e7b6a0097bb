//! Readers for JavaScript and TypeScript: tsc, linters, test runners, Node, package managers.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"^\s+\d+:\d+\s+error\s+Parsing error: "#,
        "eslint/parsing-error",
        &[(
            "  12:3  error  Parsing error: Unexpected token )",
            "eslint/parsing-error",
        )],
    ),
    reader(
        r#"^\S+\.\w+: SyntaxError: .*\(\d+:\d+\)$"#,
        "prettier/SyntaxError",
        &[(
            "[error] src/a.ts: SyntaxError: '}' expected. (12:1)",
            "prettier/SyntaxError",
        )],
    ),
    reader(
        r#"No projects matched the filters"#,
        "pnpm/no-project",
        &[(
            "No projects matched the filters in \"/w\"",
            "pnpm/no-project",
        )],
    ),
    reader(
        r#"(?:NotCapable|PermissionDenied): Requires (\w+) access"#,
        "deno/permission $1",
        &[(
            "error: Uncaught (in promise) NotCapable: Requires read access to \"./x\"",
            "deno/permission read",
        )],
    ),
    reader(
        r"ESLint couldn't find (?:an eslint\.config|a configuration file)",
        "eslint/no-config",
        &[(
            "ESLint couldn't find an eslint.config.(js|mjs|cjs) file.",
            "eslint/no-config",
        )],
    ),
    reader(
        r"Executable doesn't exist at .*ms-playwright",
        "playwright/missing-browser",
        &[(
            concat!(
                "Error: browserType.launch: Executable doesn't exist at /a/ms-playwrigh",
                "t/chrome"
            ),
            "playwright/missing-browser",
        )],
    ),
    reader(
        r#"Couldn't find package \"([\w@/.-]+)\""#,
        "npm/no-package $1",
        &[(
            concat!(
                "error Couldn't find package \"foo\" required by \"web@1.0.0\" on the \"npm\"",
                " registry."
            ),
            "npm/no-package foo",
        )],
    ),
    reader(
        r"\berror TS(\d{3,6}):",
        "tsc/TS$1",
        &[
            (
                "src/a.ts(12,5): error TS2345: Argument of type 'x' is not assignable.",
                "tsc/TS2345",
            ),
            ("src/a.ts:12:5 - error TS1005: ';' expected.", "tsc/TS1005"),
        ],
    ),
    reader(
        r#"^\s+\d+:\d+\s+✖\s+.*\s{2,}([a-z-]+(?:/[a-z-]+)*)$"#,
        "stylelint/$1",
        &[(
            " 3:5  ✖  Unexpected unknown property \"colr\"  property-no-unknown",
            "stylelint/property-no-unknown",
        )],
    ),
    reader(
        concat!(
            r#": line \d+, col \d+, (?:Error|Warning) - .*\((@?[a-z][\w/@-]*)\)$|:\d+:\d+: .*\[("#,
            r#"?:Error|Warning)/(@?[a-z][\w/@-]*)\]$|^\d+:\d+\s+(?:Error|Warning): .*\s{2,}(@?[a"#,
            r#"-z][\w/-]*)$"#,
        ),
        "eslint/$1$2$3",
        &[
            (
                "/app/a.js: line 3, col 7, Error - 'x' is never used. (no-unused-vars)",
                "eslint/no-unused-vars",
            ),
            (
                "/app/a.js:3:7: 'x' is defined but never used. [Error/no-unused-vars]",
                "eslint/no-unused-vars",
            ),
            (
                "12:9  Error: `'` can be escaped with `&apos;`.  react/no-unescaped-entities",
                "eslint/react/no-unescaped-entities",
            ),
        ],
    ),
    reader(
        r#"^ESLint found too many warnings"#,
        "eslint/too-many-warnings",
        &[(
            "ESLint found too many warnings (maximum: 0).",
            "eslint/too-many-warnings",
        )],
    ),
    reader(
        r#"^\s*(?:⚠|×|x) [\w-]+\(([\w-]+)\): "#,
        "oxlint/$1",
        &[(
            "  ⚠ eslint(no-unused-vars): Variable 'x' is declared but never used.",
            "oxlint/no-unused-vars",
        )],
    ),
    reader(
        r#"^Error: .*\((?:ts|js|svelte)\)$"#,
        "svelte-check/error",
        &[(
            "Error: Type 'string' is not assignable to type 'number'. (ts)",
            "svelte-check/error",
        )],
    ),
    reader(
        r#"^Type error: "#,
        "tsc/type-error",
        &[(
            "Type error: Property 'x' does not exist on type 'Y'.",
            "tsc/type-error",
        )],
    ),
    reader(
        r"^\s+\d+:\d+\s+error\s+.*\s{2,}(@?[a-z][\w-]*(?:/[\w-]+)*)$",
        "eslint/$1",
        &[
            (
                "  12:7  error  'x' is assigned a value but never used  no-unused-vars",
                "eslint/no-unused-vars",
            ),
            (
                "   3:1   error  Unexpected any  @typescript-eslint/no-explicit-any",
                "eslint/@typescript-eslint/no-explicit-any",
            ),
        ],
    ),
    reader(
        r"\blint/[a-z]+/([A-Za-z]+)",
        "biome/$1",
        &[(
            "src/a.ts:3:7 lint/style/useConst  FIXABLE  ━━━━━━━━━━━",
            "biome/useConst",
        )],
    ),
    reader(
        r"Formatter would have printed|^\S+ format ━",
        "biome/unformatted",
        &[(
            "  × Formatter would have printed the following content:",
            "biome/unformatted",
        )],
    ),
    reader(
        r"Import statements could be sorted|assist/source/organizeImports|organizeImports ━",
        "biome/organizeImports",
        &[(
            "  × Import statements could be sorted:",
            "biome/organizeImports",
        )],
    ),
    reader(
        r"Code style issues (?:found|were)|\[warn\] Code style issues",
        "prettier/unformatted",
        &[(
            "[warn] Code style issues found in 2 files. Run Prettier with --write to fix.",
            "prettier/unformatted",
        )],
    ),
    reader(
        r"\b(MD\d{3})(?:/[a-z-]+)?\b",
        "markdownlint/$1",
        &[
            (
                concat!(
                    "docs/a.md:12 error MD040/fenced-code-language Fenced code blocks ",
                    "should have a language",
                ),
                "markdownlint/MD040",
            ),
            (
                "README.md:3:81 MD013/line-length Line length",
                "markdownlint/MD013",
            ),
        ],
    ),
    reader(
        r"Timeout of \d+ ?ms exceeded|Exceeded timeout of \d+ ?ms|Test timed out in \d+ ?ms",
        "js-test/timeout",
        &[(
            "     Error: Timeout of 2000ms exceeded. For async tests and hooks",
            "js-test/timeout",
        )],
    ),
    reader(
        r"^\s*(?:Timeout)?Error: ([\w.]+): (?:Test t|T)imeout (?:of )?\d+ ?ms exceeded",
        "playwright/timeout $1",
        &[(
            "TimeoutError: locator.click: Timeout 5000ms exceeded.",
            "playwright/timeout locator.click",
        )],
    ),
    reader(
        concat!(
            r"^\s*AssertionError(?: \[|: expected .* to |: Timed out retrying)|",
            r"^\s*(?:Error: )?expect\(.*\)\.|^\s+(?:✕|✗) |^\s+(?:×|→) (?:.* \d+ ?ms$|expected )|",
            r"^\(fail\) |^✖ .*\(\d[\d.]*ms\)$|^not ok \d+",
        ),
        "js-test/failed",
        &[
            (
                "AssertionError [ERR_ASSERTION]: Expected values to be strictly equal:",
                "js-test/failed",
            ),
            ("  ✕ adds two numbers (3 ms)", "js-test/failed"),
            ("(fail) sums > adds [1.2ms]", "js-test/failed"),
            ("AssertionError: expected 3 to be 4", "js-test/failed"),
            ("   × adds 3ms", "js-test/failed"),
            ("✖ adds two (1.2ms)", "js-test/failed"),
            (
                "Error: expect(locator).toBeVisible() failed",
                "js-test/failed",
            ),
        ],
    ),
    reader(
        r#"Cannot find (?:module|package) ['"](@?[\w-][\w./-]*)['"]"#,
        "node/module-not-found $1",
        &[(
            "Error: Cannot find module 'yaml'",
            "node/module-not-found yaml",
        )],
    ),
    reader(
        r#"Cannot find module ['"][./]"#,
        "node/module-not-found (a local file)",
        &[(
            "Error: Cannot find module './build/a.js'",
            "node/module-not-found (a local file)",
        )],
    ),
    reader(
        r"\bError \[(ERR_[A-Z_]+)\]",
        "node/$1",
        &[(
            "Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './x' is not defined",
            "node/ERR_PACKAGE_PATH_NOT_EXPORTED",
        )],
    ),
    reader(
        r"getaddrinfo (?:ENOTFOUND|EAI_AGAIN)",
        "net/unknown-host",
        &[(
            "Error: getaddrinfo ENOTFOUND registry.example.com",
            "net/unknown-host",
        )],
    ),
    reader(
        concat!(
            r"^\s*(?:Uncaught )?(?:Error: )?\b(EACCES|ECONNRESET|EEXIST|EISDIR|EMFILE|ENOSPC|",
            r"ENOTDIR|ENOTEMPTY|EPERM|EPIPE|ETIMEDOUT)\b",
        ),
        "node/$1",
        &[("Error: EACCES: permission denied, open '/x'", "node/EACCES")],
    ),
    reader(
        r"\bPrisma\w*Error.*\b(P\d{4})\b|^Error: (P\d{4})\b|^Error code: (P\d{4})",
        "prisma/$1$2$3",
        &[
            (
                "Error: P1001: Can't reach database server at `localhost:5432`",
                "prisma/P1001",
            ),
            (
                "PrismaClientInitializationError: P1001: Can't reach database server at `db`",
                "prisma/P1001",
            ),
        ],
    ),
    reader(
        r"^(?:npm ERR!|npm error) code (E\w+)",
        "npm/$1",
        &[
            ("npm ERR! code ERESOLVE", "npm/ERESOLVE"),
            ("npm error code E404", "npm/E404"),
        ],
    ),
    reader(
        r#"(?:[Mm]issing script:?|Script not found|Command) "([\w:.-]+)"(?: not found)?"#,
        "npm/missing-script $1",
        &[
            (
                "npm error Missing script: \"lint\"",
                "npm/missing-script lint",
            ),
            (
                "error: Script not found \"typecheck\"",
                "npm/missing-script typecheck",
            ),
        ],
    ),
    reader(
        r#"Couldn't find a script named "([\w:.-]+)"|Missing script: ([\w:.-]+)$"#,
        "npm/missing-script $1$2",
        &[
            (
                "Usage Error: Couldn't find a script named \"lint\".",
                "npm/missing-script lint",
            ),
            (
                " ERR_PNPM_NO_SCRIPT  Missing script: build",
                "npm/missing-script build",
            ),
        ],
    ),
    reader(
        // ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL only says that a script failed.
        r"\b(ERR_PNPM_(?:[A-QS-Z]|R[A-DF-Z]|RE[ABD-Z])[A-Z_]*)",
        "pnpm/$1",
        &[(
            " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with \"frozen-lockfile\"",
            "pnpm/ERR_PNPM_OUTDATED_LOCKFILE",
        )],
    ),
    reader(
        // YN0000 marks lines without a problem.
        r"\b(YN(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3}))\b",
        "yarn/$1",
        &[(
            "➤ YN0028: │ The lockfile would have been modified by this install",
            "yarn/YN0028",
        )],
    ),
    reader(
        r"^\s*(?:Uncaught )?((?:Syntax|Type|Reference|Range)Error): ",
        "exception/$1",
        &[(
            "TypeError: Cannot read properties of undefined (reading 'x')",
            "exception/TypeError",
        )],
    ),
    reader(
        r#"^error: Uncaught .*?((?:Syntax|Type|Reference|Range)Error): "#,
        "exception/$1",
        &[(
            "error: Uncaught (in promise) TypeError: x is not a function",
            "exception/TypeError",
        )],
    ),
    reader(
        concat!(
            r#"(?i:failed to resolve import|could not resolve import)|Module not found: "#,
            r#"(?:Error: )?Can't resolve|\[ERROR\] Could not resolve|Could not resolve: ""#,
        ),
        "bundler/unresolved-import",
        &[
            (
                "[vite]: Rollup failed to resolve import \"foo\" from \"/app/src/a.ts\".",
                "bundler/unresolved-import",
            ),
            (
                "Module not found: Can't resolve '@/lib/db'",
                "bundler/unresolved-import",
            ),
            (
                "✘ [ERROR] Could not resolve \"./x\"",
                "bundler/unresolved-import",
            ),
        ],
    ),
    reader(
        r"^(?:✘|x) \[ERROR\] (?P<msg>.+)|^ERROR in (?P<msg2>.+)|Module not found: Error",
        "bundler/failed",
        &[("✘ [ERROR] Expected \";\" but found \"x\"", "bundler/failed")],
    ),
];
