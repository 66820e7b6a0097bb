//! Roo Code, which began as a copy of Cline and keeps its tasks alike.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use super::cline;
use crate::{Adapter, AgentEnv, LogReader, Source, SourceFormat};

#[derive(Debug)]
pub struct Roo;

impl Adapter for Roo {
    fn flavor(&self) -> Flavor {
        Flavor::Roo
    }

    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf> {
        cline::extension_folders(places, "rooveterinaryinc.roo-cline")
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        let path = root.join(relative);
        cline::claim(&path).filter(|_| cline::is_roo_path(&path))
    }

    fn recognises(&self, head: &str) -> bool {
        cline::recognises(head)
    }

    fn open_reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn LogReader> {
        cline::reader(source)
    }
}
