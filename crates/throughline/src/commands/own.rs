//! `throughline usage --own`: the ledger of the models that Throughline itself asked.

use std::io::{Write, stdout};

use jiff::Timestamp;
use memory::Usage;
use store::ModelCall;

use crate::commands::App;
use crate::commands::sessions::{cut_id, tokens};
use crate::output::table::table;
use crate::output::text::safe;
use crate::output::{self, Outcome, say, time};

pub fn run(
    app: &App<'_>,
    since: Option<Timestamp>,
    limit: usize,
    json: bool,
) -> anyhow::Result<Outcome> {
    let store = app.open_existing()?;
    let calls = store.model_calls(since, limit)?;
    let zoned = app.environment.now.to_zoned(app.environment.zone.clone());
    let today = store.spent(zoned.start_of_day()?.timestamp())?;
    let limits = &app.config.model;
    if json {
        output::json(&serde_json::json!({
            "calls": calls.iter().map(as_json).collect::<Vec<_>>(),
            "today": {"tokens": today.tokens, "cost_usd": today.usd},
            "daily_tokens": limits.daily_tokens,
            "daily_usd": limits.daily_usd,
        }))?;
    } else if calls.is_empty() {
        say("Throughline itself has asked no model.");
    } else {
        print(app, &calls)?;
        say(&format!(
            "Today: {} of {} tokens, ${:.4} of ${:.2}.",
            tokens(today.tokens),
            tokens(limits.daily_tokens),
            today.usd,
            limits.daily_usd
        ));
    }
    Ok(if calls.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

fn print(app: &App<'_>, calls: &[ModelCall]) -> anyhow::Result<()> {
    let head = [
        "TIME",
        "FOR",
        "SESSION",
        "MODEL",
        "IN",
        "OUT",
        "CACHE READ",
        "CACHE WRITE",
        "COST",
        "OUTCOME",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for call in calls {
        let Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..
        } = call.usage;
        rows.push(vec![
            time::show(Some(call.at), &app.environment.zone),
            safe(&call.purpose),
            call.session
                .as_ref()
                .map_or_else(|| "-".to_owned(), |id| cut_id(&safe(id.native()))),
            safe(&call.model),
            tokens(input),
            tokens(output),
            tokens(cache_read),
            tokens(cache_write),
            call.usd
                .map_or_else(|| "?".to_owned(), |usd| format!("${usd:.4}")),
            safe(&call.outcome),
        ]);
    }
    write!(stdout().lock(), "{}", table(&rows))?;
    Ok(())
}

fn as_json(call: &ModelCall) -> serde_json::Value {
    serde_json::json!({
        "at": call.at,
        "purpose": call.purpose,
        "session": call.session,
        "model": call.model,
        "usage": call.usage,
        "cost_usd": call.usd,
        "outcome": call.outcome,
    })
}
