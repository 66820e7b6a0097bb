//! Classifies tool calls: reads, changes, commands, tests, waits.
//!
//! Agents name their tools differently but use the same shells, so the name of the tool decides
//! only if the call has no command.

use memory::command::strip_setup;

/// The purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    Read,
    Change,
    Run,
    Test,
    Install,
    Wait,
    Delegate,
    Other,
}

/// Returns the first line of a command that does something, without a here-document.
pub(super) fn first_line(command: &str) -> &str {
    let line = strip_setup(command).lines().next().unwrap_or_default();
    let end = line.find("<<").unwrap_or(line.len());
    line[..end].trim()
}

/// Classifies a call by its command, or by the name of its tool.
pub(super) fn call_kind(tool: &str, command: Option<&str>) -> CallKind {
    match command {
        Some(command) => command_kind(command),
        None => tool_kind(tool),
    }
}

fn tool_kind(tool: &str) -> CallKind {
    let name = tool.rsplit("__").next().unwrap_or(tool).to_lowercase();
    let any = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if any(&["bashoutput", "wait", "sleep", "stdin", "poll", "taskoutput"]) {
        CallKind::Wait
    } else if any(&["edit", "write", "replace", "patch", "create_file", "insert"])
        && !any(&["todo"])
    {
        CallKind::Change
    } else if any(&["task", "agent", "delegate"]) && !any(&["list", "get", "todo", "update"]) {
        CallKind::Delegate
    } else if any(READING_TOOLS) || name == "ls" || name == "rg" {
        CallKind::Read
    } else {
        CallKind::Other
    }
}

const READING_TOOLS: &[&str] = &[
    "read", "view", "glob", "grep", "search", "list", "fetch", "open", "find", "get", "show",
    "todo", "plan", "intent", "think", "skill",
];

fn command_kind(command: &str) -> CallKind {
    let mut quote = None;
    let ends = |c: char| {
        match (quote, c) {
            (None, '\'' | '"' | '`') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            _ => {}
        }
        quote.is_none() && matches!(c, '&' | ';' | '|')
    };
    let parts = command.split(ends).map(str::trim);
    // The `1` of `2>&1` is split off too, but it is not a command.
    let is_command =
        |part: &&str| !part.is_empty() && !part.starts_with(|c: char| c.is_ascii_digit());
    let mut parts = parts.filter(is_command).peekable();
    let first = parts.peek().copied().unwrap_or_default();
    let all: Vec<CallKind> = parts.map(simple_command_kind).collect();
    let has = |does: CallKind| all.contains(&does);
    if has(CallKind::Test) {
        CallKind::Test
    } else if has(CallKind::Install) {
        CallKind::Install
    } else if simple_command_kind(first) == CallKind::Wait {
        CallKind::Wait
    } else if all.iter().all(|does| *does == CallKind::Read)
        && !command.contains(" > ")
        && !command.contains(">>")
    {
        CallKind::Read
    } else {
        CallKind::Run
    }
}

/// Classifies a command without operators.
fn simple_command_kind(part: &str) -> CallKind {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with('-');
    let wrappers = ["sudo", "time", "env", "command", "nohup", "exec"];
    let words: Vec<&str> = part
        .split_whitespace()
        .skip_while(|word| is_setting(word) || wrappers.contains(word))
        .collect();
    let line = words.join(" ");
    let starts = |list: &[&str]| {
        list.iter().any(|known| {
            line.strip_prefix(known)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    if starts(TEST_COMMANDS) {
        CallKind::Test
    } else if starts(INSTALL_COMMANDS) {
        CallKind::Install
    } else if starts(&["sleep", "wait"]) {
        CallKind::Wait
    } else if starts(READING_COMMANDS) || line == "true" {
        CallKind::Read
    } else {
        CallKind::Run
    }
}

#[rustfmt::skip]
const TEST_COMMANDS: &[&str] = &[
    "cargo test", "cargo nextest", "pytest", "py.test", "python -m pytest", "python3 -m pytest",
    "python -m unittest", "python3 -m unittest", "uv run pytest", "poetry run pytest", "tox",
    "npm test", "npm run test", "npm t", "yarn test", "pnpm test", "bun test", "bun run test",
    "deno test", "npx jest", "npx vitest", "jest", "vitest", "go test", "make test", "make check",
    "ctest", "mvn test", "gradle test", "./gradlew test", "dotnet test", "rspec",
    "bundle exec rspec", "phpunit", "mix test", "swift test", "./test", "./test.sh", "rake test",
    "xcodebuild test",
];

#[rustfmt::skip]
const INSTALL_COMMANDS: &[&str] = &[
    "npm install", "npm ci", "npm i", "yarn install", "yarn add", "pnpm install", "pnpm add",
    "pnpm i", "bun install", "bun add", "pip install", "pip3 install", "python -m pip",
    "python3 -m pip", "uv pip", "uv sync", "uv add", "poetry install", "poetry add",
    "cargo install", "cargo fetch", "go get", "go mod download", "apt", "apt-get", "brew", "dnf",
    "yum", "apk", "gem install", "bundle install", "composer install", "docker pull", "rustup",
    "nvm",
];

#[rustfmt::skip]
const READING_COMMANDS: &[&str] = &[
    "ls", "cat", "head", "tail", "sed -n", "grep", "rg", "find", "fd", "tree", "pwd", "echo", "wc",
    "which", "stat", "file", "less", "cd", "date", "whoami", "uname", "env", "printenv", "du",
    "df", "sort", "uniq", "cut", "tr", "jq", "nl", "awk", "diff", "printf", "ps", "type", "test",
    "[", "xargs", "git status", "git log", "git diff", "git show", "git branch", "git rev-parse",
    "git remote", "git ls-files", "git blame", "git --no-pager", "git fetch", "git grep",
];

/// Says whether the output of tests reports a failure. The exit code may hide it behind a pipe.
pub(super) fn reports_test_failure(output: &str) -> bool {
    let tail = &output[output.ceil_char_boundary(output.len().saturating_sub(4 << 10))..];
    tail.contains("test result: FAILED")
        || tail.contains("FAILED (")
        || tail
            .lines()
            .any(|line| line.starts_with("FAIL") || line.starts_with("--- FAIL"))
        || last_count_before(tail, " failed") > 0
}

/// Returns the number before the last occurrence of a word.
fn last_count_before(text: &str, word: &str) -> u64 {
    let Some(at) = text.rfind(word) else {
        return 0;
    };
    let digits = text[..at].rsplit(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use memory::command::parse_call;

    use super::*;

    #[track_caller]
    fn check(tool: &str, content: &str, shown: Option<&str>, expected: CallKind) {
        let command = parse_call(content);
        let command = command.as_deref().map(first_line);
        assert_eq!(command, shown);
        assert_eq!(call_kind(tool, command), expected, "{tool} {content}");
    }

    #[test]
    fn calls_are_told_apart() {
        check(
            "Bash",
            "command: cargo test -p x 2>&1 | tail -5\ndescription: y",
            Some("cargo test -p x 2>&1 | tail -5"),
            CallKind::Test,
        );
        check(
            "shell",
            "command: bash -lc ls -la",
            Some("ls -la"),
            CallKind::Read,
        );
        check(
            "shell",
            "command:\nbash\n-lc\npython - << 'PY'\nprint()",
            Some("python -"),
            CallKind::Run,
        );
        check(
            "exec_command",
            "cmd: cd /a && npm ci\nworkdir: /a",
            Some("npm ci"),
            CallKind::Install,
        );
        check(
            "Bash",
            "command: sleep 30; cat log",
            Some("sleep 30; cat log"),
            CallKind::Wait,
        );
        check(
            "Bash",
            "command: cat > a.txt <<'E'\nx\nE",
            Some("cat > a.txt"),
            CallKind::Run,
        );
        check(
            "Bash",
            "command: RUST_LOG=x cargo run",
            Some("RUST_LOG=x cargo run"),
            CallKind::Run,
        );
        check(
            "Bash",
            "command: git status && git log | head",
            Some("git status && git log | head"),
            CallKind::Read,
        );
        check(
            "Bash",
            "command: rg 'a|b' . && echo \"x;y\"",
            Some("rg 'a|b' . && echo \"x;y\""),
            CallKind::Read,
        );
        check("Read", "file_path: /x", None, CallKind::Read);
        check("search_replace", "file_path: /x", None, CallKind::Change);
        check(
            "mcp__memory__memory_search",
            "query: x",
            None,
            CallKind::Read,
        );
        check("Task", "prompt: do it", None, CallKind::Delegate);
        check("TodoWrite", "todos:", None, CallKind::Read);
        check("BashOutput", "bash_id: 1", None, CallKind::Wait);
    }

    #[test]
    fn failures_behind_a_pipe_are_seen() {
        assert!(reports_test_failure(
            "test result: FAILED. 3 passed; 1 failed"
        ));
        assert!(reports_test_failure("== 2 failed, 3 passed in 0.1s =="));
        assert!(reports_test_failure("--- FAIL: TestX (0.00s)"));
        assert!(!reports_test_failure("test result: ok. 3 passed; 0 failed"));
        assert!(!reports_test_failure("Ran 0 tests in 0.000s\n\nOK"));
    }
}
