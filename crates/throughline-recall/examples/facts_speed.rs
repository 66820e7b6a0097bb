//! How long facts take when there are many:
//!
//! ```text
//! cargo run --release -p throughline-recall --example facts_speed -- 10000
//! ```
#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![expect(
    clippy::unwrap_used,
    reason = "a measurement that cannot go on should stop"
)]

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{FactKind, SessionId, Trust, Workspace};
use store::{NewFact, Store};
use throughline_recall::{PromptRequest, RecallConfig, RecallEnv, find_prompt_hits, recall};

const WORDS: &[&str] = &[
    "parser", "ledger", "invoice", "queue", "retry", "cache", "gateway", "schema", "index",
    "worker", "socket", "backup", "tenant", "cursor", "merge", "session", "token", "report",
    "export", "shard",
];

fn main() {
    let number = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(10_000);
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let start = Instant::now();
    let facts: Vec<_> = (0..number).map(|n| fact(&sentence(n))).collect();
    for part in facts.chunks(500) {
        let session = SessionId::new("claude:none");
        store.remember_session_facts(&session, 0, part.to_vec());
    }
    store.flush().unwrap();
    println!("{number} facts kept in {:?}", start.elapsed());

    let key = "example.com/speed".to_owned();
    time("facts_about", || {
        let words = StemmedText::parse("why does the retry queue of the invoice gateway stall");
        store
            .facts_about(&words, std::slice::from_ref(&key), None, 24)
            .unwrap();
    });
    let mut n = number;
    time("remember", || {
        n += 1;
        store.remember(fact(&sentence(n))).unwrap();
    });
    let occasion = PromptRequest {
        prompt: "why does the retry queue of the invoice gateway stall".into(),
        session: Some(SessionId::new("claude:now")),
        workspace: Some(key.clone()),
        ..PromptRequest::default()
    };
    let world = RecallEnv {
        now: Timestamp::UNIX_EPOCH,
        fence_word: "abc",
        changed_since: &|_: &Path, _| false,
    };
    time("recall", || {
        recall(
            &store,
            &occasion,
            &RecallConfig::default(),
            &world,
            find_prompt_hits,
        )
        .unwrap();
    });
}

fn sentence(n: usize) -> String {
    let word =
        |k: usize| WORDS[(n / 20_usize.pow(u32::try_from(k).unwrap_or(0)) + 7 * k) % WORDS.len()];
    format!(
        "the {} of the {} holds the {} for {} number {n}",
        word(0),
        word(1),
        word(2),
        word(3)
    )
}

fn fact(text: &str) -> NewFact {
    NewFact {
        workspace: Some(Workspace {
            key: "example.com/speed".into(),
            root: "/src/speed".into(),
        }),
        kind: FactKind::Note,
        text: text.to_owned(),
        tags: Vec::new(),
        trust: Trust::User,
        pinned: false,
        at: Timestamp::UNIX_EPOCH,
        sources: Vec::new(),
    }
}

fn time(what: &str, mut run: impl FnMut()) {
    let mut times: Vec<_> = (0..21)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{what}: median {:?}, worst {:?}", times[10], times[20]);
}
