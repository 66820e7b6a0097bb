//! `throughline fix`

use std::fmt::Write as _;
use std::io::{Read, Write, stdin, stdout};

use recall::questions::{self, Fix, Way};

use crate::commands::App;
use crate::commands::blame::cut_agent;
use crate::commands::sessions::cut_id;
use crate::output::table::count;
use crate::output::text::{Paint, safe};
use crate::output::{self, Outcome, say, time};

/// Show whether an error was seen before, and what made it go away
#[derive(Debug, clap::Args)]
pub struct FixArgs {
    /// The error's text; - reads it from standard input
    #[arg(required = true, value_name = "ERROR")]
    error: Vec<String>,

    /// Only workspaces with this in their address or folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// How many places and ways to show
    #[arg(short = 'n', long, default_value_t = 5, value_name = "NUMBER")]
    limit: usize,

    /// Print what is known as JSON
    #[arg(long)]
    json: bool,
}

/// More of an error's output is not read.
const ERROR_BYTES_MAX: u64 = 1 << 20;

pub fn run(app: &App<'_>, args: &FixArgs) -> anyhow::Result<Outcome> {
    let store = app.open_to_ask()?;
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
        output::json(&fix)?;
    } else if nothing {
        say("This error is not known.");
    } else {
        write!(stdout().lock(), "{}", shown(app, &fix))?;
    }
    Ok(if nothing {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

fn shown(app: &App<'_>, fix: &Fix) -> String {
    let paint = Paint {
        color: app.environment.color,
    };
    let mut out = format!("Seen in {}:\n", count(fix.occurrences.len(), "place"));
    for seen in &fix.occurrences {
        let when = time::show(seen.at, &app.environment.zone);
        let session = session(seen.session.as_str(), seen.session.native());
        let _ = writeln!(out, "  {when}  {}", paint.dim(&session));
        let _ = writeln!(out, "      {}", safe(&seen.line));
        if let Some(command) = &seen.command {
            let _ = writeln!(out, "      $ {}", safe(command));
        }
    }
    if fix.ways.is_empty() {
        out += "No session shows what made it go away.\n";
    }
    for way in &fix.ways {
        out += &way_out(app, way, paint);
    }
    out
}

fn way_out(app: &App<'_>, way: &Way, paint: Paint) -> String {
    let when = time::show(way.at, &app.environment.zone);
    let session = session(way.session.as_str(), way.session.native());
    let mut out = format!(
        "{}  {}\n",
        paint.bold(&format!("Gone by {when}:")),
        paint.dim(&session)
    );
    if let Some(said) = &way.said {
        let _ = writeln!(out, "    agent: {}", safe(said));
    }
    for file in &way.files {
        let _ = writeln!(out, "    changed {}", safe(file));
    }
    for command in &way.commands {
        let _ = writeln!(out, "    ran {}", safe(command));
    }
    let _ = writeln!(out, "    then worked: {}", safe(&way.command));
    out
}

fn session(id: &str, native: &str) -> String {
    format!("{} {}", cut_agent(id), cut_id(&safe(native)))
}
