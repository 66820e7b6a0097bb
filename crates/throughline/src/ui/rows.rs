//! The rows of sessions, hits and facts, read from the store.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use memory::{Fact, RecordKind, Session, SessionId};
use recall::RankedHit;
use serve::requests::search::{SearchContent, SearchOptions, SearchOutcome, search};
use serve::requests::sessions::list_sessions;
use store::{FactFilter, FactScope, MatchLevel, Query, SessionFilter, StoredRecord};

use super::state::{HitTypes, ListRow, ListedSessions, PreviewPage, Reach, RowTarget};
use super::text::{has_match, marked_words};
use super::worker::Worker;
use crate::commands::search::group_items;
use crate::commands::sessions::{format_tokens, marked_title, session_label};
use crate::output::table::count;
use crate::output::time;

/// Rows that are read of each list.
const SESSIONS_MAX: usize = 200;
const HITS_MAX: usize = 40;
const FACTS_MAX: usize = 500;
/// Records at the end of a session that its preview is made of, and how many of them it shows.
const ENDING_RECORDS: usize = 60;
const ENDING_PAGES: usize = 6;
/// How much of a text around its first match is previewed.
const EXCERPT_BYTES: usize = 4 << 10;

/// Rows, and a note on what they are.
pub(super) type Rows = anyhow::Result<(Vec<ListRow>, String)>;

/// Returns the latest sessions.
pub(super) fn session_rows(worker: &Worker<'_>, reach: Reach, listed: ListedSessions) -> Rows {
    let filter = SessionFilter {
        marks: listed.filter(),
        limit: SESSIONS_MAX,
        ..SessionFilter::default()
    };
    let sessions = list_sessions(worker.store, &worker.scope(reach), &filter)?;
    let note = count(sessions.len(), "session");
    let more = if sessions.len() == SESSIONS_MAX {
        "≥ "
    } else {
        ""
    };
    let rows = sessions.iter().map(|session| session_row(worker, session));
    Ok((rows.collect(), format!("{more}{note}")))
}

fn session_row(worker: &Worker<'_>, session: &Session) -> ListRow {
    let zone = &worker.app.environment.zone;
    let last = session.ended.or(session.started);
    let line = |name: &str, value: Option<&str>| {
        value.map_or_else(String::new, |value| format!("{name:<10} {value}\n"))
    };
    let counts = format!(
        "{}, {}, {}",
        count(session.prompts, "prompt"),
        count(session.tool_calls, "call"),
        count(session.errors, "error")
    );
    let tokens = format_tokens(session.usage.total());
    let text = [
        line("title", session.name_or_title()),
        line("agent", Some(session.flavor.title())),
        line("workspace", session.workspace.as_deref()),
        line("folder", session.cwd.as_deref()),
        line("branch", session.branch.as_deref()),
        line("model", session.model.as_deref()),
        line("started", Some(&time::format_time(session.started, zone))),
        line("ended", Some(&time::format_time(session.ended, zone))),
        line("records", Some(&counts)),
        line("tokens", Some(&tokens)),
        line("outcome", session.outcome.map(memory::Outcome::name)),
        line(
            "log",
            session
                .source_gone
                .then_some("deleted by its agent; kept here"),
        ),
    ];
    ListRow {
        target: RowTarget::Session(session.id.clone()),
        label: session.flavor.name().to_owned(),
        age: age(worker, last),
        place: place(session.workspace.as_deref()),
        title: marked_title(session.name_or_title(), &session.marks),
        count: count(session.prompts, "prompt"),
        pages: vec![PreviewPage {
            heading: session_label(worker.store, &session.id),
            text: text.concat(),
            record: None,
        }],
    }
}

/// Returns what was said last in a session, the latest first.
pub(super) fn ending_pages(
    worker: &Worker<'_>,
    session: &SessionId,
) -> anyhow::Result<Vec<PreviewPage>> {
    let length = worker.store.timeline_length(session)?;
    let first = length.saturating_sub(ENDING_RECORDS);
    let records = worker.store.timeline(session, first, ENDING_RECORDS)?;
    let is_said =
        |record: &&StoredRecord| matches!(record.kind, RecordKind::Prompt | RecordKind::Assistant);
    let said = records.iter().rev().filter(is_said).take(ENDING_PAGES);
    Ok(said
        .map(|record| PreviewPage {
            heading: join_heading([
                Some(speaker(record.kind, record.tool.as_deref())),
                known_time(worker, record.at),
            ]),
            text: excerpt(&record.content, &[]).to_owned(),
            record: Some(record.id),
        })
        .collect())
}

/// Returns the hits of a query that is being typed, grouped by session, after the facts.
pub(super) fn hit_rows(worker: &Worker<'_>, query: &str, reach: Reach, types: HitTypes) -> Rows {
    let now = worker.app.environment.clock();
    let asked = Query {
        text: query.to_owned(),
        kinds: types.kinds().to_vec(),
        limit: HITS_MAX,
        ..Query::default()
    };
    let options = SearchOptions {
        include_sensitive: true,
        typing: true,
        content: match types {
            HitTypes::All => SearchContent::default(),
            _ => SearchContent::Records,
        },
        ..SearchOptions::default()
    };
    let found = search(worker.store, &worker.scope(reach), &asked, options, now)?;
    let note = hits_note(&found);
    let facts = found.facts.iter().map(|hit| fact_row(worker, &hit.fact));
    let mut rows: Vec<ListRow> = facts.collect();
    let words = marked_words(query);
    for group in group_items(found.hits.iter(), |hit| Some(hit.hit.session.clone())) {
        let best = &group[0].hit;
        let agent = best.session.as_str().split(':').next().unwrap_or_default();
        rows.push(ListRow {
            target: RowTarget::Session(best.session.clone()),
            label: agent.to_owned(),
            age: age(worker, best.at),
            place: place(best.workspace.as_deref()),
            title: marked_title(
                best.title.as_deref().or(Some(&best.snippet.text)),
                &worker.store.session_marks(&best.session)?,
            ),
            count: count(group.len(), "hit"),
            pages: group
                .iter()
                .map(|hit| hit_page(worker, hit, &words))
                .collect(),
        });
    }
    Ok((rows, note))
}

fn hits_note(found: &SearchOutcome) -> String {
    let level = match found.rung {
        MatchLevel::Exact => "exact",
        MatchLevel::Forms => "other forms",
        MatchLevel::Related => "related",
        MatchLevel::Fuzzy => "similar spelling",
        MatchLevel::NoWords => return String::new(),
    };
    let more = if found.hits.len() == HITS_MAX {
        "≥ "
    } else {
        ""
    };
    match found.hits.len() {
        0 => String::new(),
        hits => format!("{level} · {more}{}", count(hits, "hit")),
    }
}

fn hit_page(worker: &Worker<'_>, hit: &RankedHit, words: &[String]) -> PreviewPage {
    let found = &hit.hit;
    let note = |is_so: bool, text: &str| is_so.then(|| text.to_owned());
    PreviewPage {
        heading: join_heading([
            Some(speaker(found.kind, found.tool.as_deref())),
            known_time(worker, found.at),
            found.path.clone(),
            note(found.digest_only, "only the digest is left"),
            note(!found.in_source, "no longer in its log"),
        ]),
        text: excerpt(&hit.text, words).to_owned(),
        record: (!found.digest_only).then_some(found.id),
    }
}

/// Joins the parts of a heading that are known.
fn join_heading<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

/// Formats a time, which some logs do not have.
fn known_time(worker: &Worker<'_>, at: Option<Timestamp>) -> Option<String> {
    at.map(|at| time::format_time(Some(at), &worker.app.environment.zone))
}

/// Returns who said or did something, in the words of an open session.
pub(super) fn speaker(kind: RecordKind, tool: Option<&str>) -> String {
    let tool = tool.unwrap_or("tool");
    match kind {
        RecordKind::Prompt => "you".to_owned(),
        RecordKind::Assistant => "agent".to_owned(),
        RecordKind::Thinking => "thinking".to_owned(),
        RecordKind::ToolUse => tool.to_owned(),
        RecordKind::ToolResult => format!("{tool} returned"),
        RecordKind::Artifact => "changed".to_owned(),
        RecordKind::Error => format!("{tool} failed"),
        RecordKind::Approval => "you decided".to_owned(),
        RecordKind::Summary => "summary".to_owned(),
    }
}

/// Returns the part of a text around its first match.
pub(super) fn excerpt<'a>(text: &'a str, words: &[String]) -> &'a str {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if has_match(line, words) {
            break;
        }
        start += line.len();
    }
    // Without a match, the beginning is shown.
    let start = if start == text.len() { 0 } else { start };
    let from = text.floor_char_boundary(start.saturating_sub(EXCERPT_BYTES / 2));
    let to = text.floor_char_boundary((start + EXCERPT_BYTES).min(text.len()));
    &text[from..to]
}

/// Returns facts, pins first.
pub(super) fn fact_rows(worker: &Worker<'_>, reach: Reach) -> Rows {
    let keys = worker.scope(reach).workspace_keys().map(<[String]>::to_vec);
    let facts = worker.store.facts(&FactFilter {
        scope: keys.map_or(FactScope::All, FactScope::Workspaces),
        kind: None,
        history: false,
        limit: FACTS_MAX,
    })?;
    let note = count(facts.len(), "fact");
    Ok((
        facts.iter().map(|fact| fact_row(worker, fact)).collect(),
        note,
    ))
}

fn fact_row(worker: &Worker<'_>, fact: &Fact) -> ListRow {
    let zone = &worker.app.environment.zone;
    let said = |at| time::format_time(Some(at), zone);
    let text = format!(
        "{}\n\nsaid by    {}\nfirst said {}\nlast said  {}\ntimes      {}\nworkspace  {}\n",
        fact.text,
        fact.trust.name(),
        said(fact.made),
        said(fact.seen),
        fact.times,
        fact.workspace.as_deref().unwrap_or("everywhere"),
    );
    let pinned = if fact.pinned { "pinned" } else { "" };
    ListRow {
        target: RowTarget::Fact {
            id: fact.id,
            pinned: fact.pinned,
        },
        label: fact.kind.name().to_owned(),
        age: age(worker, Some(fact.seen)),
        place: fact
            .workspace
            .as_deref()
            .map_or_else(|| "everywhere".to_owned(), |w| place(Some(w))),
        title: fact.text.clone(),
        count: pinned.to_owned(),
        pages: vec![PreviewPage {
            heading: format!("{} {}", fact.kind, fact.id.short()),
            text,
            record: None,
        }],
    }
}

pub(super) fn place(workspace: Option<&str>) -> String {
    workspace.map_or("-", memory::workspace::name).to_owned()
}

/// Formats how long ago something was, in one unit.
pub(super) fn age(worker: &Worker<'_>, at: Option<Timestamp>) -> String {
    let environment = worker.app.environment;
    short_age(at, environment.clock(), &environment.zone)
}

/// Formats an age. Days are counted by the calendar, as the commands do.
fn short_age(at: Option<Timestamp>, now: Timestamp, zone: &TimeZone) -> String {
    let Some(at) = at else {
        return "-".to_owned();
    };
    let age = now.duration_since(at).max(SignedDuration::ZERO);
    let (minutes, hours) = (age.as_mins(), age.as_hours());
    let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
    let days = day(at).until(day(now)).map_or(0, |span| span.get_days());
    match hours {
        0 if minutes == 0 => "now".to_owned(),
        0 => format!("{minutes}m"),
        1..24 => format!("{hours}h"),
        _ if days <= 14 => format!("{days}d"),
        _ if days <= 730 => format!("{}w", days / 7),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let now = Timestamp::from_second(1_000_000_000).unwrap();
        let age = |at| short_age(at, now, &TimeZone::UTC);
        let ago = |seconds: i64| age(Some(now - SignedDuration::from_secs(seconds)));
        assert_eq!(ago(59), "now");
        assert_eq!(ago(-5), "now");
        assert_eq!(ago(3600), "1h");
        assert_eq!(ago(3 * 86_400), "3d");
        assert_eq!(ago(30 * 86_400), "4w");
        assert_eq!(ago(900 * 86_400), "2y");
        assert_eq!(age(None), "-");
    }

    #[test]
    fn an_excerpt_holds_the_match() {
        let text = format!(
            "{}needle here\n{}",
            "hay\n".repeat(4000),
            "hay\n".repeat(4000)
        );
        let shown = excerpt(&text, &["needle".to_owned()]);
        assert!(shown.contains("needle") && shown.len() <= 3 * EXCERPT_BYTES / 2);
        assert_eq!(excerpt("äöü", &["x".to_owned()]), "äöü");
    }
}
