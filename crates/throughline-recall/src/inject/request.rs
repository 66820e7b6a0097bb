//! A prompt that is about to be sent, and whether a person typed it.

use std::collections::BTreeSet;

use memory::words::StemmedText;
use memory::{MemoryItem, SessionId, fence};
use serde::Serialize;

/// A prompt that is about to be sent.
#[derive(Clone, Debug, Default)]
pub struct PromptRequest {
    pub prompt: String,
    pub session: Option<SessionId>,
    /// The key of the workspace in the store. Without one, only facts that belong to no workspace
    /// are recalled.
    pub workspace: Option<String>,
    /// The keys of other workspaces whose memory may be shown in this one.
    pub related_workspaces: Vec<String>,
    /// Items that were shown to the session and are not recorded in the store yet.
    pub unrecorded_items: BTreeSet<MemoryItem>,
}

impl PromptRequest {
    /// Returns the keys of the workspaces whose memory may be shown.
    pub(crate) fn workspaces(&self) -> Vec<String> {
        self.workspace
            .iter()
            .chain(&self.related_workspaces)
            .cloned()
            .collect()
    }

    /// Returns whether the memory of a workspace may be shown.
    pub(crate) fn may_show_workspace(&self, workspace: Option<&str>) -> bool {
        let mut allowed = self.workspace.iter().chain(&self.related_workspaces);
        workspace.is_some_and(|key| allowed.any(|allowed| allowed == key))
    }
}

/// The reason why a prompt gets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Silence {
    /// The agent wrote the prompt, not a person.
    NotTyped,
    /// The prompt is a command to the agent, such as `/compact`.
    Command,
    /// The prompt has no keywords: "continue", "thanks", "run the tests".
    TooLittle,
    /// No fact and no record matches.
    NothingFound,
    /// No match reaches the confidence that the gate asks for.
    NotSure,
    /// Every match was rejected, for example because it was shown before.
    NothingLeft,
}

impl Silence {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotTyped => "the prompt was not typed by a person",
            Self::Command => "the prompt is a command to the agent",
            Self::TooLittle => "the prompt has no keywords to search for",
            Self::NothingFound => "nothing in memory matches the prompt",
            Self::NotSure => "no match is confident enough",
            Self::NothingLeft => "every match was rejected or shown before",
        }
    }
}

/// Beginnings of prompts that agents write themselves, in lower case.
const AGENT_PROMPT_PREFIXES: &[&str] = &[
    "<task-notification",
    "<command-name",
    "<command-message",
    "<command-args",
    "<local-command",
    "<system-reminder",
    "<system_reminder",
    "<bash-input",
    "<bash-stdout",
    "<bash-stderr",
    "<user-prompt-submit-hook",
    "<hook_context",
    "<environment_context",
    "<user_instructions",
    "<turn_aborted",
    "<user_shell_command",
    "<skill",
    "<ide_",
    "<teammate-message",
    "caveat: the messages below were generated",
    "[request interrupted",
    "this session is being continued from a previous conversation",
    "# agents.md instructions",
    "stop hook feedback",
    "[system",
];

/// A prompt that weighs less has nothing to search for; a content word weighs 1.
const PROMPT_WEIGHT_MIN: f64 = 1.0;

/// Returns the text that a person typed, without injected context, and its words; or why the prompt
/// gets nothing.
pub fn typed_text(prompt: &str) -> Result<(String, StemmedText), Silence> {
    let text = fence::strip(prompt);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let head: String = text.chars().take(80).collect::<String>().to_lowercase();
    let mut prefixes = AGENT_PROMPT_PREFIXES.iter();
    if prefixes.any(|prefix| head.starts_with(prefix)) {
        return Err(Silence::NotTyped);
    }
    if is_command(text) {
        return Err(Silence::Command);
    }
    let words = StemmedText::parse(text);
    if words.stem_weight() < PROMPT_WEIGHT_MIN {
        return Err(Silence::TooLittle);
    }
    Ok((text.to_owned(), words))
}

/// Returns whether a prompt is a command: `/compact now` is one, `/etc/hosts is wrong` is not, and
/// `!ls` runs a shell command.
fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let name = first.strip_prefix('/');
    let slash = name.is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    });
    slash || first.starts_with('!')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_get_nothing() {
        for (prompt, silence) in [
            (
                "<task-notification><id>7</id></task-notification>",
                Silence::NotTyped,
            ),
            (
                "  <system-reminder>parser</system-reminder>",
                Silence::NotTyped,
            ),
            ("[Request interrupted by user]", Silence::NotTyped),
            ("/compact keep the parser", Silence::Command),
            ("/my-plugin:review parser", Silence::Command),
            ("!cargo test parser", Silence::Command),
            ("continue", Silence::TooLittle),
            ("Yes, go on!", Silence::TooLittle),
            ("thanks", Silence::TooLittle),
            ("run the tests", Silence::TooLittle),
            ("fix it", Silence::TooLittle),
            ("", Silence::TooLittle),
            ("\0\u{1}", Silence::TooLittle),
            (
                "<throughline-memory id=\"1\">parser</throughline-memory>",
                Silence::TooLittle,
            ),
        ] {
            assert_eq!(
                typed_text(prompt).map(|(text, _)| text),
                Err(silence),
                "{prompt:?}"
            );
        }
    }

    #[test]
    fn prompts_that_are_searched_for() {
        for prompt in [
            "why does the parser drop the last line?",
            "/etc/hosts has the wrong address",
            "<div> is not closed in the template",
            "где парсер?",
        ] {
            assert!(typed_text(prompt).is_ok(), "{prompt:?}");
        }
    }
}
