//! Stores that earlier versions wrote open, are migrated, and lose nothing.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should fail; some openings are killed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::RecordId;
use throughline_store::encryption::NoKeychain;
use throughline_store::{Error, OpenMode, Query, SessionFilter, Store};

/// How many openings are killed in an ordinary run; `THROUGHLINE_KILLS` asks for more.
const KILLS: u64 = 12;
const FOLDER: &str = "THROUGHLINE_TEST_FOLDER";

struct Old {
    dir: tempfile::TempDir,
    name: String,
    records: u64,
}

/// Returns every store of the fixtures, unpacked. Their README says how many records they hold.
fn old_stores() -> Vec<Old> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stores");
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let rows = readme.lines().filter_map(|line| {
        let mut cells = line.split('|').map(str::trim);
        let name = cells.nth(1)?.strip_prefix('`')?.strip_suffix('`')?;
        let records = cells.next()?.parse().ok()?;
        Some((name.to_owned(), records))
    });
    rows.map(|(name, records)| {
        let dir = tempfile::tempdir().unwrap();
        let packed = fs::File::open(folder.join(&name)).unwrap();
        let bytes = zstd::stream::decode_all(packed).unwrap();
        fs::write(Store::database_path(dir.path()), bytes).unwrap();
        fs::write(dir.path().join("redaction.key"), [7; 32]).unwrap();
        Old { dir, name, records }
    })
    .collect()
}

fn texts(store: &Store) -> BTreeMap<RecordId, String> {
    let all = SessionFilter {
        all_kinds: true,
        limit: usize::MAX,
        ..SessionFilter::default()
    };
    let mut texts = BTreeMap::new();
    for session in store.sessions(&all).unwrap() {
        let read = store.each_record(&session.id, |record| {
            texts.insert(record.id, record.content);
        });
        read.unwrap();
    }
    texts
}

fn format(folder: &Path) -> i64 {
    let connection = rusqlite::Connection::open(Store::database_path(folder)).unwrap();
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

fn today() -> i64 {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    format(dir.path())
}

fn safety(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("safety")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.ends_with("lock")).collect()
}

#[test]
fn an_old_store_opens_with_everything_in_it() {
    let stores = old_stores();
    assert!(!stores.is_empty());
    for Old { dir, name, records } in stores {
        let folder = dir.path();
        let before = format(folder);
        assert!(before < today(), "{name} is no old store");
        let old_texts = texts(&Store::open_with(folder, OpenMode::ReadOnly, &NoKeychain).unwrap());
        assert_eq!(old_texts.len() as u64, records, "{name}");
        let store = Store::open(folder).unwrap();
        let health = store.health(true).unwrap();
        assert!(health.is_sound(), "{name}: {health:?}");
        assert_eq!(health.format, today(), "{name}");
        assert_eq!(texts(&store), old_texts, "{name}");
        assert!(!store.dump().unwrap().contains("NOT SHOWN"));
        let found = store
            .search(&Query {
                text: "threshold".to_owned(),
                limit: 5,
                ..Query::default()
            })
            .unwrap();
        assert!(!found.hits.is_empty(), "{name}: search finds nothing");
        drop(store);

        let [copy] = safety(folder).try_into().unwrap();
        assert!(copy.ends_with(format!("format-{before}.db")));
        let connection = rusqlite::Connection::open(&copy).unwrap();
        let sql = "SELECT count(*) FROM records";
        let kept: u64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, records);

        let bytes = fs::read(Store::database_path(folder)).unwrap();
        let store = Store::open(folder).unwrap();
        let dump = store.dump().unwrap();
        drop(store);
        assert_eq!(
            fs::read(Store::database_path(folder)).unwrap(),
            bytes,
            "{name}: opened twice"
        );
        assert_eq!(Store::open(folder).unwrap().dump().unwrap(), dump);
    }
}

#[test]
fn the_safety_copy_goes_after_a_day() {
    let old = old_stores().remove(0);
    let store = Store::open(old.dir.path()).unwrap();
    let made = fs::metadata(&safety(old.dir.path())[0]).unwrap();
    let made = Timestamp::try_from(made.modified().unwrap()).unwrap();
    let at = |hours: i64| Some(made + SignedDuration::from_hours(hours));
    // A clock that is behind the time of the copy says nothing about its age.
    for hours in [-9000, 1, 23] {
        assert!(!store.remove_safety_copy(at(hours)).unwrap());
    }
    assert!(store.remove_safety_copy(at(25)).unwrap());
    assert!(!old.dir.path().join("safety").exists());
}

#[test]
fn a_damaged_old_store_is_not_migrated() {
    let old = old_stores().remove(0);
    let path = Store::database_path(old.dir.path());
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes.truncate(length / 2);
    fs::write(&path, &bytes).unwrap();
    let refused = Store::open(old.dir.path()).unwrap_err();
    assert!(refused.is_corrupt(), "{refused}");
    assert!(safety(old.dir.path()).is_empty());
    let repaired = throughline_store::repair(old.dir.path()).unwrap();
    assert!(repaired.records > 0);
    let store = Store::open(old.dir.path()).unwrap();
    assert_eq!(store.health(true).unwrap().format, today());
    assert!(store.health(true).unwrap().is_sound());
}

#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    let path = Store::database_path(dir.path());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", today() + 1)
        .unwrap();
    drop(connection);
    let bytes = fs::read(&path).unwrap();
    let refused = Store::open(dir.path()).unwrap_err();
    assert!(matches!(refused, Error::TooNew { .. }), "{refused}");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

/// Does nothing unless another test has started it.
#[test]
fn opens() {
    if let Ok(folder) = std::env::var(FOLDER) {
        Store::open(Path::new(&folder)).unwrap();
    }
}

fn opening(folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "opens"])
        .env(FOLDER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

#[test]
fn killed_while_migrating_it_is_old_or_new() {
    let kills = std::env::var("THROUGHLINE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut seen = BTreeMap::<i64, u64>::new();
    for kill in 0..kills {
        let old = old_stores().remove(usize::try_from(kill).unwrap() % old_stores().len());
        let folder = old.dir.path();
        let before = format(folder);
        let mut child = opening(folder).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(2 + kill * 7 % 150));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = format(folder);
        assert!(found == before || found == today(), "format {found}");
        *seen.entry(found).or_default() += 1;
        // The next opening finishes the migration.
        let store = Store::open(folder).unwrap();
        let health = store.health(true).unwrap();
        assert!(
            health.is_sound() && health.records == old.records,
            "{health:?}"
        );
        assert_eq!(health.format, today());
        assert!(safety(folder).len() <= 1, "safety copies pile up");
    }
    println!("soak: kill -9 while migrating | {kills} kills | old or new, never half: {seen:?}");
}

#[test]
fn opened_by_many_at_once_it_is_migrated_once() {
    let old = old_stores().remove(0);
    let children: Vec<_> = (0..8)
        .map(|_| opening(old.dir.path()).spawn().unwrap())
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(format(old.dir.path()), today());
    assert_eq!(safety(old.dir.path()).len(), 1);
}
