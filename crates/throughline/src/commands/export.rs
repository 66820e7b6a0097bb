//! `throughline export`

use std::collections::BTreeMap;
use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use memory::Session;
use store::Store;

use crate::commands::{App, show};
use crate::output::{Outcome, hinted, say};

/// Give a session's own log back, as its agent wrote it but for the secrets
///
/// It is there even when the agent has deleted it.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// The session's id or the beginning of it
    #[arg(long, value_name = "ID")]
    raw: String,

    /// Write the log into this folder instead of to standard output, under its own name
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn run(app: &App<'_>, args: &ExportArgs) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let session = show::the_session(&store, &args.raw)?;
    let logs = logs(&store, &session)?;
    if logs.is_empty() && session.evicted > 0 {
        return Err(hinted(
            format!("the log of {} was evicted to save space", session.id),
            format!("`throughline digest {}` tells what remains", session.id),
        ));
    }
    if logs.is_empty() {
        return Err(hinted(
            format!("the log of {} was not kept", session.id),
            "it lies in a database, or `archive` was off when it was read; `throughline show` has the rest",
        ));
    }
    if session.evicted > 0 {
        say("warning: the earlier part of this log was evicted to save space");
    }
    for (path, text) in &logs {
        match &args.output {
            Some(folder) => save(folder, path, text)?,
            None => stdout().lock().write_all(text.as_bytes())?,
        }
    }
    Ok(Outcome::Done)
}

/// Returns the session's logs by path. A log that was moved is known at both places; the longer one
/// has it all.
fn logs(store: &Store, session: &Session) -> anyhow::Result<BTreeMap<String, String>> {
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    store.each_raw(&session.id, |path, text| {
        all.entry(path.to_owned()).or_default().push_str(text);
    })?;
    let is_part = |path: &String, text: &String| {
        all.iter().any(|(other, longer)| {
            let later = longer.len() > text.len() || (longer.len() == text.len() && other > path);
            later && longer.starts_with(text.as_str())
        })
    };
    let parts: Vec<_> = all
        .iter()
        .filter(|(path, text)| is_part(path, text))
        .map(|(path, _)| path.clone())
        .collect();
    all.retain(|path, _| !parts.contains(path));
    Ok(all)
}

fn save(folder: &Path, path: &str, text: &str) -> anyhow::Result<()> {
    // Only the last part of the name: what a log is called must not say where we write.
    let name = Path::new(path).file_name().context("the log has no name")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let target = folder.join(name);
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&target)
        .with_context(|| format!("cannot write {}", target.display()))?;
    file.write_all(text.as_bytes())?;
    say(&format!("Wrote {}.", target.display()));
    Ok(())
}
