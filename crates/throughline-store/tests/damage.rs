//! Damaged files: noticed, repaired, and never read as something that was not written.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that cannot go on should fail; longer runs are asked for by the environment"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use memory::{
    Block, Flavor, Message, MessageId, Origin, RecordId, Role, SessionId, SessionPatch, Workspace,
};
use throughline_store::encryption::NoKeychain;
use throughline_store::{
    Batch, BatchOrigin, Cursor, Error, IncomingEntries, LogChunk, OpenMode, ParseIssues, Query,
    ReadPhase, SessionFilter, Store, repair,
};

/// Damaged copies in an ordinary run; `THROUGHLINE_DAMAGES` asks for more.
const DAMAGES: u64 = 60;
const PAGE: usize = 4096;

/// What a store says: the text of every record.
type Texts = BTreeMap<RecordId, String>;

struct Original {
    dir: tempfile::TempDir,
    texts: Texts,
    dump: String,
}

impl Original {
    fn new() -> Self {
        Self::after(|_| {})
    }

    /// With texts and logs as they lie when they are old.
    fn packed() -> Self {
        Self::after(|store| {
            let later = Timestamp::from_second(1_900_000_000).unwrap();
            let packed = store.pack_old_sessions(later, None, &AtomicBool::new(false), &|_| {});
            assert_eq!(packed.unwrap().sessions, SESSIONS);
        })
    }

    fn after(change: impl FnOnce(&Store)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        for session in 0..SESSIONS {
            fill(&store, session);
        }
        store.flush().unwrap();
        change(&store);
        let dump = store.dump().unwrap();
        let texts = texts(&store);
        assert!(texts.len() > 300, "{}", texts.len());
        Self { dir, texts, dump }
    }

    /// Copies the store, damages the copy and returns its folder.
    fn damaged(&self, damage: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
        let copy = tempfile::tempdir().unwrap();
        let mut bytes = fs::read(Store::database_path(self.dir.path())).unwrap();
        damage(&mut bytes);
        fs::write(Store::database_path(copy.path()), bytes).unwrap();
        fs::copy(
            self.dir.path().join("redaction.key"),
            copy.path().join("redaction.key"),
        )
        .unwrap();
        copy
    }
}

const SESSIONS: usize = 8;

/// Stores a session with short, long and shared texts, and its log.
fn fill(store: &Store, session: usize) {
    let id = SessionId::of(Flavor::Claude, &format!("session-{session:03}"));
    let mut chance = Chance(session as u64);
    let mut sanitizer = store.sanitizer();
    for part in 0..4 {
        let mut incoming = IncomingEntries::default();
        for line in 0..12 {
            let name = MessageId::new(format!("{session}/{part}/{line}"));
            let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
            let words = if line == 3 {
                2000
            } else {
                5 + chance.below(60)
            };
            message.blocks = vec![Block::Text(chance.words(words))];
            message.at = Timestamp::from_second(1_767_600_000 + line).ok();
            incoming
                .records
                .extend(memory::record::project_records(message));
        }
        let workspace = Workspace {
            key: format!("example.com/{}", session % 4),
            root: format!("/src/{}", session % 4),
        };
        let patch = SessionPatch::new(id.clone(), Flavor::Claude);
        incoming.sessions.push((patch, Some(workspace)));
        let cleaned = sanitizer.clean(incoming);
        let path = format!("/logs/{session:03}.jsonl");
        let mut key = [1; 16];
        key[0] = u8::try_from(session).unwrap();
        let log = LogChunk {
            offset: part * 1000,
            size: 1000,
            text: chance.words(300),
        };
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new(&path),
            cursor: Cursor {
                key,
                offset: (part + 1) * 1000,
                archived: (part + 1) * 1000,
                ..Cursor::default()
            },
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: Some(log),
        };
        let batch = Batch::new(&mut sanitizer, cleaned, from);
        drop(store.append(batch));
    }
}

fn texts(store: &Store) -> Texts {
    let mut texts = Texts::new();
    let all = SessionFilter {
        all_kinds: true,
        limit: usize::MAX,
        ..SessionFilter::default()
    };
    for session in store.sessions(&all).unwrap() {
        let read = store.each_record(&session.id, |record| {
            texts.insert(record.id, record.content);
        });
        read.unwrap();
    }
    texts
}

/// Repeatable chance.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<_> = (0..count)
            .map(|_| format!("w{:04x}", self.next() & 0xffff))
            .collect();
        words.join(" ")
    }
}

/// Says which records SQLite itself still reads whole, one by one.
fn readable(folder: &Path, texts: &Texts) -> Vec<RecordId> {
    let Ok(store) = Store::open_with(folder, OpenMode::ReadOnly, &NoKeychain) else {
        return Vec::new();
    };
    let reads = |id: &RecordId| {
        let record = store.read_record(*id);
        matches!(record, Ok(Some(record)) if record.content == texts[id])
    };
    texts.keys().copied().filter(reads).collect()
}

/// Says whether an examination finds anything wrong.
fn is_noticed(folder: &Path) -> bool {
    match Store::open_with(folder, OpenMode::ReadOnly, &NoKeychain) {
        Err(_) => true,
        Ok(store) => !store.health(true).is_ok_and(|health| health.is_sound()),
    }
}

/// Repairs a damaged copy and compares what is left with what was there. Returns how many records
/// were lost.
#[track_caller]
fn check(original: &Original, folder: &Path, what: &str) -> usize {
    let readable = readable(folder, &original.texts);
    let before = fs::read(Store::database_path(folder)).unwrap_or_default();
    let repaired = match repair(folder) {
        Ok(repaired) => repaired,
        Err(Error::NothingRecoverable { .. }) => {
            assert!(readable.is_empty(), "{what}: nothing was found");
            assert_eq!(
                fs::read(Store::database_path(folder)).unwrap_or_default(),
                before
            );
            return original.texts.len();
        }
        Err(error) => panic!("{what}: {error}"),
    };
    assert_eq!(
        fs::read(repaired.quarantine.join("throughline.db")).unwrap_or_default(),
        before,
        "{what}: the damaged file is not kept as it was"
    );
    let store = Store::open(folder).unwrap();
    let health = store.health(true).unwrap();
    assert!(health.is_sound(), "{what}: {health:?}");
    let dump = store.dump().unwrap();
    assert!(
        dump.contains("0 without a record, 0 not indexed"),
        "{what}: the index is not whole"
    );
    let left = texts(&store);
    assert_eq!(left.len() as u64, repaired.records, "{what}: {repaired:?}");
    for (id, text) in &left {
        assert_eq!(original.texts.get(id), Some(text), "{what}: {id}");
    }
    for id in &readable {
        assert!(
            left.contains_key(id),
            "{what}: {id} was readable, and is lost: {repaired:?}"
        );
    }
    let lost = original.texts.len() - left.len();
    if lost > 0 && !repaired.hurt.contains_key("sessions") {
        assert_eq!(repaired.lost_records, lost as u64, "{what}: {repaired:?}");
        // A source that is lost too is a new one to the next sweep.
        let named = repaired.reread.len() + repaired.gone.len() + repaired.held_back.len();
        assert!(
            named > 0 || repaired.hurt.contains_key("sources"),
            "{what}: nothing is read again: {repaired:?}"
        );
    }
    lost
}

#[test]
fn a_sound_store_is_repaired_to_itself() {
    let original = Original::new();
    let copy = original.damaged(|_| {});
    assert!(!is_noticed(copy.path()));
    assert_eq!(check(&original, copy.path(), "sound"), 0);
    let store = Store::open(copy.path()).unwrap();
    assert_eq!(store.dump().unwrap(), original.dump);
    let found = store
        .search(&Query {
            text: original.texts.values().next().unwrap()[..5].to_owned(),
            limit: 5,
            ..Query::default()
        })
        .unwrap();
    assert!(!found.hits.is_empty());
}

#[test]
fn packed_texts_and_logs_come_through_a_repair() {
    let original = Original::packed();
    let copy = original.damaged(|_| {});
    let logs = |folder: &Path| {
        let store = Store::open_with(folder, OpenMode::ReadOnly, &NoKeychain).unwrap();
        let mut logs = Vec::new();
        for session in 0..SESSIONS {
            let id = SessionId::of(Flavor::Claude, &format!("session-{session:03}"));
            let read = store.each_log_piece(&id, |piece| {
                logs.push(format!("{} {}", piece.path, piece.text));
            });
            read.unwrap();
        }
        logs
    };
    let before = logs(copy.path());
    assert_eq!(before.len(), SESSIONS * 4);
    assert!(!is_noticed(copy.path()));
    assert_eq!(check(&original, copy.path(), "packed"), 0);
    assert_eq!(logs(copy.path()), before);
    for seed in 0..DAMAGES / 3 {
        let mut chance = Chance(seed);
        let mut kind = "";
        let copy = original.damaged(|bytes| kind = damage(bytes, seed, &mut chance));
        check(
            &original,
            copy.path(),
            &format!("packed, seed {seed}, {kind}"),
        );
    }
}

#[test]
fn damaged_files_are_noticed_and_repaired() {
    let original = Original::new();
    let damages = std::env::var("THROUGHLINE_DAMAGES").map_or(DAMAGES, |n| n.parse().unwrap());
    let mut tally: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for seed in 0..damages {
        let mut chance = Chance(seed);
        let mut kind = "";
        let copy = original.damaged(|bytes| kind = damage(bytes, seed, &mut chance));
        let noticed = is_noticed(copy.path());
        let lost = check(&original, copy.path(), &format!("seed {seed}, {kind}"));
        assert!(noticed || lost == 0, "seed {seed}, {kind}: not noticed");
        let row = tally.entry(kind).or_default();
        row[0] += 1;
        row[1] += usize::from(noticed);
        row[2] += lost;
    }
    for (kind, [copies, noticed, lost]) in &tally {
        println!("soak: damage | {kind}: {copies} copies | {noticed} noticed, {lost} records lost");
    }
}

fn damage(bytes: &mut Vec<u8>, seed: u64, chance: &mut Chance) -> &'static str {
    let pages = bytes.len() / PAGE;
    let page = |chance: &mut Chance| PAGE * chance.below(pages);
    match seed % 6 {
        0 => {
            let at = chance.below(bytes.len());
            bytes[at] ^= 1 << chance.below(8);
            "one bit"
        }
        1 => {
            let at = page(chance);
            bytes[at..at + PAGE].fill(0);
            "a page of zeros"
        }
        2 => {
            let at = page(chance);
            bytes[at..at + PAGE].fill_with(|| u8::try_from(chance.next() & 255).unwrap());
            "a page of noise"
        }
        3 => {
            bytes.truncate(chance.below(bytes.len()));
            "cut short"
        }
        4 => {
            let end = [16, 100, PAGE][chance.below(3)];
            bytes[..end].fill_with(|| u8::try_from(chance.next() & 255).unwrap());
            "the beginning overwritten"
        }
        _ => {
            for _ in 0..20 {
                let at = chance.below(bytes.len());
                bytes[at] ^= 1 << chance.below(8);
            }
            "twenty bits"
        }
    }
}

/// Finds where the texts lie on disk: in rows, in blocks, alone.
fn places(path: &Path) -> Vec<usize> {
    let bytes = fs::read(path).unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT data FROM blocks UNION ALL SELECT data FROM bodies
        UNION ALL SELECT content FROM records WHERE length(content) > 20";
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| {
        let value = row.get_ref(0)?;
        Ok(value.as_bytes().unwrap().to_vec())
    });
    let texts: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
    let found = |text: &Vec<u8>| {
        let start = &text[..text.len().min(40)];
        let at = memchr::memmem::find(&bytes, start)?;
        // The first part of a long row, at least, stands in one place.
        Some(at..at + text.len().min(400))
    };
    texts.iter().filter_map(found).flatten().collect()
}

#[test]
fn every_changed_bit_of_a_text_is_noticed() {
    let original = Original::new();
    let places = places(&Store::database_path(original.dir.path()));
    let flips = std::env::var("THROUGHLINE_DAMAGES").map_or(DAMAGES, |n| n.parse().unwrap());
    let mut chance = Chance(7);
    let mut harmless = 0;
    for _ in 0..flips {
        let (at, bit) = (places[chance.below(places.len())], chance.below(8));
        let copy = original.damaged(|bytes| bytes[at] ^= 1 << bit);
        if is_noticed(copy.path()) {
            check(&original, copy.path(), &format!("bit {bit} of byte {at}"));
        } else {
            // A few bits of a compressed text say nothing.
            let store = Store::open_with(copy.path(), OpenMode::ReadOnly, &NoKeychain).unwrap();
            assert_eq!(texts(&store), original.texts, "bit {bit} of byte {at}");
            harmless += 1;
        }
    }
    assert!(
        harmless * 20 <= flips,
        "{harmless} of {flips} changed nothing"
    );
    println!(
        "soak: damage | a bit of a text: {flips} copies | {harmless} without effect, \
         all others noticed"
    );
}

/// Copies a store while it is open, so that its log is there.
fn copy_with_log(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in ["throughline.db", "throughline.db-wal", "redaction.key"] {
        fs::copy(folder.join(name), copy.path().join(name)).unwrap();
    }
    copy
}

fn log_of(folder: &Path) -> PathBuf {
    folder.join("throughline.db-wal")
}

/// A store with commits in its log, still open.
fn open_with_log(sessions: std::ops::Range<usize>) -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    for session in sessions {
        fill(&store, session);
        store.flush().unwrap();
    }
    (dir, store)
}

#[test]
fn a_log_without_its_database_is_not_thrown_away() {
    let (dir, store) = open_with_log(0..4);
    let expected = texts(&store);
    let copy = copy_with_log(dir.path());
    for missing in [true, false] {
        let path = Store::database_path(copy.path());
        if missing {
            fs::remove_file(&path).unwrap();
        } else {
            fs::write(&path, "").unwrap();
        }
        let refused = Store::open(copy.path()).unwrap_err();
        assert!(
            matches!(refused, Error::WalWithoutDatabase { .. }),
            "{refused}"
        );
        assert!(log_of(copy.path()).metadata().unwrap().len() > 1000);
    }
    // The log began with the store, so everything is in it.
    repair(copy.path()).unwrap();
    assert_eq!(texts(&Store::open(copy.path()).unwrap()), expected);
}

/// A log that holds only the later part of another store. (One that holds all of another store is
/// that store, as far as anybody can tell.)
#[test]
fn a_mixture_with_another_stores_log_is_noticed() {
    for other_sessions in 3..9 {
        let ours = open_with_log(0..8);
        let dir = ours.0;
        drop(ours.1);
        let (other, store) = open_with_log(10..10 + other_sessions);
        drop(store);
        let store = Store::open(other.path()).unwrap();
        fill(&store, 20);
        store.flush().unwrap();
        fs::copy(log_of(other.path()), log_of(dir.path())).unwrap();
        assert!(is_noticed(dir.path()), "with {other_sessions} sessions");
        let repaired = repair(dir.path()).unwrap();
        assert!(repaired.quarantine.join("throughline.db-wal").exists());
        assert!(!is_noticed(dir.path()));
    }
}

#[test]
fn a_torn_log_loses_only_its_end() {
    let (dir, store) = open_with_log(0..6);
    let whole = texts(&store);
    let length = log_of(dir.path()).metadata().unwrap().len();
    let mut chance = Chance(3);
    let rounds = std::env::var("THROUGHLINE_DAMAGES").map_or(12, |n| n.parse().unwrap());
    for round in 0..rounds {
        let copy = copy_with_log(dir.path());
        let mut bytes = fs::read(log_of(copy.path())).unwrap();
        let at = chance.below(bytes.len());
        if round % 2 == 0 {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1;
        }
        fs::write(log_of(copy.path()), bytes).unwrap();
        let Ok(store) = Store::open(copy.path()) else {
            // Torn before the store was made.
            assert!((at as u64) < length / 2);
            continue;
        };
        assert!(store.health(true).unwrap().is_sound(), "round {round}");
        let left = texts(&store);
        assert!(left.iter().all(|(id, text)| whole[id] == *text));
        let lost: std::collections::BTreeSet<_> =
            whole.keys().filter(|id| !left.contains_key(id)).collect();
        // Whole batches, with their cursors: the next sweep reads them again.
        assert_eq!(lost.len() % 12, 0, "round {round}");
    }
    println!("soak: a torn log | {rounds} copies | sound, and whole batches up to the tear");
}

#[test]
fn a_repair_goes_past_a_bad_place_in_the_log() {
    let (dir, store) = open_with_log(0..6);
    let whole = texts(&store);
    let copy = copy_with_log(dir.path());
    let mut bytes = fs::read(log_of(copy.path())).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(log_of(copy.path()), bytes).unwrap();
    repair(copy.path()).unwrap();
    let left = texts(&Store::open(copy.path()).unwrap());
    assert!(
        left.len() * 10 > whole.len() * 9,
        "{} of {}",
        left.len(),
        whole.len()
    );
}

#[test]
fn nobody_repairs_what_another_uses() {
    let (dir, store) = open_with_log(0..1);
    let refused = repair(dir.path()).unwrap_err();
    assert!(matches!(refused, Error::InUse { .. }), "{refused}");
    drop(store);
    repair(dir.path()).unwrap();
}

#[test]
fn a_repair_that_was_cut_off_is_finished_by_the_next_opening() {
    let (dir, store) = open_with_log(0..2);
    let expected = texts(&store);
    drop(store);
    repair(dir.path()).unwrap();
    // As if killed after the new store was ready and before it took its place.
    let workshop = dir.path().join("repair");
    fs::create_dir(&workshop).unwrap();
    fs::rename(Store::database_path(dir.path()), workshop.join("ready.db")).unwrap();
    fs::write(Store::database_path(dir.path()), "the damaged store").unwrap();
    fs::write(log_of(dir.path()), "and its log").unwrap();
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(texts(&store), expected);
    assert!(!workshop.exists());
}

#[test]
fn another_programs_file_is_not_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let path = Store::database_path(dir.path());
    fs::write(&path, "a text that is no store at all. ".repeat(1000)).unwrap();
    let before = fs::read(&path).unwrap();
    let refused = repair(dir.path()).unwrap_err();
    assert!(
        matches!(refused, Error::NothingRecoverable { .. }),
        "{refused}"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// Changes a store behind its back.
fn tamper(folder: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(Store::database_path(folder)).unwrap();
    connection.execute_batch(sql).unwrap();
}

#[test]
fn damaged_texts_leave_by_no_way_in_silence() {
    let record = "UPDATE records SET checksum = checksum + 1 WHERE row = 3";
    let body = "UPDATE bodies SET data = (SELECT b.data FROM bodies b WHERE b.hash <> bodies.hash
            ORDER BY b.hash LIMIT 1)
        WHERE hash = (SELECT body FROM raw WHERE block IS NULL ORDER BY source LIMIT 1)";
    let packed = "UPDATE raw SET start = start + 1, length = length - 1
        WHERE source = 1 AND offset = 0";
    for (original, sql, what) in [
        (Original::new(), record, "record "),
        (Original::new(), body, "log /logs/"),
        (
            Original::packed(),
            packed,
            "log /logs/000.jsonl from byte 0",
        ),
    ] {
        let copy = original.damaged(|_| {});
        tamper(copy.path(), sql);
        let store = Store::open(copy.path()).unwrap();
        let mut out = Vec::new();
        let filter = throughline_store::ExportFilter::default();
        let exported = store.export(&filter, &mut out, &|_, _| {}).unwrap();
        let damaged = exported.damaged;
        assert_eq!(damaged.count, 1, "{sql}: {damaged}");
        assert!(damaged.first[0].starts_with(what), "{sql}: {damaged}");
        assert_eq!(exported.sessions, SESSIONS, "the rest comes out");
        let text = String::from_utf8(out).unwrap();
        if let Some(id) = damaged.first[0].strip_prefix("record ") {
            assert!(!text.contains(&format!("\"id\":\"{id}\"")), "{id}");
        }
        let file = copy.path().join("copy.db");
        let overwrite = throughline_store::Overwrite::Refuse;
        let error = store.backup(&file, overwrite, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(&damaged.first[0]), "{error}");
        assert!(!file.exists(), "a copy that is not sound does not appear");
        let mut logs = 0;
        for session in 0..SESSIONS {
            let id = SessionId::of(Flavor::Claude, &format!("session-{session:03}"));
            logs += store.each_log_piece(&id, |_| {}).unwrap().count;
        }
        assert_eq!(logs > 0, what.starts_with("log"), "{sql}");
    }
}
