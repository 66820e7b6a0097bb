//! `throughline compact`

use std::io::{Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use capture::request::RequestFormat;
use distill::compact::{CompactedConversation, CompactionOutcome as Compaction, Trigger};
use distill::summary::{EXTRACTION_TIME_MAX, RunningSummary};
use memory::Tokens;
use serde_json::Value;
use serve::CompactionSettings;
use serve::requests::AccessScope;
use serve::requests::compact::answer::{message_text, outcome_json, request_json};
use serve::requests::compact::conversation::{
    ConversationLog, RequestTemplate, file_log, request_log, session_log,
};
use serve::requests::compact::{CompactOptions, compact_log, supplied_notes, with_threshold};

use crate::commands::App;
use crate::commands::show::request_error;
use crate::model::{self, ConfiguredModel};
use crate::output::table::{count, format_table};
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Compact a conversation: notes in place of its beginning, its end verbatim
///
/// Takes a session, an agent's log, or a request to a model (Anthropic's Messages or OpenAI's Chat
/// Completions format, or only the list of messages), and changes none of them. The result is a
/// request that the model's API accepts: every tool result has its call, and no response is split.
/// The notes are the session's running summary. Without one, the configured model summarizes the
/// messages; without a model, or if it fails, the notes are extracted from the messages: requests
/// and rules in the user's words, files, commands, failures. If nothing is compacted, says why.
#[derive(Debug, clap::Args)]
pub(crate) struct CompactArgs {
    /// A file, a session's id or a prefix of it, or `-` for a request on standard input
    #[arg(value_name = "FILE|SESSION|-")]
    target: String,

    /// Decline the compaction unless the result has fewer tokens than this
    #[arg(long, value_name = "TOKENS")]
    threshold: Option<u64>,

    /// Decline the compaction of a conversation that is below `auto_tokens` of the configuration
    #[arg(long)]
    auto: bool,

    /// Use this file as the notes
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// The id of the last message that the notes cover
    #[arg(long, value_name = "ID", requires = "summary")]
    covers: Option<String>,

    /// The format of the request: `anthropic` or `openai`
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    format: Option<RequestFormat>,

    /// Do not use a model, even if one is configured
    #[arg(long)]
    embedded: bool,

    /// Print only the request, ready to be sent
    #[arg(long, conflicts_with = "json")]
    request: bool,

    /// Print the result as JSON, with the request
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &CompactArgs) -> anyhow::Result<Exit> {
    let log = read_target(app, args)?;
    let models = ConfiguredModel::of(app).filter(|_| !args.embedded);
    // Without a store there are no notes, and the ledger is needed only if a model is used.
    let store = match app.has_store() {
        true => Some(app.open_existing()?),
        false if models.is_some() => Some(app.open()?),
        false => None,
    };
    let settings = app.compaction_settings();
    let options = CompactOptions {
        settings: CompactionSettings {
            limits: with_threshold(settings.limits, args.threshold),
            ..settings
        },
        trigger: if args.auto {
            Trigger::Auto
        } else {
            Trigger::Manual
        },
        template: &model::summary_settings(app)?.template,
        notes: args
            .summary
            .as_deref()
            .map(|file| read_notes_file(args, file)),
        hook_results: &[],
        model_provider: models.as_deref(),
        model_timeout: EXTRACTION_TIME_MAX,
        serve: &app.serve_settings(),
    };
    let clock = || app.environment.clock();
    let outcome = compact_log(store.as_ref(), &log, &options, &clock)?;
    report_compaction(args, &log, &outcome)
}

fn parse_format(name: &str) -> Result<RequestFormat, String> {
    let unknown = || "must be `anthropic` or `openai`".to_owned();
    RequestFormat::from_name(name).ok_or_else(unknown)
}

/// Reads the conversation: a request, or the log of a file or a session. Messages of a session
/// never come from the store.
fn read_target(app: &App<'_>, args: &CompactArgs) -> anyhow::Result<ConversationLog> {
    let (file, now) = (Path::new(&args.target), app.environment.now);
    let template = RequestTemplate {
        format: args.format,
        ..RequestTemplate::default()
    };
    if args.target == "-" {
        let mut text = Vec::new();
        stdin().lock().read_to_end(&mut text)?;
        let body = serde_json::from_slice(&text).context("standard input is not valid JSON")?;
        return request_log(body, args.format, None).map_err(request_error);
    }
    if !file.is_file() {
        let store = app.open_existing()?;
        let everything = AccessScope::unrestricted();
        let log = session_log(&store, &everything, &args.target, template, now);
        return log.map_err(request_error);
    }
    let log = file_log(file, template, now);
    let is_request = |body: &Value| body.is_array() || body.get("messages").is_some();
    let body = || serde_json::from_slice(&std::fs::read(file).ok()?).ok();
    match log {
        // A log that no agent is known to have written may be a request.
        Err(_) if let Some(body) = body().filter(is_request) => {
            request_log(body, args.format, None)
        }
        log => log,
    }
    .map_err(request_error)
}

/// Reads notes from a file. If that fails, the compaction goes on without them and says so.
fn read_notes_file(args: &CompactArgs, file: &Path) -> Result<RunningSummary, String> {
    let file = file.display().to_string();
    let text = std::fs::read_to_string(&file);
    let text = text.map_err(|error| format!("cannot read {file}: {error}"))?;
    Ok(supplied_notes(&text, file, args.covers.as_deref()))
}

fn report_compaction(
    args: &CompactArgs,
    log: &ConversationLog,
    outcome: &Compaction,
) -> anyhow::Result<Exit> {
    if args.json {
        output::print_json(&outcome_json(outcome, log))?;
    } else if let (Ok(compacted), true) = (&outcome.result, args.request) {
        output::print_json(&request_json(compacted, log))?;
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
    if let Some(last) = &compacted.last_cut {
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
