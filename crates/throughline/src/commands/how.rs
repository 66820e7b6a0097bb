//! `throughline how`

use std::fmt::Write as _;
use std::io::{Write, stdout};

use recall::questions::{self, CommandHistory};

use crate::commands::App;
use crate::commands::blame::agent_name;
use crate::commands::sessions::short_session_id;
use crate::output::text::{TextStyle, indent, sanitize};
use crate::output::{self, Exit, say, time};

/// Show how a command was run before, and how that went
#[derive(Debug, clap::Args)]
pub(crate) struct HowArgs {
    /// Words of the command, such as "cargo test"
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,

    /// Only workspaces with this in their address or folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// How many ways to show
    #[arg(short = 'n', long, default_value_t = 10, value_name = "NUMBER")]
    limit: usize,

    /// Print the ways as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &HowArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let words = args.command.join(" ");
    let ways = questions::how(&store, &words, args.workspace.as_deref(), args.limit)?;
    if args.json {
        output::print_json(&ways)?;
    } else if ways.is_empty() {
        say("No such command is known.");
    } else {
        let mut out = stdout().lock();
        for way in &ways {
            write!(out, "{}", format_command_history(app, way))?;
        }
    }
    Ok(if ways.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

fn format_command_history(app: &App<'_>, way: &CommandHistory) -> String {
    let paint = TextStyle {
        color: app.environment.color,
    };
    let mut tally = Vec::new();
    for (number, what) in [
        (way.succeeded, "worked"),
        (way.failed, "failed"),
        (way.unknown, "unknown"),
    ] {
        if number > 0 {
            tally.push(format!("{what} {number}×"));
        }
    }
    let last = &way.last;
    let when = time::format_time(last.at, &app.environment.zone);
    let status = match (last.succeeded, last.exit_code) {
        (Some(true), Some(code)) | (Some(false), Some(code)) => format!(", exit {code}"),
        _ => String::new(),
    };
    let cwd = last
        .cwd
        .as_deref()
        .map_or(String::new(), |cwd| format!(" in {}", sanitize(cwd)));
    let session = format!(
        "{} {}",
        agent_name(last.session.as_str()),
        short_session_id(&sanitize(last.session.native()))
    );
    let mut out = indent(&paint.bold(&sanitize(&way.command)), "");
    let verb = if last.succeeded == Some(true) {
        "last success"
    } else {
        "last run"
    };
    let _ = writeln!(
        out,
        "    {}; {verb} {when}{status}{cwd}  {}",
        tally.join(", "),
        paint.dim(&session)
    );
    if let Some(failure) = &way.failure {
        let _ = writeln!(out, "    failure: {}", sanitize(failure));
    }
    out
}
