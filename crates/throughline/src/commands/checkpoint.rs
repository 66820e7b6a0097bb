//! `throughline checkpoint`

use std::io::{Write, stdout};

use memory::layers::Checkpoint;
use serde_json::json;
use serve::requests::snapshot::{find_checkpoint, session_checkpoints};
use similar::TextDiff;

use crate::commands::App;
use crate::commands::show::{find_session, request_error};
use crate::output::text::sanitize;
use crate::output::wrap::truncate;
use crate::output::{self, Exit, time};

/// Make and list the checkpoints of a session
///
/// A checkpoint says where a session stood: what was asked, which files, commands and errors came
/// last. It is made every 50 interactions, at a compaction and at the end, of stored records alone.
/// `throughline resume ID --at N` continues from one.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckpointArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "SESSION")]
    id: String,

    /// Show what changed between two checkpoints
    #[arg(long, value_names = ["FROM", "TO"], num_args = 2)]
    diff: Option<Vec<u32>>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &CheckpointArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = find_session(&store, &args.id)?;
    let checkpoints = session_checkpoints(&store, &session).map_err(request_error)?;
    if let Some([from, to]) = args.diff.as_deref() {
        let find = |number: u32| {
            find_checkpoint(&session, &checkpoints, Some(number)).map_err(request_error)
        };
        let changes = format_diff(find(*from)?, find(*to)?)?;
        if args.json {
            output::print_json(&json!({"session": session.id, "diff": changes}))?;
        } else {
            write!(stdout().lock(), "{}", sanitize(&changes))?;
        }
        return Ok(Exit::Done);
    }
    if args.json {
        output::print_json(&json!({"session": session.id, "checkpoints": checkpoints}))?;
        return Ok(Exit::Done);
    }
    let mut out = app.output();
    for checkpoint in &checkpoints {
        let asked = checkpoint.asked.last().map_or("", String::as_str);
        let asked = asked.lines().next().unwrap_or_default();
        let at = time::format_time(checkpoint.at, &app.environment.zone);
        let line = format!(
            "{:>3}  {at}  {:>4} interactions  {:<10}  {}",
            checkpoint.number,
            checkpoint.interactions,
            checkpoint.cause.name(),
            sanitize(asked)
        );
        writeln!(out, "{}", truncate(&line, app.columns().unwrap_or(120)))?;
    }
    Ok(Exit::Done)
}

/// Returns the lines that differ between two checkpoints.
fn format_diff(from: &Checkpoint, to: &Checkpoint) -> anyhow::Result<String> {
    let (old, new) = (
        serde_json::to_string_pretty(from)?,
        serde_json::to_string_pretty(to)?,
    );
    let diff = TextDiff::from_lines(&old, &new);
    let header = (
        &*format!("checkpoint {}", from.number),
        &*format!("checkpoint {}", to.number),
    );
    Ok(diff
        .unified_diff()
        .context_radius(1)
        .header(header.0, header.1)
        .to_string())
}
