//! The supported agents and the properties of each that do not depend on configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A coding agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    Claude,
    Codex,
    Grok,
    Gemini,
    Opencode,
    Copilot,
    Pi,
    Cursor,
    Cline,
    Roo,
    Goose,
    Aider,
    Continue,
    Amp,
    Qwen,
    Kimi,
    Antigravity,
    /// A program that submits its records itself, and writes no log.
    Program,
}

impl Flavor {
    /// The agents, whose logs are read.
    pub const ALL: &[Self] = &[
        Self::Claude,
        Self::Codex,
        Self::Grok,
        Self::Gemini,
        Self::Opencode,
        Self::Copilot,
        Self::Pi,
        Self::Cursor,
        Self::Cline,
        Self::Roo,
        Self::Goose,
        Self::Aider,
        Self::Continue,
        Self::Amp,
        Self::Qwen,
        Self::Kimi,
        Self::Antigravity,
    ];

    /// Returns the name used on the command line, in ids and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Grok => "grok",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Pi => "pi",
            Self::Cursor => "cursor",
            Self::Cline => "cline",
            Self::Roo => "roo",
            Self::Goose => "goose",
            Self::Aider => "aider",
            Self::Continue => "continue",
            Self::Amp => "amp",
            Self::Qwen => "qwen",
            Self::Kimi => "kimi",
            Self::Antigravity => "antigravity",
            Self::Program => "program",
        }
    }

    /// Returns the product name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Grok => "Grok CLI",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Copilot => "Copilot CLI",
            Self::Pi => "Pi",
            Self::Cursor => "Cursor",
            Self::Cline => "Cline",
            Self::Roo => "Roo Code",
            Self::Goose => "Goose",
            Self::Aider => "Aider",
            Self::Continue => "Continue",
            Self::Amp => "Amp",
            Self::Qwen => "Qwen Code",
            Self::Kimi => "Kimi Code",
            Self::Antigravity => "Antigravity",
            Self::Program => "Program",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter().copied().chain([Self::Program]);
        all.find(|flavor| flavor.name() == name)
    }

    /// Returns what the adapter was tested against. `docs/AGENTS.md` has the details.
    pub const fn evidence(self) -> FormatEvidence {
        match self {
            Self::Amp | Self::Antigravity | Self::Cursor => FormatEvidence::ThirdParty,
            Self::Goose | Self::Qwen | Self::Roo => FormatEvidence::VendorSource,
            _ => FormatEvidence::RealLogs,
        }
    }

    /// Returns the command that resumes one of the agent's sessions, if it is known to work.
    pub fn resume_command(self, native: &str) -> Option<Vec<String>> {
        let command: &[&str] = match self {
            Self::Claude => &["claude", "--resume", native],
            Self::Codex => &["codex", "resume", native],
            Self::Grok => &["grok", "--resume", native],
            Self::Gemini => &["gemini", "--resume", native],
            Self::Opencode => &["opencode", "--session", native],
            Self::Copilot => &["copilot", "--resume", native],
            Self::Goose => &["goose", "session", "--resume", "--session-id", native],
            Self::Kimi => &["kimi", "--session", native],
            Self::Pi => &["pi", "--session", native],
            Self::Qwen => &["qwen", "--resume", native],
            _ => return None,
        };
        Some(command.iter().map(|word| (*word).to_owned()).collect())
    }

    /// Returns the command that starts the agent with a first prompt, if it is known to work.
    pub fn prompt_command(self, prompt: &str) -> Option<Vec<String>> {
        let command: &[&str] = match self {
            Self::Claude => &["claude", prompt],
            Self::Codex => &["codex", prompt],
            Self::Gemini => &["gemini", "--prompt-interactive", prompt],
            Self::Opencode => &["opencode", "--prompt", prompt],
            Self::Copilot => &["copilot", "--interactive", prompt],
            Self::Cursor => &["cursor-agent", prompt],
            Self::Pi => &["pi", prompt],
            Self::Qwen => &["qwen", "--prompt-interactive", prompt],
            _ => return None,
        };
        Some(command.iter().map(|word| (*word).to_owned()).collect())
    }

    /// Returns after how many days the agent deletes its own logs by default.
    pub const fn deletes_after_days(self) -> Option<u32> {
        match self {
            Self::Claude => Some(30),
            _ => None,
        }
    }
}

/// The evidence that an adapter was written and tested with, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatEvidence {
    /// The documentation or source of other programs that read the format.
    ThirdParty,
    /// The source code of the agent.
    VendorSource,
    /// Logs that the agent wrote.
    RealLogs,
}

impl FormatEvidence {
    pub const fn name(self) -> &'static str {
        match self {
            Self::ThirdParty => "third party",
            Self::VendorSource => "vendor source",
            Self::RealLogs => "real logs",
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flavor_is_found_by_its_name() {
        for &flavor in Flavor::ALL {
            assert_eq!(Flavor::from_name(flavor.name()), Some(flavor));
        }
        assert_eq!(Flavor::from_name("program"), Some(Flavor::Program));
        assert_eq!(Flavor::from_name("clod"), None);
    }
}
