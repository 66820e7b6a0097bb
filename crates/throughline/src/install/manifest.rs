//! The manifest of our changes, `installed.json`, and the original files in the folder `originals`,
//! both in the data folder.

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
    /// The changed files, by the path that the agent uses.
    pub(crate) files: BTreeMap<PathBuf, ManifestEntry>,
}

/// A file that we changed.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct ManifestEntry {
    pub(crate) agent: String,
    /// The name of the saved original; `None` if the file did not exist.
    pub(crate) original: Option<String>,
    /// The hash of the file after our change.
    pub(crate) after: String,
    /// The members that we created in it.
    pub(crate) made: Vec<String>,
    /// The folders that we created for it, outermost first.
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
        let manifest: Self = serde_json::from_str(&text).map_err(|error| {
            error_with_hint(
                format!("cannot parse {}: {error}", path.display()),
                "move it away; installed entries are then found by searching the files, and the \
                     originals are kept",
            )
        })?;
        if manifest.version != 1 {
            return Err(error_with_hint(
                format!("{} was written by a newer version", path.display()),
                "update throughline",
            ));
        }
        Ok(manifest)
    }

    /// Writes the manifest, or deletes it if it is empty.
    pub(crate) fn save(&self, home: &Path) -> anyhow::Result<()> {
        let path = home.join(MANIFEST_FILE);
        if self.files.is_empty() {
            // The data folder is deleted too if it is empty, that is, if there was never a store.
            file::remove(&path, &[home.to_owned(), home.join(ORIGINALS_FOLDER)])?;
            return Ok(());
        }
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        write_private(&path, &text)
    }

    /// Saves a text as the original of a file, and returns the name under which it is saved.
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

    /// Removes a file and its original from the manifest.
    pub(crate) fn remove_entry(&mut self, home: &Path, path: &Path) -> anyhow::Result<()> {
        if let Some(entry) = self.files.remove(path)
            && let Some(name) = entry.original
        {
            file::remove(&home.join(ORIGINALS_FOLDER).join(name), &[])?;
        }
        Ok(())
    }
}

/// Returns the hash of a text.
pub(crate) fn content_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Creates a folder that only its owner can read, unless it exists.
pub(crate) fn private_folder(path: &Path) -> anyhow::Result<()> {
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
        .with_context(|| format!("cannot create {}", path.display()))
}

/// Writes one of our files atomically, readable by its owner only.
fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file = file::create_private(Path::new(&temporary)).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    file.sync_all().with_context(failed)?;
    fs::rename(&temporary, path).with_context(failed)
}
