//! `throughline summarize`

use std::io::{Write, stdout};

use distill::renew::{self, Declined, Done, How, Settings};
use memory::{Session, SessionId};
use store::Store;

use crate::commands::App;
use crate::commands::sessions::tokens;
use crate::commands::show::the_session;
use crate::model;
use crate::output::text::safe;
use crate::output::{self, Outcome, hinted, say};

/// Write the running summary of a session now
///
/// Without a model the records themselves are summed up. With one, it edits the summary that is there; what
/// it may spend in a day is in the configuration. If anything goes wrong the old summary stays.
#[derive(Debug, clap::Args)]
pub struct SummarizeArgs {
    /// A session's id or the beginning of it
    #[arg(value_name = "SESSION")]
    id: String,

    /// Let the configured model write it
    #[arg(long, conflicts_with = "embedded")]
    model: bool,

    /// Write it without a model, even if one is configured
    #[arg(long)]
    embedded: bool,

    /// Print what would be written without a model, and write nothing
    #[arg(long, conflicts_with = "model")]
    dry_run: bool,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(app: &App<'_>, args: &SummarizeArgs) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let session = the_session(&store, &args.id)?;
    let settings = model::settings(app)?;
    if args.dry_run {
        return dry_run(app, &store, &session.id, &settings);
    }
    if store.is_encrypted() {
        return Err(hinted(
            "the store is encrypted, and a summary would lie beside it in plain text",
            "--dry-run prints what would be written",
        ));
    }
    let configured = app.config.model.goes_to().is_some();
    let done = if args.model || (configured && !args.embedded) {
        let model = model::model(app)?;
        model::with_asker(
            app,
            &store,
            &*model,
            "summary",
            Some(&session.id),
            |asker| {
                let now = app.environment.clock();
                renew::summarize(&store, &session.id, &settings, How::Model(asker), now)
            },
        )?
    } else {
        renew::summarize(
            &store,
            &session.id,
            &settings,
            How::Embedded,
            app.environment.now,
        )
    };
    match done {
        Ok(done) => report(args, &store, &session, &done),
        Err(declined) => decline(&session.id, declined),
    }
}

fn dry_run(
    app: &App<'_>,
    store: &Store,
    session: &SessionId,
    settings: &Settings,
) -> anyhow::Result<Outcome> {
    match renew::draft(store, session, settings, app.environment.now) {
        Ok(summary) => {
            write!(stdout().lock(), "{}", safe(&summary.to_string()))?;
            Ok(Outcome::Done)
        }
        Err(declined) => decline(session, declined),
    }
}

fn report(
    args: &SummarizeArgs,
    store: &Store,
    session: &Session,
    done: &Done,
) -> anyhow::Result<Outcome> {
    let path = store.summary_path(&session.id);
    if args.json {
        output::json(&serde_json::json!({
            "session": session.id,
            "path": path,
            "version": done.version,
            "way": done.way,
            "edits": done.edits,
            "denied": done.denied,
            "usage": done.usage,
        }))?;
        return Ok(Outcome::Done);
    }
    say(&format!(
        "Wrote version {} of {}.",
        done.version,
        path.display()
    ));
    let used = done.usage;
    if used.total() > 0 {
        say(&format!(
            "{} edits; {} tokens in, {} out, {} read from cache, {} written to it.",
            done.edits,
            tokens(used.input),
            tokens(used.output),
            tokens(used.cache_read),
            tokens(used.cache_write)
        ));
    }
    for denied in &done.denied {
        say(&format!("Denied: {}.", safe(denied)));
    }
    Ok(Outcome::Done)
}

fn decline(session: &SessionId, declined: Declined) -> anyhow::Result<Outcome> {
    let hint = match &declined {
        Declined::Nothing | Declined::NothingNew => {
            say(&format!("{session}: {declined}."));
            return Ok(Outcome::NothingFound);
        }
        Declined::Busy { .. } | Declined::Compacting | Declined::Overtaken => {
            "try again in a minute"
        }
        Declined::Refused(_) => {
            "--embedded writes it without a model; `throughline usage --own` shows what was spent"
        }
        Declined::NothingEdited { denied } => {
            for denied in denied {
                say(&format!("Denied: {}.", safe(denied)));
            }
            "--embedded writes it without a model"
        }
        _ => return Err(declined.into()),
    };
    Err(hinted(declined.to_string(), hint))
}
