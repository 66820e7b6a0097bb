//! The supported agents and the properties of each that do not depend on configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Declares the agents, each with the name used on the command line, in ids and in the store, and
/// with the name of the product.
macro_rules! flavors {
    ($($variant:ident = $name:literal, $title:literal;)+) => {
        /// A coding agent program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum Flavor {
            $($variant,)+
            /// A program that submits its records itself, and writes no log.
            Program,
        }

        impl Flavor {
            /// The agents, whose logs are read.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Returns the name used on the command line, in ids and in the store.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ Self::Program => "program" }
            }

            /// Returns the product name.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ Self::Program => "Program" }
            }
        }
    };
}

flavors! {
    Claude = "claude", "Claude Code";
    Codex = "codex", "Codex CLI";
    Grok = "grok", "Grok CLI";
    Gemini = "gemini", "Gemini CLI";
    Opencode = "opencode", "opencode";
    Copilot = "copilot", "Copilot CLI";
    Pi = "pi", "Pi";
    Cursor = "cursor", "Cursor";
    Cline = "cline", "Cline";
    Roo = "roo", "Roo Code";
    Goose = "goose", "Goose";
    Aider = "aider", "Aider";
    Continue = "continue", "Continue";
    Amp = "amp", "Amp";
    Qwen = "qwen", "Qwen Code";
    Kimi = "kimi", "Kimi Code";
    Antigravity = "antigravity", "Antigravity";
}

impl Flavor {
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

named_enum! {
    /// The evidence that an adapter was written and tested with, weakest first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum FormatEvidence {
        /// The documentation or source of other programs that read the format.
        ThirdParty = "third party",
        /// The source code of the agent.
        VendorSource = "vendor source",
        /// Logs that the agent wrote.
        RealLogs = "real logs",
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
