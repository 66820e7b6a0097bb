//! Changes as they happen, as server-sent events.
//!
//! Each listener reads the store's feed at its own pace, so nothing is queued for those that are slow. The id
//! of an event says up to where its listener has heard: who comes back with it misses nothing, also of
//! what other processes wrote meanwhile.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use serde_json::json;
use store::Heard;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use super::Front;
use super::problem::Problem;
use crate::Desk;

/// How often the store is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Events of one look.
const LOOK_MAX: usize = 256;
/// Events that wait for a listener, and for how long.
const WAITING_MAX: usize = 16;
const PATIENCE: Duration = Duration::from_secs(30);
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Changes as they happen: `memory_update` events. `Last-Event-ID` goes on where a listener was.
#[utoipa::path(get, path = "/events", tag = "events",
    params(("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was heard")),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub async fn events(
    State(front): State<Front>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let Ok(seat) = std::sync::Arc::clone(&front.listeners).try_acquire_owned() else {
        return Err(Problem::hinted(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many listen already",
            "try again when one has left",
        ));
    };
    let last = headers.get("last-event-id");
    let last = last.and_then(|value| value.to_str().ok()).unwrap_or("");
    let heard = match Place::parse(last, &front.boot) {
        Some(place) => place,
        None => front.answer(|desk| Ok(Place::now(desk)?)).await?,
    };
    let (sender, stream) = mpsc::channel(WAITING_MAX);
    tokio::spawn(async move {
        let _seat = seat;
        listen(front, heard, sender).await;
    });
    let alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(ReceiverStream::new(stream)).keep_alive(alive))
}

/// Up to where a listener has heard.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    heard: Heard,
    change: u64,
}

impl Place {
    fn now(desk: &Desk) -> store::Result<Self> {
        desk.changes.look(&desk.store)?;
        Ok(Self {
            heard: desk.store.heard_all()?,
            change: desk.changes.last(),
        })
    }

    /// Reads an event's id. Changes of another run of the daemon count for nothing.
    fn parse(id: &str, boot: &str) -> Option<Self> {
        let mut parts = id.splitn(4, '.');
        let record = parts.next()?.parse().ok()?;
        let tombstone = parts.next()?.parse().ok()?;
        let change = parts.next()?.parse().ok()?;
        let is_ours = parts.next()? == boot;
        Some(Self {
            heard: Heard { record, tombstone },
            change: if is_ours { change } else { 0 },
        })
    }

    fn id(&self, boot: &str) -> String {
        let Heard { record, tombstone } = self.heard;
        format!("{record}.{tombstone}.{}.{boot}", self.change)
    }
}

type Sender = mpsc::Sender<Result<Event, Infallible>>;

/// Tells a listener of everything new, until it leaves or the daemon stops.
async fn listen(front: Front, mut place: Place, sender: Sender) {
    let mut stopping = front.stopping.clone();
    loop {
        // Whoever listens needs us.
        front.gate.asked();
        let looked = look(&front, place).await;
        let told = match looked {
            Ok((events, after)) => {
                let is_full = events.len() >= LOOK_MAX;
                place = after;
                if !send(&sender, events).await {
                    return;
                }
                is_full
            }
            Err(problem) => {
                tracing::warn!(?problem, "a listener hears nothing for now");
                false
            }
        };
        if told {
            continue;
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = async { drop(stopping.wait_for(|stopping| *stopping).await) } => return,
            () = sender.closed() => return,
        }
    }
}

async fn send(sender: &Sender, events: Vec<Event>) -> bool {
    for event in events {
        // One that does not read for so long is not there any more.
        if sender.send_timeout(Ok(event), PATIENCE).await.is_err() {
            return false;
        }
    }
    true
}

async fn look(front: &Front, place: Place) -> Result<(Vec<Event>, Place), Problem> {
    let boot = std::sync::Arc::clone(&front.boot);
    front
        .answer(move |desk| {
            let mut after = place;
            desk.changes.look(&desk.store)?;
            let changes = desk.store.changes_since(&mut after.heard, LOOK_MAX)?;
            let mut at = place;
            // Row numbers may have gone back with what was forgotten.
            at.heard.record = at.heard.record.min(after.heard.record);
            at.heard.tombstone = at.heard.tombstone.min(after.heard.tombstone);
            let mut events = Vec::new();
            for came in changes.came {
                at.heard.record = came.row;
                events.push(event(
                    &at.id(&boot),
                    &json!({
                        "change": "record", "id": came.id, "type": came.kind, "at": came.at,
                        "session_id": came.session, "workspace": came.workspace,
                    }),
                ));
            }
            for (tombstone, records) in changes.forgotten {
                at.heard.tombstone = tombstone;
                let told = json!({ "change": "forgotten", "records": records });
                events.push(event(&at.id(&boot), &told));
            }
            for (number, changed, id) in desk.changes.after(place.change) {
                at.change = number;
                events.push(event(
                    &at.id(&boot),
                    &json!({ "change": changed, "id": id }),
                ));
            }
            after.change = at.change;
            Ok((events, after))
        })
        .await
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
        let place = Place {
            heard: Heard {
                record: 7,
                tombstone: 2,
            },
            change: 5,
        };
        assert_eq!(Place::parse(&place.id("a"), "a"), Some(place));
        assert_eq!(
            Place::parse(&place.id("a"), "b"),
            Some(Place { change: 0, ..place })
        );
        for nonsense in ["", "7", "7.2", "7.2.x.a", "-"] {
            assert_eq!(Place::parse(nonsense, "a"), None);
        }
    }
}
