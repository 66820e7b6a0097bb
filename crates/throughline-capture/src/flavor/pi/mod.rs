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

use crate::{Adapter, Format, Places, Reader, Source};

#[derive(Debug)]
pub struct Pi;

impl Adapter for Pi {
    fn flavor(&self) -> Flavor {
        Flavor::Pi
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<Format> {
        discover::claim(root, relative)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<Format> {
        self.recognises(head).then_some(Format::Lines)
    }

    fn reader(&self, source: &Source, state: Option<&str>) -> Box<dyn Reader> {
        Box::new(log::Log::new(source, state))
    }
}
