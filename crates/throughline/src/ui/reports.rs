//! The rows of the screens that report: what agents were given, usage, and what is kept.

use std::cmp::Reverse;

use jiff::Timestamp;
use memory::MemoryItem;
use store::{EventFilter, EventName, InjectionVerdict, StoredEvent, UsageFilter};

use super::rows::{Rows, age, excerpt, place};
use super::state::{ListRow, PreviewPage, RowTarget};
use super::worker::Worker;
use crate::commands::doctor;
use crate::commands::sessions::format_tokens;
use crate::commands::usage::{self, GroupBy};
use crate::output::table::{count, format_bytes};
use crate::output::time;
use serve::requests::usage::group_usage;

/// Rows that are read of each list.
const INJECTIONS_MAX: usize = 100;
const GROUPS_MAX: usize = 400;
/// The width of the longest bar.
const BAR_COLUMNS: u64 = 16;

/// Returns what agents were given and the prompts that were given nothing, the latest first.
pub(super) fn injection_rows(worker: &Worker<'_>) -> Rows {
    let injections = worker.store.injections(None, INJECTIONS_MAX)?;
    let silences = worker.store.events(&EventFilter {
        name: Some(EventName::InjectionDeclined.as_str().to_owned()),
        limit: INJECTIONS_MAX,
        ..EventFilter::default()
    })?;
    let note = format!(
        "{}, {}",
        count(injections.len(), "injection"),
        count(silences.len(), "silence")
    );
    let mut rows: Vec<(Timestamp, ListRow)> = silences
        .iter()
        .map(|silence| (silence.at, silence_row(worker, silence)))
        .collect();
    for injection in injections {
        let mut pages = Vec::new();
        for item in &injection.items {
            let used = match item.used {
                None => "use not known yet",
                Some(true) => "used",
                Some(false) => "not used",
            };
            let (kind, text) = match item.item {
                MemoryItem::Fact(id) => ("fact", worker.store.fact(id)?.map(|fact| fact.text)),
                MemoryItem::Record(id) => {
                    let record = worker.store.read_record(id)?;
                    ("record", record.map(|record| record.content))
                }
            };
            let text = text.unwrap_or_else(|| "It was forgotten since.".to_owned());
            pages.push(PreviewPage {
                heading: format!("{kind}  {} tokens  {used}", item.tokens),
                text: excerpt(&text, &[]).to_owned(),
                record: match item.item {
                    MemoryItem::Record(id) => Some(id),
                    MemoryItem::Fact(_) => None,
                },
            });
        }
        let verdict = match injection.verdict {
            None => "-",
            Some(InjectionVerdict::Good) => "good",
            Some(InjectionVerdict::Bad) => "bad",
        };
        let first = pages.first().map_or("-", |page| page.text.as_str());
        let row = ListRow {
            label: verdict.to_owned(),
            age: age(worker, Some(injection.at)),
            place: place(injection.workspace.as_deref()),
            title: first.to_owned(),
            count: count(injection.items.len(), "item"),
            target: RowTarget::Injection {
                name: injection.name,
                session: injection.session,
            },
            pages,
        };
        rows.push((injection.at, row));
    }
    rows.sort_by_key(|(at, _)| Reverse(*at));
    Ok((rows.into_iter().map(|(_, row)| row).collect(), note))
}

/// Returns a prompt that was given nothing, with the reason.
fn silence_row(worker: &Worker<'_>, silence: &StoredEvent) -> ListRow {
    let figure = |name: &str| {
        let text = silence.figures.get(name).and_then(|figure| figure.as_str());
        text.unwrap_or("-").to_owned()
    };
    let (agent, reason) = (figure("agent"), figure("reason"));
    let when = time::format_time(Some(silence.at), &worker.app.environment.zone);
    ListRow {
        label: "silent".to_owned(),
        age: age(worker, Some(silence.at)),
        place: agent.clone(),
        title: reason.clone(),
        count: String::new(),
        pages: vec![PreviewPage {
            heading: format!("{when}  {agent}"),
            text: format!("The prompt was given nothing: {reason}."),
            record: None,
        }],
        target: RowTarget::Silence(silence.session.clone()),
    }
}

/// Returns usage by day, model, workspace, agent or session, with a bar for the tokens.
pub(super) fn usage_rows(worker: &Worker<'_>, group: usize) -> Rows {
    let by = GroupBy::ALL[group % GroupBy::ALL.len()];
    let rows = worker.store.usage(&UsageFilter::default())?;
    let app = worker.app;
    let mut groups = group_usage(
        &rows,
        by.into(),
        &app.environment.zone,
        &app.config.prices(),
    );
    groups.truncate(GROUPS_MAX);
    let largest = groups.iter().map(|(_, group)| group.usage.total()).max();
    let largest = largest.unwrap_or(0).max(1);
    let rows = groups.iter().map(|(name, group)| {
        let used = group.usage;
        let bar = usize::try_from(used.total() * BAR_COLUMNS / largest).unwrap_or(0);
        let name = usage::group_label(worker.store, name.as_deref(), by);
        let text = format!(
            "in          {}\nout         {}\ncache read  {}\ncache write {}\nreasoning   {}\n\
             requests    {}\ncost        {}\n",
            format_tokens(used.input),
            format_tokens(used.output),
            format_tokens(used.cache_read),
            format_tokens(used.cache_write),
            format_tokens(used.reasoning),
            group.requests,
            usage::format_cost(&group.cost),
        );
        ListRow {
            target: RowTarget::Note,
            label: usage::format_cost(&group.cost),
            age: format_tokens(used.total()),
            place: name.clone(),
            title: "█".repeat(bar),
            count: count(group.requests, "request"),
            pages: vec![PreviewPage {
                heading: name,
                text,
                record: None,
            }],
        }
    });
    Ok((rows.collect(), format!("by {}", by.name())))
}

/// Returns the store, its limits, and the agents with the days after which they delete their logs.
pub(super) fn keep_rows(worker: &Worker<'_>) -> Rows {
    let (app, store) = (worker.app, worker.store);
    let counts = store.counts(None)?;
    let used = store.disk_usage(app.environment.clock())?;
    let limits = &app.config.retention;
    let of = |used: u64, cap: u64| format!("{} of {}", format_bytes(used), format_bytes(cap));
    let mut rows = vec![
        note_row("store", "folder", app.home.display().to_string()),
        note_row(
            "store",
            "holds",
            format!(
                "{}, {}, {}, {}",
                count(counts.sessions, "session"),
                count(counts.records, "record"),
                count(counts.facts, "fact"),
                count(counts.pins, "pin"),
            ),
        ),
        note_row(
            "limit",
            "text",
            of(used.raw_bytes, limits.raw_soft_cap_bytes.0),
        ),
        note_row(
            "limit",
            "digests",
            of(used.distilled_bytes, limits.distilled_cap_bytes.0),
        ),
        note_row(
            "limit",
            "age",
            match limits.delete_after_days {
                0 => format!(
                    "text older than {} days goes when the store is full; digests stay",
                    limits.raw_max_age_days
                ),
                days => format!("text is deleted after {days} days; digests stay"),
            },
        ),
    ];
    for (agent, note) in doctor::agent_notes(app) {
        rows.push(note_row("agent", &agent, note));
    }
    Ok((rows, String::new()))
}

fn note_row(label: &str, place: &str, title: String) -> ListRow {
    ListRow {
        target: RowTarget::Note,
        label: label.to_owned(),
        age: String::new(),
        place: place.to_owned(),
        count: String::new(),
        pages: vec![PreviewPage {
            heading: place.to_owned(),
            text: title.clone(),
            record: None,
        }],
        title,
    }
}
