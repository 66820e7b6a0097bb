//! What a reader remembers of a rollout: names, numbers and hashes, never what was said.

use std::collections::VecDeque;

use memory::{CallId, IdChain, MessageId};
use serde::{Deserialize, Serialize};

use super::usage::TokenTotals;
use crate::calls::OpenCalls;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CodexReaderState {
    /// The session's own id, once the log has told it.
    pub session: Option<String>,
    pub parent: Option<String>,
    /// The conversation is between agents: no person writes in it.
    pub subagent: bool,
    /// The first line of a subagent's own; those before it are its parent's.
    pub own_from: u64,
    /// The first prompt was given as title.
    pub titled: bool,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// Names content. Events do not advance it: a replay may leave them out.
    pub chain: IdChain,
    /// How many messages were made of events since the last link.
    pub beside: u32,
    /// The first entry of the API response that is being told.
    pub response: Option<MessageId>,
    pub calls: OpenCalls,
    pub signals: CallSignals,
    pub told: RecentTexts,
    pub totals: Option<TokenTotals>,
    /// How full the model's context was, in tokens.
    pub context: Option<u64>,
}

impl CodexReaderState {
    /// Names a content item.
    pub fn content_id(&mut self, parts: &[&str]) -> MessageId {
        self.beside = 0;
        self.chain.link(parts)
    }

    /// Names a message that stands beside the content.
    pub fn side_id(&mut self, parts: &[&str]) -> MessageId {
        self.beside += 1;
        let beside = self.beside.to_string();
        let mut chain = self.chain;
        chain.link(&["beside", &beside]);
        chain.link(parts)
    }
}

/// What events said of calls whose results are still to come.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallSignals(VecDeque<CallSignal>);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallSignal {
    pub call: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub failed: bool,
}

/// Events whose result never comes are rare; the oldest are given up beyond this.
const SIGNALS_MAX: usize = 64;

impl CallSignals {
    pub fn note(&mut self, signal: CallSignal) {
        if self.0.len() == SIGNALS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(signal);
    }

    /// Returns what is known of a call, and forgets it.
    pub fn take(&mut self, call: &CallId) -> Option<CallSignal> {
        let at = self.0.iter().rposition(|signal| signal.call == *call)?;
        self.0.remove(at)
    }
}

/// Hashes of texts that one kind of line told lately and another kind may tell again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecentTexts(VecDeque<u64>);

const RECENT_TEXTS_MAX: usize = 32;

impl RecentTexts {
    /// Says whether `text`, now told by a line of kind `by`, was already told by one of kind
    /// `other`. Each telling answers for one repetition.
    pub fn is_repeat(&mut self, text: &str, by: &str, other: &str) -> bool {
        let told = hash(other, text);
        if let Some(at) = self.0.iter().position(|&known| known == told) {
            self.0.remove(at);
            return true;
        }
        if self.0.len() == RECENT_TEXTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(hash(by, text));
        false
    }
}

fn hash(kind: &str, text: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind.as_bytes());
    hasher.update(&[0]);
    hasher.update(text.trim().as_bytes());
    let bytes = hasher.finalize();
    bytes.as_bytes()[..8]
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}
