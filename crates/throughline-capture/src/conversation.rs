//! Reads a whole conversation from the agent's own log.
//!
//! A compaction needs the messages verbatim, which the store cannot return.

use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use jiff::Timestamp;
use memory::{Flavor, LogEntry, Message, SessionId, Tokens};

use crate::flavor::{ADAPTERS, adapter_for};
use crate::request::signed::{SignedThinking, read_signed_thinking};
use crate::{Adapter, Root, Source, SourceFormat, discover, tail};

/// A conversation as a log holds it.
#[derive(Clone, Debug, Default)]
pub struct LoggedConversation {
    pub messages: Vec<Message>,
    /// The tokens of the last API response of each session, which is the size of its context.
    pub context_tokens: HashMap<SessionId, Tokens>,
    pub signed: SignedThinking,
}

impl LoggedConversation {
    /// Appends what a later log adds. An agent that continues a session in a new file may copy the
    /// old messages into it, so messages that are known already are left out.
    pub fn append(&mut self, later: Self) {
        let base = self.messages.iter().map(|message| message.line).max();
        let base = base.unwrap_or_default();
        let known: HashSet<_> = self.messages.iter().map(|it| it.id.clone()).collect();
        let new = later.messages.into_iter();
        self.messages.extend(
            new.filter(|message| !known.contains(&message.id))
                .map(|message| Message {
                    line: base + message.line,
                    ..message
                }),
        );
        self.context_tokens.extend(later.context_tokens);
        self.signed.append(later.signed, base);
    }

    /// Returns the time of the first message that has one.
    pub fn started(&self) -> Option<Timestamp> {
        self.messages.iter().find_map(|message| message.at)
    }
}

/// Reads every message of a log in order. Without a flavor, the content of the file decides which
/// agent wrote it; `None` if no agent did.
pub fn read_conversation(
    path: &Path,
    flavor: Option<Flavor>,
    now: Timestamp,
) -> io::Result<Option<LoggedConversation>> {
    let known = match flavor {
        Some(_) => None,
        None => recognise_source(path)?,
    };
    let source = known.or_else(|| {
        let root = Root {
            path: path.to_owned(),
            flavor,
        };
        discover(ADAPTERS, &[root]).sources.into_iter().next()
    });
    let adapter = source
        .as_ref()
        .and_then(|source| adapter_for(source.flavor));
    let Some((source, adapter)) = source.zip(adapter) else {
        return Ok(None);
    };
    let mut conversation = LoggedConversation::default();
    each_entry(adapter, &source, now, &mut |entry| match entry {
        LogEntry::Message(message) => conversation.messages.push(message),
        LogEntry::Usage(entry) => {
            let tokens = Tokens(entry.usage.total());
            conversation.context_tokens.insert(entry.session, tokens);
        }
        LogEntry::Session(_) => {}
    })?;
    conversation.signed = read_signed_thinking(&source.path, Some(source.flavor))?;
    Ok(Some(conversation))
}

/// Calls `read` with each entry of a source.
fn each_entry(
    adapter: &Adapter,
    source: &Source,
    now: Timestamp,
    read: &mut dyn FnMut(LogEntry),
) -> io::Result<()> {
    tail::read_source(adapter, source, None, now, &mut |chunk| {
        chunk.parsed.entries.into_iter().for_each(&mut *read);
        ControlFlow::Continue(())
    })?;
    Ok(())
}

/// Returns the source whose adapter recognises the head of a file, whatever its name.
fn recognise_source(path: &Path) -> io::Result<Option<Source>> {
    let head = tail::read_first_block(path)?;
    let Some(adapter) = ADAPTERS.iter().find(|adapter| adapter.recognises(&head)) else {
        return Ok(None);
    };
    let folder = path.parent().unwrap_or(path);
    let name = path.strip_prefix(folder).unwrap_or(path);
    let is_document = path.extension().is_some_and(|end| end == "json");
    let usual = if is_document {
        SourceFormat::Document
    } else {
        SourceFormat::Lines
    };
    Ok(Some(Source {
        flavor: adapter.flavor(),
        path: path.to_owned(),
        format: adapter.claim(folder, name).unwrap_or(usual),
    }))
}

/// Reads every message of a source.
pub fn read_messages(
    adapter: &Adapter,
    source: &Source,
    now: Timestamp,
) -> io::Result<Vec<Message>> {
    let mut messages = Vec::new();
    each_entry(adapter, source, now, &mut |entry| {
        if let LogEntry::Message(message) = entry {
            messages.push(message);
        }
    })?;
    Ok(messages)
}

/// Returns the session of most messages, since a log may contain subagents' messages too.
pub fn main_session(messages: &[Message]) -> Option<SessionId> {
    let mut counts: Vec<(&SessionId, usize)> = Vec::new();
    for message in messages {
        match counts
            .iter_mut()
            .find(|(session, _)| *session == &message.session)
        {
            Some((_, count)) => *count += 1,
            None => counts.push((&message.session, 1)),
        }
    }
    // Of two equally frequent sessions, the first one counts.
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let main = counts.iter().find(|(_, count)| *count == most)?;
    Some(main.0.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_whole_and_whose_it_is_is_asked() {
        let now = Timestamp::from_second(2_000_000_000).unwrap();
        let folder = "claude/generated/longhaul/-home-dev-proj";
        let path = testkit::fixture(folder).join("703ad6e2-1d62-41f4-9458-d210f8be4c06.jsonl");
        for flavor in [None, Some(Flavor::Claude)] {
            let conversation = read_conversation(&path, flavor, now).unwrap().unwrap();
            let messages = conversation.messages;
            assert!(messages.len() > 10);
            let session = main_session(&messages).unwrap();
            assert_eq!(session.native(), "703ad6e2-1d62-41f4-9458-d210f8be4c06");
        }
        for (file, flavor) in [
            ("codex/synthetic/agent-sessions-small.jsonl", "codex"),
            ("claude/synthetic/sidechain.jsonl", "claude"),
        ] {
            let conversation = read_conversation(&testkit::fixture(file), None, now)
                .unwrap()
                .unwrap();
            let session = main_session(&conversation.messages).unwrap();
            assert!(session.as_str().starts_with(flavor), "{session}");
        }
        let nobodys = testkit::fixture("claude/README.md");
        assert!(read_conversation(&nobodys, None, now).unwrap().is_none());
        assert_eq!(main_session(&[]), None);
    }
}
