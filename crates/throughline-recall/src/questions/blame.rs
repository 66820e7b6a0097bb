//! Which sessions touched a file, and why.

use memory::RecordKind;
use serde::Serialize;
use store::{FileTouch, Store};

use super::first_line;

/// Longest account of a reason, in characters.
const GIST_CHARS_MAX: usize = 200;

/// What a session did to a file, and what led to it.
#[derive(Clone, Debug, Serialize)]
pub struct Blame {
    #[serde(flatten)]
    pub touch: FileTouch,
    /// The prompt that led to it.
    pub prompt: Option<String>,
    /// What the agent said it would do.
    pub said: Option<String>,
}

/// Returns the sessions that touched a file, those that changed it first, then the latest.
pub fn blame(
    store: &Store,
    path: &str,
    workspace: Option<&str>,
    limit: usize,
) -> store::Result<Vec<Blame>> {
    let mut blames = Vec::new();
    for touch in store.touches(path, workspace, limit)? {
        let step = store.read_step(touch.record)?;
        let before = |kind: RecordKind| -> store::Result<Option<String>> {
            let Some(step) = &step else { return Ok(None) };
            let record = store.last_before(step, kind)?;
            Ok(record.map(|record| first_line(&record.content, GIST_CHARS_MAX)))
        };
        blames.push(Blame {
            prompt: before(RecordKind::Prompt)?,
            said: before(RecordKind::Assistant)?,
            touch,
        });
    }
    Ok(blames)
}
