//! The posting lists that are read from FTS5's own tables equal the results of FTS5 queries.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

use memory::{
    Flavor, MessageId, Record, RecordEnvironment, RecordKind, SessionId, SessionPatch, Trust,
    Workspace,
};
use throughline_store::{IncomingEntries, Lookup, Query, Result, SearchScope, Store};

const WORDS: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// Stores records of every kind in two workspaces; the bits of its number are the words of a
/// record.
fn filled() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for session in ["red", "blue"] {
        let id = SessionId::of(Flavor::Claude, session);
        let workspace = Workspace {
            key: session.to_owned(),
            root: format!("/code/{session}"),
        };
        let incoming = IncomingEntries {
            records: (1..160).map(|number| record(&id, number)).collect(),
            sessions: vec![(
                SessionPatch::new(id.clone(), Flavor::Claude),
                Some(workspace),
            )],
            usage: Vec::new(),
        };
        testkit::store::append(&store, incoming);
    }
    (dir, store)
}

fn record(session: &SessionId, number: usize) -> Record {
    let words = WORDS.iter().enumerate();
    let words: Vec<_> = words
        .filter(|(at, _)| number >> at & 1 == 1)
        .map(|(_, word)| *word)
        .collect();
    Record {
        message: MessageId::new(format!("{session}/{number}")),
        ordinal: 0,
        at: None,
        line: number as u64,
        kind: RecordKind::ALL[number % RecordKind::ALL.len()],
        session: session.clone(),
        tool: None,
        path: None,
        call: None,
        content: words.join(" "),
        tags: Vec::new(),
        metadata: serde_json::Map::new(),
        trust: Trust::Model,
        context: RecordEnvironment::default(),
    }
}

/// Returns the rows that contain all of some words, by an FTS5 query.
fn asked(lookup: &Lookup<'_>, scope: &SearchScope, expression: &str) -> Result<Vec<i64>> {
    lookup.rows(scope, expression, usize::MAX)
}

#[test]
fn lists_agree_with_the_index_for_every_choice_of_kinds() {
    let (_dir, store) = filled();
    for workspace_key in [None, Some("red".to_owned())] {
        for choice in 0..1_usize << RecordKind::ALL.len() {
            let kinds = RecordKind::ALL.iter().enumerate();
            let query = Query {
                workspace_key: workspace_key.clone(),
                kinds: kinds
                    .filter(|(at, _)| choice >> at & 1 == 1)
                    .map(|(_, kind)| *kind)
                    .collect(),
                ..Query::default()
            };
            let checked = store.lookup(|lookup| {
                let scope = lookup.scope(&query)?.unwrap();
                let within = lookup.scoped_rows(&scope)?.unwrap();
                let one = lookup
                    .rows_with_terms(&within, &["alpha"], usize::MAX)?
                    .unwrap();
                let both = ["alpha", "beta"];
                let both = lookup.rows_with_terms(&within, &both, usize::MAX)?.unwrap();
                let others = ["gamma", "delta"];
                let mut any = lookup
                    .rows_with_term_and_any(&within, "beta", &others)?
                    .unwrap();
                any.reverse();
                assert_eq!(one.count, one.rows.len() as u64);
                assert_eq!(one.rows, asked(lookup, &scope, "alpha")?);
                assert_eq!(both.rows, asked(lookup, &scope, "alpha AND beta")?);
                let expression = "beta AND (gamma OR delta)";
                assert_eq!(any, asked(lookup, &scope, expression)?);
                Ok(one.count)
            });
            assert!(checked.unwrap() > 0 || choice != 0);
        }
    }
}

#[test]
fn a_list_is_cut_to_its_newest() {
    let (_dir, store) = filled();
    let query = Query::default();
    let held = store.lookup(|lookup| {
        let scope = lookup.scope(&query)?.unwrap();
        let within = lookup.scoped_rows(&scope)?.unwrap();
        Ok(lookup.rows_with_terms(&within, &["alpha"], 3)?.unwrap())
    });
    let held = held.unwrap();
    assert_eq!((held.rows.len(), held.count), (3, 160));
    assert!(held.rows.is_sorted_by(|a, b| a > b));
}
