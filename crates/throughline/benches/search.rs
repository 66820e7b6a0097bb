//! How fast a question is answered, beside the bare index.
//!
//!     cargo bench -p throughline --bench search -- [--records 100000]
//!
//! Fills a store with agent-like records of about 300 bytes in eight workspaces, and asks in one of them: one word, three
//! words, and eight as a prompt has them. Beside it stands what the index alone needs to name its best twenty.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run should say where"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use memory::{Flavor, Kind, MessageId, Record, SessionId, SessionPatch, Trust, Workspace};
use store::foreign::Database;
use store::{Batch, Cursor, From, Incoming, Oddities, Query, Reading, Store};

const WORKSPACES: u64 = 8;
const SESSION_RECORDS: u64 = 100;
const ROUNDS: usize = 200;

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    let at = arguments
        .iter()
        .position(|argument| argument == "--records");
    let records = at
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(100_000);
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let store = Store::open(dir.path()).unwrap();
    let start = Instant::now();
    let bytes = fill(&store, &mut random, records);
    let took = start.elapsed().as_secs_f64();
    println!(
        "stored and indexed {records} records, {:.0} MB of text, in {took:.1} s: {:.0} records/s",
        bytes as f64 / 1e6,
        records as f64 / took
    );
    meanings();
    let raw = Database::open(&Store::path_in(dir.path())).unwrap();
    for (name, count) in [("one word", 1), ("three words", 3), ("eight words", 8)] {
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let words: Vec<_> = (0..count).map(|_| word(random.zipf())).collect();
            let ask = recall::Ask {
                query: Query {
                    text: words.join(" "),
                    workspace_key: Some("example.com/w3".into()),
                    limit: 20,
                    ..Query::default()
                },
                ..recall::Ask::default()
            };
            ours.push(timed(|| {
                recall::search(&store, &ask, Timestamp::UNIX_EPOCH).unwrap()
            }));
            let any: Vec<_> = words
                .iter()
                .map(|word| format!("\"{}\"", store::terms::stem::stem(word)))
                .collect();
            let expression = format!("\"@w4\" AND ({})", any.join(" OR "));
            let sql = "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20";
            bare.push(timed(|| raw.each(sql, &[&expression], |_| {}).unwrap()));
        }
        let (ours, bare) = (percentiles(ours), percentiles(bare));
        println!(
            "{name:<12} p50 {:.2} p95 {:.2} ms; bare index p50 {:.2} p95 {:.2} ms",
            ours.0, ours.1, bare.0, bare.1
        );
    }
}

/// Says how fast meanings are looked up.
fn meanings() {
    let meanings = recall::meaning::Meanings::get().unwrap();
    let words: Vec<_> = (0..20_000).map(word).collect();
    let bytes: usize = words.iter().map(String::len).sum();
    let mut vector = [0.0; recall::meaning::DIMS];
    let took = timed(|| {
        for word in &words {
            meanings.add(word, &mut vector);
        }
    });
    println!(
        "meanings           {:.1} MB/s",
        bytes as f64 / 1e6 / took.as_secs_f64()
    );
}

fn fill(store: &Store, random: &mut Random, records: u64) -> usize {
    let mut bytes = 0;
    let mut door = store.door();
    for session in 0..records / SESSION_RECORDS {
        let id = SessionId::of(Flavor::Claude, &format!("session-{session}"));
        let at =
            Timestamp::from_second(1_700_000_000 + i64::try_from(session).unwrap() * 600).unwrap();
        let mut patch = SessionPatch::new(id.clone(), Flavor::Claude);
        patch.touch(at);
        let name = format!("w{}", session % WORKSPACES);
        let workspace = Workspace {
            key: format!("example.com/{name}"),
            root: format!("/{name}"),
        };
        let texts: Vec<Record> = (0..SESSION_RECORDS)
            .map(|n| {
                let words: Vec<_> = (0..random.below(80) + 5)
                    .map(|_| word(random.zipf()))
                    .collect();
                record(&id, session * SESSION_RECORDS + n, at, words.join(" "))
            })
            .collect();
        bytes += texts
            .iter()
            .map(|record| record.content.len())
            .sum::<usize>();
        let cleaned = door.clean(Incoming {
            records: texts,
            sessions: vec![(patch, Some(workspace))],
            usage: Vec::new(),
        });
        let from = From {
            flavor: Flavor::Claude,
            path: Path::new("/bench.jsonl"),
            cursor: Cursor::default(),
            reading: Reading::Continued,
            odd: Oddities::default(),
            log: None,
        };
        let batch = Batch::new(&mut door, cleaned, from);
        let _ticket = store.append(batch);
    }
    store.flush().unwrap();
    bytes
}

fn record(session: &SessionId, number: u64, at: Timestamp, content: String) -> Record {
    let kind = match number % 10 {
        0 => Kind::Prompt,
        1 | 2 => Kind::Assistant,
        3..=5 => Kind::ToolUse,
        _ => Kind::ToolResult,
    };
    Record {
        message: MessageId::new(format!("m{number}")),
        ordinal: 0,
        at: Some(at),
        line: number,
        kind,
        session: session.clone(),
        tool: None,
        path: None,
        call: None,
        content,
        tags: Vec::new(),
        metadata: std::collections::BTreeMap::new(),
        trust: Trust::Model,
        context: memory::Context::default(),
    }
}

/// Returns the word of a rank: pronounceable, so that stems and pieces behave.
fn word(rank: u64) -> String {
    let (starts, ends) = (b"bcdfglmnprst", b"aeiou");
    let mut word = String::new();
    let mut rest = rank + 60;
    while rest > 0 {
        let syllable = usize::try_from(rest % 60).unwrap();
        word.push(char::from(starts[syllable / 5]));
        word.push(char::from(ends[syllable % 5]));
        rest /= 60;
    }
    word
}

/// A small generator, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Returns the rank of a word: the first are the most common.
    fn zipf(&mut self) -> u64 {
        let unit = (self.next() as f64 + 1.0) / (1_u64 << 31) as f64;
        (40_000_f64.powf(unit) - 1.0) as u64
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let _result = std::hint::black_box(work());
    start.elapsed()
}

fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    (
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
    )
}
