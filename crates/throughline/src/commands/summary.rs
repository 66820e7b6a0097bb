//! `throughline summary`

use std::io::{Write, stdout};

use crate::commands::App;
use crate::commands::show::find_session;
use crate::output::text::sanitize;
use crate::output::{self, Exit};

/// Show the running summary of a session
///
/// `ingest`, `watch` and the daemon update the summaries of live sessions; `summarize` writes one
/// for any session.
#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "SESSION")]
    id: String,

    /// Print the path of the summary instead
    #[arg(long, conflicts_with = "json")]
    path: bool,

    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &SummaryArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = find_session(&store, &args.id)?;
    let Some(stored) = store.summary(&session.id)? else {
        say!("{} has no summary yet.", session.id);
        say!(
            "hint: run `throughline summarize {}` to write one",
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
        write!(app.output(), "{}", sanitize(&stored.text))?;
    }
    Ok(Exit::Done)
}
