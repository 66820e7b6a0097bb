//! Readers for compiled languages besides Rust: Go, Java, Kotlin, C, C++, C#, Swift, Ruby, PHP.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r"\((typecheck)\)$|^\* (typecheck): \d+$",
        "golangci/typecheck",
        &[(
            "a/b.go:12:3: undefined: x (typecheck)",
            "golangci/typecheck",
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
        r"\.go:\d+:\d+: (?:undefined: |.* undefined \(|undeclared name)",
        "go-build/undefined",
        &[("./a.go:3:5: undefined: strings", "go-build/undefined")],
    ),
    reader(
        r"\.go:\d+:\d+: .*(?:declared and not used|imported and not used)",
        "go-build/unused",
        &[(
            "a/b.go:44:19: declared and not used: removed",
            "go-build/unused",
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
        r"\[-W(?:error=)?([a-z][\w+-]*)(?:=\d)?(?:,-Wunused)?\]$",
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
        r"undefined reference to|Undefined symbols for architecture",
        "ld/undefined-reference",
        &[(
            "a.o: in function `main': undefined reference to `f'",
            "ld/undefined-reference",
        )],
    ),
    reader(
        r"\.(?:c|cc|cpp|cxx|h|hpp|m|mm):\d+:\d+: (?:fatal )?error: (?P<msg>.+)",
        "cc-error/$msg",
        &[(
            "a.cpp:3:5: error: expected ';' before 'return'",
            "cc-error/expected before return",
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
        r"\berror ((?:MSB|NU|NETSDK)\d{4}):",
        "dotnet/$1",
        &[("error NU1101: Unable to find package X.", "dotnet/NU1101")],
    ),
    reader(
        r"\.swift:\d+:\d+: error: (?P<msg>.+)",
        "swiftc/$msg",
        &[(
            "A.swift:3:5: error: cannot find 'x' in scope",
            "swiftc/cannot find x in scope",
        )],
    ),
    reader(
        r": [CWEF]: (?:\[Correctable\] )?([A-Z]\w+/\w+):",
        "rubocop/$1",
        &[(
            "a.rb:3:5: C: [Correctable] Style/StringLiterals: Prefer single-quoted",
            "rubocop/Style/StringLiterals",
        )],
    ),
    reader(
        r"^rspec \./|^\s+Failure/Error:|^Minitest::",
        "rspec/failed",
        &[("rspec ./spec/a_spec.rb:3 # A works", "rspec/failed")],
    ),
    reader(
        r"^PHP (?:Fatal|Parse) error|^(?:Fatal|Parse) error: ",
        "php/fatal-error",
        &[(
            "PHP Fatal error:  Uncaught Error: Call to undefined function",
            "php/fatal-error",
        )],
    ),
];
