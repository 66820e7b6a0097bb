//! `throughline summary`

use std::io::{Write, stdout};

use crate::commands::App;
use crate::commands::show::the_session;
use crate::output::text::safe;
use crate::output::{self, Outcome, say};

/// Show the running summary of a session
///
/// The summary of a live session is kept current by `ingest` and `watch`; `summarize` makes one of any
/// session.
#[derive(Debug, clap::Args)]
pub struct SummaryArgs {
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

pub fn run(app: &App<'_>, args: &SummaryArgs) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let session = the_session(&store, &args.id)?;
    let Some(stored) = store.summary(&session.id)? else {
        say(&format!("{} has no summary yet.", session.id));
        say(&format!(
            "hint: `throughline summarize {}` makes one",
            session.id.native()
        ));
        return Ok(Outcome::NothingFound);
    };
    let notes = &stored.notes;
    if args.json {
        output::json(&serde_json::json!({
            "session": session.id,
            "path": stored.path,
            "version": notes.version,
            "way": notes.way,
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
        write!(stdout().lock(), "{}", safe(&stored.text))?;
    }
    Ok(Outcome::Done)
}
