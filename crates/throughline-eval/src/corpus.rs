//! Reads corpora and questions, and writes the rows of a corpus to a store.

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

/// One line of `corpus.jsonl`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CorpusRow {
    pub(crate) ns: String,
    pub(crate) id: String,
    pub(crate) session: String,
    #[serde(default)]
    pub(crate) seq: u64,
    pub(crate) ts: Option<String>,
    pub(crate) role: String,
    pub(crate) speaker: Option<String>,
    pub(crate) text: String,
}

/// One line of `queries.jsonl`: a question and the ids of the records that answer it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct EvalQuestion {
    pub(crate) ns: String,
    pub(crate) query: String,
    #[serde(default)]
    pub(crate) gold: Vec<String>,
    #[serde(default)]
    pub(crate) gold_sessions: Vec<String>,
    /// The time of the question. Later records must not be found.
    pub(crate) asof: Option<String>,
}

/// A store filled from corpora. It maps the ids of stored records back to those of the corpus.
#[derive(Debug)]
pub(crate) struct EvalStore {
    pub(crate) store: Store,
    corpus_ids: HashMap<RecordId, String>,
}

impl EvalStore {
    pub(crate) fn open(home: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            store: Store::open(home)?,
            corpus_ids: HashMap::new(),
        })
    }

    /// Stores rows the way captured records are stored: redacted, indexed and deduplicated.
    pub(crate) fn ingest(&mut self, rows: Vec<CorpusRow>) -> anyhow::Result<()> {
        let mut sanitizer = self.store.sanitizer();
        let mut sessions = BTreeMap::new();
        let mut corpus_ids = Vec::with_capacity(rows.len());
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
            corpus_ids.push(row.id.clone());
            records.push(corpus_record(row, session, at));
        }
        let cleaned = sanitizer.clean(IncomingEntries {
            records,
            sessions: sessions.into_values().collect(),
            usage: Vec::new(),
        });
        self.corpus_ids
            .extend(cleaned.ids.iter().copied().zip(corpus_ids));
        let origin = BatchOrigin {
            flavor: Flavor::Claude,
            path: Path::new("/corpus.jsonl"),
            cursor: Cursor::default(),
            phase: ReadPhase::Appended,
            issues: ParseIssues::default(),
            log: None,
        };
        let batch = Batch::new(&mut sanitizer, cleaned, origin);
        // `flush` waits for all batches at once.
        drop(self.store.append(batch));
        Ok(())
    }

    pub(crate) fn flush(&self) -> anyhow::Result<()> {
        Ok(self.store.flush()?)
    }

    /// Returns the id that a record has in its corpus.
    pub(crate) fn corpus_id(&self, id: RecordId) -> Option<&str> {
        self.corpus_ids.get(&id).map(String::as_str)
    }

    /// Searches in the workspace of a namespace for records from before `until`.
    pub(crate) fn search(
        &self,
        ns: &str,
        text: &str,
        until: Option<&str>,
        limit: usize,
        now: Timestamp,
    ) -> anyhow::Result<recall::RankedHits> {
        let query = recall::RecallQuery {
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
        Ok(recall::search(&self.store, &query, now)?)
    }
}

/// Returns the workspace key of a namespace.
pub(crate) fn workspace_key(ns: &str) -> String {
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
            .map(|name| ("speaker".to_owned(), name.into()))
            .into_iter()
            .collect(),
        trust,
        context: memory::RecordEnvironment::default(),
    }
}

/// Parses a timestamp, a date and time without a zone (taken as UTC), or a date.
fn parse_corpus_time(text: &str) -> Option<Timestamp> {
    let text = text.replace('/', "-");
    let utc = |date: DateTime| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp());
    text.parse()
        .ok()
        .or_else(|| utc(text.parse().ok()?))
        .or_else(|| utc(text.get(..10)?.parse::<Date>().ok()?.into()))
}

/// Calls `each` for every row of `NAME.jsonl` or `NAME.jsonl.gz` in a folder.
pub(crate) fn read_jsonl<T: for<'de> Deserialize<'de>>(
    folder: &Path,
    name: &str,
    mut each: impl FnMut(T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let plain = folder.join(format!("{name}.jsonl"));
    let compressed = folder.join(format!("{name}.jsonl.gz"));
    let (path, is_compressed) = if plain.exists() {
        (plain, false)
    } else {
        (compressed, true)
    };
    let context = || format!("cannot read {}", path.display());
    let file = std::fs::File::open(&path).with_context(context)?;
    let reader: Box<dyn BufRead> = if is_compressed {
        Box::new(BufReader::new(flate2::read::MultiGzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    for line in reader.lines() {
        let line = line.with_context(context)?;
        if !line.trim().is_empty() {
            each(serde_json::from_str(&line).with_context(context)?)?;
        }
    }
    Ok(())
}
