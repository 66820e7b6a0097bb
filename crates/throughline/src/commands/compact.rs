//! `throughline compact`

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context;
use capture::conversation;
use distill::compact::{
    Compacted, Declined, Limits, Notes, Outcome as Compaction, Task, Trigger, Way, compact_or_full,
    wait,
};
use distill::{renew, tell as telling};
use memory::{Block, Message, MessageId, SessionId, Summary, Tokens};
use serde_json::json;
use store::{Asked, Lease, Store, Work};

use crate::commands::App;
use crate::commands::show::the_session;
use crate::model;
use crate::output::table::{count, table};
use crate::output::text::safe;
use crate::output::{self, Outcome, hinted, say};

/// Make a conversation shorter: notes for its beginning, its end word for word
///
/// Reads the agent's own log, and changes nothing. The result is a request that the model's API
/// accepts: no result without its call, no response in parts. The notes are the session's running summary; without one,
/// the configured model gives an account of the messages, and where there is no model or it fails, they give
/// their own: requests and rules in the user's words, files, commands, failures. Says why when
/// nothing is compacted.
#[derive(Debug, clap::Args)]
pub struct CompactArgs {
    /// An agent's log, or a session's id or the beginning of it
    #[arg(value_name = "FILE|SESSION")]
    target: String,

    /// Decline a result with more tokens than this
    #[arg(long, value_name = "TOKENS")]
    threshold: Option<u64>,

    /// Use this file for the notes
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// The id of the last message that the notes cover
    #[arg(long, value_name = "ID", requires = "summary")]
    covers: Option<String>,

    /// Ask no model, even if one is configured
    #[arg(long)]
    embedded: bool,

    /// Print the request as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(app: &App<'_>, args: &CompactArgs) -> anyhow::Result<Outcome> {
    let enabled = app
        .environment
        .compaction
        .unwrap_or(app.config.compaction.enabled);
    if !enabled {
        return tell(args, &Compaction::of(Err(Declined::Off)));
    }
    let log = log(app, &args.target)?;
    let may_ask = !args.embedded && model::is_usable(app);
    // Without a store there are no notes, and no ledger is needed where nobody is asked.
    let store = match app.has_store() {
        true => Some(app.open_existing()?),
        false if may_ask => Some(app.open()?),
        false => None,
    };
    let lease = store.as_ref().and_then(|store| begin(app, store, &log));
    let outcome = compacted(app, args, &log, store.as_ref(), may_ask);
    if let Some((store, lease)) = store.as_ref().zip(lease)
        && let Err(error) = store.release(&lease)
    {
        tracing::warn!(%error, "the lease of the compaction is not given back");
    }
    tell(args, &outcome?)
}

fn compacted(
    app: &App<'_>,
    args: &CompactArgs,
    log: &Log,
    store: Option<&Store>,
    may_ask: bool,
) -> anyhow::Result<Compaction> {
    let given = args.summary.as_deref().map(read_summary).transpose();
    let kept = match (&args.summary, store) {
        (None, Some(store)) => kept_summary(app, store, log)?,
        _ => None,
    };
    let limits = limits(app, args);
    let settings = model::settings(app)?;
    let transcript = log.path.display().to_string();
    let (notes, file, covers) = match kept {
        Some(kept) => (Ok(Some(kept.summary)), Some(kept.file), kept.last),
        None => (
            given,
            args.summary.as_ref().map(|file| file.display().to_string()),
            args.covers.as_deref().map(MessageId::new),
        ),
    };
    let notes_in = |(summary, file)| Notes {
        summary,
        file,
        last: covers.as_ref(),
    };
    let task = Task {
        messages: &log.messages,
        notes: match &notes {
            Ok(summary) => Ok(summary.as_ref().zip(file.as_deref()).map(notes_in)),
            Err(why) => Err(why.as_str()),
        },
        template: &settings.template,
        transcript: Some(&transcript),
        restored: None,
        trigger: Trigger::Manual,
        limits: &limits,
    };
    let Some(store) = store.filter(|_| may_ask) else {
        return Ok(compact_or_full(&task, None));
    };
    let told = |live: &[Message]| account(app, store, log, &task, live);
    Ok(compact_or_full(&task, Some(&told)))
}

/// Lets the configured model give an account. Whatever is wrong with it is no reason to stop.
fn account(
    app: &App<'_>,
    store: &Store,
    log: &Log,
    task: &Task<'_>,
    live: &[Message],
) -> Result<Summary, Declined> {
    let untold = |error: anyhow::Error| Declined::Untold {
        why: format!("{error:#}"),
    };
    let form = telling::Form {
        template: task.template,
        limits: &task.limits.summary,
    };
    let model = model::model(app).map_err(untold)?;
    let deadline = app.environment.clock().saturating_add(renew::TIME_MAX);
    let deadline = deadline.unwrap_or(app.environment.now);
    let session = log.session.as_ref();
    let told = model::with_asker(app, store, &*model, "compaction", session, |asker| {
        telling::tell(asker, live, &form, deadline)
    });
    Ok(told.map_err(untold)??)
}

/// Says that the session is being compacted: nobody renews its notes meanwhile. Whoever compacts it
/// at the same time keeps nobody from it.
fn begin(app: &App<'_>, store: &Store, log: &Log) -> Option<Lease> {
    let session = log.session.as_ref()?;
    match store.lease(session, Work::Compaction, app.environment.clock()) {
        Ok(Asked::Granted(lease)) => Some(lease),
        Ok(Asked::Busy { .. } | Asked::Unknown) => None,
        Err(error) => {
            tracing::warn!(%session, %error, "not noted that it is being compacted");
            None
        }
    }
}

/// Returns the running summary of the session, after whoever is writing it, but not for long.
fn kept_summary(app: &App<'_>, store: &Store, log: &Log) -> anyhow::Result<Option<renew::Current>> {
    let Some(session) = log.session.as_ref() else {
        return Ok(None);
    };
    wait::wait(
        || renew::running(store, session, app.environment.clock()),
        || app.environment.clock(),
        |time| std::thread::sleep(time.unsigned_abs()),
    );
    Ok(renew::current(store, session)?)
}

/// A conversation and where it is written.
struct Log {
    path: PathBuf,
    session: Option<SessionId>,
    messages: Vec<Message>,
}

/// Reads the log that is meant: a file, or that of a session. Messages never come from the store.
fn log(app: &App<'_>, target: &str) -> anyhow::Result<Log> {
    let file = Path::new(target);
    let (path, flavor, session) = if file.is_file() {
        (file.to_owned(), None, None)
    } else {
        let store = app.open_existing()?;
        let session = the_session(&store, target)?;
        let path = session.source.clone().map(PathBuf::from);
        let Some(path) = path.filter(|path| path.is_file()) else {
            return Err(hinted(
                format!(
                    "the log of {} is gone, so there is nothing to compact",
                    session.id
                ),
                "`throughline export --raw` gives back what was kept of it, without its secrets",
            ));
        };
        (path, Some(session.flavor), Some(session.id))
    };
    let shown = path.display();
    let messages = conversation::read(&path, flavor, app.environment.now)
        .with_context(|| format!("cannot read {shown}"))?
        .ok_or_else(|| {
            hinted(
                format!("{shown} is no log of an agent that we know"),
                "`throughline doctor` lists the agents",
            )
        })?;
    // Subagents may be written between the lines of their session.
    let session = session.or_else(|| conversation::main_session(&messages));
    let mut messages = messages;
    messages.retain(|message| Some(&message.session) == session.as_ref());
    // The model that reads it may work in another folder.
    let path = std::path::absolute(&path).unwrap_or(path);
    Ok(Log {
        path,
        session,
        messages,
    })
}

/// Reads notes. Where that fails, the compaction goes on without them and says so.
fn read_summary(file: &Path) -> Result<Summary, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Summary::parse(&text)),
        Err(error) => Err(format!("cannot read {}: {error}", file.display())),
    }
}

fn limits(app: &App<'_>, args: &CompactArgs) -> Limits {
    let limits = app.config.compaction.limits();
    let asked = args.threshold.filter(|tokens| *tokens > 0).map(Tokens);
    Limits {
        threshold: asked.or(limits.threshold),
        ..limits
    }
}

fn tell(args: &CompactArgs, outcome: &Compaction) -> anyhow::Result<Outcome> {
    note(outcome);
    if args.json {
        output::json(&as_json(outcome))?;
    } else if let Ok(compacted) = &outcome.result {
        write!(stdout().lock(), "{}", as_text(compacted))?;
    }
    let both = outcome.fell_through.as_ref() == outcome.result.as_ref().err();
    if let Some(declined) = outcome.fell_through.as_ref().filter(|_| !both) {
        say(&format!("The summary was not used: {declined}."));
    }
    if let Some(declined) = &outcome.model {
        say(&format!(
            "The model was not used: {}.",
            safe(&declined.to_string())
        ));
    }
    match &outcome.result {
        Ok(_) => Ok(Outcome::Done),
        Err(declined) => {
            say(&format!("Nothing was compacted: {declined}."));
            Ok(Outcome::NothingFound)
        }
    }
}

/// Every outcome is an event with its figures.
fn note(outcome: &Compaction) {
    let fell_through = outcome.fell_through.as_ref().map(Declined::name);
    let model = outcome.model.as_ref().map(Declined::name);
    match &outcome.result {
        Ok(compacted) => {
            let figures = compacted.figures;
            tracing::info!(
                event = event(outcome),
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
            tracing::info!(event = event(outcome), fell_through, model, why = %declined);
        }
    }
}

fn event(outcome: &Compaction) -> String {
    match &outcome.result {
        Ok(Compacted {
            way: Way::Summary, ..
        }) => "compaction.summary".to_owned(),
        Ok(Compacted {
            way: Way::FullByModel,
            ..
        }) => "compaction.full_by_model".to_owned(),
        Ok(Compacted { way: Way::Full, .. }) => "compaction.full".to_owned(),
        Err(declined) => format!("compaction.declined.{}", declined.name()),
    }
}

fn as_json(outcome: &Compaction) -> serde_json::Value {
    let why = |why: &Declined| json!({"name": why.name(), "why": why.to_string()});
    let fell_through = outcome.fell_through.as_ref().map(why);
    let model = outcome.model.as_ref().map(why);
    match &outcome.result {
        Ok(compacted) => json!({
            "event": event(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "figures": compacted.figures,
            "boundary": compacted.boundary,
            "summary": made(&compacted.summary),
            "restored": compacted.restored.as_ref().map(made),
            "kept": compacted.kept.iter().map(|message| &message.id).collect::<Vec<_>>(),
            "open": compacted.open,
            "repairs": compacted.repairs,
        }),
        Err(declined) => json!({
            "event": event(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "declined": why(declined),
        }),
    }
}

fn made(message: &Message) -> serde_json::Value {
    json!({"id": message.id, "role": message.role, "text": text_of(message)})
}

fn text_of(message: &Message) -> &str {
    message
        .blocks
        .iter()
        .find_map(text_of_block)
        .unwrap_or_default()
}

fn text_of_block(block: &Block) -> Option<&str> {
    match block {
        Block::Text(text) | Block::Summary(text) => Some(text),
        _ => None,
    }
}

fn as_text(compacted: &Compacted) -> String {
    let figures = &compacted.figures;
    let row = |name: &str, messages: Option<usize>, tokens: Option<Tokens>| {
        let messages = messages.map_or_else(String::new, |messages| messages.to_string());
        let tokens = tokens.map_or_else(String::new, |tokens| tokens.to_string());
        vec![name.to_owned(), messages, tokens]
    };
    let mut text = table(&[
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
    let mut line = |name: &str, value: String| text += &format!("{name:<9} {}\n", safe(&value));
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
    text += &format!("\n{}\n", safe(text_of(&compacted.summary)));
    if let Some(restored) = &compacted.restored {
        text += &format!("{}\n", safe(text_of(restored)));
    }
    text
}
