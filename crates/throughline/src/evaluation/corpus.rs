//! Rows of a corpus, and their way into a store.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use memory::{
    Flavor, MessageId, Record, RecordId, RecordKind, SessionId, SessionPatch, Trust, Workspace,
};
use serde::Deserialize;
use store::{Batch, BatchOrigin, Cursor, IncomingEntries, ParseIssues, Query, ReadPhase, Store};

/// One record of a corpus.
#[derive(Clone, Debug, Deserialize)]
pub struct CorpusRow {
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
pub struct EvalQuestion {
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
pub struct EvalStore {
    pub store: Store,
    corpus_ids: HashMap<RecordId, String>,
}

impl EvalStore {
    pub fn open(home: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            store: Store::open(home)?,
            corpus_ids: HashMap::new(),
        })
    }

    /// Takes rows in, through the same door as every record.
    pub fn ingest(&mut self, rows: Vec<CorpusRow>) -> anyhow::Result<()> {
        let mut door = self.store.sanitizer();
        let mut sessions = BTreeMap::new();
        let mut names = Vec::with_capacity(rows.len());
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let session = SessionId::of(Flavor::Claude, &row.session);
            let at = row.ts.as_deref().and_then(parse_corpus_time);
            let (patch, _) = sessions.entry(row.session.clone()).or_insert_with(|| {
                let workspace = Workspace {
                    key: workspace_key(&row.ns),
                    root: format!("/{}", row.ns),
                };
                let patch = SessionPatch::new(session.clone(), Flavor::Claude);
                (patch, Some(workspace))
            });
            if let Some(at) = at {
                patch.include_time(at);
            }
            names.push(row.id.clone());
            records.push(corpus_record(row, session, at));
        }
        let cleaned = door.clean(IncomingEntries {
            records,
            sessions: sessions.into_values().collect(),
            usage: Vec::new(),
        });
        self.corpus_ids
            .extend(cleaned.ids.iter().copied().zip(names));
        let from = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new("/corpus.jsonl"),
            cursor: Cursor::default(),
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
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
    pub fn corpus_id(&self, id: RecordId) -> Option<&str> {
        self.corpus_ids.get(&id).map(String::as_str)
    }

    /// Asks as somebody would who works in the workspace of a namespace, before `until`.
    pub fn search(
        &self,
        ns: &str,
        text: &str,
        until: Option<&str>,
        limit: usize,
        now: Timestamp,
    ) -> anyhow::Result<recall::RankedHits> {
        let ask = recall::RecallQuery {
            query: Query {
                text: text.to_owned(),
                workspace_key: Some(workspace_key(ns)),
                until: until.and_then(parse_corpus_time),
                limit,
                ..Query::default()
            },
            explain: true,
            rank_sessions: true,
            ..recall::RecallQuery::default()
        };
        Ok(recall::search(&self.store, &ask, now)?)
    }
}

/// Returns the key of a namespace's workspace.
pub fn workspace_key(ns: &str) -> String {
    format!("corpus/{ns}")
}

fn corpus_record(row: CorpusRow, session: SessionId, at: Option<Timestamp>) -> Record {
    let (kind, trust) = match row.role.as_str() {
        "user" => (RecordKind::Prompt, Trust::User),
        "tool" => (RecordKind::ToolUse, Trust::Tool),
        _ => (RecordKind::Assistant, Trust::Model),
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
        context: memory::RecordEnvironment::default(),
    }
}

/// Reads a time with or without its zone, or a day.
fn parse_corpus_time(text: &str) -> Option<Timestamp> {
    let text = text.replace('/', "-");
    let utc = |date: DateTime| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse()
        .ok()
        .or_else(|| utc(text.parse().ok()?))
        .or_else(|| utc(text.get(..10)?.parse::<Date>().ok()?.into()))
}

/// Reads the rows of `NAME.jsonl` or `NAME.jsonl.gz` in a folder.
pub fn read_jsonl<T: for<'de> Deserialize<'de>>(
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
