//! A conversation before it is cut, and what comes of cutting it somewhere.

use std::borrow::Cow;

use memory::{Block, Message, Summary, Tokens};

use super::close::{MessageTies, MessageTiesBuilder};
use super::keep::{MessageWeight, first_kept_index};
use super::outcome::{CompactedConversation, CompactionFigures, Declined, SummarySource};
use super::restore::RestoredContext;
use super::settle::merge_turns;
use super::{CompactionTask, message};

/// By how much a full compaction divides what it keeps, try after try.
const SHARES: [u64; 3] = [1, 4, 16];
/// Which part of the room an account may take when all of it is too much.
const BRIEF: [u64; 2] = [2, 4];

/// What is known of a conversation before it is cut.
pub(super) struct CutContext<'a> {
    pub(super) task: &'a CompactionTask<'a>,
    weights: Vec<MessageWeight>,
    /// Which messages a model sees.
    visible: Vec<bool>,
    ties: MessageTies,
    /// Summaries of earlier compactions, with their places.
    summaries: Vec<(usize, &'a str)>,
    /// The first message behind the last boundary.
    after_boundary: usize,
    tokens_before: Tokens,
}

/// What stands in the place of what was cut.
pub(super) struct ReplacementSummary<'a> {
    pub way: SummarySource,
    pub summary: &'a Summary,
    /// Where all of it is, when some had to be left out.
    pub file: &'a str,
}

impl<'a> CutContext<'a> {
    /// Looks at every message once: a long conversation does not stay in the processor's caches from one walk
    /// to the next.
    pub(super) fn analyze(task: &'a CompactionTask<'a>) -> Result<Self, Declined> {
        let messages = task.messages;
        let mut scene = Self {
            task,
            weights: Vec::with_capacity(messages.len()),
            visible: Vec::with_capacity(messages.len()),
            ties: MessageTies::default(),
            summaries: Vec::new(),
            after_boundary: 0,
            tokens_before: Tokens(0),
        };
        let mut tying = MessageTiesBuilder::default();
        for (place, message) in messages.iter().enumerate() {
            let weight = MessageWeight::of(message);
            let before = scene.summaries.len();
            for block in &message.blocks {
                match block {
                    Block::Boundary(_) => scene.after_boundary = place + 1,
                    Block::Summary(text) => scene.summaries.push((place, text)),
                    _ => {}
                }
            }
            scene.weights.push(weight);
            let is_said = weight.tokens > Tokens(0) || scene.summaries.len() > before;
            scene.visible.push(is_said);
            tying.add_message(message);
        }
        scene.ties = tying.finish(messages);
        let kept = scene.weights[scene.first_live()..].iter();
        let kept: Tokens = kept.map(|weight| weight.tokens).sum();
        let summaries: Tokens = scene.live_summaries().map(memory::tokens::estimate).sum();
        scene.tokens_before = kept + summaries;
        if scene.tokens_before == Tokens(0) {
            return Err(Declined::Empty);
        }
        Ok(scene)
    }

    /// The boundary's own entry may hold the summary that replaced what it cut off.
    fn first_live(&self) -> usize {
        self.after_boundary.saturating_sub(1)
    }

    /// Returns what the model still sees, as far as notes may quote it.
    pub(super) fn live_messages(&self) -> &'a [Message] {
        self.task.visible.get(self.first_live()..).unwrap_or(&[])
    }

    /// Cuts where the running summary ends.
    pub(super) fn cut_with_notes(&self) -> Result<CompactedConversation, Declined> {
        let task = self.task;
        let failed = |why: &str| Declined::Failed {
            why: why.to_owned(),
        };
        let notes = task.notes.map_err(failed)?.ok_or(Declined::NoSummary)?;
        if notes.summary.is_bare(task.template) {
            return Err(Declined::BareTemplate);
        }
        let start = match notes.last {
            None => task.messages.len(),
            Some(id) => {
                let place = task.messages.iter().rposition(|message| message.id == *id);
                1 + place.ok_or_else(|| Declined::CoverageLost { id: id.clone() })?
            }
        };
        let mut summary = notes.summary.clone();
        // The agent compacted since the notes were written: what lies between is in its summary only.
        if start < self.after_boundary
            && let Some(earlier) = self.earlier()
        {
            summary.set("Earlier summary", earlier);
        }
        let from = first_kept_index(&self.weights, start, self.after_boundary, task.limits);
        let written = ReplacementSummary {
            way: SummarySource::Summary,
            summary: &summary,
            file: notes.file,
        };
        self.build(&written, from)
    }

    /// Cuts with an account of everything. Keeps as much of the end as a resumed session, less where
    /// that is too much, and at last nothing; then the same again with less of an account, because one that
    /// quotes a short conversation is longer than the conversation.
    pub(super) fn cut_with_summary(
        &self,
        way: SummarySource,
        summary: &Summary,
    ) -> Result<CompactedConversation, Declined> {
        let file = self.task.transcript.unwrap_or("the transcript");
        let room = self.room();
        let brief = BRIEF.iter().map(|share| {
            let brief = summary.first_sections(Tokens(room.0 / share), file);
            Cow::Owned(brief)
        });
        let mut declined = Declined::Empty;
        for summary in std::iter::once(Cow::Borrowed(summary)).chain(brief) {
            let written = ReplacementSummary {
                way,
                summary: &summary,
                file,
            };
            for from in self.ends() {
                match self.build(&written, from) {
                    Ok(compacted) => return Ok(compacted),
                    Err(why) => declined = why,
                }
            }
        }
        Err(declined)
    }

    /// Returns where an account may cut, the most that is kept first.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let end = self.task.messages.len();
        let kept = SHARES.map(|share| {
            let limits = self.task.limits.divided_by(share);
            first_kept_index(&self.weights, end, self.after_boundary, &limits)
        });
        kept.into_iter().chain([end])
    }

    /// Returns how large a result may be.
    fn room(&self) -> Tokens {
        let threshold = self.task.limits.threshold;
        threshold.map_or(self.tokens_before, |most| most.min(self.tokens_before))
    }

    /// Returns the summaries that the model still sees.
    fn live_summaries(&self) -> impl Iterator<Item = &'a str> {
        let first = self.first_live();
        let live = self
            .summaries
            .iter()
            .filter(move |(place, _)| *place >= first);
        live.map(|(_, text)| *text)
    }

    /// Counts the messages that a model sees.
    fn said(&self, from: usize) -> usize {
        self.visible[from..]
            .iter()
            .filter(|is_said| **is_said)
            .count()
    }

    /// Returns the summary of the compaction before.
    fn earlier(&self) -> Option<&'a str> {
        self.live_summaries().next()
    }

    /// Cuts at `from`, or before it where the APIs' rules want that.
    fn build(
        &self,
        written: &ReplacementSummary<'_>,
        from: usize,
    ) -> Result<CompactedConversation, Declined> {
        let task = self.task;
        let from = self.ties.move_cut_back(from);
        let tail = &task.messages[from..];
        let settled = merge_turns(tail);
        let restored = match task.restored {
            Some(restored) => restored.clone(),
            None => {
                let first = self.first_live().min(from);
                let live = task.visible.get(first..from).unwrap_or(&[]);
                RestoredContext::from_messages(live, tail, &task.limits.restore)
            }
        };
        let mut draft = CompactedConversation {
            source: written.way,
            boundary: message::boundary_marker(task, &settled.messages, from),
            summary: message::summary_message(task, written, &settled.messages),
            restored: message::restored_message(task, &restored),
            repairs: settled.repairs,
            open: settled.open,
            kept: settled.messages,
            figures: CompactionFigures::default(),
        };
        draft.boundary.tokens_before = Some(self.tokens_before.0);
        draft.figures = self.figures(&draft, from);
        // What is restored is a comfort: it gives way first.
        if draft.restored.is_some() && self.check(&draft.figures).is_err() {
            draft.restored = None;
            draft.figures = self.figures(&draft, from);
        }
        self.check(&draft.figures)?;
        Ok(draft)
    }

    fn figures(&self, draft: &CompactedConversation, from: usize) -> CompactionFigures {
        let tokens_kept = if draft.repairs.is_empty() {
            self.weights[from..]
                .iter()
                .map(|weight| weight.tokens)
                .sum()
        } else {
            draft.kept.iter().map(Message::tokens).sum()
        };
        let tokens_summary = draft.summary.tokens();
        let restored = draft.restored.as_ref();
        let tokens_restored = restored.map_or(Tokens(0), Message::tokens);
        let messages_before = self.said(self.first_live());
        let live_kept = self.said(from.max(self.first_live()));
        CompactionFigures {
            messages_before,
            messages_cut: messages_before - live_kept,
            messages_kept: draft.kept.len(),
            tokens_before: self.tokens_before,
            tokens_after: tokens_summary + tokens_restored + tokens_kept,
            tokens_summary,
            tokens_restored,
            tokens_kept,
        }
    }

    fn check(&self, figures: &CompactionFigures) -> Result<(), Declined> {
        let (before, after) = (figures.tokens_before, figures.tokens_after);
        match self.task.limits.threshold {
            _ if after >= before => Err(Declined::NoProgress { before, after }),
            Some(threshold) if after > threshold => {
                Err(Declined::StillTooLarge { after, threshold })
            }
            _ => Ok(()),
        }
    }
}
