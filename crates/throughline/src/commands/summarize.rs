//! `throughline summarize`

use std::io::Write;

use distill::summary::{self, SummaryAuthor, SummaryError, SummarySettings, WrittenSummary};
use memory::{Session, SessionId};
use store::Store;

use crate::commands::App;
use crate::commands::sessions::format_tokens;
use crate::commands::show::find_session;
use crate::model;
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint};

/// Update the running summary of a session
///
/// A configured model edits the existing summary, within the daily budget of the configuration.
/// Without a model the summary is extracted from the records. If anything fails, the old summary is
/// kept.
#[derive(Debug, clap::Args)]
pub(crate) struct SummarizeArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "SESSION")]
    id: String,

    /// Use the configured model, and fail if there is none
    #[arg(long, conflicts_with = "embedded")]
    model: bool,

    /// Do not use a model, even if one is configured
    #[arg(long)]
    embedded: bool,

    /// Print the summary without a model, and write nothing
    #[arg(long, conflicts_with = "model")]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &SummarizeArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = find_session(&store, &args.id)?;
    let settings = model::summary_settings(app)?;
    if args.dry_run {
        return dry_run(app, &store, &session.id, &settings);
    }
    if store.is_encrypted() {
        return Err(error_with_hint(
            "the store is encrypted, but a summary would be a plain text file",
            "use --dry-run to print the summary instead",
        ));
    }
    let configured = app.config.model.destination().is_some();
    let done = if args.model || (configured && !args.embedded) {
        let model = model::configured_model(app)?;
        model::with_asker(
            app,
            &store,
            &*model,
            "summary",
            Some(&session.id),
            |asker| {
                let now = app.environment.clock();
                summary::write_summary(
                    &store,
                    &session.id,
                    &settings,
                    SummaryAuthor::Model(asker),
                    now,
                )
            },
        )?
    } else {
        summary::write_summary(
            &store,
            &session.id,
            &settings,
            SummaryAuthor::Embedded,
            app.environment.now,
        )
    };
    match done {
        Ok(done) => report_summary(args, &store, &session, &done),
        Err(declined) => report_declined(&session.id, declined),
    }
}

fn dry_run(
    app: &App<'_>,
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
) -> anyhow::Result<Exit> {
    match summary::draft_summary(store, session, settings, app.environment.now) {
        Ok(summary) => {
            write!(app.output(), "{}", sanitize(&summary.to_string()))?;
            Ok(Exit::Done)
        }
        Err(declined) => report_declined(session, declined),
    }
}

fn report_summary(
    args: &SummarizeArgs,
    store: &Store,
    session: &Session,
    done: &WrittenSummary,
) -> anyhow::Result<Exit> {
    let path = store.summary_path(&session.id);
    if args.json {
        output::print_json(&serde_json::json!({
            "session": session.id,
            "path": path,
            "version": done.version,
            "way": done.method,
            "edits": done.edits,
            "denied": done.denied,
            "usage": done.usage,
        }))?;
        return Ok(Exit::Done);
    }
    say!("Wrote version {} of {}.", done.version, path.display());
    let used = done.usage;
    if used.total() > 0 {
        say!(
            "{} edits; {} tokens in, {} out, {} cache read, {} cache write.",
            done.edits,
            format_tokens(used.input),
            format_tokens(used.output),
            format_tokens(used.cache_read),
            format_tokens(used.cache_write)
        );
    }
    for denied in &done.denied {
        say!("Rejected: {}.", sanitize(denied));
    }
    Ok(Exit::Done)
}

fn report_declined(session: &SessionId, declined: SummaryError) -> anyhow::Result<Exit> {
    let hint = match &declined {
        SummaryError::EmptySession | SummaryError::NoNewRecords => {
            say!("{session}: {declined}.");
            return Ok(Exit::NothingFound);
        }
        SummaryError::Busy { .. } | SummaryError::Compacting | SummaryError::LeaseLost => {
            "try again in a minute"
        }
        SummaryError::ModelUnavailable(_) => {
            "use --embedded to write it without a model; `throughline usage --own` shows the \
             spending"
        }
        SummaryError::NoEdits { denied } => {
            for denied in denied {
                say!("Rejected: {}.", sanitize(denied));
            }
            "use --embedded to write it without a model"
        }
        _ => return Err(declined.into()),
    };
    Err(error_with_hint(declined.to_string(), hint))
}
