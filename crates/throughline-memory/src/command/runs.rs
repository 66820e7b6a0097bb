//! Which programs a command runs, and whether its output is its own.

use super::programs::{PRINTING_PROGRAMS, SEARCH_PROGRAMS, is_wrapper};
use super::script::Script;
use super::words::{base_name, is_assignment};

/// Subcommands of git that print text that is stored already.
const GIT_PRINTING_COMMANDS: &[&str] = &["grep", "show", "log", "diff", "blame"];

/// Says whether a command runs a program, as opposed to mentioning its name.
pub fn runs_program(command: &str, program: &str) -> bool {
    let script = Script::parse(command);
    script.commands.iter().any(|words| {
        let words: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        program_and_arguments(&words).is_some_and(|(name, _)| name == program)
    })
}

/// Says whether a command only searches or prints files: an error in its output is not its own.
pub fn only_prints_files(command: &str) -> bool {
    let script = Script::parse(command);
    let mut commands = script.commands.iter().map(|words| {
        let words: Vec<_> = words.iter().map(|word| word.text.as_str()).collect();
        program_and_arguments(&words).map(|(name, rest)| {
            let is_git_print = rest
                .first()
                .is_some_and(|first| GIT_PRINTING_COMMANDS.contains(first));
            PRINTING_PROGRAMS.contains(&name)
                || SEARCH_PROGRAMS.contains(&name)
                || name == "git" && is_git_print
        })
    });
    // Behind a pipe, the same programs only filter what the first one prints.
    commands.find_map(|prints| prints) == Some(true)
}

/// Returns a command without the text of its here-documents.
pub fn without_here_documents(command: &str) -> String {
    let mut kept = Vec::new();
    let mut delimiter: Option<String> = None;
    for line in command.lines() {
        if let Some(end) = &delimiter {
            if line.trim() == end {
                delimiter = None;
            }
            continue;
        }
        kept.push(line);
        delimiter = here_document_delimiter(line);
    }
    kept.join("\n")
}

fn here_document_delimiter(line: &str) -> Option<String> {
    let (_, after) = line.split_once("<<")?;
    // `<<<` gives a word to the command, and no document follows.
    let after = after.strip_prefix('-').unwrap_or(after);
    let word = after.split_whitespace().next()?.trim_matches(['\'', '"']);
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_word.then(|| word.to_owned())
}

/// Skips assignments and wrappers such as `env` and `sudo`.
fn program_and_arguments<'w>(words: &'w [&'w str]) -> Option<(&'w str, &'w [&'w str])> {
    let start = words
        .iter()
        .position(|word| !is_assignment(word) && !is_wrapper(base_name(word)))?;
    Some((base_name(words[start]), &words[start + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_run_or_only_mentioned() {
        assert!(runs_program("cd web && RUST_LOG=debug cargo test", "cargo"));
        assert!(runs_program("sudo /usr/bin/pytest -q | tail -3", "pytest"));
        assert!(!runs_program("rg pytest src", "pytest"));
        assert!(!runs_program(
            "cat > a.py <<'EOF'\nimport pytest\nEOF",
            "pytest"
        ));
    }

    #[test]
    fn printed_errors_belong_to_a_file() {
        assert!(only_prints_files("rg 'AssertionError: expected 5' tests"));
        assert!(only_prints_files("git log -p | head -50"));
        assert!(!only_prints_files("cargo test 2>&1 | tail -20"));
        assert!(!only_prints_files("pytest | grep FAILED"));
    }

    #[test]
    fn here_documents_are_left_out() {
        let command = "cat > a.go <<'EOF'\ngo test ./...\nEOF\ngo vet";
        assert_eq!(
            without_here_documents(command),
            "cat > a.go <<'EOF'\ngo vet"
        );
        assert_eq!(without_here_documents("tr a b <<< word"), "tr a b <<< word");
    }
}
