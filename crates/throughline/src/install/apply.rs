//! Carries a plan out.

use std::path::{Path, PathBuf};

use super::file;
use super::plan::{Change, Keep};
use super::record::{Entry, Record, hash};

/// Changes one file. The record is written first: whoever is interrupted can still undo it.
pub fn apply(home: &Path, record: &mut Record, change: &Change) -> anyhow::Result<()> {
    match &change.after {
        Some(after) if change.keep != Keep::Nothing => put_in(home, record, change, after),
        after => take_out(home, record, change, after.as_deref()),
    }
}

fn put_in(home: &Path, record: &mut Record, change: &Change, after: &str) -> anyhow::Result<()> {
    let known = record.files.get(&change.path);
    let original = match &change.keep {
        Keep::Text(Some(text)) => Some(Record::keep(home, &change.path, text)?),
        Keep::Text(None) | Keep::Nothing => None,
        Keep::AsBefore => known.and_then(|entry| entry.original.clone()),
    };
    let entry = Entry {
        agent: change.agent.name().to_owned(),
        original,
        after: hash(after),
        made: change.made.clone(),
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

fn take_out(
    home: &Path,
    record: &mut Record,
    change: &Change,
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
            hand_on(record, change, &folders);
        }
    }
    record.drop(home, &change.path)?;
    record.save(home)
}

/// Leaves folders that others of our files still lie in to the last of those.
fn hand_on(record: &mut Record, change: &Change, folders: &[PathBuf]) {
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
