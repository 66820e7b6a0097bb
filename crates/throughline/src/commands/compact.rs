//! `throughline compact`

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use distill::compact::{
    CompactedConversation, CompactionLimits, CompactionOutcome as Compaction, Declined,
};
use distill::summary::{EXTRACTION_TIME_MAX, RunningSummary};
use memory::{MessageId, Summary, Tokens};
use serve::requests::AccessScope;
use serve::requests::compact::{
    CompactOptions, ConversationLog, compact_log, event_name, file_log, message_text, outcome_json,
    session_log,
};

use crate::commands::App;
use crate::commands::show::request_error;
use crate::model::{self, ConfiguredModel};
use crate::output::table::{count, format_table};
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Compact a conversation: notes in place of its beginning, its end verbatim
///
/// Reads the agent's own log and changes nothing. The result is a request that the model's API
/// accepts: every tool result has its call, and no response is split. The notes are the session's
/// running summary. Without one, the configured model summarizes the messages; without a model, or
/// if it fails, the notes are extracted from the messages: requests and rules in the user's words,
/// files, commands, failures. If nothing is compacted, says why.
#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// An agent's log file, or a session's id or a prefix of it
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// Decline the compaction if the result has more tokens than this
    #[arg(long, value_name = "TOKENS")]
    threshold: Option<u64>,

    /// Use this file as the notes
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// The id of the last message that the notes cover
    #[arg(long, value_name = "ID", requires = "summary")]
    covers: Option<String>,

    /// Do not use a model, even if one is configured
    #[arg(long)]
    embedded: bool,

    /// Print the request as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &CompactArgs) -> anyhow::Result<Exit> {
    let enabled = app
        .environment
        .compaction
        .unwrap_or(app.config.compaction.enabled);
    if !enabled {
        return report_compaction(args, &Compaction::first_try(Err(Declined::Disabled)));
    }
    let log = read_target_log(app, &args.target)?;
    let models = ConfiguredModel::of(app).filter(|_| !args.embedded);
    // Without a store there are no notes, and the ledger is needed only if a model is used.
    let store = match app.has_store() {
        true => Some(app.open_existing()?),
        false if models.is_some() => Some(app.open()?),
        false => None,
    };
    let terms = CompactOptions {
        limits: compaction_limits(app, args),
        template: &model::summary_settings(app)?.template,
        notes: args
            .summary
            .as_deref()
            .map(|file| read_notes_file(args, file)),
        model_provider: models.as_deref(),
        model_timeout: EXTRACTION_TIME_MAX,
        scope: &app.config.scope(),
    };
    let clock = || app.environment.clock();
    report_compaction(args, &compact_log(store.as_ref(), &log, &terms, &clock)?)
}

/// Reads the log of a file or a session. Messages never come from the store.
fn read_target_log(app: &App<'_>, target: &str) -> anyhow::Result<ConversationLog> {
    let (file, now) = (Path::new(target), app.environment.now);
    let log = if file.is_file() {
        file_log(file, None, None, now)
    } else {
        let store = app.open_existing()?;
        session_log(&store, &AccessScope::unrestricted(), target, now)
    };
    log.map_err(request_error)
}

/// Reads notes from a file. If that fails, the compaction goes on without them and says so.
fn read_notes_file(args: &CompactArgs, file: &Path) -> Result<RunningSummary, String> {
    let file = file.display().to_string();
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(RunningSummary {
        summary: Summary::parse(&text),
        file,
        last: args.covers.as_deref().map(MessageId::new),
    })
}

fn compaction_limits(app: &App<'_>, args: &CompactArgs) -> CompactionLimits {
    let limits = app.config.compaction.limits();
    let asked = args.threshold.filter(|tokens| *tokens > 0).map(Tokens);
    CompactionLimits {
        threshold: asked.or(limits.threshold),
        ..limits
    }
}

fn report_compaction(args: &CompactArgs, outcome: &Compaction) -> anyhow::Result<Exit> {
    log_compaction(outcome);
    if args.json {
        output::print_json(&outcome_json(outcome))?;
    } else if let Ok(compacted) = &outcome.result {
        write!(stdout().lock(), "{}", format_compaction(compacted))?;
    }
    let both = outcome.fell_through.as_ref() == outcome.result.as_ref().err();
    if let Some(declined) = outcome.fell_through.as_ref().filter(|_| !both) {
        say(&format!("The summary was not used: {declined}."));
    }
    if let Some(declined) = &outcome.model_declined {
        say(&format!(
            "The model was not used: {}.",
            sanitize(&declined.to_string())
        ));
    }
    match &outcome.result {
        Ok(_) => Ok(Exit::Done),
        Err(declined) => {
            say(&format!("Nothing was compacted: {declined}."));
            Ok(Exit::NothingFound)
        }
    }
}

/// Logs the outcome as an event with its figures.
fn log_compaction(outcome: &Compaction) {
    let fell_through = outcome.fell_through.as_ref().map(Declined::name);
    let model = outcome.model_declined.as_ref().map(Declined::name);
    match &outcome.result {
        Ok(compacted) => {
            let figures = compacted.figures;
            tracing::info!(
                event = event_name(outcome),
                fell_through,
                model,
                tokens_before = figures.tokens_before.0,
                tokens_after = figures.tokens_after.0,
                messages_cut = figures.messages_cut,
                messages_kept = figures.messages_kept,
                repairs = compacted.repairs.len(),
            );
        }
        Err(declined) => {
            tracing::info!(event = event_name(outcome), fell_through, model, why = %declined);
        }
    }
}

fn format_compaction(compacted: &CompactedConversation) -> String {
    let figures = &compacted.figures;
    let row = |name: &str, messages: Option<usize>, tokens: Option<Tokens>| {
        let messages = messages.map_or_else(String::new, |messages| messages.to_string());
        let tokens = tokens.map_or_else(String::new, |tokens| tokens.to_string());
        vec![name.to_owned(), messages, tokens]
    };
    let mut text = format_table(&[
        ["", "messages", "tokens"].map(str::to_owned).to_vec(),
        row(
            "before",
            Some(figures.messages_before),
            Some(figures.tokens_before),
        ),
        row("cut", Some(figures.messages_cut), None),
        row("notes", None, Some(figures.tokens_summary)),
        row("restored", None, Some(figures.tokens_restored)),
        row(
            "kept",
            Some(figures.messages_kept),
            Some(figures.tokens_kept),
        ),
        row("after", None, Some(figures.tokens_after)),
    ]);
    let mut line = |name: &str, value: String| text += &format!("{name:<9} {}\n", sanitize(&value));
    if let Some(preserved) = &compacted.boundary.preserved {
        line("kept", format!("{} to {}", preserved.head, preserved.tail));
    }
    if let Some(last) = &compacted.boundary.last {
        line("cut to", last.to_string());
    }
    if !compacted.boundary.tools.is_empty() {
        line("tools", compacted.boundary.tools.join(", "));
    }
    if !compacted.repairs.is_empty() {
        line("repaired", count(compacted.repairs.len(), "message"));
    }
    if !compacted.open.is_empty() {
        line("open", count(compacted.open.len(), "call"));
    }
    text += &format!("\n{}\n", sanitize(message_text(&compacted.summary)));
    if let Some(restored) = &compacted.restored {
        text += &format!("{}\n", sanitize(message_text(restored)));
    }
    text
}
