//! Lists sessions within a client's scope.

use memory::Session;
use store::{SessionFilter, Store};

use super::AccessScope;

/// Sessions that are read for each one that is returned: the filter matches a part of a key.
const OVERFETCH_FACTOR: usize = 4;

/// Returns the sessions that a client may see, latest first.
pub fn list_sessions(
    store: &Store,
    scope: &AccessScope,
    filter: &SessionFilter,
) -> store::Result<Vec<Session>> {
    let Some(keys) = scope.workspace_keys() else {
        return store.sessions(filter);
    };
    let mut sessions = Vec::new();
    for key in keys {
        let matching = store.sessions(&SessionFilter {
            workspace: Some(key.clone()),
            limit: filter.limit.saturating_mul(OVERFETCH_FACTOR),
            ..filter.clone()
        })?;
        // The filter matches a part of a workspace's key; here it must be the whole key.
        let is_in_scope = |session: &Session| session.workspace.as_ref() == Some(key);
        sessions.extend(matching.into_iter().filter(is_in_scope));
    }
    let last_active = |session: &Session| session.ended.or(session.started);
    sessions.sort_by(|a, b| {
        let by_time = last_active(b).cmp(&last_active(a));
        by_time.then_with(|| a.id.cmp(&b.id))
    });
    sessions.truncate(filter.limit);
    Ok(sessions)
}

/// Returns the latest sessions that a client may see, newest first.
pub fn latest_sessions(
    store: &Store,
    scope: &AccessScope,
    limit: usize,
) -> store::Result<Vec<Session>> {
    let filter = SessionFilter {
        limit,
        ..SessionFilter::default()
    };
    list_sessions(store, scope, &filter)
}
