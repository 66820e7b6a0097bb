//! Stale instructions: a path or a command that an instruction file names and that does not exist.

/// The family of refusals that report a missing path.
pub(super) const PATH_MISSING: &str = "path-missing";

/// Files in which users instruct their agents.
#[rustfmt::skip]
const INSTRUCTION_FILES: &[&str] = &[
    "CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "AGENTS.override.md", "GEMINI.md",
    "copilot-instructions.md", "SKILL.md", ".cursorrules",
];
/// Instruction files are short; more text than this is something else.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// The parts of names before the missing thing.
const MISSING: &[&str] = &[
    "shell/path-missing ", "path-missing ", "shell/command-not-found ", "npm/missing-script ",
    "make/no-rule ",
];

/// Returns the name of the signal for a path that does not exist.
pub(super) fn missing_path_name(path: &str) -> String {
    format!("{PATH_MISSING} {path}")
}

/// Returns the thing that a name reports as missing.
pub(super) fn missing_subject(name: &str) -> Option<&str> {
    MISSING.iter().find_map(|start| name.strip_prefix(start))
}

/// Returns the name of the signal that an instruction file names the missing thing.
pub(super) fn instruction_name(name: &str) -> String {
    match name.strip_prefix("shell/path-missing ") {
        Some(path) => missing_path_name(path),
        None => name.to_owned(),
    }
}

/// The instruction files that a session has read.
#[derive(Debug, Default)]
pub(super) struct InstructionText(String);

impl InstructionText {
    pub(super) fn add(&mut self, path: Option<&str>, text: &str) {
        let file = path
            .and_then(|path| path.rsplit('/').next())
            .unwrap_or_default();
        let is_instruction = INSTRUCTION_FILES.contains(&file)
            || text.starts_with("# AGENTS.md instructions")
            || text.starts_with("<user_instructions>");
        if is_instruction && self.0.len() + text.len() <= TEXT_BYTES_MAX {
            self.0.push_str(text);
            self.0.push('\n');
        }
    }

    /// Returns the line that mentions a path or a program as a word of its own.
    pub(super) fn line_about(&self, thing: &str) -> Option<String> {
        let word_end =
            |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && !"_-/.".contains(c));
        let mentions = |line: &&str| {
            line.match_indices(thing).any(|(at, _)| {
                let after = &line[at + thing.len()..];
                let after = after
                    .strip_prefix('.')
                    .filter(|rest| !rest.starts_with(char::is_alphanumeric))
                    .unwrap_or(after);
                word_end(line[..at].chars().next_back()) && word_end(after.chars().next())
            })
        };
        (thing.len() > 2)
            .then(|| self.0.lines().find(mentions))?
            .map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_as_a_whole_word() {
        let mut text = InstructionText::default();
        text.add(
            Some("/code/app/CLAUDE.md"),
            "Lint rules: see `.golangci.yml`.\nRun lint.",
        );
        text.add(Some("/code/app/README.md"), "other.yml");
        assert!(text.line_about(".golangci.yml").is_some());
        assert!(text.line_about(".golangci.ym").is_none());
        assert!(text.line_about("other.yml").is_none());
        assert_eq!(missing_subject("shell/path-missing a/b.c"), Some("a/b.c"));
        assert_eq!(
            instruction_name("shell/path-missing a/b.c"),
            "path-missing a/b.c"
        );
    }
}
