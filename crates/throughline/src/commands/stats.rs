//! `throughline stats`

use std::io::{Write, stdout};

use serde_json::json;
use serve::requests::layers::{FigureOrigin, layer_health};

use crate::commands::App;
use crate::output::table::format_table;
use crate::output::{self, Exit, time};

/// Show how well memory predicts what sessions need
///
/// Shows what the daemon counted in live sessions of the last 7 days; until there is enough of it,
/// the latest sessions are replayed through the memory layers. Each figure says since when it is
/// measured, and one that misses its target says why.
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
    let checks = layer_health(&store, &workspace.key, app.environment.now)?;
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
                    check
                        .value
                        .map_or("-".to_owned(), |value| value.to_string()),
                    check.target.to_owned(),
                    format!(
                        "{} since {}",
                        describe(check.measured),
                        time::format_time(check.since, &app.environment.zone)
                    ),
                    check.reason.clone().unwrap_or_default(),
                ]
            })
            .collect();
        let mut out = stdout().lock();
        writeln!(out, "Memory layers of {}", workspace.key)?;
        write!(out, "{}", format_table(&rows))?;
    }
    Ok(if checks.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

fn describe(measured: FigureOrigin) -> &'static str {
    match measured {
        FigureOrigin::Live => "live,",
        FigureOrigin::Replay => "replayed,",
        FigureOrigin::Store => "stored,",
    }
}
