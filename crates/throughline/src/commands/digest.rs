//! `throughline digest`

mod report;

use std::io::Write;

use memory::digest::{
    CappedList, Digest, DigestStep, FIRST_PROMPTS_MAX, Overhead, SeenError, StepKind,
};
use store::{Store, StoredDigest};

use crate::commands::{App, show};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit};

/// Show what a session was about and how it ended
///
/// The digest is kept when the records of the session are removed.
#[derive(Debug, clap::Args)]
pub(crate) struct DigestArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "SESSION", required_unless_present_any = ["since", "rollup"])]
    session: Option<String>,

    /// Report on all sessions from this time on: 7d, yesterday, 2026-01-05
    #[arg(long, value_name = "TIME", conflicts_with = "session")]
    since: Option<String>,

    /// With --since: only the workspace of the current folder
    #[arg(long, requires = "since")]
    here: bool,

    /// Roll up all digests of the workspace of the current folder: open ends, decisions, files and
    /// commands
    #[arg(long, conflicts_with_all = ["session", "since"])]
    rollup: bool,

    /// With --rollup: this workspace instead of that of the current folder
    #[arg(long, value_name = "NAME", requires = "rollup")]
    workspace: Option<String>,

    /// Print the digest as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &DigestArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if args.rollup {
        return print_rollup(app, args, &store);
    }
    let Some(session) = &args.session else {
        return report::run(app, args, &store);
    };
    let session = show::find_session(&store, session)?;
    let stored = store.digest(&session.id)?;
    let stored = match stored {
        Some(stored) if !stored.stale || session.evicted > 0 => stored,
        // The session is live or has just ended: compute its digest now, without storing it.
        _ => {
            let mut account = distill::digest::DigestBuilder::new(&session);
            store.each_record(&session.id, |record| account.add_record(&record))?;
            StoredDigest {
                made: None,
                stale: false,
                lost: 0,
                digest: account.finish(&session),
            }
        }
    };
    if args.json {
        output::print_json(&stored)?;
        return Ok(Exit::Done);
    }
    let mut out = app.output();
    write!(
        out,
        "{}{}",
        show::session_heading(app, &store, &session)?,
        format_digest(app, &stored.digest)
    )?;
    out.finish()?;
    if stored.stale {
        say!("The session has continued since; the next ingest updates its digest.");
    }
    if stored.lost > 0 {
        say!(
            "{} of its records were removed before they were digested.",
            stored.lost
        );
    }
    Ok(Exit::Done)
}

/// Prints what the sessions of the workspace worked on.
fn print_rollup(app: &App<'_>, args: &DigestArgs, store: &Store) -> anyhow::Result<Exit> {
    let workspace = app.find_workspace(store, args.workspace.as_deref())?;
    let rollup = distill::rollup::roll_up(store, &workspace.key)?;
    if rollup.sessions == 0 {
        say!("No session of {} has a digest yet.", workspace.key);
        return Ok(Exit::NothingFound);
    }
    if args.json {
        output::print_json(&rollup)?;
    } else {
        write!(app.output(), "{}", sanitize(&rollup.text))?;
    }
    Ok(Exit::Done)
}

/// Formats a digest as text.
pub(crate) fn format_digest(app: &App<'_>, digest: &Digest) -> String {
    let paint = app.style();
    let mut page = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            page += &format!("\n{}\n", paint.bold(title));
            page.extend(lines.iter().map(|line| format!("  {}\n", sanitize(line))));
        }
    };
    section("Outcome", outcome_lines(digest));
    section("Prompts", prompt_lines(&digest.asked));
    section(
        "Corrections",
        list_lines(&digest.corrections, Clone::clone, "more correction"),
    );
    section("Steps", step_lines(digest));
    section(
        "Errors",
        list_lines(&digest.errors, format_error, "more kind"),
    );
    let retry =
        |retry: &memory::digest::Retry| format!("{}{}", retry.what, repeat_count(retry.times));
    section("Retries", list_lines(&digest.retries, retry, "more call"));
    section("Figures", figure_lines(digest));
    page
}

fn outcome_lines(digest: &Digest) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", digest.outcome, digest.reasons.join("; "))];
    lines.extend(
        digest
            .said
            .as_ref()
            .map(|said| format!("last message: {said}")),
    );
    lines
}

/// Returns the first and the last prompts, and between them the number of those left out.
fn prompt_lines(list: &CappedList<String>) -> Vec<String> {
    let mut lines = list.items.clone();
    if list.more > 0 {
        lines.insert(
            FIRST_PROMPTS_MAX.min(lines.len()),
            format!("… {}", count(list.more, "more prompt")),
        );
    }
    lines
}

fn list_lines<T>(list: &CappedList<T>, line: impl Fn(&T) -> String, noun: &str) -> Vec<String> {
    let mut lines: Vec<_> = list.items.iter().map(line).collect();
    if list.more > 0 {
        lines.push(format!("… {}", count(list.more, noun)));
    }
    lines
}

fn step_lines(digest: &Digest) -> Vec<String> {
    let mut lines = list_lines(&digest.done, format_step, "more step");
    if digest.looks > 0 {
        lines.push(format!("read or searched{}", repeat_count(digest.looks)));
    }
    lines
}

fn format_step(step: &DigestStep) -> String {
    let verb = match step.kind {
        StepKind::Changed => "changed",
        StepKind::Ran => "ran",
        StepKind::Tested => "tested",
        StepKind::Delegated => "delegated",
    };
    let mut notes = Vec::new();
    if step.failed > 0 {
        notes.push(format!(
            "failed{}",
            if step.times > 1 {
                repeat_count(step.failed)
            } else {
                String::new()
            }
        ));
    }
    notes.extend(step.exit.map(|code| format!("exit {code}")));
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    format!("{verb:<9} {}{}{notes}", step.what, repeat_count(step.times))
}

fn format_error(error: &SeenError) -> String {
    let tool = error
        .tool
        .as_ref()
        .map_or_else(String::new, |tool| format!("{tool}: "));
    let state = if error.overcome {
        "resolved"
    } else {
        "unresolved"
    };
    format!(
        "{tool}{}{} ({state})",
        error.text,
        repeat_count(error.times)
    )
}

fn repeat_count(times: u64) -> String {
    if times > 1 {
        format!(" ×{times}")
    } else {
        String::new()
    }
}

fn figure_lines(digest: &Digest) -> Vec<String> {
    let tool = |tool: &memory::digest::ToolCount| {
        let failed = if tool.failed > 0 {
            format!(" ({} failed)", tool.failed)
        } else {
            String::new()
        };
        format!("{} {}{failed}", tool.tool, tool.calls)
    };
    let (active, whole) = (
        format_duration(digest.active_ms),
        format_duration(digest.wall_ms),
    );
    let active = match active == whole {
        true => active,
        false => format!("{active} of {whole}"),
    };
    let mut lines = vec![format!(
        "active for {active}, {}, {}",
        count(digest.prompts, "prompt"),
        count(digest.records, "record"),
    )];
    if !digest.tools.items.is_empty() {
        lines.push(format!(
            "tools: {}",
            list_lines(&digest.tools, tool, "more tool").join(", ")
        ));
    }
    lines.extend(overhead_line(&digest.overhead));
    lines
}

fn overhead_line(overhead: &Overhead) -> Option<String> {
    let parts = [
        (overhead.failed, "failed"),
        (overhead.installs, "installing"),
        (overhead.waits, "waiting"),
        (overhead.rereads, "rereading"),
    ];
    let mut counts: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if overhead.denials > 0 {
        counts.push(format!("{} denied or interrupted", overhead.denials));
    }
    (!counts.is_empty()).then(|| {
        format!(
            "overhead: {} % of the calls, {} % of their time, {} % of their text ({})",
            overhead.percent(),
            overhead.time_percent(),
            overhead.text_percent(),
            counts.join(", ")
        )
    })
}

/// Formats a duration with its largest units.
pub(crate) fn format_duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}
