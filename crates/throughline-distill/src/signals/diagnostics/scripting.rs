//! Readers for scripting languages besides Python and JavaScript: Ruby, PHP, Elixir, Perl, Lua, R.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#"Class ".*" not found"#,
        "php/class-not-found",
        &[(
            "PHP Fatal error:  Uncaught Error: Class \"App\\Cart\" not found in /a.php:3",
            "php/class-not-found",
        )],
    ),
    reader(
        r#"Call to undefined (function|method)"#,
        "php/undefined-$1",
        &[(
            "PHP Fatal error:  Uncaught Error: Call to undefined function foo()",
            "php/undefined-function",
        )],
    ),
    reader(
        r#"^(?:PHP )?Parse error: "#,
        "php/parse-error",
        &[(
            "PHP Parse error:  syntax error, unexpected token \"}\" in /a.php on line 3",
            "php/parse-error",
        )],
    ),
    reader(
        r#"^\s*(NoMethodError|LoadError|FrozenError|LocalJumpError):"#,
        "ruby/$1",
        &[(
            "NoMethodError: undefined method `name' for nil:NilClass",
            "ruby/NoMethodError",
        )],
    ),
    reader(
        r"^Syntax error .*\.clj",
        "clojure/syntax",
        &[("Syntax error compiling at (a.clj:3:1).", "clojure/syntax")],
    ),
    reader(
        r"CocoaPods could not find compatible versions",
        "cocoapods/no-solution",
        &[(
            "[!] CocoaPods could not find compatible versions for pod \"Alamofire\":",
            "cocoapods/no-solution",
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
        r"^rspec \./|^\s+Failure/Error:",
        "rspec/failed",
        &[("rspec ./spec/a_spec.rb:3 # A works", "rspec/failed")],
    ),
    reader(
        r"^(?:PHP )?Fatal error: ",
        "php/fatal-error",
        &[(
            "PHP Fatal error:  Allowed memory size of 134217728 bytes exhausted",
            "php/fatal-error",
        )],
    ),
    reader(
        r#"\.rb:\d+:in .*\(((?:[A-Z]\w*::)*[A-Z]\w*(?:Error|Exception))\)$"#,
        "ruby/$1",
        &[(
            "a.rb:3:in `foo': undefined method `bar' for nil (NoMethodError)",
            "ruby/NoMethodError",
        )],
    ),
    reader(
        r#"\.rb:\d+: syntax error"#,
        "ruby/SyntaxError",
        &[(
            "a.rb:3: syntax error, unexpected end-of-input",
            "ruby/SyntaxError",
        )],
    ),
    reader(
        r#"^((?:[A-Z]\w*::)+[A-Z]\w*Error)\b"#,
        "ruby/$1",
        &[(
            "ActiveRecord::PendingMigrationError",
            "ruby/ActiveRecord::PendingMigrationError",
        )],
    ),
    reader(
        concat!(
            r#"Could not find gem|Could not find .* in (?:locally installed gems|any of the sour"#,
            r#"ces)|Bundler could not find compatible"#,
        ),
        "bundle/missing-gem",
        &[(
            "Could not find gem 'foo' in locally installed gems.",
            "bundle/missing-gem",
        )],
    ),
    reader(
        r#"Don't know how to build task '([\w:]+)'"#,
        "rake/no-task $1",
        &[(
            "Don't know how to build task 'foo' (See the list of available tasks)",
            "rake/no-task foo",
        )],
    ),
    reader(
        r#"^\s+\d+\) (?:Failure|Error):$"#,
        "minitest/failed",
        &[("  1) Failure:", "minitest/failed")],
    ),
    reader(
        r#"^Failed asserting that|^(?:FAILURES|ERRORS)!$"#,
        "phpunit/failed",
        &[(
            "Failed asserting that 4 matches expected 3.",
            "phpunit/failed",
        )],
    ),
    reader(
        r#"🪪\s+([\w.]+)"#,
        "phpstan/$1",
        &[("         🪪  method.notFound", "phpstan/method.notFound")],
    ),
    reader(
        r#"\|\s*ERROR\s*\| .*\(([A-Z][\w.]+)\)$"#,
        "phpcs/$1",
        &[(
            " 3 | ERROR | [x] Expected 1 space; 0 found (Squiz.WhiteSpace.OperatorSpacing)",
            "phpcs/Squiz.WhiteSpace.OperatorSpacing",
        )],
    ),
    reader(
        r#"^Your requirements could not be resolved|Root composer\.json requires"#,
        "composer/no-solution",
        &[(
            "Your requirements could not be resolved to an installable set of packages.",
            "composer/no-solution",
        )],
    ),
    reader(
        r#"^Found \d+ of \d+ files that can be fixed"#,
        "php-cs-fixer/unformatted",
        &[(
            "Found 3 of 120 files that can be fixed in 0.5 seconds",
            "php-cs-fixer/unformatted",
        )],
    ),
    reader(
        concat!(
            r"undefined (function|variable|module) .*\(expected .* to define|",
            r"error: undefined (variable)",
        ),
        "elixir/undefined-$1$2",
        &[(
            "** (CompileError) lib/a.ex:3: undefined function f/1 (expected A to define such",
            "elixir/undefined-function",
        )],
    ),
    reader(
        r#"^\*\* \(([A-Z]\w*(?:\.\w+)*Error)\)"#,
        "elixir/$1",
        &[(
            "** (UndefinedFunctionError) function Foo.bar/0 is undefined",
            "elixir/UndefinedFunctionError",
        )],
    ),
    reader(
        r#"^\s+\d+\) test .*\(.*Test\)$"#,
        "exunit/failed",
        &[("  1) test adds (ATest)", "exunit/failed")],
    ),
    reader(
        r#"┃ \[[CRWFD]\]"#,
        "credo/issue",
        &[(
            "┃ [R] ↘ Modules should have a @moduledoc tag.",
            "credo/issue",
        )],
    ),
    reader(
        r#"mix format failed due to"#,
        "mix/unformatted",
        &[(
            "** (Mix) mix format failed due to --check-formatted.",
            "mix/unformatted",
        )],
    ),
    reader(
        r#"Can't locate ([\w/]+\.pm) in @INC"#,
        "perl/missing-module $1",
        &[(
            "Can't locate Foo/Bar.pm in @INC (you may need to install the Foo::Bar module)",
            "perl/missing-module Foo/Bar.pm",
        )],
    ),
    reader(
        r#"\.lua:\d+: (?P<msg>attempt to \w+ a nil value|syntax error|unexpected symbol)"#,
        "lua/$msg",
        &[(
            "lua: a.lua:3: attempt to index a nil value (global 'x')",
            "lua/attempt to index a nil value",
        )],
    ),
    reader(
        r#"\.lua:\d+:\d+: \(([WE]\d{3})\)"#,
        "luacheck/$1",
        &[("a.lua:3:5: (W211) unused variable 'x'", "luacheck/W211")],
    ),
    reader(
        r#"there is no package called"#,
        "r/missing-package",
        &[(
            "Error in library(foo) : there is no package called foo",
            "r/missing-package",
        )],
    ),
    reader(
        r#"^ERROR: (?:LoadError: )?([A-Z]\w+(?:Error|Exception)): "#,
        "julia/$1",
        &[(
            "ERROR: LoadError: UndefVarError: `x` not defined",
            "julia/UndefVarError",
        )],
    ),
];
