//! `throughline summary`

use std::io::{Write, stdout};

use crate::commands::App;
use crate::commands::show::find_session;
use crate::output::text::sanitize;
use crate::output::{self, Exit};

/// Show the running summary of a session
///
/// The summary of a live session is kept current by `ingest` and `watch`; `summarize` makes one of any
/// session.
#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArgs {
    /// A session's id or the beginning of it
    #[arg(value_name = "SESSION")]
    id: String,

    /// Print where it lies instead
    #[arg(long, conflicts_with = "json")]
    path: bool,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &SummaryArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = find_session(&store, &args.id)?;
    let Some(stored) = store.summary(&session.id)? else {
        say!("{} has no summary yet.", session.id);
        say!(
            "hint: `throughline summarize {}` makes one",
            session.id.native()
        );
        return Ok(Exit::NothingFound);
    };
    let notes = &stored.info;
    if args.json {
        output::print_json(&serde_json::json!({
            "session": session.id,
            "path": stored.path,
            "version": notes.version,
            "way": notes.method,
            "made": notes.made,
            "last_summarized_id": notes.last,
            "tokens": notes.tokens,
            "tool_calls": notes.tool_calls,
            "sections": memory::Summary::parse(&stored.text).sections.iter().map(|section| {
                serde_json::json!({"heading": section.heading, "text": section.text})
            }).collect::<Vec<_>>(),
        }))?;
    } else if args.path {
        writeln!(stdout().lock(), "{}", stored.path.display())?;
    } else {
        write!(stdout().lock(), "{}", sanitize(&stored.text))?;
    }
    Ok(Exit::Done)
}
