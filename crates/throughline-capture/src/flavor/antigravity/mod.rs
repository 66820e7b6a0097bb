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

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Antigravity;

impl Adapter for Antigravity {
    fn flavor(&self) -> Flavor {
        Flavor::Antigravity
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::is_transcript(&root.join(relative)).then_some(SourceFormat::Lines)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.recognises(head).then_some(SourceFormat::Lines)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::AntigravityLogReader::new(
            discover::AntigravityLocation::of(&source.path),
            state,
        ))
    }
}
