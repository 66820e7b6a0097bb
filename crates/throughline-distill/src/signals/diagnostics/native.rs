//! Readers for compiled languages: Go, Java, Kotlin, C, C++, C#, Swift, Zig, Haskell, OCaml, Dart.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"requires a development team|No profiles for .* were found|No signing certificate"#,
        "xcode/signing",
        &[(
            "error: Signing for \"App\" requires a development team.",
            "xcode/signing",
        )],
    ),
    reader(
        r#"compatible \.NET SDK was not found|No \.NET SDKs were found"#,
        "dotnet/no-sdk",
        &[("A compatible .NET SDK was not found.", "dotnet/no-sdk")],
    ),
    reader(
        concat!(
            r"\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: error: (?:use of undeclared identifier|",
            r"'[^']+' was not declared in this scope)",
        ),
        "cc-error/undeclared",
        &[(
            "a.cpp:3:5: error: use of undeclared identifier 'x'",
            "cc-error/undeclared",
        )],
    ),
    reader(
        r#"can't load config: "#,
        "golangci/config",
        &[(
            "Error: can't load config: unsupported version of the configuration: \"\"",
            "golangci/config",
        )],
    ),
    reader(
        r#"^diff (?:-u )?\S+\.go\.orig \S+\.go$"#,
        "gofmt/unformatted",
        &[("diff a.go.orig a.go", "gofmt/unformatted")],
    ),
    reader(
        r#"\.go:\d+:\d+: (?:[\w.]+ format %|[\w.]+ call has )"#,
        "go-vet/printf",
        &[(
            "./a.go:3:5: fmt.Printf format %d has arg x of wrong type string",
            "go-vet/printf",
        )],
    ),
    reader(
        r": error (C\d{4}|LNK\d{4}): ",
        "msvc/$1",
        &[(
            "C:\\w\\a.cpp(3,5): error C2065: 'x': undeclared identifier",
            "msvc/C2065",
        )],
    ),
    reader(
        r"ERROR: (\w+Sanitizer): ([\w-]+)",
        "sanitizer/$2",
        &[(
            "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x6020",
            "sanitizer/heap-use-after-free",
        )],
    ),
    reader(
        r": error: -\[.*\] : |XCTAssert\w* failed|Expectation failed: ",
        "xctest/failed",
        &[(
            concat!(
                "/w/CartTests.swift:9: error: -[CartTests testTotal] : XCTAssertEqual f",
                "ailed"
            ),
            "xctest/failed",
        )],
    ),
    reader(
        r"\berror (WHITESPACE|IMPORTS|ENDOFLINE|FINALNEWLINE|CHARSET): ",
        "dotnet-format/$1",
        &[(
            "/w/A.cs(3,5): error WHITESPACE: Fix whitespace formatting.",
            "dotnet-format/WHITESPACE",
        )],
    ),
    reader(
        r"^e: .*[Aa]rgument type mismatch",
        "kotlinc/argument type mismatch",
        &[(
            "e: file:///w/A.kt:9:5 Argument type mismatch: actual type is 'String'",
            "kotlinc/argument type mismatch",
        )],
    ),
    reader(
        r"^-- (?P<msg>[A-Z][A-Z ]+[A-Z]) -{4,} ",
        "elm/$msg",
        &[(
            concat!(
                "-- TYPE MISMATCH ------------------------------------------------ src/",
                "Main.elm"
            ),
            "elm/type mismatch",
        )],
    ),
    reader(
        r"^Error \((\d{4})\): ",
        "solc/$1",
        &[("Error (7576): Undeclared identifier.", "solc/7576")],
    ),
    reader(
        r"^\[FAIL[.:\]]",
        "forge-test/failed",
        &[(
            "[FAIL: assertion failed] testTotal() (gas: 1234)",
            "forge-test/failed",
        )],
    ),
    reader(
        r"\((typecheck)\)$|^\* (typecheck): \d+$",
        "golangci/typecheck",
        &[(
            "a/b.go:12:3: undefined: x (typecheck)",
            "golangci/typecheck",
        )],
    ),
    reader(
        r#"\.go:\d+:\d+: .*\(((?:SA|ST|QF|S|U)\d{4})\)$"#,
        "staticcheck/$1",
        &[(
            "a.go:3:5: this value of err is never used (SA4006)",
            "staticcheck/SA4006",
        )],
    ),
    reader(
        r"\.go:\d+(?::\d+)?: .*\(([a-z][a-z0-9]+)\)$",
        "golangci/$1",
        &[
            (
                "cmd/a.go:12:9: Error return value of `f.Close` is not checked (errcheck)",
                "golangci/errcheck",
            ),
            (
                "a/b.go:3:1: File is not properly formatted (gofmt)",
                "golangci/gofmt",
            ),
        ],
    ),
    reader(
        r"^\* ([a-z][a-z0-9]+): \d+$",
        "golangci/$1",
        &[("* wrapcheck: 2", "golangci/wrapcheck")],
    ),
    reader(
        r"^vet: |^# \S+ \[vet\]|\bvet\b.*\.go:\d+:\d+:",
        "go-vet/failed",
        &[("vet: ./a.go:3:5: undefined: x", "go-vet/failed")],
    ),
    reader(
        concat!(
            r#"\.go:\d+:\d+: (?:struct field tag|.*composite li"#,
            r#"teral uses unkeyed|.*passes lock by value|unreachable code|result of .* call not "#,
            r#"used|self-assignment|the cancel function|this return statement may be reached)"#,
        ),
        "go-vet/failed",
        &[("./a.go:3:5: unreachable code", "go-vet/failed")],
    ),
    reader(
        r"\.go:\d+:\d+: (?:undefined: |.* undefined \(|undeclared name)",
        "go-build/undefined",
        &[("./a.go:3:5: undefined: strings", "go-build/undefined")],
    ),
    reader(
        r"\.go:\d+:\d+: .*declared and not used",
        "go-build/unused-variable",
        &[(
            "a/b.go:44:19: declared and not used: removed",
            "go-build/unused-variable",
        )],
    ),
    reader(
        r"\.go:\d+:\d+: .*imported (?:as \w+ )?and not used",
        "go-build/unused-import",
        &[(
            "a/b.go:5:2: \"fmt\" imported and not used",
            "go-build/unused-import",
        )],
    ),
    reader(
        concat!(
            r"\.go:\d+:\d+: (?P<msg>cannot use|not enough arguments|too many arguments|",
            r"assignment mismatch|missing return|syntax error|could not import|no new ",
            r"variables|invalid operation|multiple-value)",
        ),
        "go-build/$msg",
        &[(
            "a.go:9:2: cannot use x (variable of type int) as string value",
            "go-build/cannot use",
        )],
    ),
    reader(
        r"updates to go\.(?:mod|sum) needed|missing go\.sum entry|go: inconsistent vendoring",
        "go/mod-out-of-date",
        &[(
            "go: updates to go.mod needed; to update it:",
            "go/mod-out-of-date",
        )],
    ),
    reader(
        concat!(
            r"no required module provides package|cannot find module providing|go: cannot ",
            r"find main module|go\.mod file not found|outside main module",
        ),
        "go/no-module",
        &[(
            "no required module provides package example.com/x; to add it:",
            "go/no-module",
        )],
    ),
    reader(
        r#"import cycle not allowed"#,
        "go-build/import-cycle",
        &[(
            "\timports example.com/a: import cycle not allowed",
            "go-build/import-cycle",
        )],
    ),
    reader(
        r#"^\S+\.go:\d+:\d+: "#,
        "go-build/error",
        &[("./a.go:3:5: x redeclared in this block", "go-build/error")],
    ),
    reader(
        r#"^panic: test timed out"#,
        "go-test/timeout",
        &[("panic: test timed out after 30s", "go-test/timeout")],
    ),
    reader(
        r#"^WARNING: DATA RACE"#,
        "go-test/race",
        &[("WARNING: DATA RACE", "go-test/race")],
    ),
    reader(
        r#"gofmt needs running|^gofmt: "#,
        "gofmt/unformatted",
        &[(
            "gofmt needs running on the following files:",
            "gofmt/unformatted",
        )],
    ),
    reader(
        r"^\s*--- FAIL: ",
        "go-test/failed",
        &[("--- FAIL: TestX (0.00s)", "go-test/failed")],
    ),
    reader(
        r"^panic: |^fatal error: (?:all goroutines|concurrent map)",
        "go-test/panic",
        &[(
            "panic: runtime error: index out of range [3]",
            "go-test/panic",
        )],
    ),
    reader(
        r"build constraints exclude all Go files|matched no packages|no Go files in",
        "go/no-packages",
        &[(
            "package x: build constraints exclude all Go files in /a",
            "go/no-packages",
        )],
    ),
    reader(
        concat!(
            r"\.java:\[?\d+[,:\]\d]*:? (?:error: |\[ERROR\] )?(?P<msg>cannot find symbol|",
            r"incompatible types|class .* is public|package [\w.]+ does not exist|",
            r"unreported exception|missing return statement|'[;)(}{]' expected|method .* ",
            r"cannot be applied)",
        ),
        "javac/$msg",
        &[(
            "src/A.java:12: error: cannot find symbol",
            "javac/cannot find symbol",
        )],
    ),
    reader(
        r"\.java:\d+: error: (?P<msg>.+)",
        "javac/$msg",
        &[(
            "src/A.java:12: error: not a statement",
            "javac/not a statement",
        )],
    ),
    reader(
        r"^e: .*\.kts?.*?:? (?P<msg>[Uu]nresolved reference|[Tt]ype mismatch|[A-Z][a-z]+ .+)",
        "kotlinc/$msg",
        &[(
            "e: file:///a/B.kt:3:5 Unresolved reference",
            "kotlinc/unresolved reference",
        )],
    ),
    reader(
        concat!(
            r#": (?:warning|error): .*\[((?:bugprone|cert|clang-analyzer|concurrency|cppcoreguid"#,
            r#"elines|google|hicpp|llvm|misc|modernize|performance|portability|readability)-[\w."#,
            r#"-]+)"#,
        ),
        "clang-tidy/$1",
        &[(
            "a.cpp:3:5: warning: use nullptr [modernize-use-nullptr]",
            "clang-tidy/modernize-use-nullptr",
        )],
    ),
    reader(
        r"\[(?:-Werror,)?-W(?:error=)?([a-z][\w+-]*)(?:=\d)?(?:,-Wunused)?\]$",
        "cc/-W$1",
        &[(
            "a.c:3:5: error: unused variable 'x' [-Werror=unused-variable]",
            "cc/-Wunused-variable",
        )],
    ),
    reader(
        r"fatal error: '?([\w./+-]+\.h(?:pp)?)'?(?: file not found|: No such file)",
        "cc/missing-header $1",
        &[(
            "a.c:1:10: fatal error: zlib.h: No such file or directory",
            "cc/missing-header zlib.h",
        )],
    ),
    reader(
        concat!(
            r#"cannot find -l([\w+-]+)|library not found for -l([\w+-]+)|library .?([\w+-]+).? n"#,
            r#"ot found$"#,
        ),
        "ld/missing-library $1$2$3",
        &[("/usr/bin/ld: cannot find -lfoo", "ld/missing-library foo")],
    ),
    reader(
        r"undefined reference to|Undefined symbols for architecture",
        "ld/undefined-reference",
        &[(
            "a.o: in function `main': undefined reference to `f'",
            "ld/undefined-reference",
        )],
    ),
    reader(
        concat!(
            r#"\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: (?:fatal )?error: '[^']+' (?P<msg>undeclar"#,
            r#"ed|has no member|does not name a type)"#,
        ),
        "cc-error/$msg",
        &[(
            "a.c:3:5: error: 'x' undeclared (first use in this function)",
            "cc-error/undeclared",
        )],
    ),
    reader(
        concat!(
            r#"\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: (?:fatal )?error: (?P<msg>"#,
            r#"unknown type name|no matching function|no member named|implicit declaration|red"#,
            r#"efinition of|conflicting types|too (?:few|many) arguments|invalid conversion|stat"#,
            r#"ic assertion failed)"#,
        ),
        "cc-error/$msg",
        &[(
            "a.cpp:3:5: error: unknown type name 'x'",
            "cc-error/unknown type name",
        )],
    ),
    reader(
        r"\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: (?:fatal )?error: (?P<msg>.+)",
        "cc-error/$msg",
        &[(
            "a.cpp:3:5: error: expected ';' before 'return'",
            "cc-error/expected before",
        )],
    ),
    reader(
        r"\berror (CS\d{4}):",
        "csc/$1",
        &[(
            "A.cs(3,5): error CS0246: The type or namespace name 'X' could not be found",
            "csc/CS0246",
        )],
    ),
    reader(
        r#"\berror ((?:CA|IDE|SA|RS|BL|xUnit)\d{4}):"#,
        "dotnet-analyzer/$1",
        &[(
            "A.cs(3,5): error CA1822: Member 'X' does not access instance data",
            "dotnet-analyzer/CA1822",
        )],
    ),
    reader(
        r#"^\s+Failed [\w.]+\S* ?.*\[\d[\d.]* ?m?s\]$"#,
        "dotnet-test/failed",
        &[("  Failed A.B.Adds [12 ms]", "dotnet-test/failed")],
    ),
    reader(
        r"\berror ((?:MSB|NU|NETSDK)\d{4}):",
        "dotnet/$1",
        &[("error NU1101: Unable to find package X.", "dotnet/NU1101")],
    ),
    reader(
        r#"\.swift:\d+:\d+: (?:warning|error): .* Violation: .*\((\w+)\)$"#,
        "swiftlint/$1",
        &[(
            concat!(
                "/app/A.swift:3:5: warning: Line Length Violation: Line should be 120 characters ",
                "or less (line_length)",
            ),
            "swiftlint/line_length",
        )],
    ),
    reader(
        concat!(
            r#"\.swift:\d+:\d+: error: (?P<msg>cannot find|cannot convert|missing argument|value"#,
            r#" of type|use of|expected|no such module|type)"#,
        ),
        "swiftc/$msg",
        &[(
            "A.swift:3:5: error: cannot find 'x' in scope",
            "swiftc/cannot find",
        )],
    ),
    reader(
        r"\.swift:\d+:\d+: error: (?P<msg>.+)",
        "swiftc/$msg",
        &[(
            "A.swift:3:5: error: ambiguous reference",
            "swiftc/ambiguous reference",
        )],
    ),
    reader(
        r#"\.zig:\d+:\d+: error: (?P<msg>.+)"#,
        "zig/$msg",
        &[(
            "a.zig:3:5: error: use of undeclared identifier 'x'",
            "zig/use of undeclared identifier",
        )],
    ),
    reader(
        r#"\.hs:\d+:\d+: error: \[(GHC-\d+)\]"#,
        "ghc/$1",
        &[("src/A.hs:3:5: error: [GHC-88464]", "ghc/GHC-88464")],
    ),
    reader(
        r#"\.hs:\d+:\d+: error"#,
        "ghc/error",
        &[("src/A.hs:3:5: error:", "ghc/error")],
    ),
    reader(
        concat!(
            r#"^Error: (?P<msg>Unbound (?:value|module|constructor|type)|This expression has typ"#,
            r#"e|Syntax error)"#,
        ),
        "ocaml/$msg",
        &[("Error: Unbound value foo", "ocaml/unbound value")],
    ),
    reader(
        r#"(?:•|-) .*\.dart:\d+:\d+ (?:•|-) (?:.* - )?(\w+)$"#,
        "dart/$1",
        &[
            (
                "  error • Undefined name 'x' • lib/a.dart:3:5 • undefined_identifier",
                "dart/undefined_identifier",
            ),
            (
                "   error - lib/src/a.dart:3:5 - Undefined name 'x'. - undefined_identifier",
                "dart/undefined_identifier",
            ),
        ],
    ),
    reader(
        r#"\.dart:\d+:\d+: Error: (?P<msg>.+)"#,
        "dartc/$msg",
        &[(
            "Error: lib/a.dart:3:5: Error: Undefined name 'x'.",
            "dartc/undefined name",
        )],
    ),
];
