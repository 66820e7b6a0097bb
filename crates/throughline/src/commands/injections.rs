//! `throughline injections` and `throughline feedback`

use std::io::{Write, stdout};

use clap::ValueEnum;
use memory::SessionId;
use store::{Injection, Verdict};

use crate::commands::App;
use crate::commands::sessions::cut_id;
use crate::output::table::table;
use crate::output::text::safe;
use crate::output::{self, Outcome, hinted, say, time};

/// List what was put before agents, and what came of it
#[derive(Debug, clap::Args)]
pub struct InjectionsArgs {
    /// Only this session's
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// How many to show
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Print the injections as JSON
    #[arg(long)]
    json: bool,
}

/// Say whether an injection helped
///
/// What helped is shown more readily, what did not is shown no more.
#[derive(Debug, clap::Args)]
pub struct FeedbackArgs {
    /// The injection's id or the beginning of it
    #[arg(value_name = "ID")]
    id: String,

    /// Whether it helped
    verdict: Judgement,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Judgement {
    Good,
    Bad,
}

pub fn run(app: &App<'_>, args: &InjectionsArgs) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let session = match &args.session {
        None => None,
        Some(id) => {
            let named = store.sessions_named(id, 1)?;
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
        output::json(&injections)?;
    } else if injections.is_empty() {
        say("No injections.");
    } else {
        write!(stdout().lock(), "{}", listing(app, &injections))?;
    }
    Ok(if injections.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

fn listing(app: &App<'_>, injections: &[Injection]) -> String {
    let head = [
        "ID", "WHEN", "ITEMS", "USED", "TOKENS", "VERDICT", "SESSION",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(injections.iter().map(|injection| {
        let known = injection.items.iter().any(|item| item.used.is_some());
        let used = injection
            .items
            .iter()
            .filter(|item| item.used == Some(true))
            .count();
        let session = injection.session.as_ref();
        vec![
            injection.name.clone(),
            time::show(Some(injection.at), &app.environment.zone),
            injection.items.len().to_string(),
            if known {
                used.to_string()
            } else {
                "-".to_owned()
            },
            injection.tokens.to_string(),
            match injection.verdict {
                None => "-",
                Some(Verdict::Good) => "good",
                Some(Verdict::Bad) => "bad",
            }
            .to_owned(),
            session.map_or("-".to_owned(), |id| cut_id(&safe(id.native()))),
        ]
    }));
    table(&rows)
}

pub fn run_feedback(app: &App<'_>, args: &FeedbackArgs) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let named = store.injections_named(&args.id, 2)?;
    let [injection] = named.as_slice() else {
        let number = if named.is_empty() {
            "no"
        } else {
            "more than one"
        };
        return Err(hinted(
            format!("{number} injection begins with {:?}", args.id),
            "`throughline injections` lists them",
        ));
    };
    let verdict = match args.verdict {
        Judgement::Good => Verdict::Good,
        Judgement::Bad => Verdict::Bad,
    };
    store.judge(&injection.name, verdict)?;
    say(&format!("Noted for {}.", injection.name));
    Ok(Outcome::Done)
}
