//! Fills stores with generated records for the benchmarks.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "each bench uses a part; a bench that cannot go on should stop"
)]

use std::path::Path;

use jiff::Timestamp;
use memory::{
    FactKind, Flavor, MessageId, Record, RecordKind, SessionId, SessionPatch, Trust, Usage,
    UsageEntry, Workspace,
};
use store::{Batch, BatchOrigin, Cursor, IncomingEntries, NewFact, ParseIssues, ReadPhase, Store};

/// The current time of the benchmarks.
pub const NOW_SECOND: i64 = 1_800_000_000;
pub const SESSION_RECORDS: u64 = 100;
pub const WORKSPACES: u64 = 8;
/// How many different words there are.
pub const WORDS: u64 = 40_000;
/// One word of so many is an identifier, made of two of the most common words.
const IDENTIFIER_EVERY: u64 = 20;
const IDENTIFIER_PARTS: u64 = 40;

/// Fills a store with records of the sizes that agents' logs have, with their usage, and with
/// facts, some of them pinned. Every eighth session is of the workspace `/w3`, and the last session
/// is the latest. Returns how many bytes of text the records have.
pub fn fill_like_logs(store: &Store, random: &mut Random, records: u64, facts: u64) -> usize {
    let mut bytes = 0;
    let mut sanitizer = store.sanitizer();
    let sessions = records / SESSION_RECORDS;
    for session in 0..sessions {
        let id = SessionId::of(Flavor::Claude, &format!("session-{session}"));
        let ago = i64::try_from(sessions - session).unwrap() * 600;
        let at = Timestamp::from_second(NOW_SECOND - ago).unwrap();
        let mut patch = SessionPatch::new(id.clone(), Flavor::Claude);
        patch.include_time(at);
        let texts: Vec<Record> = (0..SESSION_RECORDS)
            .map(|n| {
                let number = session * SESSION_RECORDS + n;
                let count = words_of(number, random);
                record(&id, number, at, random.words(count).join(" "))
            })
            .collect();
        bytes += texts.iter().map(|text| text.content.len()).sum::<usize>();
        let usage = (0..SESSION_RECORDS * 6 / 10).map(|n| UsageEntry {
            session: id.clone(),
            key: format!("u{session}-{n}"),
            at: Some(at),
            model: Some("made".to_owned()),
            usage: Usage {
                input: 10_000,
                output: 500,
                ..Usage::default()
            },
            cost_usd: None,
        });
        let cleaned = sanitizer.clean(IncomingEntries {
            records: texts,
            sessions: vec![(patch, Some(workspace(session)))],
            usage: usage.collect(),
        });
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new("/bench.jsonl"),
            cursor: Cursor::default(),
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: None,
        };
        let batch = Batch::new(&mut sanitizer, cleaned, from);
        let _ticket = store.append(batch);
    }
    store.flush().unwrap();
    for number in 0..facts {
        let words = random.words(12).join(" ");
        let fact = NewFact {
            workspace: Some(workspace(number)),
            kind: FactKind::Note,
            text: format!("{words} {number}"),
            tags: Vec::new(),
            trust: Trust::User,
            // Three pins in each workspace.
            pinned: number < 3 * WORKSPACES,
            at: Timestamp::from_second(NOW_SECOND).unwrap(),
            sources: Vec::new(),
        };
        store.remember(fact).unwrap();
    }
    bytes
}

fn workspace(number: u64) -> Workspace {
    let name = format!("/w{}", number % WORKSPACES);
    Workspace {
        key: name.clone(),
        root: name,
    }
}

/// The bytes of an average word with the space after it.
const WORD_BYTES: u64 = 6;

/// Returns how many words a record has. A prompt has 50 to 500 bytes, an answer 200 to 3,000, a
/// tool call 50 to 300, and a tool result 200 to 20,000, of which half have less than 900.
fn words_of(number: u64, random: &mut Random) -> usize {
    let bytes = match number % 10 {
        0 => 50 + random.below(450),
        1 | 2 => (random.long_tailed(600, 0.8) as u64).clamp(200, 3_000),
        3..=5 => 50 + random.below(250),
        _ => (random.long_tailed(900, 1.1) as u64).clamp(200, 20_000),
    };
    (bytes / WORD_BYTES) as usize
}

fn record(session: &SessionId, number: u64, at: Timestamp, content: String) -> Record {
    let kind = match number % 10 {
        0 => RecordKind::Prompt,
        1 | 2 => RecordKind::Assistant,
        3..=5 => RecordKind::ToolUse,
        _ => RecordKind::ToolResult,
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
        metadata: Default::default(),
        trust: Trust::Model,
        context: memory::RecordEnvironment::default(),
    }
}

/// Returns the word of a rank: pronounceable, so that stems and pieces behave.
pub fn word(rank: u64) -> String {
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

/// A random number generator with the same sequence on every machine.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    fn step(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.step() % end
    }

    /// Returns words of a text, some of them identifiers.
    pub fn words(&mut self, count: usize) -> Vec<String> {
        let mut next = |_| match self.below(IDENTIFIER_EVERY) {
            0 => self.identifier(),
            _ => word(self.zipf()),
        };
        (0..count).map(&mut next).collect()
    }

    /// Returns an identifier of two words.
    pub fn identifier(&mut self) -> String {
        let second = word(self.below(IDENTIFIER_PARTS));
        let (first, rest) = second.split_at(1);
        let capital = first.to_uppercase();
        format!("{}{capital}{rest}", word(self.below(IDENTIFIER_PARTS)))
    }

    /// Returns a value of a log-normal distribution.
    fn long_tailed(&mut self, median: u64, deviation: f64) -> f64 {
        // The sum of twelve values between 0 and 1 is nearly normal, with a variance of 1.
        let sum = (0..12).map(|_| self.below(1 << 20) as f64 / (1 << 20) as f64);
        median as f64 * (deviation * (sum.sum::<f64>() - 6.0)).exp()
    }

    /// Returns the rank of a word: the first are the most common.
    pub fn zipf(&mut self) -> u64 {
        let unit = (self.step() as f64 + 1.0) / (1_u64 << 31) as f64;
        ((WORDS as f64).powf(unit) - 1.0) as u64
    }
}
