//! The index against a model of it: after any changes it contains the expected rows, and its
//! posting lists equal the results of queries.

use std::collections::BTreeMap;

use memory::{Flavor, RecordKind};
use proptest::prelude::*;
use rusqlite::Connection;

use super::{IndexRowEntry, PendingIndex, purge_deleted_terms};
use crate::index::pending_repair::{self, IndexRepair};
use crate::index::postings::Postings;
use crate::index::row_set::RowSet;
use crate::open::connection;
use crate::open::migrations;
use crate::records::sessions::SessionRef;

const WORDS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "common", "deltoid"];

fn terms(bits: u8) -> String {
    let words = WORDS.iter().enumerate();
    let has = words.filter(|(at, _)| bits >> at & 1 == 1);
    has.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

fn entry(row: i64, terms: &str) -> IndexRowEntry<'_> {
    IndexRowEntry {
        row,
        session: SessionRef {
            id: row / 10,
            workspace: row % 3,
            flavor: Flavor::Claude,
        },
        kind: RecordKind::Prompt,
        at: None,
        size_bytes: 10,
        terms,
    }
}

fn store() -> (tempfile::TempDir, Connection) {
    let dir = tempfile::tempdir().unwrap();
    let connection =
        connection::create_at_format(&dir.path().join("t.db"), migrations::current_format())
            .unwrap();
    (dir, connection)
}

/// Brings rows into the wanted state in one transaction.
fn change(connection: &mut Connection, model: &mut BTreeMap<i64, u8>, steps: &[(i64, u8)]) {
    let tx = connection.transaction().unwrap();
    let mut waiting = PendingIndex::default();
    for (row, bits) in steps {
        if let Some(old) = model.remove(row) {
            waiting.remove(&tx, &entry(*row, &terms(old))).unwrap();
        }
        if *bits > 0 {
            waiting.add(&tx, &entry(*row, &terms(*bits))).unwrap();
            model.insert(*row, *bits);
        }
    }
    waiting.flush(&tx).unwrap();
    tx.commit().unwrap();
}

fn asked(connection: &Connection, term: &str) -> Vec<i64> {
    let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([format!("\"{term}\"")], |row| row.get(0));
    rows.unwrap().map(Result::unwrap).collect()
}

#[track_caller]
fn check(connection: &Connection, model: &BTreeMap<i64, u8>) {
    let postings = Postings::open(connection).unwrap().unwrap();
    let mut list = Vec::new();
    for (at, word) in WORDS.iter().enumerate() {
        let expected: Vec<i64> = model
            .iter()
            .filter(|(_, bits)| *bits >> at & 1 == 1)
            .map(|(row, _)| *row)
            .collect();
        assert_eq!(asked(connection, word), expected, "{word}, asked");
        assert!(
            postings
                .rows(connection, word, |_| true, &mut list)
                .unwrap()
        );
        let listed: Vec<i64> = list.iter().map(|row| i64::from(*row)).collect();
        assert_eq!(listed, expected, "{word}, listed");
    }
    for prefix in ["a", "c", "d", "delt", "delta", "deltoi", "z"] {
        let begins = |at: &usize| WORDS[*at].starts_with(prefix);
        let expected: Vec<u32> = model
            .iter()
            .filter(|(_, bits)| (0..WORDS.len()).any(|at| begins(&at) && *bits >> at & 1 == 1))
            .map(|(row, _)| u32::try_from(*row).unwrap())
            .collect();
        let mut rows = RowSet::default();
        assert!(
            postings
                .rows_with_prefix(connection, prefix, |_| true, &mut rows)
                .unwrap()
        );
        assert_eq!(rows.to_vec(), expected, "{prefix}*");
    }
    for term in ["@k0", "@w1", "absent", "", "zzz", "0"] {
        assert!(
            postings
                .rows(connection, term, |_| true, &mut list)
                .unwrap()
        );
        let listed: Vec<i64> = list.iter().map(|row| i64::from(*row)).collect();
        if !term.is_empty() {
            assert_eq!(listed, asked(connection, term), "{term}");
        }
    }
}

fn sound(connection: &Connection) {
    connection
        .execute_batch("INSERT INTO search (search) VALUES ('integrity-check')")
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn lists_are_what_the_index_says(
        groups in prop::collection::vec(
            prop::collection::vec((1..300_i64, 0..64_u8), 1..60), 1..14),
        page_bytes in prop::sample::select(vec![40, 100, 4050]),
        purge_at in 0..14_usize,
    ) {
        let (_dir, mut connection) = store();
        connection
            .execute("INSERT INTO search (search, rank) VALUES ('pgsz', ?1)", [page_bytes])
            .unwrap();
        let mut model = BTreeMap::new();
        for (at, steps) in groups.iter().enumerate() {
            change(&mut connection, &mut model, steps);
            check(&connection, &model);
            if at == purge_at {
                let tx = connection.transaction().unwrap();
                purge_deleted_terms(&tx).unwrap();
                tx.commit().unwrap();
                assert_eq!(pending_repair::pending_repair(&connection).unwrap(), None);
                check(&connection, &model);
            }
        }
        sound(&connection);
    }
}

#[test]
fn lists_over_many_leaves_and_segments() {
    let (_dir, mut connection) = store();
    let mut model = BTreeMap::new();
    for group in 0..12_i64 {
        let steps: Vec<_> = (0..2000)
            .map(|n| {
                let row = group * 2000 + n + 1;
                let bits = 0b1_0000 | u8::from(row % 977 == 0) << 5 | u8::from(row % 3 == 0);
                (row, bits)
            })
            .collect();
        change(&mut connection, &mut model, &steps);
    }
    check(&connection, &model);
    let few: Vec<_> = [1_i64, 977, 12_000, 23_999].map(|row| (row, 0)).to_vec();
    change(&mut connection, &mut model, &few);
    check(&connection, &model);
    assert_eq!(pending_repair::pending_repair(&connection).unwrap(), None);
    let many: Vec<_> = (5000..9000).map(|row| (row, 0)).collect();
    change(&mut connection, &mut model, &many);
    check(&connection, &model);
    assert_eq!(
        pending_repair::pending_repair(&connection).unwrap(),
        Some(IndexRepair::Merge)
    );
    // Terms behind a delete marker must not become visible when a few rows are deleted after them.
    let again: Vec<_> = (5000..5010).map(|row| (row, 0b10)).collect();
    change(&mut connection, &mut model, &again);
    change(&mut connection, &mut model, &[(5001, 0), (5003, 0)]);
    check(&connection, &model);
    sound(&connection);
}

#[test]
fn a_row_indexed_by_other_terms_asks_for_a_new_index() {
    let (_dir, mut connection) = store();
    change(&mut connection, &mut BTreeMap::new(), &[(7, 0b11)]);
    let tx = connection.transaction().unwrap();
    let mut waiting = PendingIndex::default();
    waiting.remove(&tx, &entry(7, "others")).unwrap();
    waiting.flush(&tx).unwrap();
    assert_eq!(
        pending_repair::pending_repair(&tx).unwrap(),
        Some(IndexRepair::Rebuild)
    );
    purge_deleted_terms(&tx).unwrap();
    tx.commit().unwrap();
    check(&connection, &BTreeMap::new());
}
