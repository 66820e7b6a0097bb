//! `throughline digest`

use std::io::{Write, stdout};

use memory::digest::{
    CappedList, Digest, DigestStep, FIRST_PROMPTS_MAX, Overhead, SeenError, StepKind,
};
use store::StoredDigest;

use crate::commands::{App, show};
use crate::output::table::count;
use crate::output::text::{TextStyle, sanitize};
use crate::output::{self, Exit};

/// Tell what a session was about and how it went
///
/// The digest outlives the session's records.
#[derive(Debug, clap::Args)]
pub(crate) struct DigestArgs {
    /// The session's id or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &DigestArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = show::find_session(&store, &args.session)?;
    let stored = store.digest(&session.id)?;
    let stored = match stored {
        Some(stored) if !stored.stale || session.evicted > 0 => stored,
        // It goes on, or has only just ended: told as it is now, and not kept.
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
    let mut out = stdout().lock();
    write!(
        out,
        "{}{}",
        show::session_heading(app, &store, &session)?,
        format_digest(app, &stored.digest)
    )?;
    if stored.stale {
        say!("The session has gone on since; the next ingest adds to this.");
    }
    if stored.lost > 0 {
        say!(
            "{} of its records went before a digest told of them.",
            stored.lost
        );
    }
    Ok(Exit::Done)
}

/// Returns a digest as people read it.
pub(crate) fn format_digest(app: &App<'_>, digest: &Digest) -> String {
    let paint = TextStyle {
        color: app.environment.color,
    };
    let mut page = String::new();
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            page += &format!("\n{}\n", paint.bold(title));
            page.extend(lines.iter().map(|line| format!("  {}\n", sanitize(line))));
        }
    };
    part("How it ended", outcome_lines(digest));
    part("Asked", prompt_lines(&digest.asked));
    part(
        "Corrected",
        list_lines(&digest.corrections, Clone::clone, "more correction"),
    );
    part("Done", step_lines(digest));
    part(
        "Errors",
        list_lines(&digest.errors, format_error, "more kind"),
    );
    let retry =
        |retry: &memory::digest::Retry| format!("{}{}", retry.what, repeat_count(retry.times));
    part(
        "Tried again",
        list_lines(&digest.retries, retry, "more call"),
    );
    part("Figures", figure_lines(digest));
    page
}

fn outcome_lines(digest: &Digest) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", digest.outcome, digest.reasons.join("; "))];
    lines.extend(
        digest
            .said
            .as_ref()
            .map(|said| format!("last words: {said}")),
    );
    lines
}

/// The first prompts, the last ones, and between them how many were left out.
fn prompt_lines(list: &CappedList<String>) -> Vec<String> {
    let mut lines = list.items.clone();
    if list.more > 0 {
        let more = usize::try_from(list.more).unwrap_or(usize::MAX);
        lines.insert(
            FIRST_PROMPTS_MAX.min(lines.len()),
            format!("… {}", count(more, "more prompt")),
        );
    }
    lines
}

fn list_lines<T>(list: &CappedList<T>, line: impl Fn(&T) -> String, noun: &str) -> Vec<String> {
    let mut lines: Vec<_> = list.items.iter().map(line).collect();
    if list.more > 0 {
        let s = if list.more == 1 { "" } else { "s" };
        lines.push(format!("… {} {noun}{s}", list.more));
    }
    lines
}

fn step_lines(digest: &Digest) -> Vec<String> {
    let mut lines = list_lines(&digest.done, format_step, "more step");
    if digest.looks > 0 {
        lines.push(format!("looked at things{}", repeat_count(digest.looks)));
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
    let fate = if error.overcome {
        "overcome"
    } else {
        "not seen to be overcome"
    };
    format!(
        "{tool}{}{} ({fate}, {})",
        error.text,
        repeat_count(error.times),
        error.name
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
    let mut lines = vec![format!(
        "{} of work in {}, {}, {}",
        format_duration(digest.active_ms),
        format_duration(digest.wall_ms),
        counted(digest.prompts, "prompt"),
        counted(digest.records, "record"),
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
        (overhead.rereads, "reading again"),
    ];
    let mut said: Vec<_> = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    if overhead.denials > 0 {
        said.push(format!("{} refused or broken off", overhead.denials));
    }
    (!said.is_empty()).then(|| {
        format!(
            "overhead: {} % of the calls, {} % of their time, {} % of the text ({})",
            overhead.percent(),
            overhead.time_percent(),
            overhead.text_percent(),
            said.join(", ")
        )
    })
}

fn counted(number: u64, noun: &str) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Returns a span of time as people say it.
fn format_duration(ms: u64) -> String {
    let seconds = ms / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
        _ => format!("{} days", seconds / 86_400),
    }
}
