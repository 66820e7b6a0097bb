//! `throughline usage --own`: the requests that Throughline itself sent to the configured model.

use std::io::{Write, stdout};

use jiff::Timestamp;
use memory::Usage;
use store::ModelCall;

use crate::commands::App;
use crate::commands::sessions::{format_tokens, short_session_id};
use crate::output::table::format_table;
use crate::output::text::sanitize;
use crate::output::{self, Exit, time};

pub(crate) fn run(
    app: &App<'_>,
    since: Option<Timestamp>,
    limit: usize,
    json: bool,
) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let calls = store.model_calls(since, limit)?;
    let zoned = app.environment.now.to_zoned(app.environment.zone.clone());
    let today = store.spending_since(zoned.start_of_day()?.timestamp())?;
    let limits = &app.config.model;
    if json {
        output::print_json(&serde_json::json!({
            "calls": calls.iter().map(call_json).collect::<Vec<_>>(),
            "today": {"tokens": today.tokens, "cost_usd": today.usd},
            "daily_tokens": limits.daily_tokens,
            "daily_usd": limits.daily_usd,
        }))?;
    } else if calls.is_empty() {
        say!("Throughline has not sent requests to a model.");
    } else {
        print(app, &calls)?;
        say!(
            "Used today: {} of {} tokens, ${:.4} of ${:.2}.",
            format_tokens(today.tokens),
            format_tokens(limits.daily_tokens),
            today.usd,
            limits.daily_usd
        );
    }
    Ok(Exit::of_query(calls.is_empty()))
}

fn print(app: &App<'_>, calls: &[ModelCall]) -> anyhow::Result<()> {
    let head = [
        "TIME", "FOR", "SESSION", "MODEL", "IN", "OUT", "CACHE READ", "CACHE WRITE", "COST",
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
            time::format_time(Some(call.at), &app.environment.zone),
            sanitize(&call.purpose),
            call.session.as_ref().map_or_else(
                || "-".to_owned(),
                |id| short_session_id(&sanitize(id.native())),
            ),
            sanitize(&call.model),
            format_tokens(input),
            format_tokens(output),
            format_tokens(cache_read),
            format_tokens(cache_write),
            call.usd
                .map_or_else(|| "?".to_owned(), |usd| format!("${usd:.4}")),
            sanitize(&call.outcome),
        ]);
    }
    write!(stdout().lock(), "{}", format_table(&rows))?;
    Ok(())
}

fn call_json(call: &ModelCall) -> serde_json::Value {
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
