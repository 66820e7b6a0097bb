//! Pi.
//!
//! A session is one file of entries that form a tree: [`discover`] finds it, [`log`] reads its
//! lines, [`said`] the messages on them, and [`wire`] mirrors their JSON. All branches are read;
//! a branch that was left is still what happened.
//!
//! Deliberately unread: `custom` entries, which are extensions' own state, and labels.

mod discover;
mod log;
mod said;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Pi;

impl Adapter for Pi {
    fn flavor(&self) -> Flavor {
        Flavor::Pi
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::claim(root, relative)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.recognises(head).then_some(SourceFormat::Lines)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::PiLogReader::new(source, state))
    }
}
