//! The agents whose sessions become memory, with the facts about each that never change.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flavor {
    Claude,
    Codex,
    Grok,
}

impl Flavor {
    pub const ALL: &[Self] = &[Self::Claude, Self::Codex, Self::Grok];

    /// Returns the word used on the command line, in ids and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Grok => "grok",
        }
    }

    /// Returns the name its makers gave it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex CLI",
            Self::Grok => "Grok CLI",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|flavor| flavor.name() == name)
    }

    /// Returns after how many days the agent deletes its own logs, unless its settings say else.
    pub const fn deletes_after_days(self) -> Option<u32> {
        match self {
            Self::Claude => Some(30),
            Self::Codex | Self::Grok => None,
        }
    }

    /// Returns the program and its arguments that go on with a session, by the agent's own id for
    /// it; `None` where an agent has no such command. It is to be run in the session's folder.
    pub fn resume_command(self, native: &str) -> Option<Vec<String>> {
        let command: &[&str] = match self {
            Self::Claude => &["claude", "--resume", native],
            Self::Codex => &["codex", "resume", native],
            Self::Grok => &["grok", "--resume", native],
        };
        Some(command.iter().map(|word| (*word).to_owned()).collect())
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
        assert_eq!(Flavor::from_name("clod"), None);
    }
}
