//! Finds secrets and personal data in a text and replaces the secrets by typed marks.
//!
//! [`Redactor`] is the way in. A text passes through these stages:
//!
//! 1. [`scan::view`] undoes escapes, entities and colour codes, so that JSON inside JSON reads like
//!    plain text. It remembers where every byte came from.
//! 2. [`scan`] searches once for the literals of all detectors and calls the detector that a
//!    literal belongs to. [`scan::progress`] keeps the cost linear in the length of the text.
//! 3. The detectors decide whether a secret stands there:
//!    - [`mod@format`] knows tokens that are secret by themselves (`ghp_…`). Each of its rules
//!      carries examples that a test feeds to the redactor.
//!    - [`assignment`] reads `name = value` in its many spellings.
//!    - [`detect`] holds the rest: key blocks, URLs, headers, prose, tables, manifests.
//!
//!    [`value`] tells random values and passwords from words, code and placeholders for all of
//!    them.
//! 4. [`session`] remembers the secrets of a session and replaces each wherever it recurs.
//! 5. [`mark`] writes the text that stands in a secret's place.
//!
//! A certain detection (a format) or a probable one (a secret's name with a fitting value) is
//! replaced. A merely possible one leaves the text unchanged and tags it `sensitive`, as does
//! [`mod@personal_data`].
//!
//! If a detector panics, the text is not stored: a note stands in its place ([`panic_guard`]).
//!
//! The crate is pure. It knows nothing of records, databases or files.

#![cfg_attr(not(test), warn(unreachable_pub, let_underscore_drop))]
#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::await_holding_lock
    )
)]

mod assignment;
mod checked_texts;
mod clean_text;
mod detect;
mod format;
mod mark;
mod panic_guard;
mod personal_data;
mod redactor;
mod scan;
mod session;
mod value;
mod word_map;

pub use self::checked_texts::CheckedTexts;
pub use self::clean_text::{CleanString, CleanText};
pub use self::panic_guard::is_detecting;
pub use self::personal_data::{PersonalData, personal_data};
pub use self::redactor::{Finding, Redactor};
pub use self::scan::Confidence;
pub use self::session::{Fingerprint, Secret, SessionSecrets};

#[cfg(test)]
mod tests;
