//! Carries decisions out: checks the text, writes the catalog, and records the decision.
//!
//! A decision is planned first, so that a front end can show what it changes before it is made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use semver::Version;
use serde::Serialize;
use store::{Review, Store};

use super::bloat::{BloatFinding, BloatText, find_bloat};
use super::catalog::{
    self, CatalogEntry, CatalogError, EntryChange, EntryStatus, GuidanceText, GuidanceTrust,
    plan_entry,
};
use super::gate::EvidenceLevel;
use super::guidance::{GUIDANCE_WORDS_MAX, draft_guidance};
use super::linters::enforced_by;
use super::{NewDecision, ReviewDecision, needs_decision, record_decision};
use crate::LearnSettings;
use crate::detect::{PatternCandidate, instruction_texts};
use crate::distribute::{FileChange, text_outside_blocks, unified_diff};

/// At most this many repositories are looked at.
const WORKSPACES_MAX: usize = 1_000;

/// Why a decision cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum CurateError {
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the text has {words} words, more than {GUIDANCE_WORDS_MAX}")]
    TextTooLong { words: usize },
    #[error("the text is empty")]
    TextEmpty,
    #[error("{from} already says: {text}")]
    Duplicate { from: String, text: String },
    #[error("the repository {workspace} of this pattern is not on this machine")]
    RepositoryMissing { workspace: String },
    #[error("pattern {id} is approved already")]
    AlreadyApproved { id: String },
    #[error("no pattern of a catalog on this machine has the id {id:?}")]
    NotInCatalog { id: String },
}

impl CurateError {
    /// Returns what the user can do about it, if that is known.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::TextTooLong { .. } => {
                Some("agents follow short instructions best; shorten the text")
            }
            Self::TextEmpty => Some("give the text that agents will read"),
            Self::Duplicate { .. } => Some("reject the candidate, or approve it with another text"),
            Self::RepositoryMissing { .. } => {
                Some("clone it and run an agent in it, so that Throughline knows the folder")
            }
            Self::AlreadyApproved { .. } => {
                Some("edit its text in the catalog, or approve it again with --text")
            }
            Self::NotInCatalog { .. } => {
                Some("`throughline measure` lists the distributed patterns")
            }
            Self::Catalog(_) | Self::Store(_) => None,
        }
    }
}

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecisionOrigin {
    /// The user, perhaps with a reason. Their word replaces the floor for the agents' files.
    User(Option<String>),
    /// The gate, without the user.
    Gate,
}

memory::named_enum! {
    /// Where a pattern stands.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum PatternState {
        /// No decision has been made about it.
        Open = "open",
        Approved = "approved",
        /// In the catalog, but not for the agents' files.
        Provisional = "provisional",
        Rejected = "rejected",
        Discussed = "discussed",
        Withdrawn = "withdrawn",
    }
}

/// A candidate with everything that a person needs to decide about it.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateView {
    #[serde(flatten)]
    pub candidate: PatternCandidate,
    pub state: PatternState,
    pub needs_decision: bool,
    pub level: EvidenceLevel,
    /// The text for agents: of the catalog if the pattern is in one, else the template.
    pub guidance: String,
    /// The model that drafted the text.
    pub drafted_by: Option<String>,
    /// `model` while the user has not approved a draft.
    pub trust: GuidanceTrust,
}

/// A decision that has been checked and not made yet.
#[derive(Clone, Debug)]
pub struct PlannedDecision<'a> {
    candidate: &'a PatternCandidate,
    /// The repository of the pattern, if it is on this machine.
    root: Option<&'a Path>,
    decision: ReviewDecision,
    why: Option<String>,
    guidance: Option<String>,
    pub status: Option<EntryStatus>,
    /// What changes in the catalog.
    pub change: Option<EntryChange>,
}

/// What a decision did.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionOutcome {
    pub id: String,
    pub name: String,
    pub decision: ReviewDecision,
    /// The same decision about the same evidence was not recorded before.
    pub new: bool,
    pub status: Option<EntryStatus>,
    pub version: Option<Version>,
    pub file: Option<PathBuf>,
}

impl PlannedDecision<'_> {
    /// Returns the change of the catalog as a unified diff, with a path relative to the repository.
    pub fn diff(&self) -> Option<String> {
        let change = self.change.as_ref()?;
        let inside = self
            .root
            .and_then(|root| change.path.strip_prefix(root).ok());
        (change.before.as_ref() != Some(&change.after)).then(|| {
            unified_diff(&FileChange {
                path: inside.unwrap_or(&change.path).to_owned(),
                before: change.before.clone(),
                after: Some(change.after.clone()),
            })
        })
    }

    /// Returns a hash of what the decision would change and of the evidence behind it. Who does not
    /// know the salt cannot compute it.
    pub fn fingerprint(&self, salt: &str) -> String {
        crate::detect::short_hash(&format!(
            "{salt}\n{}\n{}\n{}\n{:?}\n{:?}",
            self.candidate.id,
            self.decision.name(),
            self.candidate.evidence_digest(),
            self.change.as_ref().map(|change| &change.before),
            self.change.as_ref().map(|change| &change.after),
        ))
    }
}

/// Decides about candidates in the repositories of this machine.
#[derive(Debug)]
pub struct Curator<'a> {
    store: &'a Store,
    settings: &'a LearnSettings,
    /// The repositories that exist here, by workspace.
    roots: BTreeMap<String, PathBuf>,
    reviews: Vec<Review>,
}

impl<'a> Curator<'a> {
    pub fn new(store: &'a Store, settings: &'a LearnSettings) -> store::Result<Self> {
        Ok(Self {
            store,
            settings,
            roots: repository_roots(store)?,
            reviews: store.reviews()?,
        })
    }

    /// Returns the decisions so far, the oldest first.
    pub fn reviews(&self) -> &[Review] {
        &self.reviews
    }

    pub fn level(&self, candidate: &PatternCandidate) -> EvidenceLevel {
        self.settings.gate.level(candidate)
    }

    pub fn needs_decision(&self, candidate: &PatternCandidate) -> bool {
        needs_decision(candidate, &self.reviews)
    }

    /// Returns the catalog of the repository that a candidate comes from.
    pub fn catalog_of(&self, candidate: &PatternCandidate) -> Result<PathBuf, CurateError> {
        let workspace = candidate.workspace.clone().unwrap_or_default();
        match self.root(candidate) {
            Some(root) => Ok(self.settings.catalog_of(root)),
            None if self.settings.catalog_dir.is_absolute() => {
                Ok(self.settings.catalog_dir.clone())
            }
            None => Err(CurateError::RepositoryMissing { workspace }),
        }
    }

    fn root(&self, candidate: &PatternCandidate) -> Option<&Path> {
        let workspace = candidate.workspace.as_deref()?;
        self.roots.get(workspace).map(PathBuf::as_path)
    }

    /// Returns the catalog entry of a candidate with its file, if it has one that can be read.
    pub fn entry(&self, candidate: &PatternCandidate) -> Option<(CatalogEntry, PathBuf)> {
        let path = self
            .catalog_of(candidate)
            .ok()?
            .join(format!("{}.md", candidate.id));
        Some((catalog::load_entry(&path).ok().flatten()?, path))
    }

    /// Returns where a candidate stands, with the text that agents read or would read.
    pub fn view(&self, candidate: &PatternCandidate) -> CandidateView {
        let entry = self.entry(candidate).map(|(entry, _)| entry);
        let last = self
            .reviews
            .iter()
            .rev()
            .find(|review| review.pattern == candidate.id);
        let state = match (&entry, last.map(|review| review.decision.as_str())) {
            (Some(entry), _) => match entry.status {
                EntryStatus::Approved => PatternState::Approved,
                EntryStatus::Provisional => PatternState::Provisional,
                EntryStatus::Withdrawn => PatternState::Withdrawn,
            },
            (None, Some("reject")) => PatternState::Rejected,
            (None, Some("discuss")) => PatternState::Discussed,
            (None, Some("withdraw")) => PatternState::Withdrawn,
            (None, _) => PatternState::Open,
        };
        let (guidance, drafted_by, trust) = match entry {
            Some(entry) => (entry.guidance, entry.drafted_by, entry.trust),
            None => (draft_guidance(candidate), None, GuidanceTrust::User),
        };
        CandidateView {
            candidate: candidate.clone(),
            state,
            needs_decision: self.needs_decision(candidate),
            level: self.level(candidate),
            guidance,
            drafted_by,
            trust,
        }
    }

    /// Returns what already says the same: in the catalog, the instruction files and the
    /// configuration of linters.
    pub fn similar(&self, candidate: &PatternCandidate, text: &str) -> Vec<BloatFinding> {
        let Ok(folder) = self.catalog_of(candidate) else {
            return Vec::new();
        };
        let catalog = catalog::load_catalog(&folder).unwrap_or_default();
        let entries = catalog
            .into_iter()
            .filter(|entry| entry.id != candidate.id && entry.status != EntryStatus::Withdrawn);
        let mut texts: Vec<BloatText> = entries
            .map(|entry| BloatText {
                source: format!("pattern {}", entry.id),
                text: entry.guidance,
            })
            .collect();
        let Some(root) = self.root(candidate) else {
            return find_bloat(text, &texts);
        };
        texts.extend(
            instruction_texts(root)
                .into_iter()
                .map(|(path, text)| BloatText {
                    source: path,
                    text: text_outside_blocks(&text),
                }),
        );
        let mut found = find_bloat(text, &texts);
        found.extend(enforced_by(root, candidate.kind, &candidate.name));
        found
    }

    /// Plans a decision. For an approval, `text` is what agents will read; without it, the template
    /// or the text that the catalog has.
    pub fn plan<'c>(
        &'c self,
        candidate: &'c PatternCandidate,
        decision: ReviewDecision,
        text: Option<GuidanceText<'_>>,
        origin: DecisionOrigin,
    ) -> Result<PlannedDecision<'c>, CurateError> {
        let (why, is_users) = match origin {
            DecisionOrigin::User(why) => (why, true),
            DecisionOrigin::Gate => (Some("passed the gate".to_owned()), false),
        };
        let mut planned = PlannedDecision {
            candidate,
            root: self.root(candidate),
            decision,
            why,
            guidance: None,
            status: None,
            change: None,
        };
        match decision {
            ReviewDecision::Reject | ReviewDecision::Discuss => {}
            ReviewDecision::Withdraw => {
                let not_found = || CurateError::NotInCatalog {
                    id: candidate.id.clone(),
                };
                let (mut entry, path) = self.entry(candidate).ok_or_else(not_found)?;
                entry.status = EntryStatus::Withdrawn;
                planned.status = Some(entry.status);
                let folder = path.parent().unwrap_or(Path::new(""));
                planned.change = Some(plan_entry(folder, entry)?);
            }
            ReviewDecision::Approve => {
                let known = self.view(candidate);
                let text = text.unwrap_or(GuidanceText {
                    text: &known.guidance,
                    drafted_by: known.drafted_by.as_deref(),
                });
                let similar = self.check_text(candidate, text.text)?;
                // The gate approves no draft of a model.
                let is_draft = known.trust == GuidanceTrust::Model && !is_users;
                let is_enforced = similar.iter().any(|one| one.enforced);
                let is_strong = self.level(candidate) == EvidenceLevel::DistributionReady;
                let ready = is_users || (is_strong && !is_enforced && !is_draft);
                let status = if ready {
                    EntryStatus::Approved
                } else {
                    EntryStatus::Provisional
                };
                let mut entry = CatalogEntry::from_candidate(candidate, status, ready, text);
                if is_draft {
                    entry.trust = GuidanceTrust::Model;
                }
                planned.status = Some(status);
                planned.change = Some(plan_entry(&self.catalog_of(candidate)?, entry)?);
                planned.guidance = Some(text.text.to_owned());
            }
        }
        Ok(planned)
    }

    /// Plans how a model's draft is put into the catalog, where it waits for the user's approval.
    pub fn plan_draft(
        &self,
        candidate: &PatternCandidate,
        draft: GuidanceText<'_>,
    ) -> Result<EntryChange, CurateError> {
        self.check_text(candidate, draft.text)?;
        let known = self.entry(candidate);
        if known.is_some_and(|(entry, _)| entry.status == EntryStatus::Approved) {
            return Err(CurateError::AlreadyApproved {
                id: candidate.id.clone(),
            });
        }
        let status = EntryStatus::Provisional;
        let entry = CatalogEntry {
            trust: GuidanceTrust::Model,
            ..CatalogEntry::from_candidate(candidate, status, false, draft)
        };
        Ok(plan_entry(&self.catalog_of(candidate)?, entry)?)
    }

    /// Checks the text of an approval, and returns what is similar to it.
    fn check_text(
        &self,
        candidate: &PatternCandidate,
        text: &str,
    ) -> Result<Vec<BloatFinding>, CurateError> {
        let words = text.split_whitespace().count();
        if words == 0 {
            return Err(CurateError::TextEmpty);
        }
        if words > GUIDANCE_WORDS_MAX {
            return Err(CurateError::TextTooLong { words });
        }
        let similar = self.similar(candidate, text);
        match similar.iter().find(|one| one.duplicate) {
            Some(same) => Err(CurateError::Duplicate {
                from: same.source.clone(),
                text: same.text.clone(),
            }),
            None => Ok(similar),
        }
    }

    /// Makes a planned decision: writes the catalog, then records it and queues it for the hub.
    pub fn carry_out(
        &self,
        planned: &PlannedDecision<'_>,
        now: Timestamp,
    ) -> Result<DecisionOutcome, CurateError> {
        if let Some(change) = &planned.change {
            change.save()?;
        }
        let new = NewDecision {
            candidate: planned.candidate,
            decision: planned.decision,
            why: planned.why.clone(),
            guidance: planned.guidance.as_deref(),
        };
        let change = planned.change.as_ref();
        Ok(DecisionOutcome {
            id: planned.candidate.id.clone(),
            name: planned.candidate.name.clone(),
            decision: planned.decision,
            new: record_decision(self.store, &new, now)?,
            status: planned.status,
            version: change.map(|change| change.outcome.version().clone()),
            file: change.map(|change| change.path.clone()),
        })
    }

    /// Finds an entry of any catalog on this machine by its id or a prefix of it, as a candidate
    /// without evidence. Patterns whose sessions were forgotten can be withdrawn this way.
    pub fn find_entry(&self, id: &str) -> Result<PatternCandidate, CurateError> {
        let not_found = || CurateError::NotInCatalog { id: id.to_owned() };
        if id.is_empty() {
            return Err(not_found());
        }
        for (workspace, root) in &self.roots {
            let entries = catalog::load_catalog(&self.settings.catalog_of(root))?;
            if let Some(entry) = entries.iter().find(|entry| entry.id.starts_with(id)) {
                return Ok(entry.to_candidate(workspace));
            }
        }
        Err(not_found())
    }
}

/// Returns the folders of the known workspaces that exist here, by key.
pub fn repository_roots(store: &Store) -> store::Result<BTreeMap<String, PathBuf>> {
    let known = store.workspaces_matching("", WORKSPACES_MAX)?;
    let roots = known
        .into_iter()
        .map(|one| (one.key, PathBuf::from(one.root)));
    Ok(roots.filter(|(_, root)| root.is_dir()).collect())
}
