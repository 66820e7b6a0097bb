//! `throughline doctor`

mod installed;
mod repair;
mod report;

use std::path::PathBuf;

use capture::flavor::ADAPTERS;
use jiff::{SignedDuration, Timestamp};
use memory::{Flavor, FormatEvidence};
use serde::Serialize;
use store::encryption::EncryptionInfo;
use store::{Health, SourceReport};

use self::installed::InstallStatus;
use crate::commands::App;
use crate::commands::ingest::default_roots;
use crate::keychain::SystemKeychain;
use crate::output::{self, Exit};

/// Check the store and the agents' setup
///
/// Shows when the agents will delete their logs, where Throughline is installed, and what leaves
/// this machine. The exit status is 2 if there is a problem.
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Also verify the checksum of every stored text
    #[arg(long)]
    deep: bool,

    /// Rebuild a damaged store from what can be read
    ///
    /// The damaged store is kept beside the new one. The report lists what was lost; the next
    /// `ingest` reads the affected logs again. No other process may use the store meanwhile.
    #[arg(long)]
    repair: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Diagnosis {
    home: PathBuf,
    store: Option<Health>,
    /// Why the store cannot be opened.
    broken: Option<String>,
    /// Temporary copies of the store, made before a migration or a repair.
    kept: Vec<PathBuf>,
    /// `None` if the store is not encrypted.
    seal: Option<EncryptionInfo>,
    agents: Vec<AgentDiagnosis>,
    /// Where Throughline is installed.
    installed: Vec<InstallStatus>,
    troubled: Vec<SourceReport>,
    /// Unknown types of log entries: agent, type, count.
    drift: Vec<(String, String, u64)>,
    permissions: Vec<String>,
    /// What is sent from this machine, and where to.
    leaves_the_machine: Vec<String>,
}

#[derive(Serialize)]
struct AgentDiagnosis {
    agent: Flavor,
    evidence: FormatEvidence,
    looks_in: Vec<PathBuf>,
    logs: usize,
    size_bytes: u64,
    deletes_after_days: Option<u32>,
    next_deletion: Option<Timestamp>,
}

impl DoctorArgs {
    /// Returns whether the store is to be repaired.
    pub(crate) const fn repairs(&self) -> bool {
        self.repair
    }
}

pub(crate) fn run(app: &App<'_>, args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.repair {
        return repair::run(app, args.json);
    }
    let diagnosis = diagnose(app, args)?;
    if args.json {
        output::print_json(&diagnosis)?;
    } else {
        report::print(app, &diagnosis)?;
    }
    let is_sound = diagnosis.permissions.is_empty()
        && diagnosis.broken.is_none()
        && diagnosis
            .store
            .as_ref()
            .is_none_or(|health| health.is_sound() && !health.traces);
    Ok(if is_sound { Exit::Done } else { Exit::Failed })
}

fn diagnose(app: &App<'_>, args: &DoctorArgs) -> anyhow::Result<Diagnosis> {
    let (store, broken) = open(app)?;
    let health = store.as_ref().map(|store| store.health(args.deep));
    let health = health.transpose()?;
    if let (Some(store), Some(health)) = (&store, &health)
        && args.deep
        && health.is_sound()
    {
        // The safety copy is not needed any more: everything could be read.
        store.remove_safety_copy(None)?;
    }
    Ok(Diagnosis {
        home: app.home.clone(),
        broken,
        kept: store
            .as_ref()
            .map(store::Store::safety_copy_paths)
            .unwrap_or_default(),
        seal: store::encryption::encryption_info(&app.home, &SystemKeychain)?,
        agents: ADAPTERS
            .iter()
            .map(|adapter| diagnose_agent(app, adapter.flavor()))
            .collect(),
        installed: installed::install_statuses(app),
        troubled: store
            .as_ref()
            .map(store::Store::sources_with_problems)
            .transpose()?
            .unwrap_or_default(),
        drift: store
            .as_ref()
            .map(store::Store::unknown_entry_kinds)
            .transpose()?
            .unwrap_or_default(),
        permissions: loose_permissions(app),
        leaves_the_machine: app
            .config
            .model
            .destination()
            .map(|address| format!("redacted parts of sessions, sent to the model at {address}"))
            .into_iter()
            .collect(),
        store: health,
    })
}

/// Opens the store, or returns why it is damaged.
fn open(app: &App<'_>) -> anyhow::Result<(Option<store::Store>, Option<String>)> {
    if !app.has_store() {
        return Ok((None, None));
    }
    match app.open_existing() {
        Ok(store) => Ok((Some(store), None)),
        Err(error) => match error.downcast_ref::<store::Error>() {
            Some(cause) if cause.is_corrupt() => Ok((None, Some(cause.to_string()))),
            _ => Err(error),
        },
    }
}

/// Returns the agents that have logs here, and when they delete them.
pub(crate) fn agent_notes(app: &App<'_>) -> Vec<(String, String)> {
    let agents = ADAPTERS
        .iter()
        .map(|adapter| diagnose_agent(app, adapter.flavor()));
    let here = agents.filter(|agent| agent.logs > 0);
    here.map(|agent| {
        let logs = output::table::count(agent.logs, "log");
        let size = output::table::format_bytes(agent.size_bytes);
        let note = format!("{logs}, {size}, {}", report::deletion_note(app, &agent));
        (agent.agent.title().to_owned(), note)
    })
    .collect()
}

fn diagnose_agent(app: &App<'_>, flavor: Flavor) -> AgentDiagnosis {
    let adapters: Vec<_> = ADAPTERS
        .iter()
        .copied()
        .filter(|adapter| adapter.flavor() == flavor)
        .collect();
    let roots = default_roots(app, &adapters);
    let found = capture::discover(&adapters, &roots);
    let files: Vec<_> = found
        .sources
        .iter()
        .filter_map(|source| source.path.metadata().ok())
        .collect();
    let days = deletes_after_days(app, flavor);
    let oldest = files.iter().filter_map(|file| file.modified().ok()).min();
    let oldest = oldest.and_then(|time| Timestamp::try_from(time).ok());
    AgentDiagnosis {
        agent: flavor,
        evidence: flavor.evidence(),
        looks_in: roots.into_iter().map(|root| root.path).collect(),
        logs: files.len(),
        size_bytes: files.iter().map(std::fs::Metadata::len).sum(),
        deletes_after_days: days,
        next_deletion: oldest.zip(days).map(|(oldest, days)| {
            oldest
                .saturating_add(SignedDuration::from_hours(24 * i64::from(days)))
                .unwrap_or(oldest)
        }),
    }
}

/// Returns after how many days the agent deletes its logs: its own setting, or else its default.
fn deletes_after_days(app: &App<'_>, flavor: Flavor) -> Option<u32> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClaudeCleanupSettings {
        cleanup_period_days: Option<u32>,
    }
    let default = flavor.deletes_after_days()?;
    let places = &app.environment.places;
    let folder = places
        .folder_variable("CLAUDE_CONFIG_DIR")
        .unwrap_or_else(|| places.home.join(".claude"));
    let configured = std::fs::read_to_string(folder.join("settings.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<ClaudeCleanupSettings>(&text).ok())
        .and_then(|settings| settings.cleanup_period_days);
    Some(configured.unwrap_or(default))
}

/// Returns a message for each file that other users can access.
fn loose_permissions(app: &App<'_>) -> Vec<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let files = std::fs::read_dir(&app.home).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path()).chain([app.home.clone()]);
        let mut open: Vec<_> = paths
            .filter_map(|path| {
                let mode = path.metadata().ok()?.permissions().mode() & 0o777;
                (mode & 0o077 != 0).then(|| {
                    let safe = if path.is_dir() { 700 } else { 600 };
                    let path = path.display();
                    format!("{path} has mode {mode:o}; run `chmod {safe} {path}`")
                })
            })
            .collect();
        open.sort_unstable();
        open
    }
    #[cfg(not(unix))]
    Vec::new()
}
