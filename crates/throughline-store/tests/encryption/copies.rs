//! Backups, and coming back from them.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use throughline_store::{
    BackupReport, Error, Overwrite, RedactionKey, Result, Store, SwapRecovery, SwapStep,
};

use crate::child::dies;
use crate::home::{Home, say, sound_dump};

/// How many backups are made while somebody writes. `THROUGHLINE_BACKUPS` asks for more.
const ROUNDS: u32 = 20;

fn backup(store: &Store, to: &Path) -> Result<BackupReport> {
    store.backup(to, Overwrite::Refuse, &mut |_| {})
}

/// A store, and a copy of it from before the last word.
fn with_copy() -> (Home, PathBuf, String) {
    let home = Home::with_store();
    let copy = home.outside("copy.db");
    let expected = home.dump();
    let store = home.open();
    backup(&store, &copy).unwrap();
    say(&store, "s", "said after the backup");
    drop(store);
    assert_ne!(home.dump(), expected);
    (home, copy, expected)
}

#[test]
fn a_copy_comes_back_on_a_new_machine() {
    let (home, copy, expected) = with_copy();
    let bytes = std::fs::read(&copy).unwrap();
    let new = Home::empty();
    let restored = new.restore(&copy).unwrap();
    assert_eq!(restored.safety_copy, None);
    assert_eq!(restored.redaction_key, RedactionKey::Restored);
    assert_eq!(new.dump(), expected);
    let key = |home: &Home| std::fs::read(home.folder().join("redaction.key")).unwrap();
    assert_eq!(key(&new), key(&home));
    assert!(bytes == std::fs::read(&copy).unwrap());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for file in [copy, Store::database_path(&new.folder())] {
            let mode = std::fs::metadata(file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}

#[test]
fn what_was_there_is_kept() {
    let (home, copy, expected) = with_copy();
    let present = home.dump();
    let safety = home.restore(&copy).unwrap().safety_copy.unwrap();
    assert_eq!(home.dump(), expected);
    assert_eq!(sound_dump(&Store::open(&safety).unwrap()), present);
    // And comes back, with its own redaction key.
    home.restore(&Store::database_path(&safety)).unwrap();
    assert_eq!(home.dump(), present);
    for _ in 0..3 {
        home.restore(&copy).unwrap();
    }
    let kept = home
        .names()
        .into_iter()
        .filter(|name| name.starts_with("before-restore-"));
    assert_eq!(kept.count(), 3);
    assert!(!safety.exists());
}

#[test]
fn a_store_that_cannot_be_read_is_replaced_and_kept() {
    let (home, copy, expected) = with_copy();
    let damaged = b"no database at all, but long enough to look at".repeat(100);
    std::fs::write(Store::database_path(&home.folder()), &damaged).unwrap();
    let safety = home.restore(&copy).unwrap().safety_copy.unwrap();
    assert_eq!(home.dump(), expected);
    assert!(std::fs::read(Store::database_path(&safety)).unwrap() == damaged);
}

#[test]
fn unsound_files_are_refused() {
    let (home, copy, _) = with_copy();
    let present = home.dump();
    let refused = |bytes: &[u8]| {
        let file = home.outside("bad.db");
        std::fs::write(&file, bytes).unwrap();
        let error = home.restore(&file).unwrap_err();
        assert_eq!(home.dump(), present);
        let names = home.names();
        assert!(
            !names.iter().any(|name| name.starts_with("before-")),
            "{names:?}"
        );
        error
    };
    let bytes = std::fs::read(&copy).unwrap();
    assert!(matches!(
        refused(b"some notes, not a store"),
        Error::NotAStore { .. }
    ));
    refused(&bytes[..bytes.len() / 2]);
    let mut wiped = bytes.clone();
    let middle = wiped.len() / 2;
    wiped[middle..middle + 8192].fill(0);
    refused(&wiped);
    let other = rusqlite::Connection::open(home.outside("other.db")).unwrap();
    other.execute_batch("CREATE TABLE theirs (x)").unwrap();
    let error = home.restore(&home.outside("other.db")).unwrap_err();
    assert!(matches!(error, Error::NotAStore { .. }));
    let newer = rusqlite::Connection::open(&copy).unwrap();
    newer.execute_batch("PRAGMA user_version = 999").unwrap();
    drop(newer);
    assert!(matches!(
        home.restore(&copy).unwrap_err(),
        Error::TooNew { .. }
    ));
    assert!(home.restore(&home.outside("nothing.db")).is_err());
    assert!(home.restore(&Store::database_path(&home.folder())).is_err());
    assert_eq!(home.dump(), present);
}

#[test]
fn a_copy_of_an_older_version_is_brought_up_to_date() {
    let home = Home::empty();
    let file = home.outside("old.db");
    let old = rusqlite::Connection::open(&file).unwrap();
    old.execute_batch(include_str!("../../src/migrations/0001_start.sql"))
        .unwrap();
    old.execute_batch(
        "INSERT INTO workspaces (key) VALUES ('example.com/old');
         PRAGMA application_id = 1953002092; PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let restored = home.restore(&file).unwrap();
    assert_eq!(restored.redaction_key, RedactionKey::Other);
    let dump = home.dump();
    assert!(
        dump.contains("# facts") && dump.contains("example.com/old"),
        "{dump}"
    );
}

#[test]
fn files_that_are_there_are_not_overwritten_unasked() {
    let home = Home::with_store();
    let store = home.open();
    let file = home.outside("copy.db");
    std::fs::write(&file, "precious").unwrap();
    assert!(matches!(
        backup(&store, &file),
        Err(Error::AlreadyExists { .. })
    ));
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    store
        .backup(&file, Overwrite::Replace, &mut |_| {})
        .unwrap();
    for name in ["throughline.db", "throughline.db-wal"] {
        let ours = home.folder().join(name);
        let replaced = store.backup(&ours, Overwrite::Replace, &mut |_| {});
        assert!(matches!(replaced, Err(Error::AlreadyExists { .. })));
    }
    assert!(
        store
            .backup(
                Path::new("/nowhere/copy.db"),
                Overwrite::Refuse,
                &mut |_| {}
            )
            .is_err()
    );
}

#[test]
fn backups_while_somebody_writes_are_whole() {
    let rounds =
        std::env::var("THROUGHLINE_BACKUPS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let home = Home::with_store();
    let store = home.open();
    // A second store writes too, as another process would: its writes are not the first one's.
    let other = home.open();
    let stop = AtomicBool::new(false);
    let counts = std::thread::scope(|scope| {
        for (name, store) in [("a", &store), ("b", &other)] {
            let stop = &stop;
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    say(
                        store,
                        name,
                        &format!("{number} {}", "is written ".repeat(300)),
                    );
                }
            });
        }
        let copies = (0..rounds).map(|round| {
            let file = home.outside(&format!("copy{round}.db"));
            let records = backup(&store, &file).map(|backup| backup.records);
            let new = Home::empty();
            let restored = new.restore(&file).map(|restored| restored.records);
            std::fs::remove_file(&file).unwrap();
            (records, restored, new)
        });
        let copies: Vec<_> = copies.collect();
        stop.store(true, Ordering::Relaxed);
        copies
    });
    let mut last = 0;
    for (records, restored, new) in counts {
        let records = records.unwrap();
        assert_eq!(records, restored.unwrap());
        let health = new.open().health(true).unwrap();
        assert_eq!((health.records, health.damaged), (records, Some(0)));
        assert!(records >= last);
        last = records;
    }
    assert!(last > 21, "nobody wrote");
}

#[test]
fn killed_after_any_step_one_of_the_two_is_there() {
    for &step in SwapStep::ALL {
        let (home, _, expected) = with_copy();
        let present = home.dump();
        let key = home.folder().join("redaction.key");
        let restored_key = std::fs::read(&key).unwrap();
        std::fs::write(&key, [9; 32]).unwrap();
        if !dies(&home, "restore", step) {
            assert_eq!(step, SwapStep::KeyStored);
            continue;
        }
        let store = home.open();
        let is_new = !matches!(
            step,
            SwapStep::Written | SwapStep::Checked | SwapStep::OldLinked
        );
        let recovered = match step {
            SwapStep::Written | SwapStep::Checked | SwapStep::OldLinked => {
                Some(SwapRecovery::RolledBack)
            }
            SwapStep::Ready | SwapStep::WalRemoved | SwapStep::Swapped => {
                Some(SwapRecovery::Finished)
            }
            _ => None,
        };
        assert_eq!(store.recovered(), recovered, "{step:?}");
        let dump = sound_dump(&store);
        assert_eq!(dump, if is_new { expected } else { present }, "{step:?}");
        let key = std::fs::read(&key).unwrap();
        assert_eq!(key == restored_key, is_new, "{step:?}");
    }
}

#[cfg(feature = "encryption")]
#[test]
fn an_encrypted_store_has_encrypted_copies() {
    use throughline_store::encryption::{self, KeyLocation, NoKeychain, StoreFileKind};
    let home = Home::with_store();
    let key = home.outside("a.key");
    let place = KeyLocation::File(key.clone());
    encryption::encrypt(&home.folder(), &place, &NoKeychain, &mut |_| Ok(())).unwrap();
    let expected = home.dump();
    let copy = home.outside("copy.db");
    let made = backup(&home.open(), &copy).unwrap();
    assert!(matches!(
        StoreFileKind::of(&copy).unwrap(),
        StoreFileKind::Encrypted(id) if Some(id.to_string()) == made.key
    ));
    let new = Home::empty();
    assert!(matches!(new.restore(&copy), Err(Error::Encryption(_))));
    assert!(!Store::database_path(&new.folder()).exists());
    new.restore_step_by_step(&copy, Some(&key), &mut |_| Ok(()))
        .unwrap();
    assert_eq!(new.dump(), expected);
    assert!(new.open().is_encrypted());
    // The key that the store had still opens what was copied then.
    let rekeyed = KeyLocation::File(home.outside("b.key"));
    encryption::rekey(&home.folder(), &rekeyed, &NoKeychain, &mut |_| Ok(())).unwrap();
    home.restore(&copy).unwrap();
    assert_eq!(home.dump(), expected);
}

/// Changes a copy behind its back.
fn tamper(copy: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(copy).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn a_copy_brings_data_and_no_programs() {
    for (sql, named) in [
        (
            "CREATE TRIGGER gone AFTER INSERT ON facts BEGIN DELETE FROM records; END",
            "unknown trigger \"gone\"",
        ),
        (
            "DROP TABLE usage; CREATE VIEW usage AS SELECT * FROM facts",
            "unknown view \"usage\"",
        ),
        (
            "CREATE VIRTUAL TABLE more USING fts5 (text)",
            "unknown table \"more\"",
        ),
        ("DROP TABLE tombstones", "no table \"tombstones\""),
        (
            "ALTER TABLE facts ADD COLUMN extra INTEGER DEFAULT (random())",
            "changed table \"facts\"",
        ),
        (
            "CREATE INDEX extra ON facts (lower(text))",
            "unknown index \"extra\"",
        ),
        (
            "DROP TABLE carried; CREATE TABLE carried (name, value, more)",
            "unknown table \"carried\"",
        ),
    ] {
        let (home, copy, _) = with_copy();
        let present = home.dump();
        tamper(&copy, sql);
        let error = home.restore(&copy).unwrap_err();
        assert!(matches!(error, Error::ForeignSchema { .. }), "{error}");
        assert!(error.to_string().contains(named), "{sql}: {error}");
        assert_eq!(home.dump(), present, "{sql}");
    }
}

#[test]
fn a_copy_with_a_damaged_text_is_refused() {
    for sql in [
        "UPDATE records SET checksum = checksum + 1 WHERE row = 2",
        "UPDATE sessions SET records = records + 1",
        "DELETE FROM bodies",
    ] {
        let (home, copy, _) = with_copy();
        tamper(&copy, sql);
        let error = home.restore(&copy).unwrap_err();
        assert!(matches!(error, Error::InvalidFile { .. }), "{sql}: {error}");
    }
}

#[test]
fn other_kinds_of_files_are_named_for_what_they_are() {
    let home = Home::with_store();
    let export = home.outside("export.jsonl");
    let mut file = std::fs::File::create(&export).unwrap();
    let filter = throughline_store::ExportFilter::default();
    home.open().export(&filter, &mut file, &|_, _| {}).unwrap();
    let error = home.restore(&export).unwrap_err();
    assert!(matches!(error, Error::IsAnExport { .. }), "{error}");
    let error = home.restore(&home.folder()).unwrap_err();
    assert!(matches!(error, Error::NotAFile { .. }), "{error}");
    #[cfg(unix)]
    {
        let pipe = home.outside("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = home.restore(&pipe).unwrap_err();
        assert!(matches!(error, Error::NotAFile { .. }), "{error}");
    }
}

/// Forgets a session and one record of another.
fn forget_some(home: &Home) {
    use throughline_store::forget::Selection;
    let store = home.open();
    let session = memory::SessionId::of(memory::Flavor::Claude, "long");
    let mut record = None;
    let other = memory::SessionId::of(memory::Flavor::Claude, "s");
    store
        .each_record(&other, |stored| {
            if stored.content.contains("text 7 ") {
                record = Some(stored.id);
            }
        })
        .unwrap();
    for selection in [
        Selection {
            sessions: vec![session],
            ..Selection::default()
        },
        Selection {
            records: vec![record.unwrap()],
            ..Selection::default()
        },
    ] {
        let doomed = store.plan_forget(&selection).unwrap();
        let now = jiff::Timestamp::from_second(1_767_500_000).unwrap();
        store.forget(doomed, now).unwrap();
    }
}

#[track_caller]
fn assert_forgotten(home: &Home) {
    let dump = home.dump();
    assert!(!dump.contains("text 7 about") && !dump.contains("claude:long"));
    assert!(dump.contains("text 8 about"));
}

#[test]
fn what_was_forgotten_does_not_return_with_a_copy() {
    let (home, copy, _) = with_copy();
    forget_some(&home);
    assert_forgotten(&home);
    let before = home.open().tombstones().unwrap();
    let carried = home.restore(&copy).unwrap().tombstones;
    assert_eq!((carried.tombstones, carried.left), (2, 0), "{carried:?}");
    assert_eq!((carried.sessions, carried.records), (1, 2), "{carried:?}");
    assert_forgotten(&home);
    assert_eq!(home.open().tombstones().unwrap(), before);
    let names = home.names();
    let kept = names.iter().any(|name| name.starts_with("before-restore-"));
    assert!(kept, "opening the store keeps what was there: {names:?}");
    // The log still tells about it, and is kept out as before.
    say(&home.open(), "long", "once more");
    assert_forgotten(&home);
}

#[test]
fn a_copy_with_another_key_brings_nothing_back_either() {
    let (_other, copy, _) = with_copy();
    let home = Home::with_store();
    forget_some(&home);
    let carried = home.restore(&copy).unwrap().tombstones;
    assert_eq!((carried.sessions, carried.records), (1, 2), "{carried:?}");
    assert_eq!((carried.tombstones, carried.left), (2, 0), "{carried:?}");
    assert_forgotten(&home);
    say(&home.open(), "long", "once more");
    assert_forgotten(&home);
}
