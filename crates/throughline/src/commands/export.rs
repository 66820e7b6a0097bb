//! `throughline export`

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufWriter, Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use indicatif::ProgressBar;
use memory::Session;
use serve::requests::transcript::{TranscriptFormat, TranscriptOptions, write_transcript};
use store::{DamagedTexts, ExportFilter, ExportReport, Store};

use crate::commands::{App, show};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{Exit, error_with_hint};

/// Export the store as JSON Lines, or a session as a readable file
///
/// Each line is an object: a workspace, a session with its records and usage, a part of an archived
/// log, or a fact. `throughline import` reads the file. Secrets were removed before anything was
/// stored, so an export contains none.
#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// With --format: the session to write, by its id or the beginning of it
    #[arg(value_name = "SESSION", requires = "format")]
    transcript: Option<String>,

    /// Write one session as a readable file
    #[arg(long, value_enum, value_name = "FORMAT", requires = "transcript")]
    #[arg(conflicts_with_all = ["raw", "since", "workspace", "session", "without_logs"])]
    format: Option<FormatName>,

    /// Write the archived log of this session, as its agent wrote it but without secrets
    ///
    /// This works even if the agent has deleted the log.
    #[arg(long, value_name = "ID")]
    #[arg(conflicts_with_all = ["since", "workspace", "session", "without_logs"])]
    raw: Option<String>,

    /// Only from this time on, such as 2026-01-05, yesterday, 12h or 2w
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only the session with this id or id prefix
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Leave out the archived logs; records are still exported
    #[arg(long)]
    without_logs: bool,

    /// Write to this file instead of standard output; with --raw, a name without an extension is a
    /// folder
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
}

/// The name of a format on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    Markdown,
    Html,
}

pub(crate) fn run(app: &App<'_>, args: &ExportArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if let (Some(session), Some(format)) = (&args.transcript, args.format) {
        return export_transcript(app, &store, session, format, args.output.as_deref());
    }
    match &args.raw {
        Some(session) => export_raw(app, &store, session, args.output.as_deref()),
        None => export_all(app, &store, args),
    }
}

fn export_transcript(
    app: &App<'_>,
    store: &Store,
    session: &str,
    format: FormatName,
    output: Option<&Path>,
) -> anyhow::Result<Exit> {
    let session = show::find_session(store, session)?;
    let options = TranscriptOptions {
        format: match format {
            FormatName::Markdown => TranscriptFormat::Markdown,
            FormatName::Html => TranscriptFormat::Html,
        },
        zone: app.environment.zone.clone(),
        left_out: BTreeSet::new(),
    };
    let write = |out: &mut dyn Write| Ok(write_transcript(store, &session, &options, out)?);
    match output {
        Some(path) => {
            write_new_file(path, write)?;
            say!("Wrote {}.", path.display());
        }
        None => write(&mut BufWriter::new(stdout().lock()))?,
    }
    Ok(Exit::Done)
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
    // Without --output the exported lines themselves show the progress.
    let bar = match &args.output {
        Some(_) if app.environment.stderr_is_terminal => ProgressBar::new(0),
        _ => ProgressBar::hidden(),
    };
    let show = |done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    };
    let exported = match &args.output {
        Some(path) => write_new_file(path, |out| Ok(store.export(&filter, out, &show)?))?,
        None => store.export(&filter, &mut BufWriter::new(stdout().lock()), &show)?,
    };
    bar.finish_and_clear();
    report_exported(&exported);
    if !exported.damaged.is_empty() {
        return Ok(report_damaged(&exported.damaged));
    }
    Ok(Exit::of_query(
        exported.sessions == 0 && exported.facts == 0,
    ))
}

/// Prints what was left out because it is damaged.
fn report_damaged(damaged: &DamagedTexts) -> Exit {
    say!("error: left out {}", sanitize(&damaged.to_string()));
    say!(
        "hint: run `throughline doctor --repair` to remove what is damaged; the next ingest reads \
         it again",
    );
    Exit::Failed
}

fn report_exported(exported: &ExportReport) {
    say!(
        "Exported {} from {}, and {}.",
        count(exported.records, "record"),
        count(exported.sessions, "session"),
        count(exported.facts, "fact"),
    );
}

/// Writes to a temporary file and renames it, so that a file of this name is always complete. An
/// existing file is not overwritten.
fn write_new_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if path.exists() {
        return Err(error_with_hint(
            format!("{} already exists", path.display()),
            "choose another file, or delete that one",
        ));
    }
    let name = path.file_name().context("the file has no name")?;
    let partial = path.with_file_name(format!("{}.part", name.to_string_lossy()));
    let result = create_private(&partial).and_then(|file| {
        let mut out = BufWriter::new(file);
        let value = write(&mut out)?;
        out.into_inner()?.sync_all()?;
        std::fs::rename(&partial, path)?;
        Ok(value)
    });
    if result.is_err() {
        // The first error is the one to report.
        std::fs::remove_file(&partial).ok();
    }
    result.with_context(|| format!("cannot write {}", path.display()))
}

pub(crate) fn create_private(path: &Path) -> anyhow::Result<std::fs::File> {
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
            Some(path) => format!("{digest}; the agent still has the log at {path}"),
            None => digest,
        };
        return Err(error_with_hint(
            format!("the log of {} was removed{why}", session.id),
            hint,
        ));
    }
    if logs.is_empty() {
        return Err(error_with_hint(
            format!("the log of {} was not archived", session.id),
            "its agent keeps it in a database, or `archive` was off when it was read; use \
             `throughline show`",
        ));
    }
    if session.evicted > 0 {
        let why = show::removal_note(app, store, &session)?;
        say!("warning: the earlier part of this log was removed{why}");
    }
    let others = logs.values().map(|log| log.others.len()).sum::<usize>();
    if others > 0 && output.is_none() {
        say!(
            "note: {} archived; use --output to write all of them",
            match others {
                1 => "another version of this log is".to_owned(),
                others => format!("{others} other versions of this log are"),
            }
        );
    }
    // A name such as `raw.jsonl` is meant as a file.
    let file = output.filter(|path| path.extension().is_some() && !path.is_dir());
    if let Some(file) = file.filter(|_| logs.len() + others > 1) {
        return Err(error_with_hint(
            format!("{} has several logs or versions of one", session.id),
            format!("give a folder instead of {}", file.display()),
        ));
    }
    for (path, log) in &logs {
        match (file, output) {
            (Some(file), _) => {
                let folder = file.parent().unwrap_or(Path::new(""));
                let name = file.file_name().context("the file has no name")?;
                save_file(folder, Path::new(name), &log.text)?;
            }
            (None, Some(folder)) => save_versions(folder, path, log)?,
            (None, None) => stdout().lock().write_all(log.text.as_bytes())?,
        }
    }
    if !damaged.is_empty() {
        return Ok(report_damaged(&damaged));
    }
    Ok(Exit::Done)
}

/// A log in the archive.
#[derive(Default)]
pub(crate) struct ArchivedLog {
    /// The longest version of the log.
    pub(crate) text: String,
    /// Other versions, from before or after the agent rewrote the log.
    others: Vec<String>,
}

impl ArchivedLog {
    fn add(&mut self, text: String) {
        // A version that is a prefix of another one adds nothing.
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

/// Returns the archived logs of a session by path. A log that was moved is archived under both
/// paths; only the longer one is returned.
pub(crate) fn archived_logs(
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
    // A sweep and an import may both have archived the same log.
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
    // Only the file name is used: a path in a log must not decide where we write.
    let name = Path::new(path).file_name().context("the log has no name")?;
    save_file(folder, Path::new(name), &log.text)?;
    for (number, text) in (1..).zip(&log.others) {
        let name = format!("{}.version-{number}", name.to_string_lossy());
        save_file(folder, Path::new(&name), text)?;
    }
    Ok(())
}

fn save_file(folder: &Path, name: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
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
