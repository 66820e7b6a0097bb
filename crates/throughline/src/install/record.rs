//! What we have changed, and how it was before: `installed.json` and the folder `originals` in our home.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::file;
use crate::output::error_with_hint;

const MANIFEST_FILE: &str = "installed.json";
const ORIGINALS_FOLDER: &str = "originals";

#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct InstallManifest {
    version: u32,
    /// By the path that the agent knows the file by.
    pub(crate) files: BTreeMap<PathBuf, ManifestEntry>,
}

/// One file that we changed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct ManifestEntry {
    pub(crate) agent: String,
    /// The copy of the file from before, in the folder of originals. None: there was no file.
    pub(crate) original: Option<String>,
    /// The hash of the file as we left it.
    pub(crate) after: String,
    /// The members of it that we made.
    pub(crate) made: Vec<String>,
    /// The folders that we made for it, outermost first.
    pub(crate) folders: Vec<PathBuf>,
}

impl Default for InstallManifest {
    fn default() -> Self {
        Self {
            version: 1,
            files: BTreeMap::new(),
        }
    }
}

impl InstallManifest {
    pub(crate) fn load(home: &Path) -> anyhow::Result<Self> {
        let path = home.join(MANIFEST_FILE);
        let Some(text) = file::read(&path)? else {
            return Ok(Self::default());
        };
        let record: Self = serde_json::from_str(&text).map_err(|error| {
            error_with_hint(
                format!("{} cannot be read: {error}", path.display()),
                "move it away: what is installed is then found by looking, and the originals \
                     stay beside it",
            )
        })?;
        if record.version != 1 {
            return Err(error_with_hint(
                format!("{} is of a later release", path.display()),
                "update throughline",
            ));
        }
        Ok(record)
    }

    /// Writes the record, or removes it when it says nothing.
    pub(crate) fn save(&self, home: &Path) -> anyhow::Result<()> {
        let path = home.join(MANIFEST_FILE);
        if self.files.is_empty() {
            // The folder itself goes too if memory has never been in it.
            file::remove(&path, &[home.to_owned(), home.join(ORIGINALS_FOLDER)])?;
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write_private(&path, &text)
    }

    /// Keeps a text as the original of a file, and returns its name.
    pub(crate) fn save_original(home: &Path, path: &Path, text: &str) -> anyhow::Result<String> {
        let hash = content_hash(&path.to_string_lossy());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}-{name}", &hash[..8]);
        let folder = home.join(ORIGINALS_FOLDER);
        private_folder(home)?;
        private_folder(&folder)?;
        write_private(&folder.join(&name), text)?;
        Ok(name)
    }

    pub(crate) fn read_original(home: &Path, name: &str) -> anyhow::Result<String> {
        let path = home.join(ORIGINALS_FOLDER).join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Takes a file out of the record, with its original.
    pub(crate) fn remove_entry(&mut self, home: &Path, path: &Path) -> anyhow::Result<()> {
        if let Some(entry) = self.files.remove(path)
            && let Some(name) = entry.original
        {
            file::remove(&home.join(ORIGINALS_FOLDER).join(name), &[])?;
        }
        Ok(())
    }
}

/// Returns the name of a text: the same only for the same bytes.
pub(crate) fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

fn private_folder(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
        .create(path)
        .with_context(|| format!("cannot make {}", path.display()))
}

/// Writes a file of ours in one step, for its owner alone.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".new");
    let mut file = file::create_private(Path::new(&aside)).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    fs::rename(&aside, path).with_context(failed)
}
