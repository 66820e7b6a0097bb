//! Google Antigravity, the agent after Gemini CLI: in the editor and on the command line.
//!
//! `~/.gemini/<program>/brain/<conversation>/.system_generated/logs/` holds a transcript of steps
//! with long texts cut, and beside it, in most versions, the same with all of them. [`discover`]
//! finds the better of the two, [`wire`] mirrors the steps, [`log`] goes through them.
//!
//! Known from public descriptions and sanitised samples only. Deliberately unread: the plans and
//! reports in `brain/` (tool calls wrote them), and the databases in `conversations/`.

mod discover;
mod log;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, Format, Places, Reader, Source};

#[derive(Debug)]
pub struct Antigravity;

impl Adapter for Antigravity {
    fn flavor(&self) -> Flavor {
        Flavor::Antigravity
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<Format> {
        discover::is_transcript(&root.join(relative)).then_some(Format::Lines)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<Format> {
        self.recognises(head).then_some(Format::Lines)
    }

    fn reader(&self, source: &Source, state: Option<&str>) -> Box<dyn Reader> {
        Box::new(log::Log::new(discover::Place::of(&source.path), state))
    }
}
