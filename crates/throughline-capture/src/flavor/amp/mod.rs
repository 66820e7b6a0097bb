//! Amp.
//!
//! A thread is one document, `threads/T-<id>.json`, that is rewritten as it grows: [`thread`] reads
//! it, [`result`] what its tools returned, and [`wire`] mirrors its JSON. Threads live on Amp's
//! server; what lies here is what this machine has seen of them.
//!
//! Deliberately unread: traces but for the last one's end, and `history.jsonl`, the prompts again.

mod result;
#[cfg(test)]
mod tests;
mod thread;
mod wire;

use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Amp;

impl Adapter for Amp {
    fn flavor(&self) -> Flavor {
        Flavor::Amp
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        let data = places
            .folder_variable("XDG_DATA_HOME")
            .unwrap_or_else(|| places.home.join(".local").join("share"));
        let mut roots = vec![data.join("amp").join("threads")];
        // Where the extension kept them before.
        let config = places
            .folder_variable("XDG_CONFIG_HOME")
            .unwrap_or_else(|| places.home.join(".config"));
        let mut configs = vec![
            config,
            places.home.join("Library").join("Application Support"),
        ];
        configs.extend(places.folder_variable("APPDATA"));
        for config in configs {
            for editor in ["Code", "Code - Insiders", "Cursor", "VSCodium", "Windsurf"] {
                let storage = config.join(editor).join("User").join("globalStorage");
                roots.push(storage.join("sourcegraph.amp").join("threads3"));
            }
        }
        roots
    }

    fn claim(&self, _root: &Path, relative: &Path) -> Option<SourceFormat> {
        let stem = relative.file_name()?.to_str()?.strip_suffix(".json")?;
        let id = stem.strip_prefix("T-")?;
        let shaped = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        shaped.then_some(SourceFormat::Document)
    }

    fn recognises(&self, head: &str) -> bool {
        head.contains("\"T-") && head.contains("\"messages\"") && head.contains("\"created\"")
    }

    fn open_reader(&self, source: &Source, _: Option<&str>) -> Box<dyn LogReader> {
        Box::new(thread::AmpThreadReader::new(source))
    }
}
