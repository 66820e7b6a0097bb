//! `throughline retain`

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use distill::digest::DigestReport;
use indicatif::{ProgressBar, ProgressDrawTarget};
use jiff::Timestamp;
use serde::Serialize;
use store::maintenance::{MaintenanceReport, MaintenanceTask};
use store::retention::{DeleteAfterStatus, DiskUsage, EvictionPass, EvictionPlan, RetentionReport};
use store::{PackReport, Store};

use crate::commands::{App, ingest, serve};
use crate::output::table::{TableColumn, count, format_bytes, format_columns};
use crate::output::{self, Exit, say, time};

/// Apply the retention limits and run maintenance
///
/// Writes the digests of finished sessions. Above the caps under `[retention]`, and after
/// `delete_after_days` if that is set, it removes the text of sessions but keeps their digests;
/// below the soft cap nothing is removed. Then it runs the maintenance that is due: compressing old
/// sessions, merging duplicate facts, deleting unused rows. `throughline ingest` also does the
/// first two. The exit status is 2 if text was removed that had no digest.
#[derive(Debug, clap::Args)]
pub(crate) struct RetainArgs {
    /// Show what would be removed, without removing it
    #[arg(long)]
    dry_run: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// At most this many sessions of a plan are listed.
const PLAN_ROWS_MAX: usize = 20;

pub(crate) fn run(app: &App<'_>, args: &RetainArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if args.dry_run {
        return dry_run(app, args, &store);
    }
    let stop = ingest::stop_on_interrupt()?;
    let kept = digest_and_evict(app, &store, &stop, app.environment.now)?;
    let bar = if app.environment.stderr_is_terminal {
        ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
    } else {
        ProgressBar::hidden()
    };
    let show =
        |packed: &PackReport| bar.set_message(format!("{} sessions compressed", packed.sessions));
    let raw_max_age = app.config.retention.policy().raw_max_age;
    let report = store.run_due_tasks(app.environment.now, raw_max_age, &stop, &show)?;
    let given_back =
        report.packed.sessions > 0 && store.vacuum_if_worthwhile(app.environment.now)?;
    bar.finish_and_clear();
    if args.json {
        output::print_json(&RetainReport {
            analyzed: kept.digested.analyzed,
            retention: &kept.retained,
            housekeeping: &report,
        })?;
    } else {
        kept.print();
        print_maintenance(&report, given_back);
    }
    Ok(kept.exit(stop.load(Ordering::Relaxed)))
}

#[derive(Serialize)]
struct RetainReport<'a> {
    analyzed: usize,
    retention: &'a RetentionReport,
    housekeeping: &'a MaintenanceReport,
}

/// The results of digesting and of retention.
#[derive(Debug)]
pub(crate) struct RetainOutcome {
    pub(crate) digested: DigestReport,
    pub(crate) retained: RetentionReport,
}

/// Writes the digests that are due, then removes what the retention policy does not keep.
pub(crate) fn digest_and_evict(
    app: &App<'_>,
    store: &Store,
    stop: &AtomicBool,
    now: Timestamp,
) -> anyhow::Result<RetainOutcome> {
    let stages = serve::stage_settings(app)?;
    let (digested, retained) = ::serve::stages::digest_and_evict(store, &stages, stop, now)?;
    Ok(RetainOutcome { digested, retained })
}

impl RetainOutcome {
    /// Returns the status of the command. A script must notice that text was lost.
    pub(crate) fn exit(&self, is_interrupted: bool) -> Exit {
        match (is_interrupted, self.retained.data_loss.is_empty()) {
            (true, _) => Exit::Interrupted,
            (false, false) => Exit::Failed,
            (false, true) => Exit::Done,
        }
    }

    /// Returns whether anything was done or failed.
    pub(crate) fn has_changes(&self) -> bool {
        let evicted = self.retained.evicted.values().any(|sessions| *sessions > 0);
        evicted || self.digested.analyzed > 0 || !self.digested.failed.is_empty()
    }

    pub(crate) fn print(&self) {
        if self.digested.analyzed > 0 {
            say!("Digested {}.", count(self.digested.analyzed, "session"));
        }
        for (session, reason) in &self.digested.failed {
            say!("warning: cannot digest {session}: {reason}");
        }
        say(&retention_line(&self.retained));
        for warning in warnings(&self.retained) {
            say!("warning: {warning}");
        }
    }
}

/// Returns the message on what retention removed.
fn retention_line(retained: &RetentionReport) -> String {
    let removed = retained.sessions();
    let used = format_bytes(retained.final_usage);
    if removed == 0 {
        return format!("Nothing to remove, {used} in use.");
    }
    let passes: Vec<_> = retained
        .evicted
        .iter()
        .filter(|(_, sessions)| **sessions > 0)
        .collect();
    let sessions = count(removed, "session");
    let stays = remaining_text(removed, retained.data_loss.len());
    let why = match passes.as_slice() {
        [(pass, _)] => format!("{sessions} {} ({stays})", removal_reason(**pass)),
        _ => {
            let each = |(pass, sessions): &(&EvictionPass, &usize)| {
                format!("{sessions} {}", removal_reason(**pass))
            };
            let each: Vec<_> = passes.iter().map(each).collect();
            format!("{sessions} ({}; {stays})", each.join(", "))
        }
    };
    let freed = format_bytes(retained.freed);
    format!("Removed the text of {why}. Freed {freed}, {used} in use.")
}

/// Returns what is left of the sessions whose text was removed.
fn remaining_text(removed: usize, without_digest: usize) -> &'static str {
    match (removed, without_digest) {
        (removed, lost) if lost == removed => "no digests are left",
        (_, 1..) => "digests of the others are kept",
        (1, 0) => "its digest is kept",
        (_, 0) => "their digests are kept",
    }
}

const fn removal_reason(pass: EvictionPass) -> &'static str {
    match pass {
        EvictionPass::DeleteAfter => "after delete_after_days",
        EvictionPass::WorkspaceCap => "above the workspace's soft cap",
        EvictionPass::Age => "above the soft cap and past raw_max_age_days",
        EvictionPass::SoftCap => "above the soft cap",
        EvictionPass::HardCap => "above the hard cap",
        EvictionPass::Overflow => "above the hard cap, as a last resort",
    }
}

fn warnings(retained: &RetentionReport) -> Vec<String> {
    let mut all = Vec::new();
    if !retained.data_loss.is_empty() {
        let names: Vec<_> = retained
            .data_loss
            .iter()
            .take(5)
            .map(ToString::to_string)
            .collect();
        all.push(format!(
            "data loss: {} had no digest when the hard cap was reached: {}",
            count(retained.data_loss.len(), "removed session"),
            names.join(", ")
        ));
    }
    all.extend(delete_after_note(retained.age));
    if retained.over_hard_cap_bytes > 0 {
        let over = format_bytes(retained.over_hard_cap_bytes);
        all.push(format!(
            "the store exceeds raw_hard_cap_bytes by {over}: pinned sessions and sessions that \
             were read since the last run are not removed"
        ));
    }
    if retained.over_distilled_cap_bytes > 0 {
        let over = format_bytes(retained.over_distilled_cap_bytes);
        all.push(format!(
            "digests, facts and usage exceed distilled_cap_bytes by {over}; nothing was removed"
        ));
    }
    all
}

fn delete_after_note(outcome: DeleteAfterStatus) -> Option<String> {
    match outcome {
        DeleteAfterStatus::Done => None,
        DeleteAfterStatus::HeldBack(more) => Some(format!(
            "{} more past delete_after_days; at most a tenth of the sessions is removed per day",
            count(more, "session")
        )),
        DeleteAfterStatus::Paused => {
            Some("the other sessions past delete_after_days are removed tomorrow".to_owned())
        }
        DeleteAfterStatus::ClockBehind => Some(
            "the clock is behind the times of the sessions, so delete_after_days was not applied"
                .to_owned(),
        ),
        DeleteAfterStatus::ClockAhead => Some(
            "the clock is far ahead of the newest session, so delete_after_days was not applied"
                .to_owned(),
        ),
    }
}

fn print_maintenance(report: &MaintenanceReport, given_back: bool) {
    for task in &report.done {
        say(&match task {
            MaintenanceTask::Archive if report.packed.sessions == 0 => {
                "Compression: nothing to do.".to_owned()
            }
            MaintenanceTask::Archive => format!(
                "Compression: {} compressed, {} of text to {} ({:.0} %).",
                count(report.packed.sessions, "session"),
                format_bytes(report.packed.text_bytes),
                format_bytes(report.packed.packed_bytes),
                100.0 * report.packed.ratio(),
            ),
            MaintenanceTask::Consolidate => format!("Facts: {} merged.", report.merged_facts),
            MaintenanceTask::CleanUp => {
                format!("Clean-up: {} deleted.", count(report.cleared, "unused row"))
            }
        });
    }
    if given_back {
        say!("Returned unused space of the store to the file system.");
    }
}

fn dry_run(app: &App<'_>, args: &RetainArgs, store: &Store) -> anyhow::Result<Exit> {
    let now = app.environment.now;
    let retention = &app.config.retention;
    let pending = store.pending_digests(memory::digest::VERSION, now - retention.quiet(), now)?;
    let (usage, eviction) = store.plan_eviction(&retention.policy(), retention.quiet(), now)?;
    let due = store.due_tasks(now)?;
    if args.json {
        #[derive(Serialize)]
        struct Planned<'a> {
            usage: DiskUsage,
            pending_digests: usize,
            eviction: &'a EvictionPlan,
            chores_due: Vec<MaintenanceTask>,
        }
        output::print_json(&Planned {
            usage,
            pending_digests: pending.len(),
            eviction: &eviction,
            chores_due: due,
        })?;
        return Ok(Exit::Done);
    }
    let mut out = app.output();
    print_plan(app, &mut out, &usage, &eviction)?;
    if !pending.is_empty() {
        let sessions = count(pending.len(), "session");
        let note = "would get a digest first, after which their text may be removed";
        writeln!(out, "{sessions} {note}.")?;
    }
    let due: Vec<_> = due.iter().map(|task| describe_task(*task)).collect();
    if !due.is_empty() {
        writeln!(out, "Maintenance that is due: {}.", due.join("; "))?;
    }
    out.finish()?;
    if let Some(note) = delete_after_note(eviction.age) {
        say!("warning: {note}");
    }
    Ok(Exit::Done)
}

const fn describe_task(task: MaintenanceTask) -> &'static str {
    match task {
        MaintenanceTask::Archive => "compress sessions that rested for a month",
        MaintenanceTask::Consolidate => "merge facts that say the same",
        MaintenanceTask::CleanUp => "delete rows that nothing refers to",
    }
}

fn print_plan(
    app: &App<'_>,
    out: &mut impl Write,
    usage: &DiskUsage,
    eviction: &EvictionPlan,
) -> anyhow::Result<()> {
    let retention = &app.config.retention;
    let columns = [
        TableColumn::left(""),
        TableColumn::right("IN USE"),
        TableColumn::right("CAP"),
    ];
    let rows = [
        vec![
            "raw".to_owned(),
            format_bytes(usage.raw_bytes),
            format_bytes(retention.raw_soft_cap_bytes.0),
        ],
        vec![
            "distilled".to_owned(),
            format_bytes(usage.distilled_bytes),
            format_bytes(retention.distilled_cap_bytes.0),
        ],
        vec![
            "free".to_owned(),
            format_bytes(usage.free_bytes),
            "-".to_owned(),
        ],
    ];
    write!(out, "{}", format_columns(&columns, &rows, app.columns()))?;
    let sessions = &eviction.sessions;
    if sessions.is_empty() {
        writeln!(out, "Nothing to remove.")?;
    } else {
        let columns = [
            TableColumn::left("LAST ACTIVE"),
            TableColumn::right("SIZE"),
            TableColumn::left("WHY"),
            TableColumn::left("SESSION"),
        ];
        let rows = sessions.iter().take(PLAN_ROWS_MAX).map(|evict| {
            let loss = if evict.data_loss {
                ", without a digest"
            } else {
                ""
            };
            vec![
                time::format_time(Some(evict.last), &app.environment.zone),
                format_bytes(evict.bytes),
                format!("{}{loss}", removal_reason(evict.pass)),
                evict.session.to_string(),
            ]
        });
        let rows: Vec<_> = rows.collect();
        let table = format_columns(&columns, &rows, app.columns());
        write!(out, "\n{table}")?;
        let all: u64 = sessions.iter().map(|evict| evict.bytes).sum();
        let removed = count(sessions.len(), "session");
        writeln!(
            out,
            "Would remove the text of {removed}, about {}; digests are kept.",
            format_bytes(all)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use memory::SessionId;

    use super::*;

    #[test]
    fn lost_text_is_a_failure() {
        let mut outcome = RetainOutcome {
            digested: DigestReport::default(),
            retained: RetentionReport::default(),
        };
        assert_eq!(outcome.exit(false), Exit::Done);
        outcome.retained.data_loss.push(SessionId::new("claude:1"));
        assert_eq!(outcome.exit(false), Exit::Failed);
        assert_eq!(outcome.exit(true), Exit::Interrupted);
    }
}
