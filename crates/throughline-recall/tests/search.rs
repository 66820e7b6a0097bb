//! Search from outside: what is asked, and what comes first.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use jiff::Timestamp;
use memory::{
    FactKind, Flavor, MemoryItem, MessageId, Record, RecordId, RecordKind, SessionId, SessionPatch,
    Tokens, Trust, Workspace,
};
use store::{IncomingEntries, MatchLevel, NewFact, NewInjection, Store};
use testkit::store::append;
use throughline_recall::{CONFIDENCE_MIN, RankedHits, RecallQuery, search};

const TALK: &[(RecordKind, &str)] = &[
    (
        RecordKind::Prompt,
        "Why does parse_config_file fail on Windows?",
    ),
    (
        RecordKind::Assistant,
        "It splits paths at slashes; I will use the platform's separator.",
    ),
    (RecordKind::ToolUse, "command: cargo test config"),
    (
        RecordKind::ToolResult,
        "error[E0308]: mismatched types\n --> src/config/HttpServer.rs:42",
    ),
    (
        RecordKind::Prompt,
        "We decided that migrations are never edited, only added.",
    ),
    (
        RecordKind::ToolResult,
        "migrations migrations decided listing of the folder with migrations in it",
    ),
    (
        RecordKind::Assistant,
        "The automobile example moved to the cookbook.",
    ),
    (RecordKind::Prompt, "数据库迁移失败了"),
];

fn ask(text: &str) -> RankedHits {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    said(&store, TALK, None);
    search(&store, &explained(text), now()).unwrap()
}

#[test]
fn a_record_is_found_at_every_letter() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    said(&store, TALK, None);
    for text in [
        "migrations", "decided migrations", "parse_config_file fail", "Windows",
    ] {
        for end in 1..=text.len() {
            let query = RecallQuery {
                typing: true,
                ..RecallQuery::from(&text[..end])
            };
            let found = search(&store, &query, now()).unwrap();
            let wanted = |content: &str| content.contains("fail") || content.contains("decided");
            assert!(
                found.hits.iter().any(|hit| wanted(&hit.text)),
                "{}",
                &text[..end]
            );
            assert!(found.rung <= MatchLevel::Forms, "{}", &text[..end]);
        }
    }
    let query = |typing| RecallQuery {
        typing,
        ..RecallQuery::from("migr")
    };
    assert!(search(&store, &query(false), now()).unwrap().rung > MatchLevel::Forms);
    let found = search(&store, &query(true), now()).unwrap();
    let snippet = &found.hits[0].hit.snippet;
    let marked = &snippet.text[snippet.matches[0].clone()];
    assert_eq!(marked, "migr");
}

fn explained(text: &str) -> RecallQuery {
    RecallQuery {
        explain: true,
        ..RecallQuery::from(text)
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_767_600_000).unwrap()
}

fn said(store: &Store, talk: &[(RecordKind, &str)], tool: Option<&str>) -> Vec<RecordId> {
    let session = SessionId::of(Flavor::Claude, "one");
    let at = now();
    let mut patch = SessionPatch::new(session.clone(), Flavor::Claude);
    patch.include_time(at);
    let workspace = Workspace {
        key: "example.com/proj".into(),
        root: "/proj".into(),
    };
    let record = |(line, (kind, text)): (u64, &(RecordKind, &str))| Record {
        message: MessageId::new(format!("m{line}")),
        ordinal: 0,
        at: Some(at),
        line,
        kind: *kind,
        session: session.clone(),
        tool: tool
            .filter(|_| matches!(kind, RecordKind::ToolUse | RecordKind::ToolResult))
            .map(str::to_owned),
        path: None,
        call: None,
        content: (*text).to_owned(),
        tags: Vec::new(),
        metadata: Default::default(),
        trust: Trust::Model,
        context: memory::RecordEnvironment::default(),
    };
    append(
        store,
        IncomingEntries {
            records: (0..).zip(talk).map(record).collect(),
            sessions: vec![(patch, Some(workspace))],
            usage: Vec::new(),
        },
    )
}

/// Returns the texts of what is found, the best first.
fn found(store: &Store, question: &str) -> Vec<String> {
    let ranked = search(store, &RecallQuery::from(question), now()).unwrap();
    let text = |hit: throughline_recall::RankedHit| hit.hit.snippet.text;
    ranked.hits.into_iter().map(text).collect()
}

#[track_caller]
fn check(question: &str, rung: MatchLevel, best: &str) {
    let ranked = ask(question);
    let found = ranked
        .hits
        .first()
        .map_or("", |hit| hit.hit.snippet.text.as_str());
    assert!(found.contains(best), "{question:?} found {found:?}");
    assert_eq!(ranked.rung, rung, "{question:?}");
}

#[test]
fn identifiers_and_codes_as_typed() {
    check("parse_config_file", MatchLevel::Exact, "parse_config_file");
    check("E0308", MatchLevel::Exact, "E0308");
    check("httpserver", MatchLevel::Exact, "HttpServer.rs");
    check(
        "src/config/HttpServer.rs",
        MatchLevel::Exact,
        "HttpServer.rs",
    );
    check("迁移", MatchLevel::Exact, "数据库迁移");
}

#[test]
fn questions_as_typed() {
    check(
        "what did we decide about editing migrations?",
        MatchLevel::Forms,
        "never edited",
    );
    check(
        "which car example was moved?",
        MatchLevel::Related,
        "automobile",
    );
    check("migratoins", MatchLevel::Fuzzy, "migrations");
}

#[test]
fn a_persons_words_come_before_a_tools() {
    check("decided migrations", MatchLevel::Exact, "never edited");
}

#[test]
fn an_agents_own_question_to_memory_comes_last() {
    let talk = [
        (
            RecordKind::Prompt,
            "The reorder threshold for parts is twelve.",
        ),
        (RecordKind::ToolUse, "query: reorder threshold"),
    ];
    for tool in ["mcp__throughline__search", "search_memory"] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        said(&store, &talk, Some(tool));
        let texts = found(&store, "reorder threshold");
        assert!(texts[0].contains("twelve"), "{tool}: {texts:?}");
        assert!(texts[1].contains("query:"), "{tool}: {texts:?}");
    }
}

#[test]
fn what_a_memory_told_an_agent_comes_behind_what_was_said() {
    let talk = [
        (
            RecordKind::Assistant,
            "The threshold of the gate is one half.",
        ),
        (
            RecordKind::ToolResult,
            "what is the threshold of the gate: the threshold of the gate is one half",
        ),
    ];
    let best = |tool: &str| {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        said(&store, &talk, Some(tool));
        let question = "what is the threshold of the gate";
        let ranked = search(&store, &explained(question), now()).unwrap();
        let echoes = ranked.hits.iter().map(|hit| {
            let is_echo = hit.parts.iter().any(|part| part.name == "echo");
            (hit.hit.kind, is_echo)
        });
        echoes.collect::<Vec<_>>()
    };
    let told = best("mcp__throughline__memory_search");
    assert_eq!(
        told,
        [
            (RecordKind::Assistant, false),
            (RecordKind::ToolResult, true)
        ]
    );
    assert!(best("Bash").iter().all(|(_, is_echo)| !is_echo));
}

/// A chat with a model in which a person once said how they want things done.
const WISHES: &[(RecordKind, &str)] = &[
    (RecordKind::Prompt, "The parser fails on empty files."),
    (
        RecordKind::Assistant,
        "It expects at least one token; fixed.",
    ),
    (RecordKind::Prompt, "Thanks."),
    (RecordKind::Assistant, "You are welcome."),
    (
        RecordKind::Prompt,
        "Always show benchmarks when I ask about speed.",
    ),
    (RecordKind::Assistant, "I will."),
    (RecordKind::Prompt, "It always rains here."),
    (RecordKind::Assistant, "Take an umbrella."),
];

#[test]
fn a_wish_is_found_by_questions_that_share_no_word_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    said(&store, WISHES, None);
    let asked = found(&store, "How can I make the parser faster?");
    let is = |text: &str| asked.iter().any(|found| found.contains(text));
    assert!(is("Always show benchmarks") && !is("rains"), "{asked:?}");
    let looked_for = found(&store, "parser files");
    let strays = looked_for.iter().filter(|text| text.contains("benchmarks"));
    assert_eq!(strays.count(), 0, "{looked_for:?}");
}

#[test]
fn what_is_pinned_or_helped_comes_forward_and_what_did_not_falls_back() {
    let talk = [
        (
            RecordKind::Assistant,
            "The deploy key lives in the vault of the team.",
        ),
        (
            RecordKind::Assistant,
            "The deploy key lives in the vault of the company.",
        ),
        (
            RecordKind::Assistant,
            "The deploy key lives in the vault of the client.",
        ),
    ];
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let ids = said(&store, &talk, None);
    let place = |text: &str| {
        let texts = found(&store, "deploy key vault");
        texts.iter().position(|found| found.contains(text)).unwrap()
    };
    let names = ["team", "company", "client"];
    let last = (0..3).find(|at| place(names[*at]) == 2).unwrap();
    store
        .remember(NewFact {
            workspace: None,
            kind: FactKind::Note,
            text: "deploy key in the vault".into(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: true,
            at: now(),
            sources: vec![ids[last]],
        })
        .unwrap();
    assert_eq!(place(names[last]), 0, "pinned");
    let next = (0..3).find(|at| place(names[*at]) == 2).unwrap();
    shown(&store, "shown1", ids[next], store::InjectionVerdict::Good);
    assert_eq!(place(names[next]), 1, "helped");
    let other = 3 - last - next;
    shown(&store, "shown2", ids[next], store::InjectionVerdict::Bad);
    shown(&store, "shown3", ids[next], store::InjectionVerdict::Bad);
    assert!(place(names[next]) > place(names[other]), "did not help");
}

/// Records that something was shown, and what was said about it.
fn shown(store: &Store, name: &str, record: RecordId, verdict: store::InjectionVerdict) {
    store
        .record_injection(NewInjection {
            name: name.into(),
            session: None,
            workspace: None,
            at: now(),
            prompt: "where is the key".into(),
            tokens: Tokens(10),
            items: vec![(MemoryItem::Record(record), Tokens(10))],
        })
        .unwrap();
    store.set_verdict(name, verdict).unwrap();
}

#[test]
fn phrases_and_exclusions() {
    check("\"never edited\"", MatchLevel::Exact, "never edited");
    assert!(ask("\"edited never\"").hits.is_empty());
    assert!(ask("migrations -decided").hits.is_empty());
}

#[test]
fn silence_where_nothing_fits() {
    for prompt in [
        "continue",
        "thanks",
        "how do I bake sourdough bread with rye flour?",
        "",
        "?",
    ] {
        assert!(ask(prompt).confidence < CONFIDENCE_MIN, "{prompt:?}");
    }
}

#[test]
fn every_score_has_its_reasons() {
    let ranked = ask("why does parse_config_file fail");
    let best = &ranked.hits[0];
    let sum: f64 = best.parts.iter().map(|part| part.points).sum();
    assert!((sum - best.hit.score).abs() < 1e-6);
}

#[test]
fn searching_never_panics() {
    let paste = "word \"OR\" NEAR( ".repeat(70_000);
    for text in [
        paste.as_str(),
        "\0\0\0",
        "'; DROP TABLE records; --",
        "🎉👩‍👩‍👧",
        "שלום עולם",
        "* : ^ {} []",
        "a\u{202e}b",
    ] {
        ask(text);
    }
}
