//! Qwen Code: `projects/<project>/chats/<session>.jsonl`, and the logs of its subagents.
//!
//! It grew from Gemini CLI and speaks in the same parts, but its log is its own: every line is a
//! record with a name, a parent and its working directory. [`discover`] knows where logs lie,
//! [`wire`] mirrors the records, [`log`] goes through them; [`session`] keeps what they must know of
//! each other, and [`mark`] makes the entries.
//!
//! Deliberately unread: `ui_telemetry`, which counts again what the answers count, and the
//! snapshots that let the program resume.

mod discover;
mod log;
mod mark;
mod session;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Qwen;

impl Adapter for Qwen {
    fn flavor(&self) -> Flavor {
        Flavor::Qwen
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::is_log(&root.join(relative)).then_some(SourceFormat::Lines)
    }

    fn recognises(&self, head: &str) -> bool {
        discover::recognises(head)
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.recognises(head).then_some(SourceFormat::Lines)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::QwenLogReader::new(
            discover::session_of(&source.path),
            state,
        ))
    }
}
