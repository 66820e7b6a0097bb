//! The event log: what Throughline did and what it declined to do, with the figures behind it.

use jiff::Timestamp;
use memory::SessionId;
use redact::Redactor;
use rusqlite::{Transaction, params};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Store;
use crate::columns::columns;
use crate::derived::leases;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;

/// How many events are kept.
const EVENTS_MAX: i64 = 10_000;

/// Declares the names of events, each with the sentence that the documentation shows.
macro_rules! event_names {
    ($($variant:ident = $name:literal, $meaning:literal;)+) => {
        /// The name of an event. Names of one subject share the part before the first dot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum EventName {
            $(#[doc = $meaning] $variant,)+
        }

        impl EventName {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns what the event means, in a few words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

event_names! {
    ExtractionFinished = "extraction.finished", "a session's summary was written";
    ExtractionFailed = "extraction.failed", "a session's summary could not be written";
    ExtractionDeclinedThreshold = "extraction.declined.threshold",
        "too little has happened since the last summary";
    ExtractionDeclinedBusy = "extraction.declined.busy",
        "another extraction or a compaction of the session is running";
    ExtractionDeclinedDisabled = "extraction.declined.disabled", "summaries are switched off";
    FactsExtracted = "facts.extracted", "facts were extracted from a session";
    CompactionUsedSummary = "compaction.used_summary",
        "a conversation was compacted with the session's summary";
    CompactionFull = "compaction.full",
        "a conversation was compacted by the embedded extractor";
    CompactionFullByModel = "compaction.full_by_model",
        "a conversation was compacted by a model";
    CompactionDeclinedDisabled = "compaction.declined.disabled", "compaction is switched off";
    CompactionDeclinedNotDue = "compaction.declined.not_due",
        "the conversation is below the size of an automatic compaction";
    CompactionDeclinedEmpty = "compaction.declined.empty", "there are no messages to compact";
    CompactionDeclinedTooShort = "compaction.declined.too_short",
        "the conversation is too short to compact";
    CompactionDeclinedNoSummary = "compaction.declined.no_summary", "the session has no summary";
    CompactionDeclinedBareTemplate = "compaction.declined.bare_template",
        "the summary is still the empty template";
    CompactionDeclinedCoverageLost = "compaction.declined.coverage_lost",
        "the last summarized message is not in the conversation";
    CompactionDeclinedStillTooLarge = "compaction.declined.still_too_large",
        "the result would exceed the threshold";
    CompactionDeclinedNoProgress = "compaction.declined.no_progress",
        "the result would not be smaller";
    CompactionDeclinedNothingToSummarize = "compaction.declined.nothing_to_summarize",
        "the messages have nothing to summarize";
    CompactionDeclinedModelFailed = "compaction.declined.model_failed",
        "the model produced no usable summary";
    CompactionDeclinedFailed = "compaction.declined.failed", "the compaction failed";
    InjectionSilent = "injection.silent", "a prompt was given nothing from memory";
    SessionResumed = "session.resumed",
        "a compaction found a summary that covers no known message";
    SwitchChecked = "switch.checked", "a switch was read before work began";
    ThresholdExceeded = "threshold.exceeded", "a size exceeded its threshold";
    SweepFinished = "sweep.finished", "a sweep read new records";
    RetentionFinished = "retention.finished", "the size limits were enforced";
}

impl EventName {
    /// Finds an event by its name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|event| event.as_str() == name)
    }
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredEvent {
    /// Grows with every event.
    pub id: i64,
    pub at: Timestamp,
    pub name: String,
    #[serde(rename = "session_id")]
    pub session: Option<SessionId>,
    pub figures: Map<String, Value>,
}

/// Which events to return.
#[derive(Clone, Debug, Default)]
pub struct EventFilter {
    pub session: Option<SessionId>,
    /// A whole name, or its beginning up to a dot: `compaction.declined` covers all its reasons.
    pub name: Option<String>,
    /// Only events after this id.
    pub after: Option<i64>,
    pub limit: usize,
}

impl Store {
    /// Adds an event to the log and drops the oldest ones. `figures` holds numbers, names and ids:
    /// no captured text. Its strings are redacted like all others.
    pub fn record_event(
        &self,
        now: Timestamp,
        name: EventName,
        session: Option<&SessionId>,
        figures: Map<String, Value>,
    ) -> Result<()> {
        let figures = clean_json(self.redactor(), Value::Object(figures)).to_string();
        let session = session.cloned();
        self.write(move |tx, _| insert(tx, now, name, session.as_ref(), &figures))
    }

    /// Returns the latest events that pass a filter, the oldest of them first.
    pub fn events(&self, filter: &EventFilter) -> Result<Vec<StoredEvent>> {
        let sql = format!(
            "SELECT {} FROM events e LEFT JOIN sessions s ON s.id = e.session
             WHERE (?1 IS NULL OR s.name = ?1)
               AND (?2 IS NULL OR e.name = ?2 OR substr(e.name, 1, length(?2) + 1) = ?2 || '.')
               AND e.id > ?3 ORDER BY e.id DESC LIMIT ?4",
            col::SQL
        );
        let session = filter.session.as_ref().map(SessionId::as_str);
        let after = filter.after.unwrap_or(0);
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let mut events: Vec<_> = self.read(|connection| {
            let params = params![session, filter.name, after, limit];
            query_all(connection, &sql, params, |row| {
                let figures: String = row.get(col::figures)?;
                Ok(StoredEvent {
                    id: row.get(col::id)?,
                    at: timestamp_from_millis(row.get(col::at)?).unwrap_or(Timestamp::UNIX_EPOCH),
                    name: row.get(col::name)?,
                    session: row
                        .get::<_, Option<String>>(col::session)?
                        .map(SessionId::new),
                    figures: serde_json::from_str(&figures).unwrap_or_default(),
                })
            })
        })?;
        events.reverse();
        Ok(events)
    }
}

columns! {
    mod col {
        id: "e.id",
        at: "e.at",
        name: "e.name",
        session: "s.name",
        figures: "e.figures",
    }
}

fn insert(
    tx: &Transaction<'_>,
    now: Timestamp,
    name: EventName,
    session: Option<&SessionId>,
    figures: &str,
) -> Result<()> {
    let session = match session {
        Some(session) => leases::session_number(tx, session)?,
        None => None,
    };
    tx.prepare_cached("INSERT INTO events (at, name, session, figures) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            now.as_millisecond(),
            name.as_str(),
            session,
            figures
        ])?;
    tx.prepare_cached("DELETE FROM events WHERE id <= ?1")?
        .execute([tx.last_insert_rowid() - EVENTS_MAX])?;
    Ok(())
}

/// Redacts every string of a JSON value, keys included.
fn clean_json(redactor: &Redactor, value: Value) -> Value {
    let clean = |text: &str| redactor.clean(text).as_str().to_owned();
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => {
            let items = items.into_iter().map(|item| clean_json(redactor, item));
            Value::Array(items.collect())
        }
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(key, value)| (clean(&key), clean_json(redactor, value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// Removes a forgotten session from the log. Its events stay without figures, so that ids only
/// grow.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE events SET session = NULL, figures = '{}' WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn events_are_filtered_by_name_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let now = "2026-11-17T09:00:00Z".parse().unwrap();
        let declined = EventName::CompactionDeclinedNoSummary;
        for name in [
            EventName::SweepFinished,
            declined,
            EventName::CompactionFull,
        ] {
            let figures =
                object(&json!({ "tokens": 12, "key": "ghp_aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xY3z4Q" }));
            store.record_event(now, name, None, figures).unwrap();
        }
        let names = |name: &str, limit| {
            let filter = EventFilter {
                name: Some(name.to_owned()),
                limit,
                ..EventFilter::default()
            };
            let events = store.events(&filter).unwrap();
            events
                .into_iter()
                .map(|event| event.name)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            names("compaction.declined", 9),
            ["compaction.declined.no_summary"]
        );
        assert_eq!(names("compaction", 1), ["compaction.full"]);
        assert_eq!(names("comp", 9), Vec::<String>::new());
        let all = EventFilter {
            limit: 9,
            ..EventFilter::default()
        };
        let first = store.events(&all).unwrap().remove(0);
        assert_eq!(first.figures["tokens"], 12);
        assert!(
            !first.figures["key"]
                .to_string()
                .contains("aB3dE6fG9hJ2kL5mN8pQ1rS4")
        );

        let sql = "UPDATE events SET id = id + 20000 WHERE name = 'compaction.full'";
        store.write(move |tx, _| Ok(tx.execute(sql, [])?)).unwrap();
        store.record_event(now, declined, None, Map::new()).unwrap();
        let kept = store.events(&all).unwrap();
        assert_eq!(
            kept.iter().map(|event| event.id).collect::<Vec<_>>(),
            [20003, 20004]
        );
    }

    #[test]
    fn every_name_is_found_and_has_a_subject() {
        for event in EventName::ALL {
            assert_eq!(EventName::from_name(event.as_str()), Some(*event));
            assert!(event.as_str().contains('.'), "{event:?}");
        }
    }
}
