//! The sanitizer: captured text in, redacted text out.
//!
//! A stage hands [`IncomingEntries`] to the store. [`Sanitizer::clean`] redacts every string in
//! them, computes the ids of the records, and compresses the texts. It needs no database, so
//! several threads run it beside the writer. The SQL functions accept only its output.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use memory::{Record, RecordId, RecordKind, SessionId, SessionPatch, Trust, UsageEntry, Workspace};

use crate::index::terms::IndexDocument;
use crate::texts::blocks::BLOCK_BYTES;
use crate::texts::compression;
use redact::{
    CheckedTexts, CleanString, Fingerprint, Redactor, Secret, SessionSecrets, personal_data,
};

/// Longer texts are compressed alone and stored once, however often they occur.
const INLINE_BYTES_MAX: usize = 8 << 10;
/// A batch with less short text than this stores it in the rows: a block would save nothing.
const BLOCKED_BYTES_MIN: usize = 1 << 10;

/// The tag of a record that looks private without being a secret.
pub(crate) const SENSITIVE_TAG: &str = "sensitive";

/// The name of the redaction rule for values from files that are never captured.
const PRIVATE_FILE: &str = "private-file";

/// How many recurring names are cached after redaction; a log has a few dozen.
const CLEAN_NAMES_MAX: usize = 1000;

/// What a stage wants to store.
#[derive(Debug, Default)]
pub struct IncomingEntries {
    pub records: Vec<Record>,
    pub sessions: Vec<(SessionPatch, Option<Workspace>)>,
    pub usage: Vec<UsageEntry>,
}

/// The same entries, redacted and ready to be written.
#[derive(Debug)]
pub struct CleanEntries {
    pub(crate) records: Vec<CleanRecord>,
    pub(crate) sessions: Vec<CleanSession>,
    pub(crate) usage: Vec<CleanUsage>,
    pub(crate) secrets: Vec<CleanSecrets>,
    /// Short texts, compressed together.
    pub(crate) blocks: Vec<Vec<u8>>,
    /// The ids of the records, in order.
    pub ids: Vec<RecordId>,
    /// How many usage entries had a number out of range, which was clamped.
    pub clamped: usize,
}

#[derive(Debug)]
pub(crate) struct CleanRecord {
    pub id: RecordId,
    pub session: CleanString,
    pub message: CleanString,
    pub line: u64,
    pub ordinal: u32,
    pub at: Option<Timestamp>,
    pub kind: RecordKind,
    pub trust: Trust,
    pub tool: Option<CleanString>,
    pub path: Option<CleanString>,
    pub call: Option<CleanString>,
    pub tags: Option<CleanString>,
    pub metadata: Option<CleanString>,
    pub context: [CleanString; 3],
    pub content: CleanString,
    /// The terms that the index finds the record by. They are computed here, because this runs on
    /// several threads.
    pub terms: String,
    pub placement: TextPlacement,
    pub checksum: i64,
}

/// Where the text of a record is stored.
#[derive(Debug)]
pub(crate) enum TextPlacement {
    Row,
    Block { index: usize, start: usize },
    Body(CompressedText),
}

/// A compressed long text, named by its hash.
#[derive(Debug)]
pub(crate) struct CompressedText {
    pub hash: [u8; 16],
    pub data: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct CleanSession {
    pub name: CleanString,
    pub patch: SessionPatch,
    pub title: Option<CleanString>,
    pub cwd: Option<CleanString>,
    pub branch: Option<CleanString>,
    pub model: Option<CleanString>,
    pub version: Option<CleanString>,
    pub parent: Option<CleanString>,
    pub workspace: Option<(CleanString, CleanString)>,
}

#[derive(Debug)]
pub(crate) struct CleanUsage {
    pub session: CleanString,
    /// A hash of the usage key, which only has to be equal when the entry comes again.
    pub key: [u8; 16],
    pub model: Option<CleanString>,
    pub entry: UsageEntry,
}

/// New secrets of a session: their fingerprints, and the values themselves, which rows that were
/// stored earlier may still hold.
#[derive(Debug)]
pub(crate) struct CleanSecrets {
    pub session: CleanString,
    pub fingerprints: Vec<Fingerprint>,
    pub fresh: Vec<Secret>,
}

/// Loads the fingerprints of the secrets that a session has shown before.
type FingerprintLoader<'a> = Box<dyn Fn(&SessionId) -> Vec<Fingerprint> + 'a>;

/// Redacts the batches of one source, and remembers the secrets of its sessions.
pub struct Sanitizer<'a> {
    redactor: &'a Redactor,
    secrets_by_session: HashMap<SessionId, SessionSecrets>,
    load_fingerprints: FingerprintLoader<'a>,
    /// Short texts that recur, after redaction.
    clean_names: HashMap<String, CleanString>,
}

impl std::fmt::Debug for Sanitizer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sanitizer")
            .field("sessions", &self.secrets_by_session.len())
            .finish_non_exhaustive()
    }
}

impl CleanEntries {
    /// Gives imported records the ids that they had in the exporting store. A text may have been
    /// redacted again since its id was computed, and the old id still identifies it.
    pub(crate) fn restore_ids(&mut self, ids: &[RecordId]) {
        for (record, id) in self.records.iter_mut().zip(ids) {
            let hash = blake3::hash(record.content.as_str().as_bytes());
            record.id = *id;
            record.checksum = record_checksum(*id, hash.as_bytes());
        }
        self.ids = ids.to_vec();
    }
}

impl<'a> Sanitizer<'a> {
    pub(crate) fn new(
        redactor: &'a Redactor,
        load: impl Fn(&SessionId) -> Vec<Fingerprint> + 'a,
    ) -> Self {
        Self {
            redactor,
            secrets_by_session: HashMap::new(),
            load_fingerprints: Box::new(load),
            clean_names: HashMap::new(),
        }
    }

    /// Redacts a batch. A value that is recognised as a secret in the last record is also replaced
    /// in the first: records that were redacted before are then redacted again.
    pub fn clean(&mut self, incoming: IncomingEntries) -> CleanEntries {
        let mut records = incoming.records;
        let texts: Vec<_> = records
            .iter_mut()
            .map(|record| {
                let seen = session_secrets(
                    &mut self.secrets_by_session, &self.load_fingerprints, &record.session,
                );
                let text = std::mem::take(&mut record.content);
                (
                    self.redactor.clean_owned(text, seen),
                    seen.new_values().len(),
                )
            })
            .collect();
        let mut records: Vec<_> = records
            .into_iter()
            .zip(texts)
            .map(|(record, (text, known))| {
                let seen = session_secrets(
                    &mut self.secrets_by_session, &self.load_fingerprints, &record.session,
                );
                let text = if seen.new_values().len() > known {
                    self.redactor.clean_owned(text.into_string(), seen)
                } else {
                    text
                };
                self.clean_record(record, text)
            })
            .collect();
        let blocks = pack_blocks(&mut records);
        let mut usage = incoming.usage;
        let clamped = usage.iter_mut().map(|entry| usize::from(entry.clamp()));
        CleanEntries {
            clamped: clamped.sum(),
            blocks,
            ids: records.iter().map(|record| record.id).collect(),
            records,
            sessions: incoming
                .sessions
                .into_iter()
                .map(|(p, w)| self.clean_session(p, w))
                .collect(),
            usage: usage
                .into_iter()
                .map(|entry| self.clean_usage(entry))
                .collect(),
            secrets: self.take_new_secrets(),
        }
    }

    /// Registers values that must not be stored for a session, wherever it shows them.
    pub fn withhold_values(&mut self, session: &SessionId, values: &[String]) {
        let seen = session_secrets(
            &mut self.secrets_by_session, &self.load_fingerprints, session,
        );
        for value in values {
            self.redactor.add_secret(PRIVATE_FILE, value, seen);
        }
    }

    /// Redacts records that are shown before they are stored. A record that looks private gets the
    /// tag that it would get in the store.
    pub fn redact_records(&mut self, mut records: Vec<Record>) -> Vec<Record> {
        let mut known = Vec::with_capacity(records.len());
        for record in &mut records {
            let seen = session_secrets(
                &mut self.secrets_by_session, &self.load_fingerprints, &record.session,
            );
            let content = std::mem::take(&mut record.content);
            let content = self.redactor.clean_owned(content, seen);
            if content.sensitive() && !record.tags.iter().any(|tag| tag == SENSITIVE_TAG) {
                record.tags.push(SENSITIVE_TAG.to_owned());
            }
            record.content = content.into_string();
            known.push(seen.new_values().len());
        }
        for (record, known) in records.iter_mut().zip(known) {
            let seen = session_secrets(
                &mut self.secrets_by_session, &self.load_fingerprints, &record.session,
            );
            let mut redact = |text: String| self.redactor.clean_owned(text, seen).into_string();
            record.path = record.path.take().map(&mut redact);
            record.tool = record.tool.take().map(&mut redact);
            // A value that is recognised in a later record is replaced in the earlier ones too.
            if seen.new_values().len() > known {
                let content = std::mem::take(&mut record.content);
                record.content = self.redactor.clean_owned(content, seen).into_string();
            }
        }
        records
    }

    /// Redacts a text that belongs to no session.
    pub fn clean_text(&self, text: &str) -> CleanString {
        self.redactor.clean(text).into_owned()
    }

    /// Redacts a text that recurs from record to record.
    fn clean_name(&mut self, text: &str) -> CleanString {
        if let Some(clean) = self.clean_names.get(text) {
            return clean.clone();
        }
        let clean = self.clean_text(text);
        if self.clean_names.len() < CLEAN_NAMES_MAX {
            self.clean_names.insert(text.to_owned(), clean.clone());
        }
        clean
    }

    fn clean_record(&mut self, record: Record, content: CleanString) -> CleanRecord {
        let seen = session_secrets(
            &mut self.secrets_by_session, &self.load_fingerprints, &record.session,
        );
        let redactor = self.redactor;
        let path = record.path.map(|path| redactor.clean_owned(path, seen));
        let metadata = (!record.metadata.is_empty()).then(|| {
            let json = serde_json::to_string(&record.metadata).unwrap_or_default();
            redactor.clean_owned(json, seen)
        });
        // SQL reads the column as JSON, so a redaction must not have changed its structure.
        let metadata = metadata
            .filter(|json| serde_json::from_str::<serde_json::Value>(json.as_str()).is_ok());
        let session = self.clean_name(record.session.as_str());
        let message = self.clean_text(record.message.as_str());
        let hash = *blake3::hash(content.as_str().as_bytes()).as_bytes();
        let kind = record.kind;
        let id = RecordId::from_parts(
            session.as_str(),
            message.as_str(),
            record.ordinal,
            kind.name(),
            &hash,
        );
        let mut tags = record.tags;
        let is_personal =
            !personal_data(content.as_str(), record.context.cwd.as_deref()).is_empty();
        if (content.sensitive() || is_personal) && !tags.iter().any(|tag| tag == SENSITIVE_TAG) {
            tags.push(SENSITIVE_TAG.to_owned());
        }
        let tags = (!tags.is_empty())
            .then(|| self.clean_name(&serde_json::to_string(&tags).unwrap_or_default()));
        let context = record.context;
        let tool = record.tool.map(|tool| self.clean_name(&tool));
        let speaker = record
            .metadata
            .get("speaker")
            .and_then(serde_json::Value::as_str)
            .map(|name| self.clean_name(name));
        let document = IndexDocument {
            kind,
            text: content.as_str(),
            tool: tool.as_ref().map(CleanString::as_str),
            path: path.as_ref().map(CleanString::as_str),
            speaker: speaker.as_ref().map(CleanString::as_str),
            tags: tags.as_ref().map(CleanString::as_str),
        };
        CleanRecord {
            terms: document.terms(),
            id,
            line: record.line,
            ordinal: record.ordinal,
            at: record.at,
            kind,
            trust: record.trust,
            tool,
            path,
            call: record.call.map(|call| self.clean_text(call.as_str())),
            tags,
            metadata,
            context: [context.cwd, context.branch, context.model]
                .map(|text| self.clean_name(text.as_deref().unwrap_or_default())),
            placement: compress_long_text(content.as_str(), &hash)
                .map_or(TextPlacement::Row, TextPlacement::Body),
            checksum: record_checksum(id, &hash),
            content,
            session,
            message,
        }
    }

    /// Redacts a piece of a log line by line, with the secrets that its sessions have shown. The
    /// texts of `records`, which were read from it, are not searched a second time.
    pub(crate) fn clean_log(&mut self, text: &str, records: &[CleanRecord]) -> CleanString {
        let mut sessions: Vec<_> = self
            .secrets_by_session
            .iter_mut()
            .filter(|(_, s)| !s.is_empty())
            .collect();
        sessions.sort_by(|a, b| a.0.cmp(b.0));
        let mut known: Vec<_> = sessions.into_iter().map(|(_, seen)| seen).collect();
        let mut unknown = SessionSecrets::default();
        let first = known.pop().unwrap_or(&mut unknown);
        let texts = CheckedTexts::new(records.iter().map(|record| &record.content));
        self.redactor.clean_lines(text, &texts, first, &mut known)
    }

    fn clean_session(
        &mut self,
        mut patch: SessionPatch,
        workspace: Option<Workspace>,
    ) -> CleanSession {
        let name = self.clean_text(patch.id.as_str());
        let seen = session_secrets(
            &mut self.secrets_by_session, &self.load_fingerprints, &patch.id,
        );
        let redactor = self.redactor;
        let mut clean = |text: Option<String>| -> Option<CleanString> {
            text.map(|text| redactor.clean_in_session(&text, seen).into_owned())
        };
        CleanSession {
            name,
            title: clean(patch.title.as_mut().map(|title| one_line(&title.text))),
            cwd: clean(patch.cwd.take()),
            branch: clean(patch.branch.take()),
            model: clean(patch.model.take()),
            version: clean(patch.version.take()),
            parent: clean(patch.parent.take().map(|parent| parent.as_str().to_owned())),
            workspace: workspace.and_then(|w| Some((clean(Some(w.key))?, clean(Some(w.root))?))),
            patch,
        }
    }

    fn clean_usage(&self, entry: UsageEntry) -> CleanUsage {
        CleanUsage {
            session: self.clean_text(entry.session.as_str()),
            key: truncate_hash(blake3::hash(entry.key.as_bytes()).as_bytes()),
            model: entry.model.as_deref().map(|model| self.clean_text(model)),
            entry,
        }
    }

    /// Returns the secrets that were found since the last call.
    fn take_new_secrets(&mut self) -> Vec<CleanSecrets> {
        let redactor = self.redactor;
        let ordered: BTreeMap<_, _> = self.secrets_by_session.iter_mut().collect();
        let mut all = Vec::new();
        for (session, seen) in ordered {
            if seen.new_values().is_empty() {
                continue;
            }
            all.push(CleanSecrets {
                session: redactor.clean(session.as_str()).into_owned(),
                fingerprints: seen.new_fingerprints().to_vec(),
                fresh: seen.new_values().to_vec(),
            });
            seen.mark_written();
        }
        all
    }
}

fn compress_long_text(content: &str, hash: &[u8; 32]) -> Option<CompressedText> {
    if content.len() <= INLINE_BYTES_MAX {
        return None;
    }
    let data = compression::compress(content.as_bytes()).ok()?;
    Some(CompressedText {
        hash: truncate_hash(hash),
        data,
    })
}

/// Moves the short texts of records into compressed blocks.
fn pack_blocks(records: &mut [CleanRecord]) -> Vec<Vec<u8>> {
    let is_short = |record: &&mut CleanRecord| matches!(record.placement, TextPlacement::Row);
    let total: usize = records
        .iter_mut()
        .filter(is_short)
        .map(|record| record.content.as_str().len())
        .sum();
    let mut blocks = Vec::new();
    if total < BLOCKED_BYTES_MIN {
        return blocks;
    }
    let mut text = String::with_capacity(BLOCK_BYTES + INLINE_BYTES_MAX);
    let mut short: Vec<_> = records.iter_mut().filter(is_short).collect();
    let mut from = 0;
    for at in 0..short.len() {
        let start = text.len();
        text.push_str(short[at].content.as_str());
        short[at].placement = TextPlacement::Block {
            index: blocks.len(),
            start,
        };
        if text.len() < BLOCK_BYTES && at + 1 < short.len() {
            continue;
        }
        if let Ok(data) = compression::compress(text.as_bytes()) {
            blocks.push(data);
        } else {
            for record in &mut short[from..=at] {
                record.placement = TextPlacement::Row;
            }
        }
        text.clear();
        from = at + 1;
    }
    blocks
}

/// Joins a title to one line with single spaces, because titles are printed in tables.
fn one_line(title: &str) -> String {
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn session_secrets<'m>(
    all: &'m mut HashMap<SessionId, SessionSecrets>,
    load: &dyn Fn(&SessionId) -> Vec<Fingerprint>,
    session: &SessionId,
) -> &'m mut SessionSecrets {
    if !all.contains_key(session) {
        all.insert(
            session.clone(),
            SessionSecrets::from_fingerprints(load(session)),
        );
    }
    all.entry(session.clone()).or_default()
}

fn truncate_hash(hash: &[u8; 32]) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&hash[..16]);
    short
}

/// Returns the checksum of a record's row. SQLite checks the structure of a page, not its content.
pub(crate) fn record_checksum(id: RecordId, content: &[u8; 32]) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(id.as_bytes());
    hasher.update(content);
    let mut first = [0; 8];
    first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    i64::from_le_bytes(first)
}
