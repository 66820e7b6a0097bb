//! The UI in lines, for screen readers and terminals that cannot move the cursor: a query is typed,
//! its hits are numbered, and a number shows one.

use std::io::{BufRead, Write, stdin, stdout};

use super::state::{HitTypes, ListRow, ListedSessions, Reach, RowTarget};
use super::text::{clean, wrap};
use super::{rows, worker::Worker};
use crate::commands::resume::{self, ResumeCommand};

/// Rows that are listed at once.
const ROWS_MAX: usize = 20;
const HELP: &str = "Type words to search, a number to read that result, `resume NUMBER`, `here`, \
                    `related`, `everywhere`, or `quit`.";

/// Asks and answers until the input ends. Returns the session to resume, if one was chosen.
pub(super) fn run(
    worker: &Worker<'_>,
    reaches: &[Reach],
    query: &str,
) -> anyhow::Result<Option<ResumeCommand>> {
    let mut out = stdout().lock();
    let mut reach = reaches.first().copied().unwrap_or(Reach::Everywhere);
    let mut query = query.to_owned();
    let mut list = print_list(worker, &mut out, &query, reach)?;
    print_wrapped(worker, &mut out, HELP)?;
    let mut lines = stdin().lock().lines();
    loop {
        if worker.app.environment.stdin_is_terminal {
            write!(out, "> ")?;
            out.flush()?;
        }
        let Some(line) = lines.next() else {
            return Ok(None);
        };
        let line = line?;
        let words = line.trim();
        let wanted = words.strip_prefix("resume ").unwrap_or(words);
        let row = wanted.parse::<usize>().ok();
        let row = row.and_then(|number| list.get(number.checked_sub(1)?));
        let named = [Reach::Here, Reach::Related, Reach::Everywhere];
        match (words, row) {
            ("quit" | "q", _) => return Ok(None),
            ("help" | "?", _) => print_wrapped(worker, &mut out, HELP)?,
            (_, Some(row)) if words.starts_with("resume ") => match &row.target {
                RowTarget::Session(id) => {
                    return Ok(Some(resume::plan_resume(worker.store, id.as_str())?));
                }
                _ => writeln!(out, "That is not a session.")?,
            },
            (_, Some(row)) => print_row(worker, &mut out, row)?,
            _ => {
                match named.into_iter().find(|reach| reach.name() == words) {
                    Some(named) => reach = named,
                    None => words.clone_into(&mut query),
                }
                list = print_list(worker, &mut out, &query, reach)?;
            }
        }
        out.flush()?;
    }
}

fn print_list(
    worker: &Worker<'_>,
    out: &mut impl Write,
    query: &str,
    reach: Reach,
) -> anyhow::Result<Vec<ListRow>> {
    let (mut list, note) = if query.is_empty() {
        rows::session_rows(worker, reach, ListedSessions::All)?
    } else {
        rows::hit_rows(worker, query, reach, HitTypes::All)?
    };
    let is_cut = list.len() > ROWS_MAX;
    list.truncate(ROWS_MAX);
    let note = match list.is_empty() {
        true if query.is_empty() => "no sessions",
        true => "nothing found",
        false => &note,
    };
    let shown = match is_cut {
        true => format!(", of which {ROWS_MAX} are listed"),
        false => String::new(),
    };
    let what = match query.is_empty() {
        true => "Latest sessions",
        false => "Searched",
    };
    writeln!(out, "{what} {}: {note}{shown}.", reach.name())?;
    for (number, row) in (1..).zip(&list) {
        let title = clean(row.title.lines().next().unwrap_or_default());
        let parts = [&row.label, &row.age, &row.place, &row.count];
        let parts: Vec<_> = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .cloned()
            .collect();
        let line = format!("{number}. {title} ({})", parts.join(", "));
        print_wrapped(worker, out, &line)?;
    }
    out.flush()?;
    Ok(list)
}

fn print_row(worker: &Worker<'_>, out: &mut impl Write, row: &ListRow) -> anyhow::Result<()> {
    let is_hit = row.pages.iter().any(|page| page.record.is_some());
    // A session that no hit explains is shown with what was said last in it.
    let ending = match &row.target {
        RowTarget::Session(id) if !is_hit => rows::ending_pages(worker, id)?,
        _ => Vec::new(),
    };
    for page in row.pages.iter().chain(&ending) {
        print_wrapped(worker, out, &page.heading)?;
        print_wrapped(worker, out, &page.text)?;
    }
    Ok(())
}

/// Prints a text in lines that fit the terminal; elsewhere its own lines stay whole.
fn print_wrapped(worker: &Worker<'_>, out: &mut impl Write, text: &str) -> std::io::Result<()> {
    let terminal = worker.app.environment.terminal.as_ref();
    let columns = terminal.map_or(usize::MAX, |terminal| terminal.columns);
    for line in wrap(text, columns, usize::MAX) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}
