//! Tells a person's prompts from texts that Aider itself writes in the user's place.

/// The origin of a text in the user's role.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AiderPrompt {
    /// A person's words. Aider logs a command with words twice: as a command, then as the words
    /// alone.
    Words {
        again: Option<String>,
    },
    /// A person's answer to a question of Aider's.
    Answer,
    /// A command without words, or a text of Aider's own.
    Harness,
    Empty,
}

pub(crate) fn classify(text: &str) -> AiderPrompt {
    let text = text.trim();
    if text.is_empty() || text == "<blank>" {
        return AiderPrompt::Empty;
    }
    if is_answered_question(text) {
        return AiderPrompt::Answer;
    }
    if REFLECTION_PREFIXES
        .iter()
        .any(|head| text.starts_with(head))
        || is_failed_match(text)
    {
        return AiderPrompt::Harness;
    }
    let Some(command) = text.strip_prefix('/') else {
        return AiderPrompt::Words { again: None };
    };
    let (name, words) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    let words = words.trim();
    if words.is_empty() || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return AiderPrompt::Harness;
    }
    if FILE_COMMANDS.contains(&name) {
        return AiderPrompt::Harness;
    }
    let again = Some(words.to_owned());
    AiderPrompt::Words { again }
}

/// The beginnings of the messages in which Aider tells the model what went wrong.
const REFLECTION_PREFIXES: &[&str] = &[
    "# Fix any errors below, if possible.",
    "I ran this command:",
    "The LLM did not conform to the edit format.",
    "I updated the files.",
    "I added these files to the chat",
];

/// Commands whose arguments are names of files and models.
const FILE_COMMANDS: &[&str] = &[
    "add", "chat-mode", "drop", "editor-model", "load", "ls", "map-tokens", "model", "models",
    "read-only", "reasoning-effort", "save", "set", "think-tokens", "weak-model",
];

/// Says whether Aider reports that it could not apply the proposed changes.
pub(crate) fn is_rejected_edit(text: &str) -> bool {
    text.starts_with("The LLM did not conform to the edit format") || is_failed_match(text)
}

fn is_failed_match(text: &str) -> bool {
    let head = text.lines().next().unwrap_or_default();
    head.starts_with("# ") && head.contains("SEARCH/REPLACE block") && head.contains("failed")
}

/// Says whether a line is a question of Aider's with its answer, such as `Run shell command?
/// (Y)es/(N)o [Yes]: y`.
pub(crate) fn is_answered_question(line: &str) -> bool {
    let Some((question, answer)) = line.rsplit_once([' ', ':']) else {
        return false;
    };
    let asked = question.ends_with('?') || question.contains("? (Y)es/(N)o");
    let short = matches!(
        answer,
        "y" | "n" | "a" | "s" | "d" | "yes" | "no" | "all" | "skip"
    );
    asked && short && !line.contains('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_key_presses() {
        let words = |again: Option<&str>| AiderPrompt::Words {
            again: again.map(str::to_owned),
        };
        for (text, expected) in [
            ("make it faster", words(None)),
            ("/ask  will it work?", words(Some("will it work?"))),
            ("!ls", words(None)),
            ("/undo", AiderPrompt::Harness),
            ("/add a.py b.py", AiderPrompt::Harness),
            ("/ the root", AiderPrompt::Harness),
            ("<blank>", AiderPrompt::Empty),
            (
                "# Fix any errors below, if possible.\n\n## x",
                AiderPrompt::Harness,
            ),
            (
                "# 1 SEARCH/REPLACE block failed to match!",
                AiderPrompt::Harness,
            ),
            ("Add it? (Y)es/(N)o/(A)ll [Yes]: all", AiderPrompt::Answer),
        ] {
            assert_eq!(classify(text), expected, "{text}");
        }
    }

    #[test]
    fn answers_are_known() {
        for line in [
            "Attempt to fix lint errors? y",
            "Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]: n",
        ] {
            assert!(is_answered_question(line), "{line}");
        }
        for line in ["What is y", "Is it? maybe", "is x > y", "no"] {
            assert!(!is_answered_question(line), "{line}");
        }
    }
}
