//! Carries a plan out.

use std::path::{Path, PathBuf};

use super::file;
use super::plan::{ConfigFileChange, OriginalCopy};
use super::record::{InstallManifest, ManifestEntry, content_hash};

/// Changes one file. The record is written first: whoever is interrupted can still undo it.
pub(crate) fn apply_change(
    home: &Path,
    record: &mut InstallManifest,
    change: &ConfigFileChange,
) -> anyhow::Result<()> {
    match &change.after {
        Some(after) if change.original != OriginalCopy::Discard => {
            apply_install(home, record, change, after)
        }
        after => apply_removal(home, record, change, after.as_deref()),
    }
}

fn apply_install(
    home: &Path,
    record: &mut InstallManifest,
    change: &ConfigFileChange,
    after: &str,
) -> anyhow::Result<()> {
    let known = record.files.get(&change.path);
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
    record.files.insert(change.path.clone(), entry);
    record.save(home)?;
    let made = file::replace(&change.path, change.before.as_deref(), after)?;
    if !made.is_empty()
        && let Some(entry) = record.files.get_mut(&change.path)
    {
        entry.folders = made;
        record.save(home)?;
    }
    Ok(())
}

fn apply_removal(
    home: &Path,
    record: &mut InstallManifest,
    change: &ConfigFileChange,
    after: Option<&str>,
) -> anyhow::Result<()> {
    match after {
        Some(after) => {
            file::replace(&change.path, change.before.as_deref(), after)?;
        }
        None => {
            let entry = record.files.get(&change.path);
            let folders = entry.map(|entry| entry.folders.clone()).unwrap_or_default();
            file::remove(&change.path, &folders)?;
            reassign_folders(record, change, &folders);
        }
    }
    record.remove_entry(home, &change.path)?;
    record.save(home)
}

/// Leaves folders that others of our files still lie in to the last of those.
fn reassign_folders(record: &mut InstallManifest, change: &ConfigFileChange, folders: &[PathBuf]) {
    for folder in folders.iter().filter(|folder| folder.exists()) {
        let heir = record
            .files
            .iter_mut()
            .find(|(path, _)| **path != change.path && path.starts_with(folder));
        if let Some((_, heir)) = heir
            && !heir.folders.contains(folder)
        {
            heir.folders.push(folder.clone());
            heir.folders.sort();
        }
    }
}
