//! Which sessions count, and what counts as one session.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::{Flavor, SessionId, SessionKind, Signal};
use store::SessionSignals;

/// A session with fewer prompts and calls says little.
const EVENTS_MIN: u64 = 3;
/// A shorter session was aborted.
const DURATION_MS_MIN: i64 = 60 * 1000;

/// A session together with its subagents.
#[derive(Clone, Debug)]
pub struct SessionGroup<'a> {
    pub id: &'a SessionId,
    pub flavor: Flavor,
    pub workspace: Option<&'a str>,
    pub started: Option<Timestamp>,
    pub agent_version: Option<&'a str>,
    pub model: Option<&'a str>,
    /// The signals of all its sessions.
    pub signals: Vec<&'a Signal>,
}

/// Joins subagents to the sessions that started them, and leaves out sessions that are too short,
/// were aborted, or were started by a program. The result is in the order of start and id.
pub fn sound_groups(sessions: &[SessionSignals]) -> Vec<SessionGroup<'_>> {
    let by_id: BTreeMap<&SessionId, &SessionSignals> = sessions
        .iter()
        .map(|session| (&session.session, session))
        .collect();
    let mut members: BTreeMap<&SessionId, Vec<&SessionSignals>> = BTreeMap::new();
    for session in by_id.values() {
        members
            .entry(root(session, &by_id))
            .or_default()
            .push(session);
    }
    let mut groups: Vec<SessionGroup<'_>> = members
        .into_iter()
        .filter_map(|(id, members)| {
            let main = by_id.get(id).copied()?;
            is_sound(main, &members).then(|| SessionGroup {
                id,
                flavor: main.flavor,
                workspace: main.workspace.as_deref(),
                started: main.started,
                agent_version: main.agent_version.as_deref(),
                model: main.model.as_deref(),
                signals: members.iter().flat_map(|member| &member.signals).collect(),
            })
        })
        .collect();
    groups.sort_by_key(|group| (group.started, group.id));
    groups
}

/// Returns the session that a subagent works for. A parent that is unknown leaves it alone.
fn root<'a>(
    session: &'a SessionSignals,
    by_id: &BTreeMap<&'a SessionId, &'a SessionSignals>,
) -> &'a SessionId {
    let mut at = session;
    // A chain of parents is short; the limit ends a cycle in damaged data.
    for _ in 0..8 {
        match at.parent.as_ref().and_then(|parent| by_id.get(parent)) {
            Some(parent) if at.kind == SessionKind::Subagent => at = parent,
            _ => break,
        }
    }
    &at.session
}

fn is_sound(main: &SessionSignals, members: &[&SessionSignals]) -> bool {
    let events: u64 = members.iter().map(|one| one.prompts + one.tool_calls).sum();
    let duration = main
        .started
        .zip(main.ended)
        .map(|(started, ended)| ended.as_millisecond() - started.as_millisecond());
    let aborted = duration.is_some_and(|ms| ms < DURATION_MS_MIN) && main.prompts <= 1;
    events >= EVENTS_MIN && !aborted && main.kind != SessionKind::Automated
}
