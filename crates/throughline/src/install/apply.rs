//! Applies planned changes to files and keeps the manifest up to date.

use std::path::{Path, PathBuf};

use super::file;
use super::manifest::{InstallManifest, ManifestEntry, content_hash};
use super::plan::{ConfigFileChange, OriginalCopy};

/// Changes one file. The manifest is written first, so that `uninstall` can undo an interrupted
/// change.
pub(crate) fn apply_change(
    home: &Path,
    manifest: &mut InstallManifest,
    change: &ConfigFileChange,
) -> anyhow::Result<()> {
    match &change.after {
        Some(after) if change.original != OriginalCopy::Discard => {
            apply_install(home, manifest, change, after)
        }
        after => apply_removal(home, manifest, change, after.as_deref()),
    }
}

fn apply_install(
    home: &Path,
    manifest: &mut InstallManifest,
    change: &ConfigFileChange,
    after: &str,
) -> anyhow::Result<()> {
    let known = manifest.files.get(&change.path);
    let original = match &change.original {
        OriginalCopy::Save(Some(text)) => {
            Some(InstallManifest::save_original(home, &change.path, text)?)
        }
        OriginalCopy::Save(None) | OriginalCopy::Discard => None,
        OriginalCopy::Unchanged => known.and_then(|entry| entry.original.clone()),
    };
    let entry = ManifestEntry {
        agent: change.agent.name().to_owned(),
        original,
        after: content_hash(after),
        made: change.created_members.clone(),
        folders: known.map(|entry| entry.folders.clone()).unwrap_or_default(),
    };
    manifest.files.insert(change.path.clone(), entry);
    manifest.save(home)?;
    let created = file::replace(&change.path, change.before.as_deref(), after)?;
    if !created.is_empty()
        && let Some(entry) = manifest.files.get_mut(&change.path)
    {
        entry.folders = created;
        manifest.save(home)?;
    }
    Ok(())
}

fn apply_removal(
    home: &Path,
    manifest: &mut InstallManifest,
    change: &ConfigFileChange,
    after: Option<&str>,
) -> anyhow::Result<()> {
    match after {
        Some(after) => {
            file::replace(&change.path, change.before.as_deref(), after)?;
        }
        None => {
            let entry = manifest.files.get(&change.path);
            let folders = entry.map(|entry| entry.folders.clone()).unwrap_or_default();
            file::remove(&change.path, &folders)?;
            reassign_folders(manifest, change, &folders);
        }
    }
    manifest.remove_entry(home, &change.path)?;
    manifest.save(home)
}

/// Assigns folders that still contain another of our files to that file, so that its removal
/// deletes them.
fn reassign_folders(
    manifest: &mut InstallManifest,
    change: &ConfigFileChange,
    folders: &[PathBuf],
) {
    for folder in folders.iter().filter(|folder| folder.exists()) {
        let other = manifest
            .files
            .iter_mut()
            .find(|(path, _)| **path != change.path && path.starts_with(folder));
        if let Some((_, other)) = other
            && !other.folders.contains(folder)
        {
            other.folders.push(folder.clone());
            other.folders.sort();
        }
    }
}
