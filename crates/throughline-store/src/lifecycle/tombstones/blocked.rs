//! Removes forgotten records from a batch. Every write path passes through here.

use std::collections::{BTreeSet, HashSet};

use memory::SessionKind;
use rusqlite::Transaction;

use super::TombstoneFilter;
use crate::error::Result;
use crate::index;
use crate::ingest::batch::Batch;
use crate::ingest::sanitizer::CleanSession;
use crate::ingest::sources::{self, Cursor};
use crate::ingest::writer::WriterState;
use crate::lifecycle::forget::{self, LineNumbers, Needles};
use crate::texts::logs::LogPiece;
use redact::{CleanString, Redactor};

/// The parts of a batch that must not be written.
#[derive(Debug, Default)]
pub(crate) struct BlockedContent {
    pub sessions: HashSet<String>,
    /// Indexes into the batch.
    pub records: BTreeSet<usize>,
    /// True when the source holds only forgotten records. Then neither its log nor its name is
    /// stored.
    pub whole_source: bool,
    /// True when there are tombstones, so that the log must be checked too.
    has_tombstones: bool,
    titles: HashSet<String>,
    needles: Needles,
    lines: LineNumbers,
}

pub(crate) fn blocked_by_tombstones(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    batch: &Batch,
) -> Result<BlockedContent> {
    let mut gate = TombstoneFilter::new(tx, redactor)?;
    let mut out = BlockedContent::default();
    if gate.is_open() {
        return Ok(out);
    }
    out.has_tombstones = true;
    let mut stays = false;
    let cleaned = &batch.cleaned;
    for session in &cleaned.sessions {
        let is_subagent = session.patch.kind == Some(SessionKind::Subagent);
        let parent = session.parent.as_ref().filter(|_| is_subagent);
        if gate.session(tx, session.name.as_str(), parent.map(CleanString::as_str))? {
            out.sessions.insert(session.name.as_str().to_owned());
        }
    }
    for (at, record) in cleaned.records.iter().enumerate() {
        let name = record.session.as_str();
        let is_gone = out.sessions.contains(name) || gate.session(tx, name, None)?;
        if is_gone {
            out.sessions.insert(name.to_owned());
        }
        if is_gone || gate.is_record_forgotten(tx, record)? {
            out.records.insert(at);
            out.needles.add(record.content.as_str());
            out.lines.insert(record.line);
        } else {
            stays = true;
        }
    }
    for usage in &cleaned.usage {
        if gate.session(tx, usage.session.as_str(), None)? {
            out.sessions.insert(usage.session.as_str().to_owned());
        }
    }
    stays |= cleaned
        .sessions
        .iter()
        .any(|session| !out.sessions.contains(session.name.as_str()));
    for session in &cleaned.sessions {
        if let Some(title) = &session.title
            && (out.needles.matches(title.as_str())
                || gate.is_title_forgotten(tx, session.name.as_str(), title.as_str())?)
        {
            out.titles.insert(title.as_str().to_owned());
        }
    }
    let key = &batch.cursor.cursor.key;
    let only_forgotten = !stays && (!out.sessions.is_empty() || sources::is_hidden(tx, key)?);
    // A prompt history may bring only forgotten prompts this time and still belong to other
    // sessions.
    out.whole_source = only_forgotten && !sources::is_used_elsewhere(tx, key)?;
    if !out.whole_source && !out.records.is_empty() {
        // The words that wait to be indexed may also occur in other records.
        writer.index.flush(tx)?;
        out.look_for_words(tx, batch)?;
    }
    Ok(out)
}

impl BlockedContent {
    /// Adds the words that occur only in forgotten records, since their log may hold them in
    /// pieces.
    fn look_for_words(&mut self, tx: &Transaction<'_>, batch: &Batch) -> Result<()> {
        let all = batch.cleaned.records.iter().enumerate();
        let (gone, stays): (Vec<_>, Vec<_>) = all.partition(|(at, _)| self.records.contains(at));
        let gone = gone.into_iter().map(|(_, record)| record.content.as_str());
        let mut words = forget::distinctive_words(gone);
        for (_, record) in stays {
            for word in forget::words_in(record.content.as_str()) {
                words.remove(&word);
            }
        }
        for word in words {
            if !index::contains_word(tx, &word)? {
                self.needles.add_word(word);
            }
        }
        Ok(())
    }

    /// Returns the session's title unless it was forgotten.
    pub(crate) fn title<'s>(&self, session: &'s CleanSession) -> Option<&'s CleanString> {
        let title = session.title.as_ref();
        title.filter(|title| !self.titles.contains(title.as_str()))
    }

    /// Returns the piece of a log without the forgotten lines, or `None` when it holds none of
    /// them.
    pub(crate) fn blank_piece(
        &self,
        tx: &Transaction<'_>,
        redactor: &Redactor,
        piece: &LogPiece,
        cursor: &Cursor,
    ) -> Result<Option<LogPiece>> {
        if !self.has_tombstones {
            return Ok(None);
        }
        let text = piece.read_text_at()?;
        let mut needles = self.needles.clone();
        TombstoneFilter::new(tx, redactor)?.add_forgotten_prompts(tx, &text, &mut needles)?;
        let lines = self.lines_in(piece, cursor, &text);
        let blanked = needles.blank(&text, &lines);
        Ok(blanked.and_then(|text| piece.with_text(&text)))
    }

    /// Returns the line numbers of the forgotten records within the piece, where they are known.
    fn lines_in(&self, piece: &LogPiece, cursor: &Cursor, text: &str) -> LineNumbers {
        if cursor.offset != piece.offset + piece.size {
            return LineNumbers::new();
        }
        let first = cursor.line.saturating_sub(text.lines().count() as u64);
        let here = self.lines.iter().filter(|line| **line > first);
        here.map(|line| line - first).collect()
    }

    /// Hides a source that holds only forgotten records, or shows it again.
    pub(crate) fn finish(&self, tx: &Transaction<'_>, source: i64) -> Result<()> {
        if !self.has_tombstones {
            return Ok(());
        }
        if self.whole_source {
            sources::hide(tx, source)
        } else {
            sources::unhide(tx, source)?;
            sources::blank_state(tx, source, &self.needles)
        }
    }
}
