//! Builds digests: what the user asked, what the agent did, which errors occurred, how the session
//! ended.
//!
//! [`digest`] is a pure function of a session and its records. It reads each record once, in log
//! order. [`builder`] collects, [`call_kind`] classifies tool calls, [`mood`] classifies prompts,
//! [`answer`] classifies the agent's last message, and [`outcome`] judges how the session ended.
//! [`digest_pending`] is the stage that digests finished sessions.

mod answer;
mod builder;
mod call_kind;
mod mood;
mod outcome;
mod stage;

#[cfg(test)]
mod tests;

use memory::{Digest, Session};
use store::StoredRecord;

pub use self::builder::DigestBuilder;
pub use self::stage::{DigestOptions, DigestReport, digest_pending};

/// Returns the digest of a session.
pub fn digest<'r>(
    session: &Session,
    records: impl IntoIterator<Item = &'r StoredRecord>,
) -> Digest {
    let mut account = DigestBuilder::new(session);
    for record in records {
        account.add_record(record);
    }
    account.finish(session)
}

/// Returns a text on one line, cut between words to a number of characters.
pub(crate) fn shorten(text: &str, chars_max: usize) -> String {
    let mut out = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if chars + length + 1 > chars_max {
            if out.is_empty() {
                out.extend(word.chars().take(chars_max.saturating_sub(1)));
            }
            out.push('…');
            return out;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
        chars += length + 1;
    }
    out
}
