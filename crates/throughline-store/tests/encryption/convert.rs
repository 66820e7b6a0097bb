//! Encrypting, decrypting and changing keys.

use std::path::PathBuf;

use throughline_store::encryption::{
    self, Conversion, ConversionReport, EncryptionError, KeyLocation, NoKeychain, StoreFileKind,
};
use throughline_store::{Error, Result, Store, SwapRecovery, SwapStep};

use crate::child::dies;
use crate::home::{Home, WORD, say, sound_dump};

fn key(home: &Home, name: &str) -> KeyLocation {
    KeyLocation::File(home.outside(name))
}

fn database(home: &Home) -> PathBuf {
    Store::database_path(&home.folder())
}

fn form(home: &Home) -> StoreFileKind {
    StoreFileKind::of(&database(home)).unwrap()
}

fn encrypt(home: &Home, name: &str) -> Result<Conversion> {
    encryption::encrypt(&home.folder(), &key(home, name), &NoKeychain, &mut |_| {
        Ok(())
    })
}

#[track_caller]
fn done(conversion: Result<Conversion>) -> ConversionReport {
    match conversion.unwrap() {
        Conversion::Done(converted) => converted,
        other => panic!("{other:?}"),
    }
}

fn encrypted() -> Home {
    let home = Home::with_store();
    done(encrypt(&home, "a.key"));
    home
}

#[test]
fn there_and_back_it_holds_the_same() {
    let home = Home::with_store();
    let expected = home.dump();
    assert!(home.holds(WORD));
    // Tables of SQLite's own are copied too.
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    connection.execute_batch("ANALYZE").unwrap();
    drop(connection);

    let converted = done(encrypt(&home, "a.key"));
    assert_eq!(converted.records, 21);
    assert!(
        matches!(form(&home), StoreFileKind::Encrypted(id) if id == converted.new_key.unwrap().0)
    );
    assert_eq!(home.dump(), expected);
    assert!(!home.holds(WORD), "{:?}", home.names());

    let before = form(&home);
    done(encryption::rekey(
        &home.folder(),
        &key(&home, "b.key"),
        &NoKeychain,
        &mut |_| Ok(()),
    ));
    assert!(matches!(form(&home), StoreFileKind::Encrypted(_)) && form(&home) != before);
    assert_eq!(home.dump(), expected);

    done(encryption::decrypt(
        &home.folder(),
        &NoKeychain,
        &mut |_| Ok(()),
    ));
    assert_eq!(form(&home), StoreFileKind::Plain);
    assert_eq!(home.dump(), expected);
    assert!(home.holds(WORD));
}

#[test]
fn what_is_written_to_an_encrypted_store_is_in_no_file() {
    let home = encrypted();
    let store = home.open();
    assert!(store.is_encrypted());
    say(&store, "later", "a later word: archaeopteryx");
    // Still in the log beside the database.
    assert!(home.names().contains(&"throughline.db-wal".to_owned()));
    let dump = sound_dump(&store);
    assert!(dump.contains("archaeopteryx") && dump.contains(WORD));
    assert!(!home.holds("archaeopteryx") && !home.holds(WORD));
    let found = store.search(&throughline_store::Query {
        text: "archaeopteryx".into(),
        limit: 5,
        ..Default::default()
    });
    assert_eq!(found.unwrap().hits.len(), 1);
}

#[test]
fn nothing_to_do_is_said() {
    let empty = Home::empty();
    assert!(matches!(
        encrypt(&empty, "a.key").unwrap(),
        Conversion::NoStore
    ));
    assert!(!empty.outside("a.key").exists());
    let home = encrypted();
    assert!(matches!(
        encrypt(&home, "b.key").unwrap(),
        Conversion::AlreadyEncrypted
    ));
    let plain = Home::with_store();
    let again = encryption::decrypt(&plain.folder(), &NoKeychain, &mut |_| Ok(()));
    assert!(matches!(again.unwrap(), Conversion::NotEncrypted));
}

#[test]
fn a_wrong_key_changes_nothing() {
    let home = encrypted();
    let expected = home.dump();
    let state = || {
        let path = database(&home);
        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        (std::fs::read(&path).unwrap(), modified, home.names())
    };
    let before = state();
    let right = std::fs::read(home.outside("a.key")).unwrap();
    std::fs::write(home.outside("a.key"), "0f".repeat(32)).unwrap();
    let error = Store::open(&home.folder()).unwrap_err();
    assert!(
        matches!(error, Error::Encryption(EncryptionError::WrongKey { .. })),
        "{error}"
    );
    let decrypted = encryption::decrypt(&home.folder(), &NoKeychain, &mut |_| Ok(()));
    assert!(matches!(
        decrypted,
        Err(Error::Encryption(EncryptionError::WrongKey { .. }))
    ));
    std::fs::remove_file(home.outside("a.key")).unwrap();
    assert!(Store::open(&home.folder()).is_err());
    assert!(before == state());

    // Without the list the store still knows the name of its key.
    std::fs::rename(home.folder().join("seal.json"), home.outside("seal.json")).unwrap();
    let error = Store::open(&home.folder()).unwrap_err();
    assert!(
        matches!(error, Error::Encryption(EncryptionError::NoKey { .. })),
        "{error}"
    );
    assert!(before.0 == state().0 && before.1 == state().1);
    home_key(&home, &right);
    encryption::use_key_file(&home.folder(), &home.outside("copy.key")).unwrap();
    assert_eq!(home.dump(), expected);
}

fn home_key(home: &Home, text: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    let path = home.outside("copy.key");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_key_beside_the_store_is_refused() {
    let home = Home::with_store();
    let inside = KeyLocation::File(home.folder().join("a.key"));
    let error = encryption::encrypt(&home.folder(), &inside, &NoKeychain, &mut |_| Ok(()));
    assert!(matches!(
        error,
        Err(Error::Encryption(EncryptionError::KeyFile { .. }))
    ));
    assert_eq!(form(&home), StoreFileKind::Plain);
    let error = encryption::encrypt(
        &home.folder(),
        &KeyLocation::Keychain,
        &NoKeychain,
        &mut |_| Ok(()),
    );
    assert!(matches!(
        error,
        Err(Error::Encryption(EncryptionError::Keychain(_)))
    ));
    assert_eq!(form(&home), StoreFileKind::Plain);
}

#[test]
fn a_store_in_use_is_left_alone() {
    let home = Home::with_store();
    let store = home.open();
    assert!(matches!(encrypt(&home, "a.key"), Err(Error::InUse { .. })));
    drop(store);
    // Another program knows nothing of our lock.
    let other = rusqlite::Connection::open(database(&home)).unwrap();
    other.execute_batch("BEGIN; SELECT * FROM records").unwrap();
    assert!(matches!(encrypt(&home, "a.key"), Err(Error::InUse { .. })));
    drop(other);
    assert_eq!(form(&home), StoreFileKind::Plain);
    done(encrypt(&home, "a.key"));
}

#[test]
fn who_opens_during_the_exchange_waits_for_it() {
    let home = Home::with_store();
    let expected = home.dump();
    std::thread::scope(|scope| {
        let mut readers = Vec::new();
        let mut on_step = |step: SwapStep| {
            if step == SwapStep::Written {
                for _ in 0..4 {
                    readers.push(scope.spawn(|| home.dump()));
                }
            }
            Ok(())
        };
        let place = key(&home, "a.key");
        done(encryption::encrypt(
            &home.folder(),
            &place,
            &NoKeychain,
            &mut on_step,
        ));
        for reader in readers {
            assert_eq!(reader.join().unwrap(), expected);
        }
    });
    assert!(matches!(form(&home), StoreFileKind::Encrypted(_)));
}

#[test]
fn an_error_on_the_way_leaves_the_store_as_it_was() {
    let home = Home::with_store();
    let expected = home.dump();
    let mut fail = |step: SwapStep| match step {
        SwapStep::Checked => Err(Error::WriterStopped),
        _ => Ok(()),
    };
    let place = key(&home, "a.key");
    assert!(encryption::encrypt(&home.folder(), &place, &NoKeychain, &mut fail).is_err());
    assert_eq!(form(&home), StoreFileKind::Plain);
    assert!(!home.names().iter().any(|name| name.contains("aside")));
    assert_eq!(home.dump(), expected);
}

/// Kills the conversion after each step, and looks at what is left.
fn killed_after_any_step(task: &str, prepare: fn() -> Home) {
    for &step in SwapStep::ALL {
        let home = prepare();
        let (expected, before) = (home.dump(), form(&home));
        if !dies(&home, task, step) {
            assert!(
                task == "decrypt" && step == SwapStep::KeyStored,
                "{task} {step:?}"
            );
            continue;
        }
        let store = home.open();
        let is_new = form(&home) != before;
        let recovered = match step {
            SwapStep::KeyStored | SwapStep::Done => None,
            SwapStep::Written | SwapStep::Checked | SwapStep::OldLinked => {
                Some(SwapRecovery::RolledBack)
            }
            SwapStep::RedactionKeySwapped | SwapStep::OldOverwritten | SwapStep::Swapped
                if task == "decrypt" =>
            {
                None
            }
            _ => Some(SwapRecovery::Finished),
        };
        assert_eq!(store.recovered(), recovered, "{task} {step:?}");
        let kept = matches!(
            step,
            SwapStep::KeyStored | SwapStep::Written | SwapStep::Checked | SwapStep::OldLinked
        );
        assert_eq!(is_new, !kept, "{task} {step:?}");
        assert_eq!(sound_dump(&store), expected, "{task} {step:?}");
        drop(store);
        let names = home.names();
        for leftover in ["-aside", "-ready", "-old", "-partial"] {
            assert!(
                !names.iter().any(|name| name.contains(leftover)),
                "{names:?}"
            );
        }
        let plain = form(&home) == StoreFileKind::Plain;
        assert_eq!(home.holds(WORD), plain, "{task} {step:?} {names:?}");
    }
}

#[test]
fn killed_while_encrypting_the_store_is_readable() {
    killed_after_any_step("encrypt", Home::with_store);
}

#[test]
fn killed_while_changing_the_key_the_store_is_readable() {
    killed_after_any_step("rekey", encrypted);
}

#[test]
fn killed_while_decrypting_the_store_is_readable() {
    killed_after_any_step("decrypt", encrypted);
}
