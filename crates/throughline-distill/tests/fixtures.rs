//! Every session among the fixtures, cut at every place.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use std::collections::{BTreeMap, BTreeSet};

use capture::{Source, conversation};
use distill::compact::{Limits, Notes, Task, Ties, Trigger, account, compact, full, settle};
use jiff::Timestamp;
use memory::summary::Template;
use memory::{Message, SessionId, Summary, Tokens};
use testkit::rules::{Broken, Sent, broken};
use testkit::transcript::transcript;

/// Of a long session, so many cuts also go through the whole of [`compact`].
const WHOLE_CUTS_MAX: usize = 24;

#[test]
fn every_session_at_every_cut_is_accepted() {
    let (mut sessions, mut cuts, mut compacted) = (0, 0, 0);
    for (session, messages) in all_sessions() {
        sessions += 1;
        cuts += messages.len() + 1;
        let ties = Ties::of(&messages);
        let starts: BTreeSet<_> = (0..=messages.len()).map(|cut| ties.close(cut)).collect();
        for from in starts {
            let wrong = sent_from(&messages, from);
            assert!(wrong.is_empty(), "{session} from {from}: {wrong:?}");
        }
        let step = messages.len() / WHOLE_CUTS_MAX + 1;
        for cut in (1..=messages.len()).step_by(step) {
            compacted += whole(&session, &messages, cut);
        }
    }
    println!("{sessions} sessions, {cuts} cuts, {compacted} compactions");
    assert!(
        sessions > 100 && cuts > 2_000 && compacted > 500,
        "{sessions} {cuts} {compacted}"
    );
}

/// Returns the rules that are broken when a summary and everything from a place on is sent.
fn sent_from(messages: &[Message], from: usize) -> Vec<Broken> {
    let settled = settle(&messages[from..]);
    let mut sent = transcript("u summary");
    sent[0].id = memory::MessageId::new("summary");
    sent.extend(settled.messages);
    broken(&Sent {
        before: messages,
        messages: &sent,
        open: &settled.open,
        window: None,
    })
}

/// Compacts with notes that cover `cut` messages, and with an account, and counts what was not declined.
fn whole(session: &SessionId, messages: &[Message], cut: usize) -> usize {
    let summary = Summary::parse("# Task\nas before\n");
    let limits = Limits {
        min_tokens: Tokens(200),
        max_tokens: Tokens(2_000),
        ..Limits::default()
    };
    let task = Task {
        messages,
        notes: Some(Notes {
            summary: &summary,
            file: "summary.md",
            last: Some(&messages[cut - 1].id),
        }),
        template: &Template::default(),
        transcript: None,
        restored: None,
        trigger: Trigger::Auto,
        limits: &limits,
    };
    let results = [compact(&task), full(&task, account)];
    let done = results.iter().filter_map(|result| result.as_ref().ok());
    done.map(|compacted| {
        let wrong = broken(&Sent {
            before: messages,
            messages: &compacted.request(),
            open: &compacted.open,
            window: None,
        });
        assert!(wrong.is_empty(), "{session} at {cut}: {wrong:?}");
        assert!(compacted.figures.tokens_after < compacted.figures.tokens_before);
    })
    .count()
}

fn all_sessions() -> BTreeMap<SessionId, Vec<Message>> {
    let now = Timestamp::from_second(2_000_000_000).unwrap();
    let mut sessions: BTreeMap<SessionId, Vec<Message>> = BTreeMap::new();
    for adapter in capture::flavor::ADAPTERS {
        let root = testkit::fixture(adapter.flavor().name());
        for path in testkit::files_below(&root) {
            let Some(format) = adapter.claim(&root, path.strip_prefix(&root).unwrap()) else {
                continue;
            };
            let source = Source {
                flavor: adapter.flavor(),
                path,
                format,
            };
            // Some fixtures are no whole file on purpose.
            let messages = conversation::messages(*adapter, &source, now).unwrap_or_default();
            for message in messages {
                sessions
                    .entry(message.session.clone())
                    .or_default()
                    .push(message);
            }
        }
    }
    sessions
}
