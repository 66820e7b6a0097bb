//! Import: redacts and writes lines in batches. Existing rows stay as they are.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::derived::{CallLine, CleanLine, InjectionLine, MarksLine, SummaryLine};
use super::line::{
    DigestLine, EXPORT_FORMAT, EvictionLine, ExportLine, FactLine, LogLine, RecordLine,
    SessionLine, SourceLine, UsageLine, WorkspaceLine, bytes, decode_hex,
};
use super::scope::{ImportScope, ScopeCheck};
use super::signature;
use super::write::{self, ImportBatch, ImportCounts};
use crate::error::{Error, Result};
use crate::ingest::sanitizer::{IncomingEntries, Sanitizer};
use crate::ingest::writer::CommitMode;
use crate::{Store, Ticket};
use memory::session::{Title, TitleRank};
use memory::{
    CallId, Flavor, MessageId, Record, RecordEnvironment, RecordId, SessionId, SessionPatch,
    UsageEntry, Workspace,
};

/// A longer line is skipped.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// How much is redacted and written as one batch.
const BATCH_RECORDS_MAX: usize = 1_000;
const BATCH_BYTES_MAX: usize = 4 << 20;
/// How many skipped lines are reported by number.
const SKIPPED_KEPT_MAX: usize = 100;
/// How many batches may wait for the writer.
const TICKETS_MAX: usize = 8;

/// Whose lines are trusted when they claim that the user said, prefers or pinned something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportTrust {
    /// Lines that were signed with this store's key. Others are imported with the lowest trust.
    Signed,
    /// All lines: the user vouches for the file.
    All,
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ImportReport {
    pub lines: usize,
    pub sessions: usize,
    /// Records that were new.
    pub records: usize,
    /// Records that existed already.
    pub known_records: usize,
    /// Records that were forgotten in this store and are not imported.
    pub forgotten_records: usize,
    pub facts: usize,
    pub log_pieces: usize,
    /// Lines of another store whose claims were not believed: their records and facts came in with
    /// the lowest trust, unpinned, preferences as notes; running summaries were left out.
    pub distrusted: usize,
    /// Lines and usage entries with numbers out of range, which were clamped.
    pub clamped: usize,
    /// Lines that could not be used.
    pub skipped: usize,
    /// The first of them, with line number and reason.
    pub skipped_lines: Vec<(usize, String)>,
    pub interrupted: bool,
}

impl Store {
    /// Takes an export in. Every text goes through the redactor; what is there already is left as
    /// it is, so an import that was interrupted can be run again. `progress` hears how many bytes
    /// were read.
    pub fn import(
        &self,
        input: &mut dyn BufRead,
        claims: ImportTrust,
        stop: &AtomicBool,
        progress: &dyn Fn(u64),
    ) -> Result<ImportReport> {
        self.import_within(input, None, claims, stop, progress)
    }

    /// Imports within a scope: text that the configuration excludes from capture is not imported.
    pub fn import_within(
        &self,
        input: &mut dyn BufRead,
        scope: Option<&dyn ImportScope>,
        claims: ImportTrust,
        stop: &AtomicBool,
        progress: &dyn Fn(u64),
    ) -> Result<ImportReport> {
        let mut import = Importer {
            store: self,
            scope: ScopeCheck::new(scope),
            claims,
            sanitizer: self.sanitizer(),
            flavors: HashMap::new(),
            roots: HashMap::new(),
            pending: PendingImport::default(),
            tickets: VecDeque::new(),
            report: ImportReport::default(),
        };
        import.run(input, stop, progress)?;
        Ok(import.report)
    }
}

struct Importer<'a> {
    store: &'a Store,
    scope: ScopeCheck<'a>,
    claims: ImportTrust,
    sanitizer: Sanitizer<'a>,
    /// The agents of the sessions read so far.
    flavors: HashMap<String, Flavor>,
    /// A folder of each workspace read so far.
    roots: HashMap<String, String>,
    pending: PendingImport,
    tickets: VecDeque<Ticket<ImportCounts>>,
    report: ImportReport,
}

/// The batch that is being collected.
#[derive(Default)]
struct PendingImport {
    bytes: usize,
    workspaces: Vec<WorkspaceLine>,
    incoming: IncomingEntries,
    ids: Vec<RecordId>,
    detached: HashSet<RecordId>,
    usage_keys: Vec<[u8; 16]>,
    sources: Vec<SourceLine>,
    logs: Vec<LogLine>,
    evictions: Vec<EvictionLine>,
    digests: Vec<DigestLine>,
    facts: Vec<FactLine>,
    summaries: Vec<SummaryLine>,
    marks: Vec<MarksLine>,
    calls: Vec<CallLine>,
    injections: Vec<InjectionLine>,
}

impl Importer<'_> {
    fn run(
        &mut self,
        input: &mut dyn BufRead,
        stop: &AtomicBool,
        progress: &dyn Fn(u64),
    ) -> Result<()> {
        let mut read = 0;
        let mut text = Vec::new();
        loop {
            if stop.load(Ordering::Relaxed) {
                self.report.interrupted = true;
                break;
            }
            text.clear();
            let size = next_line(input, &mut text)?;
            if size == 0 {
                break;
            }
            read += size;
            self.report.lines += 1;
            progress(read);
            if let Err(why) = self.line(&text, size)? {
                self.skip(why);
            }
            if self.pending.is_full() {
                self.write()?;
            }
        }
        self.write()?;
        self.wait_for_batches(0)
    }

    /// Imports a line, or returns why not. A file whose first line is not an export header is
    /// rejected.
    fn line(&mut self, text: &[u8], size: u64) -> Result<Result<(), String>> {
        if text.iter().all(u8::is_ascii_whitespace) {
            return Ok(Ok(()));
        }
        if size > LINE_BYTES_MAX {
            return Ok(Err("longer than a line may be".to_owned()));
        }
        let parsed = serde_json::from_slice(text);
        if self.report.lines == 1 {
            check_format(&parsed)?;
        }
        match parsed {
            Ok(mut line) => {
                self.report.clamped += usize::from(ExportLine::clamp(&mut line));
                if !self.believes(&line, text) {
                    self.report.distrusted += usize::from(line.lower_trust());
                    if let ExportLine::Summary(_) = line {
                        // Notes on a session are passed to its agent verbatim.
                        self.report.distrusted += 1;
                        return Ok(Ok(()));
                    }
                }
                Ok(self.take(line, text.len()))
            }
            Err(error) => Ok(Err(error.to_string())),
        }
    }

    fn believes(&self, line: &ExportLine, text: &[u8]) -> bool {
        self.claims == ImportTrust::All
            || !line.is_signed()
            || signature::is_signed_by(self.store.redactor(), text)
    }

    fn take(&mut self, mut line: ExportLine, size: usize) -> Result<(), String> {
        self.scope.admit(&mut line)?;
        match line {
            ExportLine::Export { .. } => {}
            ExportLine::Workspace(line) => {
                let root = line.roots.first().cloned().unwrap_or_default();
                self.roots.insert(line.key.clone(), root);
                self.pending.workspaces.push(line);
            }
            ExportLine::Session(line) => self.session(line)?,
            ExportLine::Source(line) => {
                self.flavor(&line.session)?;
                self.pending.sources.push(line);
            }
            ExportLine::Record(line) => self.record(line)?,
            ExportLine::Usage(line) => self.usage(line)?,
            ExportLine::Log(line) => {
                let known = Flavor::from_name(&line.flavor);
                known.ok_or_else(|| format!("no agent is called {}", line.flavor))?;
                self.pending.logs.push(line);
            }
            ExportLine::Eviction(line) => {
                self.flavor(&line.session)?;
                decode_hex(&line.ids).ok_or("the ids are not hexadecimal digits")?;
                self.pending.evictions.push(line);
            }
            ExportLine::Digest(line) => {
                self.flavor(&line.session)?;
                self.pending.digests.push(line);
            }
            ExportLine::Fact(line) => {
                bytes(&line.id).ok_or("the id is not 32 hexadecimal digits")?;
                self.pending.facts.push(line);
            }
            ExportLine::Summary(line) => {
                self.flavor(&line.session)?;
                // The file would hold in plain text what the store keeps encrypted.
                if !self.store.is_encrypted() {
                    self.pending.summaries.push(line);
                }
            }
            ExportLine::Marks(line) => {
                self.flavor(&line.session)?;
                self.pending.marks.push(line);
            }
            ExportLine::Call(line) => self.pending.calls.push(line),
            ExportLine::Injection(line) => {
                decode_hex(&line.prompt).ok_or("the prompt's hash is not hexadecimal digits")?;
                self.pending.injections.push(line);
            }
        }
        self.pending.bytes += size;
        Ok(())
    }

    fn session(&mut self, line: SessionLine) -> Result<(), String> {
        let flavor = Flavor::from_name(&line.flavor)
            .ok_or_else(|| format!("no agent is called {}", line.flavor))?;
        self.flavors.insert(line.id.clone(), flavor);
        let workspace = line.workspace.map(|key| Workspace {
            root: self.roots.get(&key).cloned().unwrap_or_default(),
            key,
        });
        let rank = title_rank(line.title_rank);
        let patch = SessionPatch {
            kind: Some(line.kind),
            title: line.title.map(|text| Title { text, rank }),
            cwd: line.cwd,
            branch: line.branch,
            model: line.model,
            version: line.version,
            parent: line.parent.map(SessionId::new),
            started: line.started,
            ended: line.ended,
            ..SessionPatch::new(SessionId::new(line.id), flavor)
        };
        self.pending.incoming.sessions.push((patch, workspace));
        self.report.sessions += 1;
        Ok(())
    }

    fn record(&mut self, line: RecordLine) -> Result<(), String> {
        self.flavor(&line.session)?;
        let id = line.id.parse();
        let id = id.map_err(|_| "the id is not 32 hexadecimal digits")?;
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        self.pending.ids.push(id);
        if line.detached {
            self.pending.detached.insert(id);
        }
        self.pending.incoming.records.push(Record {
            message: MessageId::new(line.message),
            ordinal: line.ordinal,
            at: line.at,
            line: line.line,
            kind: line.kind,
            session: SessionId::new(line.session),
            tool: line.tool,
            path: line.path,
            call: line.call.map(CallId::new),
            content: line.content,
            tags: line.tags,
            metadata: line.metadata,
            trust: line.trust,
            context: RecordEnvironment {
                cwd: some(line.cwd),
                branch: some(line.branch),
                model: some(line.model),
            },
        });
        Ok(())
    }

    fn usage(&mut self, line: UsageLine) -> Result<(), String> {
        self.flavor(&line.session)?;
        let key = bytes(&line.key).ok_or("the key is not 32 hexadecimal digits")?;
        self.pending.usage_keys.push(key);
        self.pending.incoming.usage.push(UsageEntry {
            session: SessionId::new(line.session),
            key: String::new(),
            at: line.at,
            model: line.model,
            usage: line.usage,
            cost_usd: line.cost_usd,
        });
        Ok(())
    }

    /// Returns the agent of a session that occurred earlier in the file.
    fn flavor(&self, session: &str) -> Result<Flavor, String> {
        self.flavors
            .get(session)
            .copied()
            .ok_or_else(|| format!("its session {session} is not in the file"))
    }

    fn skip(&mut self, why: String) {
        self.report.skipped += 1;
        if self.report.skipped_lines.len() < SKIPPED_KEPT_MAX {
            self.report.skipped_lines.push((self.report.lines, why));
        }
    }

    /// Redacts the pending batch and passes it to the writer.
    fn write(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let batch = self.clean(pending);
        let redactor = self.store.redactor_handle();
        let weight = batch.cleaned.records.len();
        let writer = self.store.writer();
        let ticket = writer.submit(weight, CommitMode::Grouped, move |tx, names| {
            write::write_import(tx, names, &redactor, &batch)
        });
        self.tickets.push_back(ticket);
        self.wait_for_batches(TICKETS_MAX)
    }

    fn clean(&mut self, pending: PendingImport) -> ImportBatch {
        let sanitizer = &mut self.sanitizer;
        let mut cleaned = sanitizer.clean(pending.incoming);
        self.report.clamped += cleaned.clamped;
        cleaned.restore_ids(&pending.ids);
        for (usage, key) in cleaned.usage.iter_mut().zip(pending.usage_keys) {
            usage.key = key;
        }
        let clean = |text: &str| sanitizer.clean_text(text);
        let sources = pending.sources.iter();
        let facts = pending.facts.into_iter();
        ImportBatch {
            workspaces: pending
                .workspaces
                .iter()
                .map(|line| {
                    let roots = line.roots.iter().map(|root| clean(root)).collect();
                    (clean(&line.key), roots)
                })
                .collect(),
            sources: sources
                .filter_map(|line| {
                    let flavor = *self.flavors.get(&line.session)?;
                    Some((flavor, clean(&line.session), clean(&line.path)))
                })
                .collect(),
            evictions: pending.evictions,
            detached: pending.detached,
            digests: pending
                .digests
                .into_iter()
                .map(|line| write::clean_digest(sanitizer, line))
                .collect(),
            facts: facts
                .filter_map(|line| write::clean_fact(sanitizer, line))
                .collect(),
            logs: pending
                .logs
                .iter()
                .filter_map(|line| write::clean_log(sanitizer, line))
                .collect(),
            flavors: cleaned
                .records
                .iter()
                .map(|record| self.flavors.get(record.session.as_str()).copied())
                .collect(),
            summaries: all_clean(sanitizer, pending.summaries),
            marks: all_clean(sanitizer, pending.marks),
            calls: all_clean(sanitizer, pending.calls),
            injections: all_clean(sanitizer, pending.injections),
            cleaned,
        }
    }

    /// Waits until at most `pending_max` batches are pending.
    fn wait_for_batches(&mut self, pending_max: usize) -> Result<()> {
        while self.tickets.len() > pending_max
            && let Some(ticket) = self.tickets.pop_front()
        {
            let counts = ticket.wait()?;
            self.report.records += counts.records;
            self.report.known_records += counts.known_records;
            self.report.forgotten_records += counts.forgotten_records;
            self.report.facts += counts.facts;
            self.report.log_pieces += counts.log_pieces;
        }
        Ok(())
    }
}

fn all_clean<T: CleanLine>(sanitizer: &Sanitizer<'_>, lines: Vec<T>) -> Vec<T> {
    lines
        .into_iter()
        .map(|line| line.clean(sanitizer))
        .collect()
}

impl PendingImport {
    fn is_full(&self) -> bool {
        self.ids.len() >= BATCH_RECORDS_MAX || self.bytes >= BATCH_BYTES_MAX
    }
}

/// Reads a line into `text`, up to the maximum length, and returns the size of the line.
fn next_line(input: &mut dyn BufRead, text: &mut Vec<u8>) -> Result<u64> {
    let failed = |error| Error::Import(Arc::new(error));
    let mut size = 0;
    loop {
        let here = input.fill_buf().map_err(failed)?;
        if here.is_empty() {
            return Ok(size);
        }
        let end = memchr::memchr(b'\n', here);
        let part = end.map_or(here.len(), |end| end + 1);
        size += part as u64;
        if size <= LINE_BYTES_MAX {
            text.extend_from_slice(&here[..part]);
        }
        input.consume(part);
        if end.is_some() {
            return Ok(size);
        }
    }
}

fn check_format(first: &serde_json::Result<ExportLine>) -> Result<()> {
    let why = match first {
        Ok(ExportLine::Export { format }) if *format <= EXPORT_FORMAT => return Ok(()),
        Ok(ExportLine::Export { format }) => {
            format!("it has format {format}, and this program knows up to {EXPORT_FORMAT}")
        }
        Ok(_) => "its first line does not say what it is".to_owned(),
        Err(error) => format!("its first line cannot be read: {error}"),
    };
    Err(Error::NotAnExport(why))
}

fn title_rank(number: i64) -> TitleRank {
    match number {
        ..=0 => TitleRank::SmallTalk,
        1 => TitleRank::FirstPrompt,
        2 => TitleRank::LastPrompt,
        3 => TitleRank::Summary,
        4 => TitleRank::Generated,
        5.. => TitleRank::Custom,
    }
}
