//! `throughline fix`

use std::fmt::Write as _;
use std::io::{Read, Write, stdin};

use recall::questions::{self, ErrorHistory, ErrorResolution};
use store::Store;

use crate::commands::sessions::session_label;
use crate::commands::{App, parse_limit};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Show where an error occurred before, and what fixed it
#[derive(Debug, clap::Args)]
pub(crate) struct FixArgs {
    /// The error's text; - reads it from standard input
    #[arg(required = true, value_name = "ERROR")]
    error: Vec<String>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// The number of occurrences and fixes to show
    #[arg(short = 'n', long, default_value = "5", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the occurrences and fixes as JSON
    #[arg(long)]
    json: bool,
}

/// A longer error is cut off here.
const ERROR_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(app: &App<'_>, args: &FixArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let error = if args.error == ["-"] {
        let mut bytes = Vec::new();
        stdin()
            .lock()
            .take(ERROR_BYTES_MAX)
            .read_to_end(&mut bytes)?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        args.error.join(" ")
    };
    let fix = questions::fix(&store, &error, args.workspace.as_deref(), args.limit)?;
    let nothing = fix.occurrences.is_empty();
    if args.json {
        output::print_json(&fix)?;
    } else if nothing {
        say("No session has this error.");
    } else {
        write!(app.output(), "{}", format_fix(app, &store, &fix))?;
    }
    Ok(if nothing {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

fn format_fix(app: &App<'_>, store: &Store, fix: &ErrorHistory) -> String {
    let style = app.style();
    let mut out = format!("Seen {}:\n", count(fix.occurrences.len(), "time"));
    for seen in &fix.occurrences {
        let when = app.format_when(seen.at);
        let session = session_label(store, &seen.session);
        let _ = writeln!(out, "  {when}  {}", style.dim(&session));
        let _ = writeln!(out, "      {}", sanitize(&seen.line));
        if let Some(command) = &seen.command {
            let _ = writeln!(out, "      $ {}", sanitize(command));
        }
    }
    if fix.ways.is_empty() {
        out += "No session shows what fixed it.\n";
    }
    for resolution in &fix.ways {
        out += &format_resolution(app, store, resolution);
    }
    out
}

fn format_resolution(app: &App<'_>, store: &Store, resolution: &ErrorResolution) -> String {
    let style = app.style();
    let when = app.format_when(resolution.at);
    let session = session_label(store, &resolution.session);
    let mut out = format!(
        "{}  {}\n",
        style.bold(&format!("Fixed {when}:")),
        style.dim(&session)
    );
    if let Some(said) = &resolution.said {
        let _ = writeln!(out, "    agent: {}", sanitize(said));
    }
    for file in &resolution.files {
        let _ = writeln!(out, "    changed {}", sanitize(file));
    }
    for command in &resolution.commands {
        let _ = writeln!(out, "    ran {}", sanitize(command));
    }
    let _ = writeln!(out, "    then worked: {}", sanitize(&resolution.command));
    out
}
