//! `throughline restore-log`

use std::path::{Path, PathBuf};

use anyhow::Context;
use capture::flavor::adapter_for;
use memory::Session;
use store::Store;

use crate::commands::export::{archived_logs, create_private};
use crate::commands::show::find_session;
use crate::commands::{App, ingest};
use crate::output::{Exit, error_with_hint, print_json};

/// Put the archived log of a session back where its agent keeps it
///
/// For a session whose log the agent has deleted. Secrets were removed when the log was archived,
/// so their places hold marks. An existing file is never overwritten.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreLogArgs {
    /// The id of a session, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// Print which files would be written, without writing them
    #[arg(long)]
    dry_run: bool,

    /// Print the files as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &RestoreLogArgs) -> anyhow::Result<Exit> {
    use std::io::Write;
    let store = app.open_existing()?;
    let session = find_session(&store, &args.session)?;
    let logs = plan_restore(app, &store, &session)?;
    if !args.dry_run {
        write_logs(&logs)?;
    }
    let paths: Vec<_> = logs.iter().map(|(path, _)| path).collect();
    if args.json {
        print_json(&paths)?;
        return Ok(Exit::Done);
    }
    for path in paths {
        writeln!(app.output(), "{}", path.display())?;
    }
    Ok(Exit::Done)
}

/// Puts the log of a session back.
pub(crate) fn restore_log(app: &App<'_>, store: &Store, session: &Session) -> anyhow::Result<()> {
    let logs = plan_restore(app, store, session)?;
    write_logs(&logs)
}

/// Returns the files to write, with their texts.
fn plan_restore(
    app: &App<'_>,
    store: &Store,
    session: &Session,
) -> anyhow::Result<Vec<(PathBuf, String)>> {
    if session.evicted > 0 {
        return Err(error_with_hint(
            format!("the log of {} was removed to save space", session.id),
            format!("`throughline digest {}` shows what is left", session.id),
        ));
    }
    let (logs, damaged) = archived_logs(store, session)?;
    if !damaged.is_empty() {
        return Err(error_with_hint(
            format!("the archived log of {} is damaged", session.id),
            "run `throughline doctor --repair`",
        ));
    }
    if logs.is_empty() {
        return Err(error_with_hint(
            format!("the log of {} was not archived", session.id),
            "its agent keeps it in a database, or `archive` was off when it was read",
        ));
    }
    let mut planned = Vec::new();
    for (path, log) in logs {
        let path = PathBuf::from(path);
        check_place(app, session, &path)?;
        if path.exists() {
            return Err(error_with_hint(
                format!("the agent still has the log: {}", path.display()),
                "there is nothing to restore; an existing log is not overwritten",
            ));
        }
        planned.push((path, log.text));
    }
    Ok(planned)
}

/// Rejects a path outside of the agent's folders: an imported store may name any path.
fn check_place(app: &App<'_>, session: &Session, path: &Path) -> anyhow::Result<()> {
    let adapter = adapter_for(session.flavor);
    let roots = ingest::default_roots(app, adapter.as_slice());
    let is_plain = path
        .components()
        .all(|part| !matches!(part, std::path::Component::ParentDir));
    if is_plain && roots.iter().any(|root| path.starts_with(&root.path)) {
        return Ok(());
    }
    Err(error_with_hint(
        format!(
            "{} is outside of the folders of {}",
            path.display(),
            session.flavor.title()
        ),
        format!(
            "`throughline export --raw {} --output DIR` writes the log elsewhere",
            session.id
        ),
    ))
}

fn write_logs(logs: &[(PathBuf, String)]) -> anyhow::Result<()> {
    use std::io::Write;
    for (path, text) in logs {
        let folder = path.parent().context("the log has no folder")?;
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let partial = path.with_extension("throughline-part");
        let written = create_private(&partial).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            // Unlike a rename, this fails if the agent has written the file in the meantime.
            Ok(std::fs::hard_link(&partial, path)?)
        });
        std::fs::remove_file(&partial).ok();
        written.with_context(|| format!("cannot write {}", path.display()))?;
        say!("Restored {}.", path.display());
    }
    Ok(())
}
