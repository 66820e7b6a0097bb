//! Roo Code, which began as a copy of Cline and keeps its tasks alike.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use super::cline;
use crate::{Adapter, Format, Places, Reader, Source};

#[derive(Debug)]
pub struct Roo;

impl Adapter for Roo {
    fn flavor(&self) -> Flavor {
        Flavor::Roo
    }

    fn roots(&self, places: &Places) -> Vec<PathBuf> {
        cline::extension(places, "rooveterinaryinc.roo-cline")
    }

    fn claim(&self, root: &Path, relative: &Path) -> Option<Format> {
        let path = root.join(relative);
        cline::claim(&path).filter(|_| cline::is_roos(&path))
    }

    fn recognises(&self, head: &str) -> bool {
        cline::recognises(head)
    }

    fn reader(&self, source: &Source, _state: Option<&str>) -> Box<dyn Reader> {
        cline::reader(source)
    }
}
