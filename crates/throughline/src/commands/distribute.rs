//! `throughline distribute`

use std::fs;
use std::io::{Write, stdout};
use std::path::PathBuf;

use anyhow::Context;
use learn::distribute::{DistributionPlan, plan_repository, unified_diff};
use memory::{Flavor, Workspace};
use serde_json::json;
use store::Store;

use crate::commands::{App, parse_flavor};
use crate::learning::{self, find_repository};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit};

/// Propose approved patterns for the agents' instruction files
///
/// Writes a diff per file into the data folder, for you to review and apply. With --apply, asks and
/// then changes the files. Only the lines between Throughline's own marks ever change.
#[derive(Debug, clap::Args)]
pub(crate) struct DistributeArgs {
    /// The repository: a folder, or a part of its address; by default the current one
    #[arg(long, value_name = "REPO")]
    repo: Option<String>,

    /// Only for this agent; by default for all agents that were used in the repository
    #[arg(long, value_name = "AGENT", value_parser = parse_flavor)]
    flavor: Option<Flavor>,

    /// Change the files after asking
    #[arg(long)]
    apply: bool,

    /// With --apply, change the files without asking
    #[arg(long, requires = "apply")]
    yes: bool,

    /// Print the plan as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &DistributeArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    learning::update_digests(app, &store)?;
    let workspace = find_repository(app, &store, args.repo.as_deref())?;
    let settings = app.config.learn_settings();
    let now = app.environment.now;
    let mut proposed = plan_repository(&store, &settings, &workspace, args.flavor, now)?;
    let diffs = write_proposals(app, &store, &workspace, &proposed.plan)?;
    if !args.json {
        print_plan(&proposed.plan)?;
    }
    let has_changes = !proposed.plan.changes.is_empty();
    let applied = args.apply && has_changes && confirm(app, args, &proposed.plan)?;
    if applied {
        proposed.apply(now)?;
    }
    let plan = &proposed.plan;
    if args.json {
        let files: Vec<_> = plan
            .changes
            .iter()
            .zip(&diffs)
            .map(|(change, file)| {
                json!({ "path": change.path, "proposal": file, "diff": unified_diff(change) })
            })
            .collect();
        output::print_json(&json!({
            "repository": workspace.key,
            "changes": files,
            "applied": applied,
            "patterns": proposed.placements().collect::<Vec<_>>(),
            "notes": plan.notes,
        }))?;
    } else {
        say_result(plan, &diffs, applied);
    }
    Ok(Exit::of_query(
        plan.changes.is_empty() && plan.placed.is_empty(),
    ))
}

/// Writes a diff per file into the data folder, and removes those of an earlier plan. An encrypted
/// store keeps no plain text beside it, so its diffs are only printed.
fn write_proposals(
    app: &App<'_>,
    store: &Store,
    workspace: &Workspace,
    plan: &DistributionPlan,
) -> anyhow::Result<Vec<Option<PathBuf>>> {
    let folder = app.home.join("proposals");
    let context = || format!("cannot write the proposals in {}", folder.display());
    let hash = blake3::hash(workspace.key.as_bytes()).to_hex();
    let start = format!("{}-", &hash.as_str()[..12]);
    for file in fs::read_dir(&folder).into_iter().flatten() {
        let file = file.with_context(context)?;
        if file.file_name().to_string_lossy().starts_with(&start) {
            fs::remove_file(file.path()).with_context(context)?;
        }
    }
    if plan.changes.is_empty() || store.is_encrypted() {
        return Ok(vec![None; plan.changes.len()]);
    }
    fs::create_dir_all(&folder).with_context(context)?;
    let mut files = Vec::new();
    for change in &plan.changes {
        let name = change.path.to_string_lossy().replace(['/', '\\'], "-");
        let file = folder.join(format!("{start}{name}.diff"));
        fs::write(&file, unified_diff(change)).with_context(context)?;
        files.push(Some(file));
    }
    Ok(files)
}

fn print_plan(plan: &DistributionPlan) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    for change in &plan.changes {
        let lines = unified_diff(change);
        for line in lines.split_inclusive('\n') {
            writeln!(out, "{}", sanitize(line.trim_end_matches(['\r', '\n'])))?;
        }
    }
    Ok(())
}

fn confirm(app: &App<'_>, args: &DistributeArgs, plan: &DistributionPlan) -> anyhow::Result<bool> {
    if args.yes {
        return Ok(true);
    }
    let question = format!("Change {}?", count(plan.changes.len(), "file"));
    app.confirm(
        &question,
        "add --yes, or apply the diffs with `git apply`",
        || (),
    )
}

fn say_result(plan: &DistributionPlan, diffs: &[Option<PathBuf>], applied: bool) {
    for note in &plan.notes {
        let path = note
            .path
            .as_deref()
            .map_or_else(String::new, |path| path.display().to_string());
        let pattern = note.pattern.as_deref().unwrap_or_default();
        say!("{path} {pattern}: {}", note.why);
    }
    if plan.changes.is_empty() {
        say!(
            "No file needs a change; {} in place.",
            count(plan.placed.len(), "block")
        );
    } else if applied {
        say!("Changed {}.", count(plan.changes.len(), "file"));
    } else {
        for file in diffs.iter().flatten() {
            say!(
                "Review, then apply in the repository: git apply {}",
                file.display()
            );
        }
    }
}
