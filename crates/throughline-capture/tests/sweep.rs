//! Sweeps over real files that are read once, read again, cut off, rewritten or removed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

mod machine;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use throughline_capture as capture;

use capture::CaptureScope;
use machine::{LONG_AFTER, Machine, WHILE_WRITING, prompt};
use proptest::prelude::*;
use store::{Query, Store};
use testkit::corpus::{self, Options};
use testkit::files_below;

#[test]
fn sweeping_twice_is_sweeping_once() {
    let machine = Machine::with_corpus(&Options {
        sessions: 7,
        ..Options::default()
    });
    let first = machine.sweep_at(LONG_AFTER);
    assert!(first.records > 100 && first.trouble.is_empty(), "{first:?}");
    let dump = machine.dump();
    let second = machine.sweep_at(LONG_AFTER);
    assert_eq!(
        (second.ingested, second.skipped_unchanged),
        (0, first.discovered)
    );
    assert_eq!(machine.dump(), dump);
}

#[test]
fn a_touched_log_is_unchanged() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    fs::write(&path, prompt("s", "u1", "alpha")).unwrap();
    machine.sweep_at(LONG_AFTER);
    let file = fs::File::open(&path).unwrap();
    let modified = file.metadata().unwrap().modified().unwrap();
    file.set_modified(modified + std::time::Duration::from_secs(60))
        .unwrap();
    let sweep = machine.sweep_at(LONG_AFTER);
    assert_eq!((sweep.ingested, sweep.skipped_unchanged), (0, 1));
    // A log that lost its content has changed.
    fs::write(&path, "").unwrap();
    let sweep = machine.sweep_at(LONG_AFTER);
    assert_eq!((sweep.ingested, sweep.no_longer_in_source), (1, 1));
}

#[test]
fn one_new_line_reads_one_line() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    fs::write(&path, prompt("s", "u1", "alpha")).unwrap();
    machine.sweep_at(WHILE_WRITING);
    let line = prompt("s", "u2", "beta");
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let sweep = machine.sweep_at(WHILE_WRITING);
    assert_eq!((sweep.records, sweep.read_bytes), (1, line.len() as u64));
}

#[test]
fn a_resumed_copy_is_found_once_in_either_order() {
    let copy =
        |session: &str, at: &str| prompt(session, "u1", "needle").replace("2026-01-05T09", at);
    let read = |names: [&str; 2]| {
        let machine = Machine::new();
        let [original, resumed] = names.map(|name| machine.claude_log(name));
        fs::write(original, copy("original", "2026-01-05T09")).unwrap();
        fs::write(resumed, copy("resumed", "2026-01-06T09")).unwrap();
        machine.sweep_at(LONG_AFTER);
        let store = Store::open(&machine.home()).unwrap();
        let query = Query {
            text: "needle".to_owned(),
            limit: 9,
            ..Query::default()
        };
        let hits = store.search(&query).unwrap().hits;
        hits.into_iter()
            .map(|hit| hit.session.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(read(["a.jsonl", "b.jsonl"]), ["claude:original"]);
    assert_eq!(read(["b.jsonl", "a.jsonl"]), ["claude:original"]);
}

#[test]
fn a_secret_recognised_late_is_redacted_in_earlier_records() {
    let secret = ["gh", "p_"].concat() + "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi";
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    // The first half alone is not recognised as a secret. Once the whole value is, the half must be
    // redacted too.
    fs::write(
        &path,
        prompt(
            "s",
            "u1",
            &format!("the value is {} so far", &secret[4..30]),
        ),
    )
    .unwrap();
    machine.sweep_at(LONG_AFTER);
    let whole = &secret[4..];
    let later = prompt("s", "u2", &format!("export DB_PASSWORD={whole}"))
        + &prompt("s", "u3", &format!("again {whole} here"));
    fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .unwrap()
        .write_all(later.as_bytes())
        .unwrap();
    machine.sweep_at(LONG_AFTER);
    let dump = machine.dump();
    assert!(dump.contains("[redacted:"), "{dump}");
    assert!(!dump.contains(whole), "{dump}");
    assert_eq!(
        bytes_with(&machine.home(), whole.as_bytes()),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn no_planted_secret_is_in_any_byte() {
    let options = Options {
        sessions: 14,
        secret_rate: 0.5,
        seed: 3,
        lines: Some(60),
        ..Options::default()
    };
    let machine = Machine::with_corpus(&options);
    machine.sweep_at(LONG_AFTER);
    let manifest = fs::read_to_string(machine.logs().join(corpus::MANIFEST)).unwrap();
    let planted: Vec<String> = manifest
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|entry| entry["value"].as_str().unwrap().to_owned())
        .collect();
    assert!(planted.len() > 50);
    // The store compresses texts, so a search of its bytes is not enough.
    let dump = machine.dump();
    let mut leaks = BTreeMap::new();
    for value in &planted {
        let files = bytes_with(&machine.home(), value.as_bytes());
        if dump.contains(value.as_str()) || !files.is_empty() {
            leaks.insert(value, files);
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
}

fn bytes_with(folder: &Path, value: &[u8]) -> Vec<PathBuf> {
    fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| {
            let bytes = fs::read(path).unwrap();
            bytes.windows(value.len()).any(|window| window == value)
        })
        .collect()
}

#[test]
fn a_damaged_file_does_not_affect_others() {
    let machine = Machine::new();
    let good = |word: &str| prompt("s", word, word);
    fs::write(machine.claude_log("empty.jsonl"), "").unwrap();
    fs::create_dir_all(machine.claude_log("folder.jsonl")).unwrap();
    fs::write(
        machine.claude_log("bom.jsonl"),
        format!("\u{feff}{}", good("bommed")),
    )
    .unwrap();
    let mut torn = good("earlier").into_bytes();
    torn.extend_from_slice(b"{\"type\":\"user\",\"message\":{\"content\":\"\xff\xfe\"\n\0\0\0\n");
    torn.extend_from_slice(good("thereupon").as_bytes());
    fs::write(machine.claude_log("torn.jsonl"), torn).unwrap();
    let long = good("first") + &prompt("s", "long", &"B".repeat(17 << 20)) + &good("last");
    fs::write(machine.claude_log("long.jsonl"), long).unwrap();
    #[cfg(unix)]
    {
        let outside = machine.dir.path().join("outside.jsonl");
        fs::write(&outside, good("outside")).unwrap();
        std::os::unix::fs::symlink(&outside, machine.claude_log("escape.jsonl")).unwrap();
        std::os::unix::fs::symlink("loop.jsonl", machine.claude_log("loop.jsonl")).unwrap();
        std::os::unix::fs::symlink(".", machine.claude_log("loopdir")).unwrap();
    }
    let sweep = machine.sweep_at(LONG_AFTER);
    for word in ["bommed", "earlier", "thereupon", "first", "last"] {
        assert_eq!(machine.finds(word), 1, "{word}");
    }
    assert_eq!(machine.finds("outside"), 0);
    let skipped: Vec<_> = sweep
        .skipped_lines
        .iter()
        .map(|(why, n)| format!("{n} {why}"))
        .collect();
    assert_eq!(skipped, ["1 malformed", "1 not UTF-8", "1 too long"]);
    #[cfg(unix)]
    assert_eq!(sweep.trouble.len(), 2, "{:?}", sweep.trouble);
}

#[test]
fn a_denied_workspace_leaves_no_trace() {
    let machine = Machine::new();
    fs::write(machine.claude_log("a.jsonl"), prompt("s", "u1", "alpha")).unwrap();
    let scope = CaptureScope {
        denied: vec!["/work/proj".into()],
        ..CaptureScope::default()
    };
    machine.sweep_with(LONG_AFTER, &scope);
    let dump = machine.dump();
    assert!(
        !dump.contains("alpha") && !dump.contains("claude:s"),
        "{dump}"
    );
}

#[test]
fn the_archive_returns_logs_however_they_were_read() {
    let machine = Machine::new();
    let path = machine.claude_log("a.jsonl");
    let lines: Vec<_> = (0..40)
        .map(|i| prompt("s", &format!("u{i}"), &format!("line {i}")))
        .collect();
    let whole = lines.concat();
    for end in [100, 1000, 1001, 5000, whole.len()] {
        fs::write(&path, &whole[..end]).unwrap();
        machine.sweep_at(WHILE_WRITING);
    }
    let raw = |machine: &Machine| {
        let mut text = String::new();
        let session = memory::SessionId::of(memory::Flavor::Claude, "s");
        let store = Store::open(&machine.home()).unwrap();
        store
            .each_log_piece(&session, |piece| text.push_str(piece.text))
            .unwrap();
        text
    };
    assert_eq!(raw(&machine), whole);
    let rewritten = prompt("s", "u0", "line 0") + &prompt("s", "new", "another story altogether");
    fs::write(&path, &rewritten).unwrap();
    machine.sweep_at(LONG_AFTER);
    // The current version of the log comes first, then the one before it lost lines.
    let kept = rewritten.clone() + &whole;
    assert_eq!(raw(&machine), kept);
    // A moved log is the same log, and its text is stored once.
    let size = || {
        fs::metadata(machine.home().join("throughline.db"))
            .unwrap()
            .len()
    };
    let before = size();
    fs::rename(&path, machine.claude_log("moved.jsonl")).unwrap();
    machine.sweep_at(LONG_AFTER);
    assert_eq!(raw(&machine), kept.clone() + &rewritten);
    assert_eq!(size(), before);
    fs::remove_file(machine.claude_log("moved.jsonl")).unwrap();
    machine.sweep_at(LONG_AFTER);
    assert_eq!(raw(&machine), kept + &rewritten);
}

/// Writes a small corpus piece by piece, cut at `cuts`, and sweeps after every piece. Returns the
/// store, and the store of a single sweep over the whole corpus.
fn read_in_pieces(cuts: &[(usize, usize)], seed: u64) -> (String, String) {
    let options = Options {
        sessions: 3,
        seed,
        lines: Some(24),
        ..Options::default()
    };
    let whole = Machine::with_corpus(&options);
    let pieces = Machine::with_corpus(&options);
    let files = files_below(&pieces.logs());
    let contents: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    for file in &files {
        fs::write(file, "").unwrap();
    }
    for (file, percent) in cuts {
        let at = file % files.len();
        let written = fs::read(&files[at]).unwrap().len();
        let end = contents[at].len() * percent / 100;
        if end > written {
            let mut log = fs::OpenOptions::new()
                .append(true)
                .open(&files[at])
                .unwrap();
            log.write_all(&contents[at][written..end]).unwrap();
        }
        pieces.sweep_at(WHILE_WRITING);
    }
    for (file, content) in files.iter().zip(&contents) {
        let written = fs::read(file).unwrap().len();
        let mut log = fs::OpenOptions::new().append(true).open(file).unwrap();
        log.write_all(&content[written..]).unwrap();
    }
    pieces.sweep_at(LONG_AFTER);
    whole.sweep_at(LONG_AFTER);
    (pieces.dump(), whole.dump())
}

/// Each case sweeps several times, so the default number is small; `PROPTEST_CASES` raises it.
#[expect(clippy::disallowed_methods, reason = "the variable is proptest's own")]
fn config() -> ProptestConfig {
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let usual = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if asked {
        usual
    } else {
        ProptestConfig { cases: 24, ..usual }
    }
}

proptest! {
    #![proptest_config(config())]

    /// A sweep in the middle of an agent's write does not change what is stored in the end.
    #[test]
    fn partial_writes_change_nothing(
        cuts in prop::collection::vec((0_usize..9, 0_usize..100), 1..8),
        seed in 1_u64..50,
    ) {
        let (pieces, whole) = read_in_pieces(&cuts, seed);
        if pieces != whole {
            let lines = pieces.lines().zip(whole.lines());
            let differing: Vec<_> = lines.filter(|(a, b)| a != b).take(3).collect();
            prop_assert!(false, "{differing:#?}");
        }
    }
}

/// Returns an answer whose token counts are out of range.
fn answer(session: &str, uuid: &str, tokens: u64) -> String {
    let entry = serde_json::json!({
        "type": "assistant", "uuid": uuid, "parentUuid": null, "sessionId": session,
        "timestamp": "2026-01-05T09:00:01.000Z", "cwd": "/work/proj", "version": "2.1.98",
        "requestId": format!("req-{uuid}"),
        "message": {
            "id": format!("msg-{uuid}"), "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": format!("done {uuid}")}],
            "usage": {"input_tokens": tokens, "output_tokens": i64::MAX,
                "cache_read_input_tokens": u64::MAX},
        },
    });
    format!("{entry}\n")
}

#[test]
fn token_counts_out_of_range_are_clamped() {
    let machine = Machine::new();
    let first = prompt("a", "u1", "a walrus swims")
        + &answer("a", "u2", 1 << 63)
        + &answer("a", "u3", u64::MAX);
    fs::write(machine.claude_log("a.jsonl"), first).unwrap();
    fs::write(
        machine.claude_log("b.jsonl"),
        prompt("b", "u4", "an otter dives"),
    )
    .unwrap();
    let swept = machine.sweep_at(LONG_AFTER);
    assert_eq!((swept.ingested, swept.failed), (2, 0), "{swept:?}");
    assert_eq!(swept.clamped, 2, "{swept:?}");
    assert_eq!((machine.finds("walrus"), machine.finds("otter")), (1, 1));
    let store = Store::open(&machine.home()).unwrap();
    let usage = store.usage(&store::UsageFilter::default()).unwrap();
    assert!(
        usage.iter().any(|row| row.usage.input >= 1 << 53),
        "{usage:?}"
    );
    let filter = store::SessionFilter {
        limit: 9,
        ..store::SessionFilter::default()
    };
    assert_eq!(store.sessions(&filter).unwrap().len(), 2);
}

#[test]
fn a_source_that_the_store_rejects_fails_alone() {
    let machine = Machine::new();
    for (name, word) in [("a", "walrus"), ("b", "badger"), ("c", "otter")] {
        let log = prompt(name, &format!("u-{name}"), &format!("look at the {word}"));
        fs::write(machine.claude_log(&format!("{name}.jsonl")), log).unwrap();
    }
    drop(Store::open(&machine.home()).unwrap());
    let database = rusqlite::Connection::open(Store::database_path(&machine.home())).unwrap();
    database
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON sessions WHEN new.name = 'claude:b'
             BEGIN SELECT RAISE(ABORT, 'not this one'); END",
        )
        .unwrap();
    let swept = machine.sweep_at(LONG_AFTER);
    assert_eq!((swept.ingested, swept.failed), (2, 1), "{swept:?}");
    assert_eq!(swept.trouble.len(), 1);
    assert!(swept.trouble[0].path.ends_with("b.jsonl"), "{swept:?}");
    assert_eq!((machine.finds("walrus"), machine.finds("otter")), (1, 1));
    database.execute_batch("DROP TRIGGER refuse").unwrap();
    let again = machine.sweep_at(LONG_AFTER);
    assert_eq!((again.failed, machine.finds("badger")), (0, 1), "{again:?}");
}
