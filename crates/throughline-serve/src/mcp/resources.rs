//! Sessions and their summaries as resources.

use memory::SessionId;
use rmcp::model::{Resource, ResourceTemplate};

use super::fenced::{self, Fenced};
use super::tools::{self, Call};
use crate::requests::Refused;
use crate::requests::find::the_session;

/// Sessions that are listed; the others can be read by their address.
const LISTED_MAX: usize = 20;
const SESSION: &str = "throughline://session/";
const SUMMARY: &str = "throughline://summary/";

/// Lists the latest sessions, and the summaries of those that have one.
pub fn list(call: &Call<'_>) -> Result<Vec<Resource>, Refused> {
    let mut all = Vec::new();
    for session in tools::latest(call.store, call.reach, LISTED_MAX)? {
        let title = session.title.as_deref().unwrap_or("Untitled session");
        let title = fenced::name(title);
        let id = session.id.as_str();
        all.push(
            Resource::new(address(SESSION, &session.id), id)
                .with_title(title.clone())
                .with_description(format!("A session of {}", session.flavor.title()))
                .with_mime_type("text/plain"),
        );
        if call.store.summary(&session.id)?.is_some() {
            all.push(
                Resource::new(address(SUMMARY, &session.id), format!("summary of {id}"))
                    .with_title(format!("Summary: {title}"))
                    .with_description("The running summary of a session")
                    .with_mime_type("text/plain"),
            );
        }
    }
    Ok(all)
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{SESSION}{{id}}"), "session")
            .with_title("A session")
            .with_description("What was said and done in a session of this workspace, shortened")
            .with_mime_type("text/plain"),
        ResourceTemplate::new(format!("{SUMMARY}{{id}}"), "summary")
            .with_title("A session's summary")
            .with_description("The running summary of a session, else its digest")
            .with_mime_type("text/plain"),
    ]
}

/// Reads a resource.
pub fn read(call: &Call<'_>, uri: &str) -> Result<String, Refused> {
    if let Some(id) = uri.strip_prefix(SESSION) {
        let session = the_session(call.store, call.reach, &decoded(id))?;
        return Ok(tools::timeline(call, &session, 0)?.into_text());
    }
    if let Some(id) = uri.strip_prefix(SUMMARY) {
        let session = the_session(call.store, call.reach, &decoded(id))?;
        return summary(call, &session.id);
    }
    Err(Refused::not_found(
        format!("there is no resource {uri:?}"),
        "resources begin with throughline://session/ or throughline://summary/",
    ))
}

/// Returns a session's summary, else what its digest says, fenced.
pub fn summary(call: &Call<'_>, session: &SessionId) -> Result<String, Refused> {
    let word = call
        .store
        .injection_name(session.as_str(), Some(session), call.now);
    let mut fenced = Fenced::new(word);
    if let Some(stored) = call.store.summary(session)? {
        fenced.add(&format!("The summary of {session}:"), &stored.text);
        return Ok(fenced.finish());
    }
    let Some(stored) = call.store.digest(session)? else {
        return Err(Refused::not_found(
            format!("{session} has no summary and no digest yet"),
            "memory_get reads its timeline",
        ));
    };
    let digest = stored.digest;
    fenced.add(
        &format!("How {session} ended: {}", digest.outcome),
        digest.said.as_deref().unwrap_or_default(),
    );
    fenced.add("The user asked:", &digest.asked.items.join("\n"));
    let done: Vec<_> = digest
        .done
        .items
        .iter()
        .map(|step| step.what.clone())
        .collect();
    fenced.add("What was done:", &done.join("\n"));
    fenced.add("The user corrected:", &digest.corrections.items.join("\n"));
    Ok(fenced.finish())
}

fn address(kind: &str, id: &SessionId) -> String {
    let mut uri = kind.to_owned();
    for byte in id.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                uri.push(char::from(byte));
            }
            byte => uri += &format!("%{byte:02X}"),
        }
    }
    uri
}

fn decoded(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_the_id_back() {
        for id in ["claude:a-1", "claude:a/agent-1", "codex:ä %2F"] {
            let uri = address(SESSION, &SessionId::new(id));
            assert!(uri.is_ascii() && !uri[SESSION.len()..].contains('/'));
            assert_eq!(decoded(uri.strip_prefix(SESSION).unwrap()), id);
        }
        assert_eq!(decoded("a%2"), "a%2");
    }
}
