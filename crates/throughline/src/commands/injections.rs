//! `throughline injections` and `throughline feedback`

use std::io::{Write, stdout};

use clap::ValueEnum;
use memory::SessionId;
use store::{Injection, InjectionVerdict};

use crate::commands::App;
use crate::commands::sessions::short_session_id;
use crate::output::table::format_table;
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint, time};

/// List what agents were given from memory, and whether it was used
#[derive(Debug, clap::Args)]
pub(crate) struct InjectionsArgs {
    /// Only the session with this id or id prefix
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Show at most this many
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Print the injections as JSON
    #[arg(long)]
    json: bool,
}

/// Rate an injection as good or bad
///
/// Items of a good injection are shown more readily, items of a bad one are not shown again.
#[derive(Debug, clap::Args)]
pub(crate) struct FeedbackArgs {
    /// The id of an injection, or a prefix of it
    #[arg(value_name = "ID")]
    id: String,

    /// Whether the injection helped
    verdict: FeedbackVerdict,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FeedbackVerdict {
    Good,
    Bad,
}

pub(crate) fn run(app: &App<'_>, args: &InjectionsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = match &args.session {
        None => None,
        Some(id) => {
            let named = store.sessions_by_prefix(id, 1)?;
            Some(
                named
                    .into_iter()
                    .next()
                    .map_or_else(|| SessionId::new(id), |session| session.id),
            )
        }
    };
    let injections = store.injections(session.as_ref(), args.limit)?;
    if args.json {
        output::print_json(&injections)?;
    } else if injections.is_empty() {
        say!("No injections.");
    } else {
        write!(stdout().lock(), "{}", format_injections(app, &injections))?;
    }
    Ok(Exit::of_query(injections.is_empty()))
}

fn format_injections(app: &App<'_>, injections: &[Injection]) -> String {
    let head = [
        "ID", "WHEN", "ITEMS", "USED", "TOKENS", "VERDICT", "SESSION",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(injections.iter().map(|injection| {
        let is_scored = injection.items.iter().any(|item| item.used.is_some());
        let used = injection
            .items
            .iter()
            .filter(|item| item.used == Some(true))
            .count();
        let session = injection.session.as_ref();
        vec![
            injection.name.clone(),
            time::format_time(Some(injection.at), &app.environment.zone),
            injection.items.len().to_string(),
            if is_scored {
                used.to_string()
            } else {
                "-".to_owned()
            },
            injection.tokens.to_string(),
            match injection.verdict {
                None => "-",
                Some(InjectionVerdict::Good) => "good",
                Some(InjectionVerdict::Bad) => "bad",
            }
            .to_owned(),
            session.map_or("-".to_owned(), |id| {
                short_session_id(&sanitize(id.native()))
            }),
        ]
    }));
    format_table(&rows)
}

pub(crate) fn run_feedback(app: &App<'_>, args: &FeedbackArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let matches = store.injections_by_prefix(&args.id, 2)?;
    let [injection] = matches.as_slice() else {
        let number = if matches.is_empty() {
            "no"
        } else {
            "more than one"
        };
        return Err(error_with_hint(
            format!(
                "{number} injection has an id that starts with {:?}",
                args.id
            ),
            "`throughline injections` lists the ids",
        ));
    };
    let verdict = match args.verdict {
        FeedbackVerdict::Good => InjectionVerdict::Good,
        FeedbackVerdict::Bad => InjectionVerdict::Bad,
    };
    store.set_verdict(&injection.name, verdict)?;
    say!("Rated injection {}.", injection.name);
    Ok(Exit::Done)
}
