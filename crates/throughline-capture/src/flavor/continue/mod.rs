//! Continue.
//!
//! A session is one document, `sessions/<id>.json`, that is rewritten after each turn: [`log`]
//! reads it and [`wire`] mirrors its JSON. `sessions.json` beside it knows when it began.
//!
//! Deliberately unread: `promptLogs` but for the model's name, since they repeat whole prompts
//! with the configuration and its keys; attached files, which are not the conversation; and the
//! editor's state, which is the prompt again.

mod log;
#[cfg(test)]
mod tests;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Continue;

impl Adapter for Continue {
    fn flavor(&self) -> Flavor {
        Flavor::Continue
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        let home = places
            .folder_variable("CONTINUE_GLOBAL_DIR")
            .unwrap_or_else(|| places.home.join(".continue"));
        vec![home.join("sessions")]
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        let path = root.join(relative);
        let stem = path.file_name()?.to_str()?.strip_suffix(".json")?;
        let folder = path.parent()?.file_name()?.to_str()?;
        (folder == "sessions" && is_uuid(stem)).then_some(SourceFormat::Document)
    }

    fn recognises(&self, head: &str) -> bool {
        let has = |key: &str| head.contains(key);
        has("\"sessionId\"") && has("\"history\"") && has("\"workspaceDirectory\"")
    }

    fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.recognises(head).then_some(SourceFormat::Document)
    }

    fn open_reader(&self, source: &Source, _: Option<&str>) -> Box<dyn LogReader> {
        Box::new(log::ContinueReader::new(source))
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
