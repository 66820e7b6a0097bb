//! Finds the sessions that touched a file, and why they did.

use memory::RecordKind;
use serde::Serialize;
use store::{FileTouch, Store};

use super::first_line;

/// The length at which texts are cut, in characters.
const GIST_CHARS_MAX: usize = 200;

/// A session's access to a file, and what led to it.
#[derive(Clone, Debug, Serialize)]
pub struct Blame {
    #[serde(flatten)]
    pub touch: FileTouch,
    /// The last prompt before it.
    pub prompt: Option<String>,
    /// The agent's last text before it.
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
