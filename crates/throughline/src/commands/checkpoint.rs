//! `throughline checkpoint`

use std::io::{Write, stdout};

use memory::layers::Checkpoint;
use serde_json::json;
use serve::requests::snapshot::{find_checkpoint, session_checkpoints};
use similar::TextDiff;

use crate::commands::App;
use crate::commands::show::{find_session, request_error};
use crate::output::table::{TableColumn, format_columns};
use crate::output::text::{one_line, sanitize};
use crate::output::{self, Exit};

/// Make and list the checkpoints of a session
///
/// A checkpoint describes where a session stood: what was asked, and which files, commands and
/// errors came last. One is made every 50 interactions, at a compaction and at the end, from stored
/// records only. `throughline resume ID --at N` continues from one.
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

const COLUMNS: &[TableColumn] = &[
    TableColumn::right("CHECKPOINT"),
    TableColumn::left("WHEN"),
    TableColumn::right("INTERACTIONS"),
    TableColumn::left("MADE AT"),
    TableColumn::left("LAST PROMPT").shrinks_to(24),
];

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
    let rows = checkpoints.iter().map(|checkpoint| {
        vec![
            checkpoint.number.to_string(),
            app.format_when(checkpoint.at),
            checkpoint.interactions.to_string(),
            checkpoint.cause.name().to_owned(),
            one_line(checkpoint.asked.last().map_or("", String::as_str)),
        ]
    });
    let table = format_columns(COLUMNS, &rows.collect::<Vec<_>>(), app.columns());
    write!(app.output(), "{table}")?;
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
