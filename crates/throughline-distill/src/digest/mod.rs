//! The digest: what was asked, what was done, what went wrong, how it ended.
//!
//! [`digest`] is a pure function of a session and its records. It sees each record once, in the
//! order of the log: [`account`] gathers, [`call`] says what a tool call is, [`talk`] what a prompt
//! says of the work so far, [`verdict`] how it ended. [`digest_pending`] is the stage.

mod account;
mod call;
mod stage;
mod talk;
mod verdict;

#[cfg(test)]
mod tests;

use memory::{Digest, Session};
use store::StoredRecord;

pub use self::account::DigestBuilder;
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

/// Returns a text on one line, cut to so many characters.
fn short(text: &str, chars_max: usize) -> String {
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
