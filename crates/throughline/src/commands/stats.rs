//! `throughline stats`

use std::io::{Write, stdout};

use serde_json::json;
use serve::requests::layers::layer_health;

use crate::commands::App;
use crate::output::table::format_table;
use crate::output::{self, Exit, time};

/// Show how well memory predicts what sessions need
///
/// The latest sessions of a workspace are replayed through the memory layers. A figure that misses
/// its target says why.
#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// Use this workspace instead of that of the current folder
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &StatsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let workspace = app.find_workspace(&store, args.workspace.as_deref())?;
    let checks = layer_health(&store, &workspace.key)?;
    if args.json {
        output::print_json(&json!({"workspace": workspace.key, "checks": checks}))?;
    } else if checks.is_empty() {
        say!("No session of {} has touched a file yet.", workspace.key);
    } else {
        let rows: Vec<Vec<String>> = checks
            .iter()
            .map(|check| {
                vec![
                    if check.is_met { "ok" } else { "missed" }.to_owned(),
                    check.name.to_owned(),
                    check.value.to_string(),
                    check.target.to_owned(),
                    check.reason.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let since = time::format_time(
            checks.first().and_then(|check| check.since),
            &app.environment.zone,
        );
        let mut out = stdout().lock();
        writeln!(out, "Memory layers of {} since {since}", workspace.key)?;
        write!(out, "{}", format_table(&rows))?;
    }
    Ok(if checks.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}
