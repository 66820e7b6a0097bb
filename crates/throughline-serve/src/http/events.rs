//! Changes of memory and Throughline's own work as server-sent events, and the event log.
//!
//! Each listener reads the store's feed at its own pace, so nothing is queued for slow listeners.
//! The id of an event is a cursor into the feed: a listener that reconnects with it misses nothing,
//! including what other processes wrote in the meantime.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use store::{EventFilter, FeedPosition, StoredEvent};
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{QueryParams, parse_limit};
use super::problem::Problem;
use crate::ServeContext;
use crate::requests::AccessScope;
use crate::requests::find::find_session;

/// How often a listener reads the feed.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Events that are read from the feed at once.
const EVENTS_PER_POLL_MAX: usize = 256;
/// Events that may wait for a listener, and how long it may take to read one.
const QUEUED_EVENTS_MAX: usize = 16;
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// The most logged events that one request may list.
const LOGGED_EVENTS_MAX: usize = 1_000;

/// Changes as they happen, as `memory_update` events. `Last-Event-ID` continues after the given
/// event. With `activity=true`, what Throughline did or declined follows as `activity` events. With
/// `Accept: application/json` the answer is the event log.
#[utoipa::path(get, path = "/events", tag = "events",
    params(EventStreamParams, ("Last-Event-ID" = Option<String>, Header,
        description = "The id of the last event that was received")),
    responses((status = 200, content(
        (String = "text/event-stream"),
        (Vec<EventView> = "application/json"),
    ))))]
pub(super) async fn events(
    State(state): State<HttpState>,
    headers: HeaderMap,
    QueryParams(params): QueryParams<EventStreamParams>,
) -> Result<Response, Problem> {
    if accepts_only_json(&headers) {
        let log = EventLogParams {
            session_id: params.session_id,
            name: params.name,
            after: params.after,
            limit: params.limit,
        };
        return Ok(read_log(state, log).await?.into_response());
    }
    let has_activity = params.activity.unwrap_or_default();
    Ok(listen(state, &headers, has_activity).await?.into_response())
}

fn accepts_only_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    accept
        .and_then(|value| value.to_str().ok())
        .is_some_and(|accept| {
            accept.contains("application/json") && !accept.contains("text/event-stream")
        })
}

async fn listen(
    state: HttpState,
    headers: &HeaderMap,
    has_activity: bool,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + use<>>, Problem> {
    let Ok(seat) = std::sync::Arc::clone(&state.listeners).try_acquire_owned() else {
        return Err(Problem::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many event listeners are connected",
            "try again when one has disconnected",
        ));
    };
    let last = headers.get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()).unwrap_or("");
    let parsed = EventCursor::parse(last, &state.boot_id);
    let current = state
        .run_blocking(|context| Ok(EventCursor::current(context)?))
        .await?;
    let mut cursor = parsed.unwrap_or(current);
    cursor.logged_id = has_activity.then_some(cursor.logged_id.or(current.logged_id).unwrap_or(0));
    let (sender, stream) = mpsc::channel(QUEUED_EVENTS_MAX);
    tokio::spawn(async move {
        let _seat = seat;
        stream_events(state, cursor, sender).await;
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(ReceiverStream::new(stream)).keep_alive(alive))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventStreamParams {
    /// Whether the stream has `activity` events too
    activity: Option<bool>,
    /// Of the log: only this session
    session_id: Option<String>,
    /// Of the log: only events with this name, or whose name begins with it up to a dot
    name: Option<String>,
    /// Of the log: only events after this id
    after: Option<i64>,
    /// Of the log: how many events
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct EventLogParams {
    /// Only this session
    session_id: Option<String>,
    /// Only events with this name, or whose name begins with it up to a dot
    name: Option<String>,
    /// Only events after this id
    after: Option<i64>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// Something that Throughline did or declined to do
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LoggedEvent)]
pub(super) struct EventView {
    /// Grows with every event
    id: i64,
    /// In milliseconds since 1970
    ts: i64,
    #[schema(example = "compaction.declined.no_summary")]
    name: String,
    session_id: Option<String>,
    /// Numbers, names and ids; no captured text
    #[schema(value_type = Object)]
    figures: serde_json::Map<String, serde_json::Value>,
}

impl From<StoredEvent> for EventView {
    fn from(event: StoredEvent) -> Self {
        Self {
            id: event.id,
            ts: event.at.as_millisecond(),
            name: event.name,
            session_id: event.session.map(|session| session.to_string()),
            figures: event.figures,
        }
    }
}

/// The latest events of Throughline's own work, oldest first: extractions, compactions, reasons for
/// declining, sweeps
#[utoipa::path(get, path = "/events/log", tag = "events", params(EventLogParams),
    responses((status = 200, body = Vec<EventView>)))]
pub(super) async fn log(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<EventLogParams>,
) -> Result<Json<Vec<EventView>>, Problem> {
    read_log(state, params).await
}

async fn read_log(
    state: HttpState,
    params: EventLogParams,
) -> Result<Json<Vec<EventView>>, Problem> {
    let limit = parse_limit(params.limit, 100, LOGGED_EVENTS_MAX)?;
    let events = state.run_blocking(move |context| {
        let session = params.session_id.as_deref();
        let session =
            session.map(|id| find_session(&context.store, &AccessScope::unrestricted(), id));
        Ok(context.store.events(&EventFilter {
            session: session.transpose()?.map(|session| session.id),
            name: params.name,
            after: params.after,
            limit,
        })?)
    });
    Ok(Json(events.await?.into_iter().map(Into::into).collect()))
}

/// A listener's position in the feed of records, deletions and changes, and in the event log.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EventCursor {
    feed: FeedPosition,
    change_number: u64,
    /// The last logged event, unless the listener is not told of them.
    logged_id: Option<i64>,
}

impl EventCursor {
    fn current(context: &ServeContext) -> store::Result<Self> {
        context.changes.poll(&context.store)?;
        Ok(Self {
            feed: context.store.feed_end()?,
            change_number: context.changes.last_number(),
            logged_id: Some(
                logged_after(context, 0, 1)?
                    .last()
                    .map_or(0, |event| event.id),
            ),
        })
    }

    /// Parses an event id. Change numbers of another run of the daemon are meaningless and start at
    /// 0.
    fn parse(id: &str, boot: &str) -> Option<Self> {
        let mut parts = id.splitn(4, '.');
        let record = parts.next()?.parse().ok()?;
        let tombstone = parts.next()?.parse().ok()?;
        let change = parts.next()?.parse().ok()?;
        let rest = parts.next()?;
        let (of_boot, logged_id) = match rest.split_once('.') {
            Some((of_boot, logged)) => (of_boot, Some(logged.parse().ok()?)),
            None => (rest, None),
        };
        let is_ours = of_boot == boot;
        Some(Self {
            feed: FeedPosition { record, tombstone },
            change_number: if is_ours { change } else { 0 },
            logged_id,
        })
    }

    fn id(&self, boot: &str) -> String {
        let FeedPosition { record, tombstone } = self.feed;
        let id = format!("{record}.{tombstone}.{}.{boot}", self.change_number);
        match self.logged_id {
            Some(logged) => format!("{id}.{logged}"),
            None => id,
        }
    }
}

type EventSender = mpsc::Sender<Result<Event, Infallible>>;

/// Sends new events to a listener until it disconnects or the daemon stops.
async fn stream_events(state: HttpState, mut cursor: EventCursor, sender: EventSender) {
    let mut stopping = state.stopping.clone();
    loop {
        // A connected listener keeps an idle daemon running.
        state.guard.record_activity();
        let read = read_new_events(&state, cursor).await;
        let is_full_page = match read {
            Ok((events, after)) => {
                let is_full = events.len() >= EVENTS_PER_POLL_MAX;
                cursor = after;
                if !send_all(&sender, events).await {
                    return;
                }
                is_full
            }
            Err(problem) => {
                tracing::warn!(?problem, "cannot read the event feed");
                false
            }
        };
        if is_full_page {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(POLL_INTERVAL) => {}
            () = async { drop(stopping.wait_for(|stopping| *stopping).await) } => return,
            () = sender.closed() => return,
        }
    }
}

async fn send_all(sender: &EventSender, events: Vec<Event>) -> bool {
    for event in events {
        // A listener that reads nothing for so long is gone.
        if sender.send_timeout(Ok(event), SEND_TIMEOUT).await.is_err() {
            return false;
        }
    }
    true
}

async fn read_new_events(
    state: &HttpState,
    cursor: EventCursor,
) -> Result<(Vec<Event>, EventCursor), Problem> {
    let boot = std::sync::Arc::clone(&state.boot_id);
    state
        .run_blocking(move |context| {
            let mut after = cursor;
            context.changes.poll(&context.store)?;
            let changes = context
                .store
                .changes_since(&mut after.feed, EVENTS_PER_POLL_MAX)?;
            let mut at = cursor;
            // Deleting the latest rows makes row numbers go back.
            at.feed.record = at.feed.record.min(after.feed.record);
            at.feed.tombstone = at.feed.tombstone.min(after.feed.tombstone);
            let mut events = Vec::new();
            for record in changes.new_records {
                at.feed.record = record.row;
                events.push(event(
                    &at.id(&boot),
                    &json!({
                        "change": "record",
                        "id": record.submitted_id.unwrap_or_else(|| record.id.to_string()),
                        "type": record.kind,
                        "ts": record.at.map(jiff::Timestamp::as_millisecond),
                        "at": record.at,
                        "session_id": record.session,
                        "workspace": record.workspace,
                    }),
                ));
            }
            for (tombstone, records) in changes.forgotten {
                at.feed.tombstone = tombstone;
                let change = json!({ "change": "forgotten", "records": records });
                events.push(event(&at.id(&boot), &change));
            }
            for (number, changed, id) in context.changes.changes_after(cursor.change_number) {
                at.change_number = number;
                events.push(event(
                    &at.id(&boot),
                    &json!({ "change": changed, "id": id }),
                ));
            }
            if let Some(last) = cursor.logged_id {
                for logged in logged_after(context, last, LOGGED_EVENTS_MAX)? {
                    at.logged_id = Some(logged.id);
                    let id = at.id(&boot);
                    events.push(activity(&id, logged));
                }
            }
            after.change_number = at.change_number;
            after.logged_id = at.logged_id;
            Ok((events, after))
        })
        .await
}

/// Returns the latest events of the log after an id, the oldest of them first.
fn logged_after(
    context: &ServeContext,
    after: i64,
    limit: usize,
) -> store::Result<Vec<StoredEvent>> {
    context.store.events(&EventFilter {
        after: Some(after),
        limit,
        ..EventFilter::default()
    })
}

fn activity(id: &str, logged: StoredEvent) -> Event {
    let data = json!(EventView::from(logged)).to_string();
    Event::default().id(id).event("activity").data(data)
}

fn event(id: &str, data: &serde_json::Value) -> Event {
    Event::default()
        .id(id)
        .event("memory_update")
        .data(data.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_gives_the_place_back_and_another_run_forgets_its_own_changes() {
        let cursor = EventCursor {
            feed: FeedPosition {
                record: 7,
                tombstone: 2,
            },
            change_number: 5,
            logged_id: Some(3),
        };
        assert_eq!(EventCursor::parse(&cursor.id("a"), "a"), Some(cursor));
        assert_eq!(
            EventCursor::parse(&cursor.id("a"), "b"),
            Some(EventCursor {
                change_number: 0,
                ..cursor
            })
        );
        let without = EventCursor {
            logged_id: None,
            ..cursor
        };
        assert_eq!(EventCursor::parse(&without.id("a"), "a"), Some(without));
        for nonsense in ["", "7", "7.2", "7.2.x.a", "7.2.5.a.x", "-"] {
            assert_eq!(EventCursor::parse(nonsense, "a"), None);
        }
    }
}
