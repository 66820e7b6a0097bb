//! The catalog: one file per promoted pattern, for the repository to commit.
//!
//! A file has TOML between lines of `+++`, then the guidance. Its version follows from what
//! changed; earlier versions are lines of `<id>.history.jsonl`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{Flavor, SignalKind};
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::detect::PatternCandidate;
use crate::similarity::text_similarity;

/// Guidance this similar only changed its wording.
const SAME_MEANING: f64 = 0.9;
/// Guidance this similar was extended.
const EXTENDED: f64 = 0.5;
/// A larger file is not a catalog entry.
const ENTRY_BYTES_MAX: u64 = 64 << 10;

/// Why a catalog cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    #[error("cannot access {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is not a catalog entry: {why}", path.display())]
    Invalid { path: PathBuf, why: String },
}

/// A promoted pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CatalogEntry {
    pub id: String,
    pub version: Version,
    pub status: EntryStatus,
    /// It may be written into agents' files.
    pub distribution_ready: bool,
    pub kind: SignalKind,
    pub signal: String,
    pub signal_version: u32,
    /// A draft of a model is not written into agents' files before the user approves it.
    #[serde(default, skip_serializing_if = "GuidanceTrust::is_users")]
    pub trust: GuidanceTrust,
    /// The model that drafted the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drafted_by: Option<String>,
    #[serde(default)]
    pub scope: EntryScope,
    pub evidence: EntryEvidence,
    #[serde(skip)]
    pub guidance: String,
}

/// On whose word the text of an entry stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GuidanceTrust {
    /// The user wrote or approved it, or it is the template that the user's gate lets pass.
    #[default]
    User,
    /// A model drafted it, and the user has not approved it yet.
    Model,
}

impl GuidanceTrust {
    fn is_users(&self) -> bool {
        *self == Self::User
    }
}

/// The text for agents, and the model that drafted it, if one did.
#[derive(Clone, Copy, Debug)]
pub struct GuidanceText<'a> {
    pub text: &'a str,
    pub drafted_by: Option<&'a str>,
}

impl<'a> From<&'a str> for GuidanceText<'a> {
    fn from(text: &'a str) -> Self {
        Self {
            text,
            drafted_by: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryStatus {
    Provisional,
    Approved,
    Withdrawn,
}

/// Where a pattern applies. An empty list means everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EntryScope {
    pub repos: Vec<String>,
    pub domains: Vec<String>,
    pub flavors: Vec<Flavor>,
    pub paths: Vec<String>,
    /// Agents that have skills read the pattern only when they need it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub on_demand: bool,
}

/// What a pattern was found in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryEvidence {
    pub sessions: u64,
    pub events: u64,
    pub flavors: Vec<Flavor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    pub minutes: u64,
    pub tokens: u64,
    pub digest: String,
}

/// What saving an entry did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SaveOutcome {
    Created(Version),
    /// The guidance, the scope or the signal changed.
    Updated(Version),
    /// Only the evidence or the status changed.
    Refreshed(Version),
    Unchanged(Version),
}

impl SaveOutcome {
    pub const fn version(&self) -> &Version {
        match self {
            Self::Created(version)
            | Self::Updated(version)
            | Self::Refreshed(version)
            | Self::Unchanged(version) => version,
        }
    }
}

impl CatalogEntry {
    pub(super) fn from_candidate(
        candidate: &PatternCandidate,
        status: EntryStatus,
        distribution_ready: bool,
        guidance: GuidanceText<'_>,
    ) -> Self {
        Self {
            id: candidate.id.clone(),
            version: Version::new(1, 0, 0),
            status,
            distribution_ready,
            kind: candidate.kind,
            signal: candidate.name.clone(),
            signal_version: candidate.version,
            scope: EntryScope {
                repos: candidate.workspace.iter().cloned().collect(),
                ..EntryScope::default()
            },
            evidence: EntryEvidence {
                sessions: candidate.sessions,
                events: candidate.times,
                flavors: candidate.flavors.clone(),
                first: candidate.first,
                last: candidate.last,
                minutes: candidate.minutes,
                tokens: candidate.tokens,
                digest: candidate.evidence_digest(),
            },
            trust: GuidanceTrust::User,
            drafted_by: guidance.drafted_by.map(str::to_owned),
            guidance: guidance.text.trim().to_owned(),
        }
    }

    /// Returns the entry as a candidate, for decisions about a pattern without evidence.
    pub(super) fn to_candidate(&self, workspace: &str) -> PatternCandidate {
        let evidence = &self.evidence;
        PatternCandidate {
            id: self.id.clone(),
            kind: self.kind,
            name: self.signal.clone(),
            version: self.signal_version,
            workspace: Some(workspace.to_owned()),
            sessions: evidence.sessions,
            times: evidence.events,
            overcome: 0,
            flavors: evidence.flavors.clone(),
            cross_flavor: evidence.flavors.len() > 1,
            days: 0,
            minutes: evidence.minutes,
            tokens: evidence.tokens,
            log_odds: 0.0,
            first: evidence.first,
            last: evidence.last,
            stale_in: None,
            evidence: Vec::new(),
            session_ids: Vec::new(),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, CatalogError> {
        let invalid = |why: String| CatalogError::Invalid {
            path: path.to_owned(),
            why,
        };
        let body = text
            .strip_prefix("+++")
            .and_then(|rest| rest.split_once("\n+++"));
        let Some((front, guidance)) = body else {
            return Err(invalid("it does not start with +++".to_owned()));
        };
        let mut entry: Self = toml::from_str(front).map_err(|error| invalid(error.to_string()))?;
        entry.guidance = guidance.trim().to_owned();
        Ok(entry)
    }

    fn to_text(&self) -> Result<String, CatalogError> {
        let front = toml::to_string(self).map_err(|error| CatalogError::Invalid {
            path: PathBuf::from(&self.id),
            why: error.to_string(),
        })?;
        Ok(format!("+++\n{front}+++\n\n{}\n", self.guidance))
    }

    /// Returns the version of an entry that replaces this one.
    fn next_version(&self, new: &Self) -> Version {
        let Version {
            major,
            minor,
            patch,
            ..
        } = self.version;
        let similarity = text_similarity(&self.guidance, &new.guidance);
        let same_signal = (&self.signal, self.kind) == (&new.signal, new.kind);
        if same_signal && self.scope == new.scope && self.guidance == new.guidance {
            self.version.clone()
        } else if !same_signal || similarity < EXTENDED || new.scope.is_narrower(&self.scope) {
            Version::new(major + 1, 0, 0)
        } else if similarity < SAME_MEANING || self.scope != new.scope {
            Version::new(major, minor + 1, 0)
        } else {
            Version::new(major, minor, patch + 1)
        }
    }
}

impl EntryScope {
    /// Says whether this scope leaves out something that `other` covers.
    fn is_narrower(&self, other: &Self) -> bool {
        fn loses<T: PartialEq>(new: &[T], old: &[T]) -> bool {
            let gained_limit = old.is_empty() && !new.is_empty();
            let lost_item = !new.is_empty() && old.iter().any(|item| !new.contains(item));
            gained_limit || lost_item
        }
        loses(&self.repos, &other.repos)
            || loses(&self.domains, &other.domains)
            || loses(&self.flavors, &other.flavors)
            || loses(&self.paths, &other.paths)
            || (self.on_demand && !other.on_demand)
    }
}

/// Returns the entries of a catalog in the order of their ids. A folder that does not exist is an
/// empty catalog.
pub fn load_catalog(folder: &Path) -> Result<Vec<CatalogEntry>, CatalogError> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(|source| io_error(folder, source))?,
    };
    let mut entries = Vec::new();
    for file in files {
        let path = file.map_err(|source| io_error(folder, source))?.path();
        if path.extension().is_some_and(|ending| ending == "md") {
            let text = read_entry(&path)?;
            entries.push(CatalogEntry::parse(&path, &text)?);
        }
    }
    entries.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(entries)
}

/// Reads one entry; `None` if there is no such file.
pub(super) fn load_entry(path: &Path) -> Result<Option<CatalogEntry>, CatalogError> {
    if !fs::exists(path).map_err(|source| io_error(path, source))? {
        return Ok(None);
    }
    CatalogEntry::parse(path, &read_entry(path)?).map(Some)
}

fn read_entry(path: &Path) -> Result<String, CatalogError> {
    let size = fs::metadata(path)
        .map_err(|source| io_error(path, source))?
        .len();
    if size > ENTRY_BYTES_MAX {
        return Err(CatalogError::Invalid {
            path: path.to_owned(),
            why: format!("it has more than {ENTRY_BYTES_MAX} bytes"),
        });
    }
    let text = fs::read_to_string(path).map_err(|source| io_error(path, source))?;
    Ok(text.replace("\r\n", "\n"))
}

/// What saving an entry would change.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryChange {
    pub path: PathBuf,
    pub before: Option<String>,
    pub after: String,
    pub outcome: SaveOutcome,
    /// The version that goes into the history.
    replaced: Option<CatalogEntry>,
}

impl EntryChange {
    /// Writes the entry and its history.
    pub fn save(&self) -> Result<(), CatalogError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(|source| io_error(folder, source))?;
        if let Some(replaced) = &self.replaced {
            append_history(folder, replaced)?;
        }
        if matches!(self.outcome, SaveOutcome::Unchanged(_)) {
            return Ok(());
        }
        write_text(&self.path, &self.after)
    }
}

/// Plans how an entry is written. The earlier version goes into the history, and the version number
/// follows from what changed. A scope that the user set in the file stays.
pub fn plan_entry(folder: &Path, mut entry: CatalogEntry) -> Result<EntryChange, CatalogError> {
    let path = folder.join(format!("{}.md", entry.id));
    let before = match fs::exists(&path).map_err(|source| io_error(&path, source))? {
        true => Some(read_entry(&path)?),
        false => None,
    };
    let Some(text) = &before else {
        let after = entry.to_text()?;
        return Ok(EntryChange {
            path,
            before,
            after,
            outcome: SaveOutcome::Created(entry.version),
            replaced: None,
        });
    };
    let known = CatalogEntry::parse(&path, text)?;
    if known.scope != EntryScope::default() {
        entry.scope = known.scope.clone();
    }
    entry.version = known.next_version(&entry);
    let version = entry.version.clone();
    let (outcome, replaced) = if entry == known {
        (SaveOutcome::Unchanged(version), None)
    } else if version == known.version {
        (SaveOutcome::Refreshed(version), None)
    } else {
        (SaveOutcome::Updated(version), Some(known))
    };
    let after = match &outcome {
        SaveOutcome::Unchanged(_) => text.clone(),
        _ => entry.to_text()?,
    };
    Ok(EntryChange {
        path,
        before,
        after,
        outcome,
        replaced,
    })
}

/// Writes an entry as [`plan_entry`] planned it.
pub fn save_entry(folder: &Path, entry: CatalogEntry) -> Result<SaveOutcome, CatalogError> {
    let change = plan_entry(folder, entry)?;
    change.save()?;
    Ok(change.outcome)
}

fn append_history(folder: &Path, entry: &CatalogEntry) -> Result<(), CatalogError> {
    let path = folder.join(format!("{}.history.jsonl", entry.id));
    let mut line = serde_json::to_value(entry).unwrap_or_default();
    line["guidance"] = entry.guidance.clone().into();
    let append = || {
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)?;
        writeln!(file, "{line}")
    };
    append().map_err(|source| io_error(&path, source))
}

/// Writes a file so that a reader sees the old or the new text, never a part of it.
fn write_text(path: &Path, text: &str) -> Result<(), CatalogError> {
    let beside = path.with_extension("md.new");
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|source| io_error(path, source))
}

fn io_error(path: &Path, source: io::Error) -> CatalogError {
    CatalogError::Io {
        path: path.to_owned(),
        source,
    }
}
