//! The command in the arguments of a tool call.

use std::borrow::Cow;
use std::iter;

use super::programs::SHELL_PROGRAMS;
use super::script::read_quoted;
use super::words::base_name;

/// The names under which the supported agents offer a shell, in lower case.
#[rustfmt::skip]
const SHELL_TOOLS: &[&str] = &[
    "bash", "shell", "exec_command", "run_shell_command", "run_terminal_command",
    "run_terminal_cmd", "execute_command", "local_shell", "local_shell_call", "run_command",
    "terminal", "developer__shell", "bashtool", "shell_command", "runterminalcommand",
    "container.exec", "powershell",
];

/// The arguments that hold the command.
const COMMAND_ARGUMENTS: &[&str] = &["command", "cmd", "CommandLine", "script"];

/// Arguments that occur next to the command, in lower case. A command may contain lines of the
/// same form (`name: value` in a here-document), so only these names end it.
#[rustfmt::skip]
const NEIGHBOUR_ARGUMENTS: &[&str] = &[
    "blocking", "cwd", "dangerouslydisablesandbox", "description", "dir_path", "directory",
    "explanation", "initial_wait", "is_background", "justification", "login", "max_output_tokens",
    "mode", "prefix_rule", "requires_approval", "run_in_background", "safetoautorun",
    "sandbox_permissions", "shell", "shellid", "timeout", "timeout_ms", "toolaction",
    "toolsummary", "tty", "waitmsbeforeasync", "with_escalated_permissions", "workdir",
    "working_directory", "yield_time_ms",
];

/// Says whether a tool runs a shell.
pub fn is_shell_tool(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    SHELL_TOOLS.contains(&tool.as_str())
}

/// Returns the command in the arguments of a call, as [`flatten`](crate::flatten::flatten) writes
/// them, without a `bash -lc` around it.
pub fn parse_call(arguments: &str) -> Option<String> {
    let mut lines = arguments.lines().skip_while(|line| {
        let name = line.split_once(':').map(|(name, _)| name);
        name.is_none_or(|name| !COMMAND_ARGUMENTS.contains(&name))
    });
    let (_, value) = lines.next()?.split_once(':')?;
    let rest = lines.take_while(|line| !is_neighbour(line));
    let command = iter::once(value).chain(rest).collect::<Vec<_>>().join("\n");
    let command = unwrap_shell(command.trim());
    (!command.is_empty()).then(|| command.into_owned())
}

fn is_neighbour(line: &str) -> bool {
    let name = line.split_once(':').map(|(name, _)| name);
    name.is_some_and(|name| NEIGHBOUR_ARGUMENTS.contains(&name.to_ascii_lowercase().as_str()))
}

/// Removes `bash -lc '…'`, which some agents put around every command. An argument list with line
/// breaks in it is flattened to one word per line, so any white space separates the words.
fn unwrap_shell(command: &str) -> Cow<'_, str> {
    let Some(script) = shell_script(command) else {
        return Cow::Borrowed(command);
    };
    let script = script.trim();
    let quote = script.chars().next().filter(|c| matches!(c, '\'' | '"'));
    if let Some(quote) = quote
        && script.len() > 1
        && script.ends_with(quote)
        && let (inner, "") = read_quoted(&script[1..], quote)
    {
        return Cow::Owned(inner.trim().to_owned());
    }
    Cow::Borrowed(script)
}

fn shell_script(command: &str) -> Option<&str> {
    let (program, rest) = command.split_once(char::is_whitespace)?;
    let (option, script) = rest.trim_start().split_once(char::is_whitespace)?;
    let letters = option.strip_prefix('-')?;
    let takes_script =
        letters.eq_ignore_ascii_case("command") || (letters.len() <= 3 && letters.ends_with('c'));
    (takes_script && SHELL_PROGRAMS.contains(&base_name(program))).then_some(script)
}

/// Returns a command without the `cd …` and `set -…` commands before it, which differ from one
/// checkout to the next.
pub fn strip_setup(command: &str) -> &str {
    let mut rest = command.trim();
    while rest.starts_with("cd ") || rest.starts_with("set -") {
        match after_separator(rest) {
            Some(next) if !next.is_empty() => rest = next,
            _ => break,
        }
    }
    rest
}

/// Returns the text after the first `&&`, `;` or line break.
fn after_separator(command: &str) -> Option<&str> {
    let ends = ["&&", ";", "\n"].iter().filter_map(|separator| {
        let start = command.find(separator)?;
        Some(start + separator.len())
    });
    Some(command[ends.min()?..].trim_start())
}

/// Says whether a call succeeded: by its exit code if the log has one, and by whether the agent
/// treated the result as an error.
pub fn call_succeeded(is_error: bool, exit_code: Option<i64>) -> bool {
    !is_error && exit_code.is_none_or(|code| code == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &str, command: Option<&str>) {
        assert_eq!(parse_call(arguments).as_deref(), command, "{arguments}");
    }

    #[test]
    fn a_command_ends_at_the_next_argument() {
        check(
            "command: cargo test\ndescription: run it",
            Some("cargo test"),
        );
        check(
            "command: cat <<E\na: b\nE\ntimeout: 5",
            Some("cat <<E\na: b\nE"),
        );
        check("cmd: make\nyield_time_ms: 10", Some("make"));
        check("CommandLine: go vet\nCwd: /x", Some("go vet"));
        check("file_path: /x", None);
        check("command: ", None);
    }

    #[test]
    fn an_indented_line_is_part_of_the_command() {
        let command = "cat > ci.yml <<E\njob:\n  timeout: 5\nE";
        check(&format!("command: {command}"), Some(command));
        check("content: services:\n  command: serve", None);
    }

    #[test]
    fn the_shell_around_a_command_is_removed() {
        check(
            "command: bash -lc 'cargo test -p x'",
            Some("cargo test -p x"),
        );
        check("command: bash -lc ls\nworkdir: /x", Some("ls"));
        check("command: /bin/sh -c \"echo \\\"a\\\"\"", Some("echo \"a\""));
        check("command:\nbash\n-lc\nset -e\nmake", Some("set -e\nmake"));
        check("command: bash -c 'a' && echo 'b'", Some("'a' && echo 'b'"));
        check("command: bash -e script.sh", Some("bash -e script.sh"));
        check("command: bash -c '", Some("'"));
    }

    #[test]
    fn setup_before_a_command_is_stripped() {
        assert_eq!(strip_setup("cd /a && cd b && make all"), "make all");
        assert_eq!(strip_setup("set -e; cd a; b && c"), "b && c");
        assert_eq!(strip_setup("cd /a\nmake"), "make");
        assert_eq!(strip_setup("cd /a"), "cd /a");
        assert_eq!(strip_setup("cd /a;"), "cd /a;");
    }

    #[test]
    fn an_exit_code_and_an_error_flag_both_count() {
        assert!(call_succeeded(false, None) && call_succeeded(false, Some(0)));
        assert!(!call_succeeded(false, Some(1)) && !call_succeeded(true, None));
        assert!(!call_succeeded(true, Some(0)));
    }
}
