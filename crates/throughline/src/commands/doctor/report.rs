//! Prints the diagnosis of `throughline doctor` as text.

use std::cmp::Reverse;
use std::io::Write;

use memory::FormatEvidence;
use store::encryption::EncryptionInfo;
use store::{Health, SourceReport};

use super::{AgentDiagnosis, Diagnosis, installed};
use crate::commands::{App, encrypt};
use crate::output::table::{TableColumn, count, format_bytes, format_columns, format_table};
use crate::output::wrap::truncate_start;
use crate::output::{self, time};

pub(super) fn print(app: &App<'_>, diagnosis: &Diagnosis) -> anyhow::Result<()> {
    let mut out = app.output();
    writeln!(out, "Store in {}", diagnosis.home.display())?;
    match &diagnosis.store {
        None if diagnosis.broken.is_some() => {}
        None => writeln!(
            out,
            "  does not exist yet; run `throughline ingest` to create it"
        )?,
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
            "  run `throughline doctor --repair` to recover what can be read"
        )?;
    }
    for kept in &diagnosis.kept {
        writeln!(out, "  an earlier copy is kept in {}", kept.display())?;
    }
    for problem in &diagnosis.permissions {
        writeln!(out, "  PROBLEM: {problem}")?;
    }
    print_agents(app, &mut out, &diagnosis.agents)?;
    installed::print(&mut out, &diagnosis.installed)?;
    print_sources(app, &mut out, &diagnosis.troubled)?;
    if !diagnosis.drift.is_empty() {
        writeln!(out, "\nSkipped log entries of unknown types")?;
        for (agent, kind, times) in diagnosis.drift.iter().take(10) {
            writeln!(out, "  {agent} {}: {times}", output::text::sanitize(kind))?;
        }
    }
    if diagnosis.leaves_the_machine.is_empty() {
        writeln!(
            out,
            "\nNothing leaves this machine: no model is configured."
        )?;
    }
    for what in &diagnosis.leaves_the_machine {
        writeln!(out, "\nLeaves this program: {what}.")?;
    }
    Ok(())
}

/// At most this many logs with problems are listed; `--json` has all.
const SOURCES_MAX: usize = 10;
/// The columns that a line of this list has besides the path of the log.
const SOURCE_COLUMNS: usize = 26;

/// Prints the logs of which lines were skipped, or that were deleted, the most lines first.
fn print_sources(
    app: &App<'_>,
    out: &mut impl Write,
    sources: &[SourceReport],
) -> anyhow::Result<()> {
    if sources.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nLogs with problems")?;
    let mut sources: Vec<_> = sources.iter().collect();
    sources.sort_by_key(|source| Reverse(source.skipped));
    for source in sources.iter().take(SOURCES_MAX) {
        let problem = match (source.gone, source.skipped) {
            (true, 0) => "deleted".to_owned(),
            (true, lines) => format!("deleted, {} skipped", count(lines, "line")),
            (false, lines) => format!("{} skipped", count(lines, "line")),
        };
        let path = output::text::sanitize(&app.display_path(&source.path));
        let path = match app.columns() {
            Some(columns) => truncate_start(&path, columns.saturating_sub(SOURCE_COLUMNS)),
            None => path,
        };
        writeln!(out, "  {problem:<16}  {path}")?;
    }
    if let Some(more) = sources
        .len()
        .checked_sub(SOURCES_MAX)
        .filter(|more| *more > 0)
    {
        writeln!(out, "  and {more} more; --json lists all")?;
    }
    if sources.iter().any(|source| source.gone) {
        writeln!(out, "  The records of deleted logs are kept.")?;
    }
    Ok(())
}

const AGENT_COLUMNS: &[TableColumn] = &[
    TableColumn::left("  AGENT"),
    TableColumn::right("LOGS"),
    TableColumn::right("SIZE"),
    TableColumn::left("DELETES LOGS"),
    TableColumn::left("FORMAT").dropped_at(1),
];

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
                    agent.logs.to_string(),
                    format_bytes(agent.size_bytes),
                    deletion_time(app, agent),
                    format_evidence(agent.evidence).to_owned(),
                ]
            })
            .collect();
        let table = format_columns(AGENT_COLUMNS, &rows, app.columns());
        write!(out, "{table}")?;
    }
    if absent.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nNo logs found")?;
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
        count(health.records, "record"),
        count(health.sessions, "session"),
        count(health.workspaces, "workspace"),
        format_bytes(health.size_bytes),
        health.format,
        health.sqlite,
    )?;
    writeln!(
        out,
        "  {} read, {} of them deleted by their agents since",
        count(health.sources, "log"),
        health.sources_gone
    )?;
    for problem in &health.problems {
        writeln!(out, "  PROBLEM: {problem}")?;
    }
    if health.traces {
        writeln!(
            out,
            "  PROBLEM: forgotten text is still in the write-ahead log, because another process is \
             reading; stop it and run this command again"
        )?;
    }
    if health.exceeds_wal_limit() {
        writeln!(
            out,
            "  PROBLEM: the write-ahead log has grown to {}; another process holds a read \
             transaction open",
            format_bytes(health.log_bytes)
        )?;
    }
    match health.damaged {
        None if !health.problems.is_empty() => {}
        None => writeln!(
            out,
            "  SQLite check passed; --deep also verifies every text"
        )?,
        Some(0) if !health.problems.is_empty() => {}
        Some(0) => writeln!(out, "  SQLite check passed, and the checksum of every text")?,
        Some(damaged) => writeln!(
            out,
            "  PROBLEM: {} checksum",
            match damaged {
                1 => "1 text does not match its".to_owned(),
                _ => format!("{damaged} texts do not match their"),
            }
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
            encrypt::format_key_location(&seal.place)
        )?,
    }
    Ok(())
}

fn searched_folders(agent: &AgentDiagnosis) -> String {
    match agent.looks_in.as_slice() {
        [] => "no default folder; use --root or [roots]".to_owned(),
        [only] => format!("searched {}", only.display()),
        [first, rest @ ..] => format!("searched {} and {} more", first.display(), rest.len()),
    }
}

/// Returns what the adapter of an agent was developed from, which tells how far to trust it.
fn format_evidence(evidence: FormatEvidence) -> &'static str {
    match evidence {
        FormatEvidence::RealLogs => "tested on real logs",
        FormatEvidence::VendorSource => "based on the vendor's source",
        FormatEvidence::ThirdParty => "based on third-party readers",
    }
}

/// Returns when the agent will delete its oldest log.
fn deletion_time(app: &App<'_>, agent: &AgentDiagnosis) -> String {
    match (agent.deletes_after_days, agent.next_deletion) {
        (Some(days), Some(next)) => format!(
            "after {days} days, next on {}",
            &time::format_time(Some(next), &app.environment.zone)[..10]
        ),
        (Some(days), None) => format!("after {days} days"),
        (None, _) => "never".to_owned(),
    }
}

/// Returns when the agent will delete its oldest log, as a part of a sentence.
pub(super) fn deletion_note(app: &App<'_>, agent: &AgentDiagnosis) -> String {
    match agent.deletes_after_days {
        Some(_) => format!("deletes logs {}", deletion_time(app, agent)),
        None => "does not delete its logs".to_owned(),
    }
}
