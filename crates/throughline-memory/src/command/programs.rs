//! Programs whose arguments have a known meaning.

use super::words::is_path_like;

/// Programs that only print the files that they are given.
#[rustfmt::skip]
pub(super) const PRINTING_PROGRAMS: &[&str] = &[
    "cat", "head", "tail", "sed", "less", "more", "bat", "batcat", "nl", "tac", "view", "xxd",
    "od", "hexdump", "strings", "base64", "get-content", "gc", "type",
];
/// Programs whose first argument is a pattern and not a file.
pub(super) const SEARCH_PROGRAMS: &[&str] = &["grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep"];
/// Programs whose arguments are prose or another language, and not files.
const PROSE_PROGRAMS: &[&str] = &["echo", "printf", "gh", "jq"];
/// Subcommands of git that take prose.
const GIT_PROSE_COMMANDS: &[&str] = &["commit", "tag", "notes", "stash"];
/// Programs that run the program in their arguments.
const WRAPPER_PROGRAMS: &[&str] = &[
    "sudo", "env", "time", "nohup", "command", "exec", "xargs", "nice", "builtin", "doas",
];
/// Programs that run a script in their arguments.
#[rustfmt::skip]
pub(super) const SHELL_PROGRAMS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "eval", "pwsh", "powershell",
];
/// Programs that write their input to the files in their arguments.
pub(super) const WRITING_PROGRAMS: &[&str] =
    &["tee", "set-content", "add-content", "out-file", "sc", "ac"];

pub(super) fn takes_prose(program: &str, arguments: &[&str]) -> bool {
    let is_git_prose = || {
        arguments
            .iter()
            .any(|word| GIT_PROSE_COMMANDS.contains(word))
    };
    PROSE_PROGRAMS.contains(&program) || (program == "git" && is_git_prose())
}

pub(super) fn is_wrapper(program: &str) -> bool {
    WRAPPER_PROGRAMS.contains(&program)
}

/// Says whether a program edits its files in place: `sed -i`, `perl -pi`.
pub(super) fn edits_in_place(program: &str, arguments: &[&str]) -> bool {
    let is_in_place = |word: &&str| {
        word.starts_with("--in-place")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
    };
    matches!(program, "sed" | "perl" | "ruby") && arguments.iter().any(is_in_place)
}

/// Returns the arguments of a printing program that are files.
pub(super) fn printed_operands<'a>(program: &str, arguments: &[&'a str]) -> Vec<&'a str> {
    let has_script = arguments.iter().any(|word| matches!(*word, "-e" | "-f"));
    // The first operand of sed is its script.
    let mut skips_script = program == "sed" && !has_script;
    let mut files = Vec::new();
    for (index, word) in arguments.iter().enumerate() {
        let option = index.checked_sub(1).map(|before| arguments[before]);
        let is_value = match option {
            Some("-e" | "-f") => true,
            Some("-n" | "-c" | "--lines" | "-l" | "-s") => program != "sed",
            _ => false,
        };
        if word.starts_with('-') || (is_value && !is_path_like(word)) {
            continue;
        }
        if !std::mem::take(&mut skips_script) {
            files.push(*word);
        }
    }
    files
}
