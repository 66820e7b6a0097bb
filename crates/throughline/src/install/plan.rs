//! What is to be changed, decided before anything is.

use std::path::PathBuf;

use memory::Flavor;

use super::document::{self, ConfigEditError, ConfigFormat, DesiredContent, MARKER};
use super::record::{ManifestEntry, content_hash};

/// A file of an agent's configuration and what we want in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallTarget {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) desired: DesiredContent,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigFileChange {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    /// `None`: there is no file.
    pub(crate) before: Option<String>,
    /// `None`: there shall be none.
    pub(crate) after: Option<String>,
    pub(crate) original: OriginalCopy,
    /// The members that are ours to take away again.
    pub(crate) created_members: Vec<String>,
}

/// What is kept as the file's original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginalCopy {
    /// This text; without one, that there was no file.
    Save(Option<String>),
    /// What is kept already.
    Unchanged,
    /// Nothing any more.
    Discard,
}

/// Decides what putting our entries into a file changes; `None` when they are there.
pub(crate) fn plan_file_install(
    target: &InstallTarget,
    text: Option<&str>,
    entry: Option<&ManifestEntry>,
) -> Result<Option<ConfigFileChange>, ConfigEditError> {
    let format = ConfigFormat::of(&target.path);
    let now = text.unwrap_or_default();
    if text.is_some() && document::is_installed(now, &target.desired)? {
        return Ok(None);
    }
    if document::has_foreign_server(now, format)? {
        return Err(ConfigEditError::ForeignServer);
    }
    let is_ours = entry.is_some() || now.starts_with(MARKER);
    if format == ConfigFormat::WholeFile && text.is_some() && !is_ours {
        return Err(ConfigEditError::ForeignFile);
    }
    let bare = document::remove_entries(now, format, entry.map(|entry| entry.made.as_slice()))?;
    let is_untouched = entry.is_some_and(|entry| entry.after == content_hash(now));
    let keep = if is_untouched {
        OriginalCopy::Unchanged
    } else if format == ConfigFormat::WholeFile {
        OriginalCopy::Save(None)
    } else {
        let was_made = entry.is_some_and(|entry| entry.original.is_none())
            && document::is_empty_document(&bare, format);
        OriginalCopy::Save(text.filter(|_| !was_made).map(|_| bare.clone()))
    };
    Ok(Some(ConfigFileChange {
        agent: target.agent,
        path: target.path.clone(),
        before: text.map(str::to_owned),
        after: Some(document::add_entries(&bare, &target.desired)?),
        original: keep,
        created_members: document::missing_members(&bare, &target.desired)?,
    }))
}

/// A file and what is known of it, for taking our entries out.
#[derive(Debug)]
pub(crate) struct InstalledFile<'a> {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) text: Option<String>,
    pub(crate) entry: Option<&'a ManifestEntry>,
    /// The text from before, where there was one.
    pub(crate) original: Option<String>,
}

/// Decides what taking our entries out of a file changes; `None` when there is nothing of ours.
pub(crate) fn plan_file_removal(
    installed: &InstalledFile<'_>,
) -> Result<Option<ConfigFileChange>, ConfigEditError> {
    let Some(now) = &installed.text else {
        return Ok(None);
    };
    let format = ConfigFormat::of(&installed.path);
    let change = |after: Option<String>| ConfigFileChange {
        agent: installed.agent,
        path: installed.path.clone(),
        before: Some(now.clone()),
        after,
        original: OriginalCopy::Discard,
        created_members: Vec::new(),
    };
    let entry = installed.entry;
    if entry.is_some_and(|entry| entry.after == content_hash(now)) {
        return Ok(Some(change(installed.original.clone())));
    }
    if format == ConfigFormat::WholeFile {
        // Somebody has made it their own.
        let changed = entry.is_some() || now.starts_with(MARKER);
        return if changed {
            Err(ConfigEditError::ForeignFile)
        } else {
            Ok(None)
        };
    }
    let after = document::remove_entries(now, format, entry.map(|entry| entry.made.as_slice()))?;
    if after == *now {
        return Ok(None);
    }
    let was_made = entry.is_some_and(|entry| entry.original.is_none());
    let is_over = was_made && document::is_empty_document(&after, format);
    Ok(Some(change((!is_over).then_some(after))))
}
