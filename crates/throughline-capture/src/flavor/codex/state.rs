//! The state that a reader keeps of a rollout: ids, numbers and hashes, never the conversation.

use std::collections::VecDeque;

use memory::{CallId, IdChain, MessageId};
use serde::{Deserialize, Serialize};

use super::usage::TokenTotals;
use crate::calls::OpenCalls;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CodexReaderState {
    /// The session's own id, once a line has named it.
    pub session: Option<String>,
    pub parent: Option<String>,
    /// The session is a subagent's: no person writes in it.
    pub subagent: bool,
    /// The ordinal of the subagent's first own line; earlier ones are the parent's.
    pub own_from: u64,
    /// The first prompt has been emitted as the title.
    pub titled: bool,
    pub model: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    /// Derives the ids of content. Events do not advance it, because a replay may leave them out.
    pub chain: IdChain,
    /// How many messages were made from events since the last content item.
    pub beside: u32,
    /// The id of the first message of the current API response.
    pub response: Option<MessageId>,
    pub calls: OpenCalls,
    pub signals: CallSignals,
    #[serde(rename = "told")]
    pub recent_texts: RecentTexts,
    pub totals: Option<TokenTotals>,
    /// The size of the model's context, in tokens.
    pub context: Option<u64>,
}

impl CodexReaderState {
    /// Returns the id of a content item.
    pub(crate) fn content_id(&mut self, parts: &[&str]) -> MessageId {
        self.beside = 0;
        self.chain.link(parts)
    }

    /// Returns the id of a message that is made from an event.
    pub(crate) fn side_id(&mut self, parts: &[&str]) -> MessageId {
        self.beside += 1;
        let beside = self.beside.to_string();
        let mut chain = self.chain;
        chain.link(&["beside", &beside]);
        chain.link(parts)
    }
}

/// The reports of events about calls without a result yet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CallSignals(VecDeque<CallSignal>);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CallSignal {
    pub call: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    #[serde(default)]
    pub failed: bool,
}

/// Results that never come are rare; the oldest events are dropped beyond this.
const SIGNALS_MAX: usize = 64;

impl CallSignals {
    pub(crate) fn note(&mut self, signal: CallSignal) {
        if self.0.len() == SIGNALS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(signal);
    }

    /// Removes and returns what events reported about a call.
    pub(crate) fn take(&mut self, call: &CallId) -> Option<CallSignal> {
        let at = self.0.iter().rposition(|signal| signal.call == *call)?;
        self.0.remove(at)
    }
}

/// Hashes of recent texts of one kind of line that another kind of line may repeat.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct RecentTexts(VecDeque<u64>);

const RECENT_TEXTS_MAX: usize = 32;

impl RecentTexts {
    /// Says whether `text`, now in a line of kind `by`, repeats one in a line of kind `other`. Each
    /// text accounts for one repetition.
    pub(crate) fn is_repeat(&mut self, text: &str, by: &str, other: &str) -> bool {
        let text_hash = hash(other, text);
        if let Some(at) = self.0.iter().position(|&known| known == text_hash) {
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
