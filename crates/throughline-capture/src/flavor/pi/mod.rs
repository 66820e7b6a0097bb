//! Pi.
//!
//! A session is one file of entries that form a tree. [`discover`] finds it, [`log`] reads its
//! lines, [`messages`] the messages on them, and [`wire`] mirrors the JSON. All branches are read,
//! because an abandoned branch is still part of what happened.
//!
//! Deliberately unread: `custom` entries, which are the state of extensions, and labels.

mod discover;
pub(crate) mod hook;
mod log;
mod messages;
#[cfg(test)]
mod tests;
mod wire;

use memory::Flavor;

use crate::{Adapter, SourceFormat};

pub(crate) const PI: Adapter = Adapter {
    flavor: Flavor::Pi,
    roots: discover::roots,
    claim: discover::claim,
    recognises: discover::recognises,
    identify: Some(|head| discover::recognises(head).then_some(SourceFormat::Lines)),
    open_reader: |source, state| Box::new(log::PiLogReader::new(source, state)),
    is_shared: None,
    session_folder: None,
    read_rows: None,
};
