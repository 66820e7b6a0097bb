//! Cuts every session of the fixtures at every message.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use std::collections::{BTreeMap, BTreeSet};

use capture::request::signed::SignedThinking;
use capture::request::{ApiRequest, RequestFormat};
use capture::{Source, conversation};
use jiff::Timestamp;
use memory::summary::Template;
use memory::{Message, Summary, Tokens};
use serde_json::Map;
use testkit::rules::wire::{anthropic_problem, chat_problem};
use testkit::rules::{Broken, Sent, broken};
use testkit::transcript::transcript;
use throughline_distill::compact::{
    CompactionLimits, CompactionTask, MessageTies, Trigger, compact, compact_from_messages,
    merge_turns,
};
use throughline_distill::summary::RunningSummary;

#[test]
fn every_session_at_every_cut_is_accepted() {
    let (mut sessions, mut cuts, mut compacted) = (0, 0, 0);
    for (session, messages) in all_sessions() {
        sessions += 1;
        cuts += messages.len() + 1;
        let ties = MessageTies::of(&messages);
        let starts: BTreeSet<_> = (0..=messages.len())
            .map(|cut| ties.move_cut_back(cut))
            .collect();
        for from in starts {
            let wrong = sent_from(&session, &messages, from);
            assert!(wrong.is_empty(), "{session} from {from}: {wrong:?}");
        }
        for cut in 1..=messages.len() {
            compacted += whole(&session, &messages, cut);
        }
    }
    println!("{sessions} sessions, {cuts} cuts, {compacted} compactions");
    assert!(
        sessions > 100 && cuts > 1_500 && compacted > 1_000,
        "{sessions} {cuts} {compacted}"
    );
}

/// Returns the API rules that a request of a summary and all messages from an index on violates.
fn sent_from(session: &str, messages: &[Message], from: usize) -> Vec<Broken> {
    let settled = merge_turns(&messages[from..]);
    let mut sent = transcript("u summary");
    sent[0].id = memory::MessageId::new("summary");
    sent.extend(settled.messages);
    for format in [RequestFormat::Anthropic, RequestFormat::Openai] {
        let fields = Map::from_iter([("model".to_owned(), "any".into())]);
        let request = ApiRequest::for_log(format, fields, messages, SignedThinking::default());
        let body = request.write(&sent, &settled.open);
        let problem = match format {
            RequestFormat::Anthropic => anthropic_problem(&body),
            RequestFormat::Openai => chat_problem(&body),
        };
        assert_eq!(problem, None, "{session} from {from} as {format:?}");
    }
    broken(&Sent {
        before: messages,
        messages: &sent,
        open: &settled.open,
        window: None,
    })
}

/// Compacts with notes that cover `cut` messages, and from the messages alone. Returns the number
/// of compactions that were not declined.
fn whole(session: &str, messages: &[Message], cut: usize) -> usize {
    let notes = RunningSummary {
        summary: Summary::parse("# Task\nas before\n"),
        file: "summary.md".to_owned(),
        last: Some(messages[cut - 1].id.clone()),
    };
    let limits = CompactionLimits {
        min_tokens: Tokens(200),
        max_tokens: Tokens(2_000),
        ..CompactionLimits::default()
    };
    let task = CompactionTask {
        messages,
        visible: messages,
        notes: Ok(Some(&notes)),
        template: &Template::default(),
        transcript: None,
        restored: None,
        remembered: None,
        uses_notes: true,
        hook_results: &[],
        measured_tokens: None,
        trigger: Trigger::Auto,
        limits: &limits,
    };
    let results = [compact(&task), compact_from_messages(&task)];
    let done = results.iter().filter_map(|result| result.as_ref().ok());
    done.map(|compacted| {
        let wrong = broken(&Sent {
            before: messages,
            messages: &compacted.request_messages(),
            open: &compacted.open,
            window: None,
        });
        assert!(wrong.is_empty(), "{session} at {cut}: {wrong:?}");
        assert!(compacted.figures.tokens_after < compacted.figures.tokens_before);
    })
    .count()
}

/// Returns the messages of every session in every log. A session may span several logs.
fn all_sessions() -> BTreeMap<String, Vec<Message>> {
    let now = Timestamp::from_second(2_000_000_000).unwrap();
    let mut sessions: BTreeMap<String, Vec<Message>> = BTreeMap::new();
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
            // Some fixtures are truncated files on purpose.
            let messages = conversation::read_messages(adapter, &source, now).unwrap_or_default();
            for (place, mut message) in messages.into_iter().enumerate() {
                // A trimmed fixture may have one id for all its messages.
                message.id = memory::MessageId::new(format!("{}-{place}", message.id));
                let name = format!("{} in {}", message.session, source.path.display());
                sessions.entry(name).or_default().push(message);
            }
        }
    }
    sessions
}
