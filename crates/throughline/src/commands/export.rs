//! `throughline export`

use std::collections::BTreeMap;
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use indicatif::ProgressBar;
use memory::Session;
use store::{DamagedTexts, ExportFilter, ExportReport, Store};

use crate::commands::{App, show};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{Exit, error_with_hint};

/// Write everything as JSON Lines, or give a session's own log back
///
/// One object a line: workspaces, sessions with their records and usage, the agents' logs, facts.
/// `throughline import` reads it. Secrets were taken out before anything was stored, so there are
/// none in it.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// Write this session's log, as its agent wrote it but for the secrets: it is there even when
    /// the agent has deleted it
    #[arg(long, value_name = "ID", conflicts_with_all = ["since", "workspace", "session", "without_logs"])]
    raw: Option<String>,

    /// Only what happened from this time on: 2026-01-05, or 90m, 12h, 3d, 2w ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only workspaces with this in their address or folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only this session: its id or the beginning of it
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Leave the agents' own logs out; their records stay in
    #[arg(long)]
    without_logs: bool,

    /// Write into this file instead of to standard output; with --raw, into this folder under the
    /// log's own name
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

pub(crate) fn run(app: &App<'_>, args: &ExportArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    match &args.raw {
        Some(session) => export_raw(app, &store, session, args.output.as_deref()),
        None => export_all(app, &store, args),
    }
}

fn export_all(app: &App<'_>, store: &Store, args: &ExportArgs) -> anyhow::Result<Exit> {
    let session = match &args.session {
        Some(prefix) => Some(show::find_session(store, prefix)?.id),
        None => None,
    };
    let filter = ExportFilter {
        since: app.parse_time_arg(args.since.as_deref())?,
        workspace: args.workspace.clone(),
        session,
        without_logs: args.without_logs,
    };
    // On a terminal the lines themselves are the progress.
    let bar = match &args.output {
        Some(_) if app.environment.stderr_is_terminal => ProgressBar::new(0),
        _ => ProgressBar::hidden(),
    };
    let show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let exported = match &args.output {
        Some(path) => write_new_file(path, |out| store.export(&filter, out, &show))?,
        None => store.export(&filter, &mut BufWriter::new(stdout().lock()), &show)?,
    };
    bar.finish_and_clear();
    report_exported(&exported);
    if !exported.damaged.is_empty() {
        return Ok(report_damaged(&exported.damaged));
    }
    Ok(if exported.sessions == 0 {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

/// Says what was left out because it is damaged.
fn report_damaged(damaged: &DamagedTexts) -> Exit {
    say!("error: left out {}", sanitize(&damaged.to_string()));
    say!(
        "hint: `throughline doctor --repair` drops what is damaged and lets the next ingest read \
         it again",
    );
    Exit::Failed
}

fn report_exported(exported: &ExportReport) {
    say!(
        "Exported {} of {} and {}.",
        count(exported.records, "record"),
        count(exported.sessions, "session"),
        count(exported.facts, "fact"),
    );
}

/// Writes aside and renames, so that a file under this name is always a whole one. An old file is
/// not overwritten.
fn write_new_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> store::Result<T>,
) -> anyhow::Result<T> {
    if path.exists() {
        return Err(error_with_hint(
            format!("{} exists", path.display()),
            "name another file, or remove that one",
        ));
    }
    let name = path.file_name().context("the file has no name")?;
    let aside = path.with_file_name(format!("{}.part", name.to_string_lossy()));
    let result = create_private(&aside).and_then(|file| {
        let mut out = BufWriter::new(file);
        let value = write(&mut out)?;
        out.into_inner()?.sync_all()?;
        std::fs::rename(&aside, path)?;
        Ok(value)
    });
    if result.is_err() {
        // The error that counts is the one above.
        let _gone = std::fs::remove_file(&aside);
    }
    result.with_context(|| format!("cannot write {}", path.display()))
}

fn create_private(path: &Path) -> anyhow::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    Ok(options.open(path)?)
}

fn export_raw(
    app: &App<'_>,
    store: &Store,
    session: &str,
    output: Option<&Path>,
) -> anyhow::Result<Exit> {
    let session = show::find_session(store, session)?;
    let (logs, damaged) = archived_logs(store, &session)?;
    if logs.is_empty() && !damaged.is_empty() {
        return Ok(report_damaged(&damaged));
    }
    if logs.is_empty() && session.evicted > 0 {
        let why = show::removal_note(app, store, &session)?;
        let digest = format!("`throughline digest {}` shows what is left", session.id);
        let hint = match session.source.filter(|_| !session.source_gone) {
            Some(path) => format!("{digest}; the agent's own log is at {path}"),
            None => digest,
        };
        return Err(error_with_hint(
            format!("the log of {} was removed{why}", session.id),
            hint,
        ));
    }
    if logs.is_empty() {
        return Err(error_with_hint(
            format!("the log of {} was not kept", session.id),
            "it lies in a database, or `archive` was off when it was read; `throughline show` has the rest",
        ));
    }
    if session.evicted > 0 {
        let why = show::removal_note(app, store, &session)?;
        say!("warning: the earlier part of this log was removed{why}");
    }
    let others = logs.values().map(|log| log.others.len()).sum::<usize>();
    if others > 0 && output.is_none() {
        say!(
            "note: {} kept; --output writes them too",
            match others {
                1 => "another version of this log is".to_owned(),
                others => format!("{others} other versions of this log are"),
            }
        );
    }
    for (path, log) in &logs {
        match output {
            Some(folder) => save_versions(folder, path, log)?,
            None => stdout().lock().write_all(log.text.as_bytes())?,
        }
    }
    if !damaged.is_empty() {
        return Ok(report_damaged(&damaged));
    }
    Ok(Exit::Done)
}

/// A log as it is kept.
#[derive(Default)]
struct ArchivedLog {
    /// The longest version of the log.
    text: String,
    /// The other versions, from before the log lost records or after.
    others: Vec<String>,
}

impl ArchivedLog {
    fn add(&mut self, text: String) {
        // A version that another one begins with adds nothing.
        if self.text.starts_with(&text) || self.others.iter().any(|o| o.starts_with(&text)) {
            return;
        }
        self.others.retain(|other| !text.starts_with(other));
        if text.starts_with(&self.text) {
            self.text = text;
        } else if text.len() > self.text.len() {
            self.others.push(std::mem::replace(&mut self.text, text));
        } else {
            self.others.push(text);
        }
    }
}

/// Returns the session's logs by path. A log that was moved is known at both places; the longer one
/// has it all.
fn archived_logs(
    store: &Store,
    session: &Session,
) -> anyhow::Result<(BTreeMap<String, ArchivedLog>, DamagedTexts)> {
    let mut versions: BTreeMap<(i64, u64), (String, String)> = BTreeMap::new();
    let damaged = store.each_log_piece(&session.id, |piece| {
        let (_, log) = versions
            .entry((piece.source, piece.earlier))
            .or_insert_with(|| (piece.path.to_owned(), String::new()));
        log.push_str(piece.text);
    })?;
    // A sweep and an import may have brought one log.
    let mut all: BTreeMap<String, ArchivedLog> = BTreeMap::new();
    for (path, text) in versions.into_values() {
        all.entry(path).or_default().add(text);
    }
    let is_part = |path: &String, log: &ArchivedLog| {
        let text = log.text.as_str();
        log.others.is_empty()
            && all.iter().any(|(other, ArchivedLog { text: longer, .. })| {
                let later =
                    longer.len() > text.len() || (longer.len() == text.len() && other > path);
                later && longer.starts_with(text)
            })
    };
    let parts: Vec<_> = all
        .iter()
        .filter(|(path, log)| is_part(path, log))
        .map(|(path, _)| path.clone())
        .collect();
    all.retain(|path, _| !parts.contains(path));
    Ok((all, damaged))
}

fn save_versions(folder: &Path, path: &str, log: &ArchivedLog) -> anyhow::Result<()> {
    // Only the last part of the name: what a log is called must not say where we write.
    let name = Path::new(path).file_name().context("the log has no name")?;
    save_file(folder, Path::new(name), &log.text)?;
    for (number, text) in (1..).zip(&log.others) {
        let name = format!("{}.version-{number}", name.to_string_lossy());
        save_file(folder, Path::new(&name), text)?;
    }
    Ok(())
}

fn save_file(folder: &Path, name: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let target = folder.join(name);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&target)
        .with_context(|| format!("cannot write {}", target.display()))?;
    file.write_all(text.as_bytes())?;
    say!("Wrote {}.", target.display());
    Ok(())
}
