//! Snapshots of sessions as they stood at a checkpoint.

use distill::checkpoint;
use distill::snapshot::{SnapshotSize, write_snapshot};
use memory::layers::Checkpoint;
use memory::{Session, Summary};
use store::Store;

use super::RequestError;

/// Returns the checkpoints of a session. Those of its latest records are made if they are missing.
pub fn session_checkpoints(
    store: &Store,
    session: &Session,
) -> Result<Vec<Checkpoint>, RequestError> {
    let checkpoints = checkpoint::write_checkpoints(store, &session.id)?;
    if checkpoints.is_empty() {
        return Err(RequestError::not_found(
            format!("{} has no records to make a checkpoint of", session.id),
            "`throughline digest` shows what is known of the session",
        ));
    }
    Ok(checkpoints)
}

/// Returns a snapshot of a session at a checkpoint, the last one if none is named.
pub fn session_snapshot(
    store: &Store,
    session: &Session,
    number: Option<u32>,
    size: SnapshotSize,
) -> Result<String, RequestError> {
    let checkpoints = session_checkpoints(store, session)?;
    let checkpoint = find_checkpoint(session, &checkpoints, number)?;
    let is_last = Some(checkpoint) == checkpoints.last();
    // The running summary covers the whole session, so an earlier checkpoint does without it.
    let summary = store.summary(&session.id)?.filter(|_| is_last);
    let summary = summary.map(|stored| Summary::parse(&stored.text));
    Ok(write_snapshot(session, checkpoint, summary.as_ref(), size))
}

/// Returns the checkpoint with a number, or the last one.
pub fn find_checkpoint<'a>(
    session: &Session,
    checkpoints: &'a [Checkpoint],
    number: Option<u32>,
) -> Result<&'a Checkpoint, RequestError> {
    let found = match number {
        Some(number) => checkpoints
            .iter()
            .find(|checkpoint| checkpoint.number == number),
        None => checkpoints.last(),
    };
    found.ok_or_else(|| {
        RequestError::not_found(
            format!(
                "{} has no checkpoint {}",
                session.id,
                number.unwrap_or_default()
            ),
            format!("it has checkpoints 1 to {}", checkpoints.len()),
        )
    })
}
