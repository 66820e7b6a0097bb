//! `throughline usage --own`: the requests that Throughline itself sent to the configured model.

use std::io::Write;

use jiff::Timestamp;
use memory::Usage;
use store::{ModelCall, Store};

use crate::commands::App;
use crate::commands::sessions::{format_tokens, session_id};
use crate::output::table::{TableColumn, format_columns};
use crate::output::text::sanitize;
use crate::output::{self, Exit};

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
        print_calls(app, &store, &calls)?;
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

const CALL_COLUMNS: &[TableColumn] = &[
    TableColumn::left("TIME"),
    TableColumn::left("FOR"),
    TableColumn::left("SESSION").dropped_at(1),
    TableColumn::left("MODEL").shrinks_to(12),
    TableColumn::right("IN"),
    TableColumn::right("OUT"),
    TableColumn::right("CACHE READ").dropped_at(2),
    TableColumn::right("CACHE WRITE").dropped_at(3),
    TableColumn::right("COST"),
    TableColumn::left("OUTCOME").shrinks_to(12),
];

fn print_calls(app: &App<'_>, store: &Store, calls: &[ModelCall]) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for call in calls {
        let Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..
        } = call.usage;
        rows.push(vec![
            app.format_when(Some(call.at)),
            sanitize(&call.purpose),
            call.session
                .as_ref()
                .map_or_else(|| "-".to_owned(), |id| session_id(store, id)),
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
    let table = format_columns(CALL_COLUMNS, &rows, app.columns());
    Ok(write!(app.output(), "{table}")?)
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
