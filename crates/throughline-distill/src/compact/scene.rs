//! A conversation before it is cut, and what comes of cutting it somewhere.

use memory::{Block, Message, Summary, Tokens};

use super::close::Ties;
use super::keep::{Weight, floor, keep_from};
use super::outcome::{Compacted, Declined, Figures, Way};
use super::restore::Restored;
use super::settle::settle;
use super::{Task, message};

/// By how much a full compaction divides what it keeps, try after try.
const SHARES: [u64; 3] = [1, 4, 16];
/// Which part of the room an account may take when all of it is too much.
const BRIEF: [u64; 2] = [2, 4];

/// What is known of a conversation before it is cut.
pub(super) struct Scene<'a> {
    pub(super) task: &'a Task<'a>,
    weights: Vec<Weight>,
    ties: Ties,
    /// The first message behind the last boundary.
    floor: usize,
    tokens_before: Tokens,
}

/// What stands in the place of what was cut.
pub(super) struct Written<'a> {
    pub way: Way,
    pub summary: &'a Summary,
    /// Where all of it is, when some had to be left out.
    pub file: &'a str,
}

impl<'a> Scene<'a> {
    pub(super) fn of(task: &'a Task<'a>) -> Result<Self, Declined> {
        let weights: Vec<_> = task.messages.iter().map(Weight::of).collect();
        let floor = floor(task.messages);
        let scene = Self {
            task,
            tokens_before: Tokens(0),
            ties: Ties::of(task.messages),
            weights,
            floor,
        };
        let kept: Tokens = scene.weights[scene.first_live()..]
            .iter()
            .map(|weight| weight.tokens)
            .sum();
        let summaries: Tokens = scene.summaries().map(memory::tokens::estimate).sum();
        let tokens_before = kept + summaries;
        if tokens_before == Tokens(0) {
            return Err(Declined::Empty);
        }
        Ok(Self {
            tokens_before,
            ..scene
        })
    }

    /// The boundary's own entry may hold the summary that replaced what it cut off.
    fn first_live(&self) -> usize {
        self.floor.saturating_sub(1)
    }

    /// Returns what the model still sees.
    pub(super) fn live(&self) -> &'a [Message] {
        &self.task.messages[self.first_live()..]
    }

    /// Cuts where the running summary ends.
    pub(super) fn by_notes(&self) -> Result<Compacted, Declined> {
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
        if start < self.floor
            && let Some(earlier) = self.earlier()
        {
            summary.set("Earlier summary", earlier);
        }
        let from = keep_from(&self.weights, start, self.floor, task.limits);
        let written = Written {
            way: Way::Summary,
            summary: &summary,
            file: notes.file,
        };
        self.build(&written, from)
    }

    /// Cuts with an account of everything. Keeps as much of the end as a resumed session, less where
    /// that is too much, and at last nothing; then the same again with less of an account, because one that
    /// quotes a short conversation is longer than the conversation.
    pub(super) fn by_account(&self, way: Way, summary: &Summary) -> Result<Compacted, Declined> {
        let file = self.task.transcript.unwrap_or("the transcript");
        let room = self.room();
        let brief = BRIEF.map(|share| summary.first(Tokens(room.0 / share), file));
        let mut declined = Declined::Empty;
        for summary in std::iter::once(summary).chain(&brief) {
            let written = Written { way, summary, file };
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
            let limits = self.task.limits.divided(share);
            keep_from(&self.weights, end, self.floor, &limits)
        });
        kept.into_iter().chain([end])
    }

    /// Returns how large a result may be.
    fn room(&self) -> Tokens {
        let threshold = self.task.limits.threshold;
        threshold.map_or(self.tokens_before, |most| most.min(self.tokens_before))
    }

    fn summaries(&self) -> impl Iterator<Item = &'a str> {
        let blocks = self.live().iter().flat_map(|message| &message.blocks);
        blocks.filter_map(|block| match block {
            Block::Summary(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Counts the messages that a model sees.
    fn said(&self, from: usize) -> usize {
        let is_summary = |block: &Block| matches!(block, Block::Summary(_));
        let messages = self.task.messages[from..].iter().zip(&self.weights[from..]);
        messages
            .filter(|(m, weight)| weight.tokens > Tokens(0) || m.blocks.iter().any(is_summary))
            .count()
    }

    /// Returns the summary of the compaction before.
    fn earlier(&self) -> Option<&'a str> {
        self.summaries().next()
    }

    /// Cuts at `from`, or before it where the APIs' rules want that.
    fn build(&self, written: &Written<'_>, from: usize) -> Result<Compacted, Declined> {
        let task = self.task;
        let from = self.ties.close(from);
        let (cut, tail) = task.messages.split_at(from);
        let settled = settle(tail);
        let restored = match task.restored {
            Some(restored) => restored.clone(),
            None => {
                let live = &cut[self.first_live().min(cut.len())..];
                Restored::from_messages(live, tail, &task.limits.restore)
            }
        };
        let mut draft = Compacted {
            way: written.way,
            boundary: message::boundary(task, &settled.messages, from),
            summary: message::summary(task, written, &settled.messages),
            restored: message::restored(task, &restored),
            repairs: settled.repairs,
            open: settled.open,
            kept: settled.messages,
            figures: Figures::default(),
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

    fn figures(&self, draft: &Compacted, from: usize) -> Figures {
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
        Figures {
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

    fn check(&self, figures: &Figures) -> Result<(), Declined> {
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
