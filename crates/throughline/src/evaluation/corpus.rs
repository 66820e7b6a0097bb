//! Rows of a corpus, and their way into a store.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use memory::{
    Flavor, Kind, MessageId, Record, RecordId, SessionId, SessionPatch, Trust, Workspace,
};
use serde::Deserialize;
use store::{Batch, Cursor, From, Incoming, Oddities, Query, Reading, Store};

/// One record of a corpus.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    pub ns: String,
    pub id: String,
    pub session: String,
    #[serde(default)]
    pub seq: u64,
    pub ts: Option<String>,
    pub role: String,
    pub speaker: Option<String>,
    pub text: String,
}

/// One question, and where its answer is.
#[derive(Clone, Debug, Deserialize)]
pub struct Question {
    pub ns: String,
    pub query: String,
    #[serde(default)]
    pub gold: Vec<String>,
    #[serde(default)]
    pub gold_sessions: Vec<String>,
    /// What came later was not known when this was asked.
    pub asof: Option<String>,
}

/// A store that holds corpora, and the names its records have there.
#[derive(Debug)]
pub struct Library {
    pub store: Store,
    names: HashMap<RecordId, String>,
}

impl Library {
    pub fn open(home: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            store: Store::open(home)?,
            names: HashMap::new(),
        })
    }

    /// Takes rows in, through the same door as every record.
    pub fn add(&mut self, rows: Vec<Row>) -> anyhow::Result<()> {
        let mut door = self.store.door();
        let mut sessions = BTreeMap::new();
        let mut names = Vec::with_capacity(rows.len());
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let session = SessionId::of(Flavor::Claude, &row.session);
            let at = row.ts.as_deref().and_then(moment);
            let (patch, _) = sessions.entry(row.session.clone()).or_insert_with(|| {
                let workspace = Workspace {
                    key: key(&row.ns),
                    root: format!("/{}", row.ns),
                };
                let patch = SessionPatch::new(session.clone(), Flavor::Claude);
                (patch, Some(workspace))
            });
            if let Some(at) = at {
                patch.touch(at);
            }
            names.push(row.id.clone());
            records.push(record(row, session, at));
        }
        let cleaned = door.clean(Incoming {
            records,
            sessions: sessions.into_values().collect(),
            usage: Vec::new(),
        });
        self.names.extend(cleaned.ids.iter().copied().zip(names));
        let from = From {
            flavor: Flavor::Claude,
            path: Path::new("/corpus.jsonl"),
            cursor: Cursor::default(),
            reading: Reading::Continued,
            odd: Oddities::default(),
            log: None,
        };
        let batch = Batch::new(&mut door, cleaned, from);
        let _written = self.store.append(batch);
        Ok(())
    }

    pub fn flush(&self) -> anyhow::Result<()> {
        Ok(self.store.flush()?)
    }

    /// Returns the name a record has in its corpus.
    pub fn name(&self, id: RecordId) -> Option<&str> {
        self.names.get(&id).map(String::as_str)
    }

    /// Asks as somebody would who works in the workspace of a namespace, before `until`.
    pub fn ask(
        &self,
        ns: &str,
        text: &str,
        until: Option<&str>,
        limit: usize,
        now: Timestamp,
    ) -> anyhow::Result<recall::Ranked> {
        let ask = recall::Ask {
            query: Query {
                text: text.to_owned(),
                workspace_key: Some(key(ns)),
                until: until.and_then(moment),
                limit,
                ..Query::default()
            },
            ..recall::Ask::default()
        };
        Ok(recall::search(&self.store, &ask, now)?)
    }
}

/// Returns the key of a namespace's workspace.
pub fn key(ns: &str) -> String {
    format!("corpus/{ns}")
}

fn record(row: Row, session: SessionId, at: Option<Timestamp>) -> Record {
    let (kind, trust) = match row.role.as_str() {
        "user" => (Kind::Prompt, Trust::User),
        "tool" => (Kind::ToolUse, Trust::Tool),
        _ => (Kind::Assistant, Trust::Model),
    };
    let speaker = row
        .speaker
        .filter(|name| !matches!(name.as_str(), "user" | "assistant" | "tool"));
    Record {
        message: MessageId::new(row.id),
        ordinal: 0,
        at,
        line: row.seq,
        kind,
        session,
        tool: None,
        path: None,
        call: None,
        content: row.text,
        tags: Vec::new(),
        metadata: speaker
            .map(|name| ("speaker".to_owned(), name))
            .into_iter()
            .collect(),
        trust,
        context: memory::Context::default(),
    }
}

/// Reads a time with or without its zone, or a day.
fn moment(text: &str) -> Option<Timestamp> {
    let text = text.replace('/', "-");
    let utc = |date: DateTime| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse()
        .ok()
        .or_else(|| utc(text.parse().ok()?))
        .or_else(|| utc(text.get(..10)?.parse::<Date>().ok()?.into()))
}

/// Reads the rows of `NAME.jsonl` or `NAME.jsonl.gz` in a folder.
pub fn read<T: for<'de> Deserialize<'de>>(
    folder: &Path,
    name: &str,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let plain = folder.join(format!("{name}.jsonl"));
    let packed = folder.join(format!("{name}.jsonl.gz"));
    let (path, is_packed) = if plain.exists() {
        (plain, false)
    } else {
        (packed, true)
    };
    let at = || path.display().to_string();
    let file = std::fs::File::open(&path).with_context(at)?;
    let reader: Box<dyn BufRead> = if is_packed {
        Box::new(BufReader::new(flate2::read::MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    for line in reader.lines() {
        let line = line.with_context(at)?;
        if !line.trim().is_empty() {
            each(serde_json::from_str(&line).with_context(at)?)?;
        }
    }
    Ok(())
}
