//! `throughline how`

use std::fmt::Write as _;

use recall::questions::{self, CommandHistory};
use store::Store;

use crate::commands::blame::print_answers;
use crate::commands::sessions::session_label;
use crate::commands::{App, parse_limit};
use crate::output::Exit;
use crate::output::text::{indent, sanitize};

/// Show how a command was run before, and whether it worked
#[derive(Debug, clap::Args)]
pub(crate) struct HowArgs {
    /// Words of the command, such as "cargo test"
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// The number of commands to show
    #[arg(short = 'n', long, default_value = "10", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the commands as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &HowArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let words = args.command.join(" ");
    let ways = questions::how(&store, &words, args.workspace.as_deref(), args.limit)?;
    let none = "No session ran such a command.";
    print_answers(app, args.json, &ways, none, |history| {
        format_command_history(app, &store, history)
    })
}

fn format_command_history(app: &App<'_>, store: &Store, history: &CommandHistory) -> String {
    let style = app.style();
    let mut tally = Vec::new();
    for (number, what) in [
        (history.succeeded, "worked"),
        (history.failed, "failed"),
        (history.unknown, "unknown"),
    ] {
        if number > 0 {
            tally.push(format!("{what} {number}×"));
        }
    }
    let last = &history.last;
    let when = app.format_when(last.at);
    let status = match (last.succeeded, last.exit_code) {
        (Some(true), Some(code)) | (Some(false), Some(code)) => format!(", exit {code}"),
        _ => String::new(),
    };
    let cwd = last
        .cwd
        .as_deref()
        .map_or(String::new(), |cwd| format!(" in {}", sanitize(cwd)));
    let session = session_label(store, &last.session);
    let mut out = indent(&style.bold(&sanitize(&history.command)), "");
    let verb = if last.succeeded == Some(true) {
        "last success"
    } else {
        "last run"
    };
    let _ = writeln!(
        out,
        "    {}; {verb} {when}{status}{cwd}  {}",
        tally.join(", "),
        style.dim(&session)
    );
    if let Some(failure) = &history.failure {
        let _ = writeln!(out, "    failure: {}", sanitize(failure));
    }
    out
}
