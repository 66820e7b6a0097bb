//! Shell commands as tools were called with them.

mod files;

pub use self::files::CallFiles;

/// What tools that run a shell are called, by the agents we know.
const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "exec_command",
    "run_shell_command",
    "run_terminal_command",
    "run_terminal_cmd",
    "execute_command",
    "local_shell",
    "local_shell_call",
    "run_command",
    "terminal",
    "developer__shell",
    "bashtool",
    "shell_command",
    "runterminalcommand",
    "container.exec",
    "powershell",
];

/// Arguments beside the command itself. In the flattened text each stands on a line of its own.
const BESIDE: &[&str] = &[
    "description",
    "timeout",
    "timeout_ms",
    "workdir",
    "cwd",
    "run_in_background",
    "max_output_tokens",
    "yield_time_ms",
    "justification",
    "with_escalated_permissions",
    "login",
    "dangerouslydisablesandbox",
    "is_background",
    "directory",
    "requires_approval",
    "tty",
    "explanation",
    "working_directory",
    "shell",
    "sandbox_permissions",
    "prefix_rule",
];

/// Says whether a tool runs a shell.
pub fn is_shell_tool(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    SHELLS.contains(&tool.as_str())
}

/// Returns the command in the flattened arguments of a shell tool, without what wraps it.
pub fn parse_call(content: &str) -> Option<String> {
    let mut command: Option<String> = None;
    for line in content.lines() {
        let key = line.split_once(':').map(|(key, _)| key.trim());
        let begins = ["command", "cmd", "CommandLine"];
        match (&mut command, key) {
            (None, Some(key)) if begins.contains(&key) => {
                let value = line.split_once(':').map_or("", |(_, value)| value.trim());
                command = Some(value.to_owned());
            }
            (Some(_), Some(key)) if BESIDE.contains(&key.to_ascii_lowercase().as_str()) => break,
            (Some(command), _) => {
                command.push('\n');
                command.push_str(line);
            }
            (None, _) => {}
        }
    }
    let command = command?;
    let command = unwrapped(command.trim());
    (!command.is_empty()).then(|| command.to_owned())
}

/// Takes off `bash -lc '…'`, which some agents put around every command.
fn unwrapped(command: &str) -> &str {
    let inner = [
        "bash -lc ",
        "bash -c ",
        "sh -c ",
        "/bin/bash -lc ",
        "zsh -lc ",
        "/bin/sh -c ",
    ]
    .iter()
    .find_map(|wrap| command.strip_prefix(wrap));
    let Some(inner) = inner.map(str::trim) else {
        return command;
    };
    for quote in ['\'', '"'] {
        let bare = inner
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(bare) = bare {
            return bare.trim();
        }
    }
    inner
}

/// Returns a command without the `cd somewhere &&` before it, which differs from one checkout to
/// the next.
pub fn strip_setup(command: &str) -> &str {
    let mut rest = command.trim();
    while let Some(after) = rest.strip_prefix("cd ") {
        let Some((_, then)) = after.split_once("&&") else {
            break;
        };
        rest = then.trim_start();
    }
    rest
}

/// Returns whether a call went well: by its exit status where the log has it, else by whether the
/// agent took the answer for an error.
pub fn call_succeeded(is_error: bool, exit_code: Option<i64>) -> bool {
    exit_code.map_or(!is_error, |code| code == 0 && !is_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_alone() {
        let check = |content: &str, command: Option<&str>| {
            assert_eq!(parse_call(content).as_deref(), command, "{content}");
        };
        check(
            "command: cargo test\ndescription: run it",
            Some("cargo test"),
        );
        check(
            "command: bash -lc 'cargo test -p x'",
            Some("cargo test -p x"),
        );
        check("command: bash -lc ls\nworkdir: /x", Some("ls"));
        check(
            "command: cat <<E\na: b\nE\ntimeout: 5",
            Some("cat <<E\na: b\nE"),
        );
        check("cmd: make\nyield_time_ms: 10", Some("make"));
        check("file_path: /x", None);
        check("command: ", None);
        assert_eq!(strip_setup("cd /a && cd b && make all"), "make all");
        assert_eq!(strip_setup("cd /a"), "cd /a");
    }

    #[test]
    fn a_status_counts_more_than_a_flag() {
        assert!(call_succeeded(false, None) && call_succeeded(false, Some(0)));
        assert!(!call_succeeded(false, Some(1)) && !call_succeeded(true, None));
    }
}
