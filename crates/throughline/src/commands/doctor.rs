//! `throughline doctor`

mod installed;
mod repair;

use std::io::{Write, stdout};
use std::path::PathBuf;

use capture::flavor::ADAPTERS;
use jiff::{SignedDuration, Timestamp};
use memory::{Flavor, FormatEvidence};
use serde::Serialize;
use store::seal::EncryptionInfo;
use store::{Health, SourceReport};

use self::installed::InstallStatus;
use crate::commands::ingest::default_roots;
use crate::commands::{App, encrypt};
use crate::keychain::SystemKeychain;
use crate::output::table::{format_bytes, format_table};
use crate::output::{self, Exit, time};

/// Examine the store, the agents and what will be lost when
#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Also compare every stored text with its checksum
    #[arg(long)]
    deep: bool,

    /// Make a new store of what can be read of a damaged one
    ///
    /// The damaged store is kept beside it. What was lost is named; the next `ingest` reads the logs
    /// it came from again. Nobody else may be using the store meanwhile.
    #[arg(long)]
    repair: bool,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Diagnosis {
    home: PathBuf,
    store: Option<Health>,
    /// Why the store cannot be opened.
    broken: Option<String>,
    /// Copies of the store that are kept for a while: from before a change of its format, from
    /// before a repair.
    kept: Vec<PathBuf>,
    /// How the store is encrypted, if it is.
    seal: Option<EncryptionInfo>,
    agents: Vec<AgentDiagnosis>,
    /// Which of them are told of us, and where.
    installed: Vec<InstallStatus>,
    troubled: Vec<SourceReport>,
    /// Kinds of log entries that no adapter knew: agent, kind, how often.
    drift: Vec<(String, String, u64)>,
    permissions: Vec<String>,
    /// What would leave this machine.
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
    /// Says whether the store is repaired.
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
        print(app, &diagnosis)?;
    }
    let sound = diagnosis.permissions.is_empty()
        && diagnosis.broken.is_none()
        && diagnosis
            .store
            .as_ref()
            .is_none_or(|health| health.is_sound() && !health.traces);
    Ok(if sound { Exit::Done } else { Exit::Failed })
}

fn diagnose(app: &App<'_>, args: &DoctorArgs) -> anyhow::Result<Diagnosis> {
    let (store, broken) = open(app)?;
    let health = store.as_ref().map(|store| store.health(args.deep));
    let health = health.transpose()?;
    if let (Some(store), Some(health)) = (&store, &health)
        && args.deep
        && health.is_sound()
    {
        // What the copy was kept for has not happened.
        store.remove_safety_copy(None)?;
    }
    Ok(Diagnosis {
        home: app.home.clone(),
        broken,
        kept: store
            .as_ref()
            .map(store::Store::safety_copy_paths)
            .unwrap_or_default(),
        seal: store::seal::encryption_info(&app.home, &SystemKeychain)?,
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
            .map(|address| {
                format!("redacted parts of sessions that are summarized by a model, to {address}")
            })
            .into_iter()
            .collect(),
        store: health,
    })
}

/// Opens the store, or says why it cannot be.
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

/// Returns the clean-up period in force: the agent's own setting where it has one.
fn deletes_after_days(app: &App<'_>, flavor: Flavor) -> Option<u32> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClaudeCleanupSettings {
        cleanup_period_days: Option<u32>,
    }
    let usual = flavor.deletes_after_days()?;
    let places = &app.environment.places;
    let folder = places
        .folder_variable("CLAUDE_CONFIG_DIR")
        .unwrap_or_else(|| places.home.join(".claude"));
    let set = std::fs::read_to_string(folder.join("settings.json"))
        .ok()
        .and_then(|text| serde_json::from_str::<ClaudeCleanupSettings>(&text).ok())
        .and_then(|settings| settings.cleanup_period_days);
    Some(set.unwrap_or(usual))
}

/// Names what others than the owner could read.
fn loose_permissions(app: &App<'_>) -> Vec<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let files = std::fs::read_dir(&app.home).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path()).chain([app.home.clone()]);
        let mut open: Vec<_> = paths
            .filter_map(|path| {
                let mode = path.metadata().ok()?.permissions().mode() & 0o777;
                (mode & 0o077 != 0).then(|| format!("{} has mode {mode:o}", path.display()))
            })
            .collect();
        open.sort_unstable();
        open
    }
    #[cfg(not(unix))]
    Vec::new()
}

fn print(app: &App<'_>, diagnosis: &Diagnosis) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "Store in {}", diagnosis.home.display())?;
    match &diagnosis.store {
        None if diagnosis.broken.is_some() => {}
        None => writeln!(out, "  none yet; `throughline ingest` makes it")?,
        Some(health) => {
            print_health(&mut out, health)?;
            print_seal(&mut out, diagnosis.seal.as_ref())?;
        }
    }
    if let Some(broken) = &diagnosis.broken {
        writeln!(out, "  PROBLEM: {broken}")?;
    }
    let unsound = diagnosis
        .store
        .as_ref()
        .is_some_and(|health| !health.is_sound());
    if unsound || diagnosis.broken.is_some() {
        writeln!(
            out,
            "  `throughline doctor --repair` salvages what can be read"
        )?;
    }
    for kept in &diagnosis.kept {
        writeln!(
            out,
            "  an earlier state of it is kept in {}",
            kept.display()
        )?;
    }
    for problem in &diagnosis.permissions {
        writeln!(out, "  PROBLEM: {problem}; others can read it")?;
    }
    print_agents(app, &mut out, &diagnosis.agents)?;
    installed::print(&mut out, &diagnosis.installed)?;
    for source in &diagnosis.troubled {
        let what = if source.gone {
            "is gone; its records are kept"
        } else {
            ""
        };
        let skipped = match source.skipped {
            0 => String::new(),
            lines => format!("{} passed over", number(lines, "line")),
        };
        let what = [what, &skipped]
            .into_iter()
            .filter(|w| !w.is_empty())
            .collect::<Vec<_>>();
        writeln!(
            out,
            "  {}: {}",
            output::text::sanitize(&source.path),
            what.join(", ")
        )?;
    }
    if !diagnosis.drift.is_empty() {
        writeln!(out, "\nEntries of unknown kinds, left out")?;
        for (agent, kind, times) in diagnosis.drift.iter().take(10) {
            writeln!(out, "  {agent} {}: {times}", output::text::sanitize(kind))?;
        }
    }
    if diagnosis.leaves_the_machine.is_empty() {
        writeln!(
            out,
            "\nNothing leaves this machine: no model and no hub is configured."
        )?;
    }
    for what in &diagnosis.leaves_the_machine {
        writeln!(out, "\nThis leaves the program: {what}.")?;
    }
    Ok(())
}

fn print_agents(
    app: &App<'_>,
    out: &mut impl Write,
    agents: &[AgentDiagnosis],
) -> anyhow::Result<()> {
    let (here, absent): (Vec<_>, Vec<_>) = agents.iter().partition(|agent| agent.logs > 0);
    if !here.is_empty() {
        writeln!(out, "\nAgents")?;
        let rows: Vec<_> = here
            .iter()
            .map(|agent| {
                vec![
                    format!("  {}", agent.agent.title()),
                    output::table::count(agent.logs, "log"),
                    format_bytes(agent.size_bytes),
                    format!("format known from {}", agent.evidence.name()),
                    deletion_note(app, agent),
                ]
            })
            .collect();
        write!(out, "{}", format_table(&rows))?;
    }
    writeln!(out, "\nNo logs of")?;
    let rows: Vec<_> = absent
        .iter()
        .map(|agent| {
            vec![
                format!("  {}", agent.agent.title()),
                searched_folders(agent),
            ]
        })
        .collect();
    write!(out, "{}", format_table(&rows))?;
    Ok(())
}

fn print_health(out: &mut impl Write, health: &Health) -> anyhow::Result<()> {
    writeln!(
        out,
        "  {} in {} of {}, {} on disk (format {}, SQLite {})",
        number(health.records, "record"),
        number(health.sessions, "session"),
        number(health.workspaces, "workspace"),
        format_bytes(health.size_bytes),
        health.format,
        health.sqlite,
    )?;
    writeln!(
        out,
        "  {} logs read, {} of them gone since",
        health.sources, health.sources_gone
    )?;
    for problem in &health.problems {
        writeln!(out, "  PROBLEM: {problem}")?;
    }
    if health.traces {
        writeln!(
            out,
            "  PROBLEM: what was forgotten is still in the write-ahead log; another process is reading"
        )?;
    }
    if health.exceeds_wal_limit() {
        writeln!(
            out,
            "  PROBLEM: the log of writes has grown to {}: some program keeps an old reading open",
            format_bytes(health.log_bytes)
        )?;
    }
    match health.damaged {
        None if !health.problems.is_empty() => {}
        None => writeln!(
            out,
            "  sound as far as SQLite can tell; --deep compares every text"
        )?,
        Some(0) if !health.problems.is_empty() => {}
        Some(0) => writeln!(out, "  every text is as it was written")?,
        Some(damaged) => writeln!(
            out,
            "  PROBLEM: {damaged} texts are not as they were written"
        )?,
    }
    Ok(())
}

fn print_seal(out: &mut impl Write, seal: Option<&EncryptionInfo>) -> anyhow::Result<()> {
    match seal {
        None => writeln!(out, "  not encrypted")?,
        Some(seal) => writeln!(
            out,
            "  encrypted with key {} in {}",
            seal.key,
            encrypt::format_key_place(&seal.place)
        )?,
    }
    Ok(())
}

fn searched_folders(agent: &AgentDiagnosis) -> String {
    match agent.looks_in.as_slice() {
        [] => "looked for by --root or configuration only".to_owned(),
        [only] => format!("looked in {}", only.display()),
        [first, rest @ ..] => format!("looked in {} and {} more", first.display(), rest.len()),
    }
}

fn number(number: u64, noun: &str) -> String {
    output::table::count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Says when the agent will delete the first of its logs.
fn deletion_note(app: &App<'_>, agent: &AgentDiagnosis) -> String {
    match (agent.deletes_after_days, agent.next_deletion) {
        (Some(days), Some(next)) => format!(
            "deletes logs after {days} days, the next on {}",
            &time::format_time(Some(next), &app.environment.zone)[..10]
        ),
        (Some(days), None) => format!("deletes logs after {days} days"),
        (None, _) => "does not delete its logs".to_owned(),
    }
}
