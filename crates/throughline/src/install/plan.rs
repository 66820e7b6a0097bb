//! Decides how each file changes, before anything is written.

use std::path::PathBuf;

use memory::Flavor;

use super::document::{self, ConfigEditError, ConfigFormat, DesiredContent, is_our_file};
use super::manifest::{ManifestEntry, content_hash};

/// A configuration file and the entries that it should contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallTarget {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) desired: DesiredContent,
    /// The rest works without it, so a file of the user in its place is left alone.
    pub(crate) is_optional: bool,
}

impl InstallTarget {
    pub(crate) fn new(agent: Flavor, path: PathBuf, desired: DesiredContent) -> Self {
        Self {
            agent,
            path,
            desired,
            is_optional: false,
        }
    }
}

/// A planned change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigFileChange {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    /// `None` if the file does not exist.
    pub(crate) before: Option<String>,
    /// `None` if the file is to be deleted.
    pub(crate) after: Option<String>,
    pub(crate) original: OriginalCopy,
    /// The members that we create, and that `uninstall` may remove.
    pub(crate) created_members: Vec<String>,
}

/// What happens to the saved original of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginalCopy {
    /// Save this text, or with `None` that the file did not exist.
    Save(Option<String>),
    /// Keep the original that is saved already.
    Unchanged,
    /// Delete the saved original.
    Discard,
}

/// Plans the installation into a file. Returns `None` if our entries are already there.
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
    let is_ours = entry.is_some() || is_our_file(now);
    if format == ConfigFormat::WholeFile && text.is_some() && !is_ours {
        return Err(ConfigEditError::ForeignFile);
    }
    let without_ours =
        document::remove_entries(now, format, entry.map(|entry| entry.made.as_slice()))?;
    let is_untouched = entry.is_some_and(|entry| entry.after == content_hash(now));
    let keep = if is_untouched {
        OriginalCopy::Unchanged
    } else if format == ConfigFormat::WholeFile {
        OriginalCopy::Save(None)
    } else {
        let was_made = entry.is_some_and(|entry| entry.original.is_none())
            && document::is_empty_document(&without_ours, format);
        OriginalCopy::Save(text.filter(|_| !was_made).map(|_| without_ours.clone()))
    };
    Ok(Some(ConfigFileChange {
        agent: target.agent,
        path: target.path.clone(),
        before: text.map(str::to_owned),
        after: Some(document::add_entries(&without_ours, &target.desired)?),
        original: keep,
        created_members: document::missing_members(&without_ours, &target.desired)?,
    }))
}

/// A file and what the manifest knows about it, for the removal of our entries.
#[derive(Debug)]
pub(crate) struct InstalledFile<'a> {
    pub(crate) agent: Flavor,
    pub(crate) path: PathBuf,
    pub(crate) text: Option<String>,
    /// What this release would install there.
    pub(crate) desired: Option<&'a DesiredContent>,
    pub(crate) entry: Option<&'a ManifestEntry>,
    /// The saved original, if the file existed before.
    pub(crate) original: Option<String>,
}

/// Plans the removal of our entries from a file. Returns `None` if there are none.
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
        let is_unchanged = matches!(
            installed.desired,
            Some(DesiredContent::WholeFile(text)) if text == now
        );
        if is_unchanged {
            return Ok(Some(change(None)));
        }
        // The user has changed our file; do not delete their changes.
        let is_changed = entry.is_some() || is_our_file(now);
        return if is_changed {
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
