//! What of a batch was forgotten and is kept out: the one place that every way in passes.

use std::collections::{BTreeSet, HashSet};

use memory::SessionKind;
use rusqlite::Transaction;

use super::Gate;
use crate::batch::Batch;
use crate::clean::CleanSession;
use crate::error::Result;
use crate::forget::{self, Lines, Needles};
use crate::index;
use crate::raw::Piece;
use crate::sources::{self, Cursor};
use crate::writer::Names;
use redact::{CleanString, Redactor};

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
    names: &mut Names,
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
    let key = &batch.cursor.cursor.key;
    let only_forgotten = !stays && (!out.sessions.is_empty() || sources::is_hidden(tx, key)?);
    // A history of prompts may bring nothing else this time, and belong to others all the same.
    out.whole = only_forgotten && !sources::is_others(tx, key)?;
    if !out.whole && !out.records.is_empty() {
        // Words that wait for the index are not only the forgotten's.
        names.index.write(tx)?;
        out.look_for_words(tx, batch)?;
    }
    Ok(out)
}

impl KeptOut {
    /// Adds the words that only the forgotten records have: their log may tell them in pieces.
    fn look_for_words(&mut self, tx: &Transaction<'_>, batch: &Batch) -> Result<()> {
        let all = batch.cleaned.records.iter().enumerate();
        let (gone, stays): (Vec<_>, Vec<_>) = all.partition(|(at, _)| self.records.contains(at));
        let gone = gone.into_iter().map(|(_, record)| record.content.as_str());
        let mut words = forget::words_of(gone);
        for (_, record) in stays {
            for word in forget::words_in(record.content.as_str()) {
                words.remove(&word);
            }
        }
        for word in words {
            if !index::holds(tx, &word)? {
                self.needles.add_word(word);
            }
        }
        Ok(())
    }

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
