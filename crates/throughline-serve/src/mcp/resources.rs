//! Sessions and their summaries as MCP resources.

use distill::snapshot::SnapshotSize;
use memory::SessionId;
use rmcp::model::{Resource, ResourceTemplate};

use super::fenced::{self, FenceBuilder};
use super::tools::{self, ToolContext};
use crate::percent::{percent_decode, percent_encode};
use crate::requests::RequestError;
use crate::requests::find::find_session;
use crate::requests::sessions::latest_sessions;
use crate::requests::snapshot::session_snapshot;

/// The number of sessions that are listed; others can be read by their URI.
const LISTED_MAX: usize = 20;
const SESSION_URI: &str = "throughline://session/";
const SUMMARY_URI: &str = "throughline://summary/";
const SNAPSHOT_URI: &str = "throughline://snapshot/";

/// Lists the latest sessions, and the summaries of those that have one.
pub(super) fn list_resources(context: &ToolContext<'_>) -> Result<Vec<Resource>, RequestError> {
    let mut all = Vec::new();
    for session in latest_sessions(context.store, context.scope, LISTED_MAX)? {
        let title = session.title.as_deref().unwrap_or("Untitled session");
        let title = fenced::display_name(title);
        let id = session.id.as_str();
        all.push(
            Resource::new(resource_uri(SESSION_URI, &session.id), id)
                .with_title(title.clone())
                .with_description(format!("A session of {}", session.flavor.title()))
                .with_mime_type("text/plain"),
        );
        if context.store.summary(&session.id)?.is_some() {
            all.push(
                Resource::new(
                    resource_uri(SUMMARY_URI, &session.id),
                    format!("summary of {id}"),
                )
                .with_title(format!("Summary: {title}"))
                .with_description("The running summary of a session")
                .with_mime_type("text/plain"),
            );
        }
    }
    Ok(all)
}

pub(super) fn resource_templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SESSION_URI}{{id}}"), "session")
            .with_title("A session")
            .with_description("What was said and done in a session of this workspace, shortened")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{SUMMARY_URI}{{id}}"), "summary")
            .with_title("A session's summary")
            .with_description("The running summary of a session, else its digest")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{SNAPSHOT_URI}{{id}}"), "snapshot")
            .with_title("A session's snapshot")
            .with_description("Where a session stood at its end, in at most 1,000 tokens")
            .with_mime_type("text/plain"),
    ]
}

/// Returns the text of a resource.
pub(super) fn read_resource(context: &ToolContext<'_>, uri: &str) -> Result<String, RequestError> {
    if let Some(id) = uri.strip_prefix(SESSION_URI) {
        let session = find_session(context.store, context.scope, &percent_decode(id))?;
        return Ok(tools::read_timeline(context, &session, 0)?.into_text());
    }
    if let Some(id) = uri.strip_prefix(SUMMARY_URI) {
        let session = find_session(context.store, context.scope, &percent_decode(id))?;
        return session_summary(context, &session.id);
    }
    if let Some(id) = uri.strip_prefix(SNAPSHOT_URI) {
        let session = find_session(context.store, context.scope, &percent_decode(id))?;
        let text = session_snapshot(context.store, &session, None, SnapshotSize::Standard)?;
        let id = &session.id;
        let fence_id = context
            .store
            .injection_name(id.as_str(), Some(id), context.now);
        let mut fence = FenceBuilder::new(fence_id);
        fence.add_item(&format!("Where {id} stood:"), &text);
        return Ok(fence.finish());
    }
    Err(RequestError::not_found(
        format!("unknown resource {uri:?}"),
        "resources begin with throughline://session/, summary/ or snapshot/",
    ))
}

/// Returns a session's summary, or its digest if there is none, inside a fence.
pub(super) fn session_summary(
    context: &ToolContext<'_>,
    session: &SessionId,
) -> Result<String, RequestError> {
    let store = context.store;
    let fence_id = store.injection_name(session.as_str(), Some(session), context.now);
    let mut fence = FenceBuilder::new(fence_id);
    if let Some(stored) = context.store.summary(session)? {
        fence.add_item(&format!("The summary of {session}:"), &stored.text);
        return Ok(fence.finish());
    }
    let Some(stored) = context.store.digest(session)? else {
        return Err(RequestError::not_found(
            format!("{session} has no summary and no digest yet"),
            "memory_get reads its timeline",
        ));
    };
    let digest = stored.digest;
    fence.add_item(
        &format!("How {session} ended: {}", digest.outcome),
        digest.said.as_deref().unwrap_or_default(),
    );
    fence.add_item("The user asked:", &digest.asked.items.join("\n"));
    let done: Vec<_> = digest
        .done
        .items
        .iter()
        .map(|step| step.what.clone())
        .collect();
    fence.add_item("What was done:", &done.join("\n"));
    fence.add_item("The user corrected:", &digest.corrections.items.join("\n"));
    Ok(fence.finish())
}

fn resource_uri(kind: &str, id: &SessionId) -> String {
    format!("{kind}{}", percent_encode(id.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_the_id_back() {
        for id in ["claude:a-1", "claude:a/agent-1", "codex:ä %2F"] {
            let uri = resource_uri(SESSION_URI, &SessionId::new(id));
            assert!(uri.is_ascii() && !uri[SESSION_URI.len()..].contains('/'));
            assert_eq!(percent_decode(uri.strip_prefix(SESSION_URI).unwrap()), id);
        }
        assert_eq!(percent_decode("a%2"), "a%2");
    }
}
