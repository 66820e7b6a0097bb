//! Roo Code, which began as a copy of Cline and stores its tasks in the same format.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use memory::Flavor;

use super::cline;
use crate::flavor::vscode::extension_folders;
use crate::{Adapter, AgentEnv, SourceFormat};

pub(crate) const ROO: Adapter = Adapter {
    flavor: Flavor::Roo,
    roots,
    claim,
    recognises: cline::recognises,
    identify: None,
    open_reader: cline::open_reader,
    is_shared: None,
    session_folder: None,
    read_rows: None,
};

fn roots(env: &AgentEnv) -> Vec<PathBuf> {
    extension_folders(env, "rooveterinaryinc.roo-cline")
}

fn claim(root: &Path, relative: &Path) -> Option<SourceFormat> {
    let path = root.join(relative);
    cline::claim_path(&path).filter(|_| cline::is_roo_path(&path))
}
