//! What of a batch was forgotten and is kept out: the one place that every way in passes.

use std::collections::{BTreeSet, HashSet};

use memory::SessionKind;
use rusqlite::Transaction;

use super::Gate;
use crate::batch::Batch;
use crate::clean::CleanSession;
use crate::error::Result;
use crate::forget::{Lines, Needles};
use crate::raw::Piece;
use crate::redact::{CleanString, Redactor};
use crate::sources::{self, Cursor};

/// What of a batch must not be written.
#[derive(Debug, Default)]
pub(crate) struct KeptOut {
    pub sessions: HashSet<String>,
    /// By their place in the batch.
    pub records: BTreeSet<usize>,
    /// The source holds nothing else: neither its log nor its name is kept.
    pub whole: bool,
    /// There are tombstones, so the log must be looked at too.
    is_watching: bool,
    titles: HashSet<String>,
    needles: Needles,
    lines: Lines,
}

pub(crate) fn kept_out(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    batch: &Batch,
) -> Result<KeptOut> {
    let mut gate = Gate::new(tx, redactor)?;
    let mut out = KeptOut::default();
    if gate.is_open() {
        return Ok(out);
    }
    out.is_watching = true;
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
        if is_gone || gate.record(tx, record)? {
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
            && (out.needles.meets(title.as_str())
                || gate.title(tx, session.name.as_str(), title.as_str())?)
        {
            out.titles.insert(title.as_str().to_owned());
        }
    }
    let was_hidden = sources::is_hidden(tx, &batch.cursor.cursor.key)?;
    out.whole = !stays && (!out.sessions.is_empty() || was_hidden);
    Ok(out)
}

impl KeptOut {
    /// Returns the title that a session may have.
    pub fn title<'s>(&self, session: &'s CleanSession) -> Option<&'s CleanString> {
        let title = session.title.as_ref();
        title.filter(|title| !self.titles.contains(title.as_str()))
    }

    /// Returns the piece without what was forgotten, if it holds any of it.
    pub fn blanked(
        &self,
        tx: &Transaction<'_>,
        redactor: &Redactor,
        piece: &Piece,
        cursor: &Cursor,
    ) -> Result<Option<Piece>> {
        if !self.is_watching {
            return Ok(None);
        }
        let text = piece.text()?;
        let mut needles = self.needles.clone();
        Gate::new(tx, redactor)?.prompts_in(tx, &text, &mut needles)?;
        let lines = self.lines_in(piece, cursor, &text);
        let blanked = needles.blank(&text, &lines);
        Ok(blanked.and_then(|text| piece.with(&text)))
    }

    /// Returns the forgotten lines as the piece counts them, where that can be known.
    fn lines_in(&self, piece: &Piece, cursor: &Cursor, text: &str) -> Lines {
        if cursor.offset != piece.offset + piece.size {
            return Lines::new();
        }
        let first = cursor.line.saturating_sub(text.lines().count() as u64);
        let here = self.lines.iter().filter(|line| **line > first);
        here.map(|line| line - first).collect()
    }

    /// Hides a source that holds only what was forgotten, or shows it again.
    pub fn finish(&self, tx: &Transaction<'_>, source: i64) -> Result<()> {
        if !self.is_watching {
            return Ok(());
        }
        if self.whole {
            sources::hide(tx, source)
        } else {
            sources::unhide(tx, source)?;
            sources::blank(tx, source, &self.needles)
        }
    }
}
