//! `throughline stats`

use std::io::{Write, stdout};

use serde_json::json;
use serve::requests::capsules::{self, CapsuleEntry};
use serve::requests::layers::{FigureOrigin, layer_health};
use store::Store;

use crate::commands::App;
use crate::output::table::format_table;
use crate::output::text::sanitize;
use crate::output::{self, Exit, time};

/// Show how well memory predicts what sessions need
///
/// Shows what the daemon counted in live sessions of the last 7 days; until there is enough of it,
/// the latest sessions are replayed through the memory layers. Each figure says since when it is
/// measured, and one that misses its target says why.
///
/// With --capsules: lists what is known in the workspace, in short form.
#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// Use this workspace instead of that of the current folder
    #[arg(long, value_name = "NAME")]
    workspace: Option<String>,

    /// List the knowledge capsules instead: patterns, skills, settings, preferences and history
    #[arg(long)]
    capsules: bool,

    /// With --capsules: only those that have to do with this text, the nearest first
    #[arg(long, value_name = "TEXT", requires = "capsules")]
    near: Option<String>,

    /// Show the text of a knowledge capsule by its id, or by the beginning of one
    #[arg(long, value_name = "ID", conflicts_with = "capsules")]
    capsule: Option<String>,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &StatsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let workspace = app.find_workspace(&store, args.workspace.as_deref())?;
    if let Some(id) = &args.capsule {
        return print_capsule(app, args, &store, &workspace.key, id);
    }
    if args.capsules {
        return list_capsules(app, args, &store, &workspace.key);
    }
    let checks = layer_health(&store, &workspace.key, app.environment.now)?;
    if args.json {
        output::print_json(&json!({"workspace": workspace.key, "checks": checks}))?;
    } else if checks.is_empty() {
        say!("No session of {} has touched a file yet.", workspace.key);
        say!("hint: run it in a project's folder, or choose one with --workspace NAME");
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

/// Lists the index entries of the capsules of a workspace.
fn list_capsules(
    app: &App<'_>,
    args: &StatsArgs,
    store: &Store,
    workspace: &str,
) -> anyhow::Result<Exit> {
    let all = capsules::refresh_capsules(store, workspace)?;
    let entries = match &args.near {
        Some(text) => {
            let now = app.environment.now;
            capsules::search_capsules(store, workspace, &all, text, now)?
        }
        None => all.iter().map(CapsuleEntry::new).collect(),
    };
    if args.json {
        output::print_json(&json!({"workspace": workspace, "capsules": entries}))?;
    } else if entries.is_empty() {
        say!(
            "No knowledge capsule of {workspace}{}.",
            if args.near.is_some() && !all.is_empty() {
                " has to do with this text"
            } else {
                " yet; `throughline detect` finds patterns"
            }
        );
    } else {
        let row = |entry: &CapsuleEntry| {
            vec![
                sanitize(&entry.id),
                time::format_time(Some(entry.at), &app.environment.zone),
                format!("{} tokens", entry.tokens.0),
                format!("{} % of {}", entry.percent, entry.original_tokens.0),
                sanitize(&entry.summary),
            ]
        };
        let rows: Vec<Vec<String>> = entries.iter().map(row).collect();
        write!(app.output(), "{}", format_table(&rows))?;
    }
    Ok(if entries.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

fn print_capsule(
    app: &App<'_>,
    args: &StatsArgs,
    store: &Store,
    workspace: &str,
    id: &str,
) -> anyhow::Result<Exit> {
    let all = capsules::refresh_capsules(store, workspace)?;
    let capsule = capsules::find_capsule(&all, id)?;
    if args.json {
        output::print_json(&CapsuleEntry::new(capsule).with_text(capsule))?;
    } else {
        writeln!(app.output(), "{}", sanitize(&capsule.full_text()))?;
    }
    Ok(Exit::Done)
}

fn describe(measured: FigureOrigin) -> &'static str {
    match measured {
        FigureOrigin::Live => "live,",
        FigureOrigin::Replay => "replayed,",
        FigureOrigin::Store => "stored,",
    }
}
