//! Files of the store copied during a sweep. Such a copy is not a backup, but must never be wrong
//! without an error.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use store::{SessionFilter, Store};

use super::{Machine, soaking};

type Texts = BTreeMap<memory::RecordId, String>;

/// Returns the content of a store, or `None` if it cannot be opened or reports an error.
fn texts(folder: &Path) -> Option<Texts> {
    let store = Store::open(folder).ok()?;
    let health = store.health(true).ok()?;
    if !health.is_sound() {
        return None;
    }
    let all = SessionFilter {
        all_kinds: true,
        limit: usize::MAX,
        ..SessionFilter::default()
    };
    let mut texts = Texts::new();
    for session in store.sessions(&all).ok()? {
        let read = store.each_record(&session.id, |record| {
            texts.insert(record.id, record.content);
        });
        read.ok()?;
    }
    Some(texts)
}

#[test]
fn copied_while_it_is_written_it_opens_or_is_refused() {
    let rounds = if soaking() { 30 } else { 1 };
    let whole = Machine::new(40);
    whole.run_ingest();
    let whole = texts(&whole.store()).unwrap();
    let (mut opened, mut refused, mut repaired) = (0, 0, 0);
    for _ in 0..rounds {
        let machine = Machine::new(40);
        let mut child = machine.ingest().stderr(Stdio::null()).spawn().unwrap();
        for take in 0..6 {
            std::thread::sleep(Duration::from_millis(25));
            let copy = tempfile::tempdir().unwrap();
            let names: &[&str] = match take % 3 {
                0 => &["throughline.db"],
                1 => &["throughline.db", "throughline.db-wal"],
                _ => &["throughline.db-wal", "throughline.db"],
            };
            for name in names {
                // The file may not exist yet.
                let _absent = fs::copy(machine.store().join(name), copy.path().join(name));
            }
            if !copy.path().join("throughline.db").exists() {
                continue;
            }
            let same = |texts: &Texts| texts.iter().all(|(id, text)| whole.get(id) == Some(text));
            match texts(copy.path()) {
                Some(texts) => {
                    assert!(same(&texts), "a text that was never written");
                    opened += 1;
                }
                None => {
                    refused += 1;
                    if store::repair(copy.path()).is_ok() {
                        assert!(same(&texts(copy.path()).unwrap()));
                        repaired += 1;
                    }
                }
            }
        }
        assert!(child.wait().unwrap().success());
        assert_eq!(texts(&machine.store()).unwrap(), whole);
    }
    println!(
        "soak: copied while written | {} copies | {opened} opened and correct, \
         {refused} refused, {repaired} of those repaired",
        opened + refused
    );
}
