//! Kimi Code, and the Kimi CLI before it.
//!
//! A session is a directory, `sessions/<workspace>/<session>/`, with a log for each of its agents:
//! `agents/<agent>/wire.jsonl`. [`discover`] finds it, [`log`] reads its lines, [`prompt`] tells who
//! is behind a prompt, [`state`] reads what `state.json` says of the session, and [`wire`] mirrors
//! their JSON. [`legacy`] reads the lines of the older program.
//!
//! Deliberately unread: requests and tool tables, which are traces of what was sent; injected
//! reminders; and the copies of prompts that `context.append_message` keeps.

mod discover;
mod legacy;
mod log;
mod prompt;
mod state;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Kimi;

impl Adapter for Kimi {
    fn flavor(&self) -> Flavor {
        Flavor::Kimi
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        discover::roots(places)
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        discover::claim(root, relative)
    }

    fn recognises(&self, head: &str) -> bool {
        let state = head.contains("\"workDir\"") && head.contains("\"agents\"");
        is_log(head) || state
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        is_log(head).then_some(SourceFormat::Lines)
    }

    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        match source.format {
            SourceFormat::Document => Box::new(state::KimiSessionFileReader::new(source)),
            _ => Box::new(log::KimiLogReader::new(source, state)),
        }
    }
}

fn is_log(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.contains("\"metadata\"") && first.contains("\"protocol_version\"")
}
