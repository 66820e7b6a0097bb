//! The moment a prompt is sent: what it says, where, and whether a person typed it.

use std::collections::BTreeSet;

use memory::words::StemmedText;
use memory::{MemoryItem, SessionId, fence};
use serde::Serialize;

/// A prompt that is about to be sent.
#[derive(Clone, Debug, Default)]
pub struct PromptRequest {
    pub prompt: String,
    pub session: Option<SessionId>,
    /// The workspace's key, as the store knows it. Without one only what holds everywhere is
    /// recalled.
    pub workspace: Option<String>,
    /// Other workspaces whose memory may reach this one, by their keys.
    pub related_workspaces: Vec<String>,
    /// What was shown to the session and is not recorded yet.
    pub unrecorded_items: BTreeSet<MemoryItem>,
}

impl PromptRequest {
    /// Returns the workspaces whose memory may be shown.
    pub fn workspaces(&self) -> Vec<String> {
        self.workspace
            .iter()
            .chain(&self.related_workspaces)
            .cloned()
            .collect()
    }

    /// Says whether the memory of a workspace may be shown.
    pub fn may_show_workspace(&self, workspace: Option<&str>) -> bool {
        workspace.is_some_and(|key| self.workspaces().iter().any(|allowed| allowed == key))
    }
}

/// Why nothing is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Silence {
    /// The agent program wrote the prompt, not a person.
    NotTyped,
    /// A command to the agent program.
    Command,
    /// "Continue", "thanks", "run the tests": there is nothing to look for.
    TooLittle,
    /// Memory holds nothing about it.
    NothingFound,
    /// What was found is not sure enough to be about it.
    NotSure,
    /// What was found may not be shown, or was shown before.
    NothingLeft,
}

impl Silence {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NotTyped => "no person typed this prompt",
            Self::Command => "it is a command to the agent program",
            Self::TooLittle => "the prompt says too little to look for",
            Self::NothingFound => "memory holds nothing about it",
            Self::NotSure => "what was found is not sure enough to be about it",
            Self::NothingLeft => "what was found may not be shown, or was shown before",
        }
    }
}

/// How prompts begin that no person typed.
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

/// Less than this says nothing to look for; a word that tells something weighs 1.
const PROMPT_WEIGHT_MIN: f64 = 1.0;

/// Returns what a person typed and its words, or why there is nothing to do.
pub fn typed_text(prompt: &str) -> Result<(String, StemmedText), Silence> {
    let text = fence::strip(prompt);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control());
    let head: String = text.chars().take(80).collect::<String>().to_lowercase();
    if AGENT_PROMPT_PREFIXES
        .iter()
        .any(|envelope| head.starts_with(envelope))
    {
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

/// `/compact now` is a command, `/etc/hosts is wrong` is not; `!ls` and `#note` are shortcuts.
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
    fn what_nobody_typed_gets_nothing() {
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
    fn what_a_person_typed_is_looked_for() {
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
