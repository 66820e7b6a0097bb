//! `throughline doctor --repair`

use std::io::{Write, stdout};

use anyhow::Context;
use store::{OpenMode, RepairReport, Store};

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::table::count;
use crate::output::{self, Exit};

/// At most this many lines of each list are printed; --json prints all of them.
const SHOWN_MAX: usize = 20;

pub(crate) fn run(app: &App<'_>, json: bool) -> anyhow::Result<Exit> {
    if !app.has_store() {
        return Err(app.no_store_error());
    }
    if is_sound(app)? {
        say!("Nothing to repair: the checksum of every text is correct.");
        return Ok(Exit::Done);
    }
    let repaired = store::repair(&app.home)
        .with_context(|| format!("cannot repair the store in {}", app.home.display()))?;
    if json {
        output::print_json(&repaired)?;
    } else {
        print(&repaired)?;
    }
    Ok(Exit::Done)
}

/// Checks the store without changing it.
fn is_sound(app: &App<'_>) -> anyhow::Result<bool> {
    match Store::open_with(&app.home, OpenMode::ReadOnly, &SystemKeychain) {
        Ok(store) => Ok(store.health(true).is_ok_and(|health| health.is_sound())),
        Err(error @ store::Error::InUse { .. }) => Err(error.into()),
        Err(_) => Ok(false),
    }
}

fn print(repaired: &RepairReport) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    writeln!(
        out,
        "Repaired: {} kept, {} lost.",
        count(repaired.records, "record"),
        repaired.lost_records
    )?;
    for (session, lost) in repaired.sessions.iter().take(SHOWN_MAX) {
        let session = output::text::sanitize(session);
        writeln!(out, "  {session} lost {}", count(*lost, "record"))?;
    }
    print_more(&mut out, repaired.sessions.len())?;
    for id in repaired.lost_ids.iter().take(SHOWN_MAX) {
        writeln!(out, "  {id} is lost")?;
    }
    print_more(&mut out, repaired.lost_ids.len())?;
    for (table, (pages, rows)) in &repaired.hurt {
        writeln!(
            out,
            "  {table}: {} and {} could not be read",
            count(*pages, "page"),
            count(*rows, "row")
        )?;
    }
    writeln!(
        out,
        "The damaged store is kept in {}.",
        repaired.quarantine.display()
    )?;
    if !repaired.gone.is_empty() {
        writeln!(
            out,
            "The agents have deleted these logs, so their lost records cannot be recovered:"
        )?;
        print_paths(&mut out, &repaired.gone)?;
    }
    if !repaired.held_back.is_empty() {
        writeln!(
            out,
            "The list of forgotten records is damaged. These logs are not read again, because that \
             could restore forgotten records:"
        )?;
        print_paths(&mut out, &repaired.held_back)?;
    }
    if !repaired.reread.is_empty() {
        writeln!(
            out,
            "Run `throughline ingest` to read {} again, which may recover lost records.",
            count(repaired.reread.len(), "log")
        )?;
    }
    Ok(())
}

fn print_paths(out: &mut impl Write, paths: &[String]) -> anyhow::Result<()> {
    for path in paths.iter().take(SHOWN_MAX) {
        writeln!(out, "  {}", output::text::sanitize(path))?;
    }
    print_more(out, paths.len())
}

fn print_more(out: &mut impl Write, all: usize) -> anyhow::Result<()> {
    if all > SHOWN_MAX {
        writeln!(out, "  and {} more", all - SHOWN_MAX)?;
    }
    Ok(())
}
