//! `throughline events`

use std::io::{Write, stdout};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value};
use store::{EventFilter, EventName, StoredEvent};

use crate::commands::ingest::stop_on_interrupt;
use crate::commands::{App, show};
use crate::output::text::sanitize;
use crate::output::wrap::wrap_line;
use crate::output::{self, Exit, error_with_hint, time};

/// How often `--follow` looks for new events.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The most events that `--follow` prints at once.
const FOLLOWED_MAX: usize = 10_000;

/// List what Throughline itself did or declined to do, with the figures
///
/// Summaries and compactions with their token counts, and each reason for which one was declined;
/// sweeps, extracted facts, thresholds that were exceeded. The latest 10,000 events are kept.
#[derive(Debug, clap::Args)]
pub(crate) struct EventsArgs {
    /// Only the session with this id or id prefix
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only events with this name, or whose name begins with it up to a dot
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The number of events to show
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Wait for new events and print them, until Ctrl-C
    #[arg(long, short = 'f')]
    follow: bool,

    /// Print the events as JSON; with --follow, one per line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &EventsArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    if let Some(name) = &args.name {
        check_name(name)?;
    }
    let session = match &args.session {
        Some(prefix) => Some(show::find_session(&store, prefix)?.id),
        None => None,
    };
    let mut filter = EventFilter {
        session,
        name: args.name.clone(),
        after: None,
        limit: args.limit,
    };
    let events = store.events(&filter)?;
    print_events(app, args, &events)?;
    if !args.follow {
        if events.is_empty() && !args.json {
            say!("No events.");
        }
        return Ok(Exit::of_query(events.is_empty()));
    }
    let stop = stop_on_interrupt()?;
    filter.after = events.last().map(|event| event.id);
    filter.limit = FOLLOWED_MAX;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(POLL_INTERVAL);
        let events = store.events(&filter)?;
        print_events(app, args, &events)?;
        filter.after = events.last().map(|event| event.id).or(filter.after);
    }
    Ok(Exit::Done)
}

/// Rejects a name that no event has, so that a typing error is not taken for silence.
fn check_name(name: &str) -> anyhow::Result<()> {
    let is_known = |event: &EventName| {
        let rest = event.as_str().strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if EventName::ALL.iter().any(is_known) {
        return Ok(());
    }
    let known: Vec<_> = EventName::ALL.iter().map(|event| event.as_str()).collect();
    Err(error_with_hint(
        format!("no event is called {name:?}"),
        format!("the events are {}", known.join(", ")),
    ))
}

fn print_events(app: &App<'_>, args: &EventsArgs, events: &[StoredEvent]) -> anyhow::Result<()> {
    if args.json && !args.follow {
        return output::print_json(&events);
    }
    for event in events {
        if args.json {
            output::print_json(event)?;
        } else {
            // No pager: with --follow the events are printed as they happen.
            let line = format_event(app, event);
            let rows = match app.columns() {
                Some(columns) => wrap_line(&line, columns).join("\n"),
                None => line,
            };
            writeln!(stdout(), "{rows}")?;
        }
    }
    stdout().flush()?;
    Ok(())
}

fn format_event(app: &App<'_>, event: &StoredEvent) -> String {
    let at = time::format_time(Some(event.at), &app.environment.zone);
    let session = event.session.as_ref();
    let session = session.map_or_else(String::new, |id| format!("  {}", sanitize(id.as_str())));
    let figures = format_figures(&event.figures);
    format!("{at}  {}{session}{figures}", event.name)
}

fn format_figures(figures: &Map<String, Value>) -> String {
    let figures = figures.iter().map(|(name, value)| match value {
        Value::String(text) => format!("  {name}={}", sanitize(text)),
        value => format!("  {name}={}", sanitize(&value.to_string())),
    });
    figures.collect()
}
