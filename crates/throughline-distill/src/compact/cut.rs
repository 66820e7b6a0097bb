//! Analyzes a conversation and cuts it.

use std::borrow::Cow;

use memory::{Block, Message, Summary, Tokens};

use super::keep::{MessageWeight, first_kept_index};
use super::outcome::{CompactedConversation, CompactionFigures, Declined, SummarySource};
use super::restore::RestoredContext;
use super::ties::{MessageTies, MessageTiesBuilder};
use super::turns::merge_turns;
use super::{CompactionTask, message};

/// The divisors of the kept size, in the order in which they are tried.
const KEPT_DIVISORS: [u64; 3] = [1, 4, 16];
/// The divisors of the token limit that give the size of a summary which is too long.
const SUMMARY_DIVISORS: [u64; 2] = [2, 4];

/// A conversation with everything that a cut needs to know about its messages.
pub(super) struct CutContext<'a> {
    pub(super) task: &'a CompactionTask<'a>,
    weights: Vec<MessageWeight>,
    /// Whether a model sees each message.
    visible: Vec<bool>,
    ties: MessageTies,
    /// Summaries of earlier compactions, with the indices of their messages.
    summaries: Vec<(usize, &'a str)>,
    /// The index of the first message after the last boundary.
    after_boundary: usize,
    tokens_before: Tokens,
}

impl<'a> CutContext<'a> {
    /// Analyzes all messages in one pass, because a long conversation does not stay in the CPU
    /// caches between passes.
    pub(super) fn analyze(task: &'a CompactionTask<'a>) -> Result<Self, Declined> {
        let messages = task.messages;
        let mut context = Self {
            task,
            weights: Vec::with_capacity(messages.len()),
            visible: Vec::with_capacity(messages.len()),
            ties: MessageTies::default(),
            summaries: Vec::new(),
            after_boundary: 0,
            tokens_before: Tokens(0),
        };
        let mut ties = MessageTiesBuilder::default();
        for (index, message) in messages.iter().enumerate() {
            let weight = MessageWeight::of(message);
            let before = context.summaries.len();
            for block in &message.blocks {
                match block {
                    Block::Boundary(_) => context.after_boundary = index + 1,
                    Block::Summary(text) => context.summaries.push((index, text)),
                    _ => {}
                }
            }
            context.weights.push(weight);
            let is_visible = weight.tokens > Tokens(0) || context.summaries.len() > before;
            context.visible.push(is_visible);
            ties.add_message(message);
        }
        context.ties = ties.finish(messages);
        let kept = context.weights[context.first_live()..].iter();
        let kept: Tokens = kept.map(|weight| weight.tokens).sum();
        let summaries: Tokens = context.live_summaries().map(memory::tokens::estimate).sum();
        context.tokens_before = kept + summaries;
        if context.tokens_before == Tokens(0) {
            return Err(Declined::Empty);
        }
        Ok(context)
    }

    /// Returns the index of the first message that a model sees. The entry of the boundary itself
    /// may contain the summary.
    fn first_live(&self) -> usize {
        self.after_boundary.saturating_sub(1)
    }

    /// Returns the messages that the model still sees, without the parts that notes must not quote.
    pub(super) fn live_messages(&self) -> &'a [Message] {
        self.task.visible.get(self.first_live()..).unwrap_or(&[])
    }

    /// Cuts after the last message that the running summary covers.
    pub(super) fn cut_with_notes(&self) -> Result<CompactedConversation, Declined> {
        let task = self.task;
        if !task.uses_notes {
            return Err(Declined::Disabled);
        }
        let failed = |why: &str| Declined::Failed {
            why: why.to_owned(),
        };
        let notes = task.notes.map_err(failed)?.ok_or(Declined::NoSummary)?;
        if notes.summary.is_bare(task.template) {
            return Err(Declined::BareTemplate);
        }
        let start = match &notes.last {
            None => task.messages.len(),
            Some(id) => {
                let index = task.messages.iter().rposition(|message| message.id == *id);
                1 + index.ok_or_else(|| Declined::CoverageLost { id: id.clone() })?
            }
        };
        let mut summary = notes.summary.clone();
        // The agent compacted after the notes were written, so the messages in between are only in
        // the agent's summary.
        if start < self.after_boundary
            && let Some(earlier) = self.earlier_summary()
        {
            summary.set("Earlier summary", earlier);
        }
        let from = first_kept_index(&self.weights, start, self.after_boundary, task.limits);
        self.cut_at(from, SummarySource::Summary, &summary, &notes.file)
    }

    /// Cuts with a summary of the whole conversation. It keeps as much of the end as for a resumed
    /// session, less if that is too much, and finally nothing. Then it tries the same with a
    /// shorter summary, because a summary that quotes a short conversation can be longer than it.
    pub(super) fn cut_with_summary(
        &self,
        source: SummarySource,
        summary: &Summary,
    ) -> Result<CompactedConversation, Declined> {
        let file = self.task.transcript.unwrap_or("the transcript");
        let limit = self.token_limit();
        let shorter = SUMMARY_DIVISORS.iter().map(|divisor| {
            let shorter = summary.first_sections(Tokens(limit.0 / divisor), file);
            Cow::Owned(shorter)
        });
        self.check_length()?;
        let mut declined = Declined::Empty;
        for summary in std::iter::once(Cow::Borrowed(summary)).chain(shorter) {
            for from in self.cut_candidates() {
                match self.cut_at(from, source, &summary, file) {
                    Ok(compacted) => return Ok(compacted),
                    Err(why) => declined = why,
                }
            }
        }
        Err(declined)
    }

    /// Returns the possible cuts, the one that keeps most first. Less than the limits promise is
    /// kept only if the conversation exceeds the threshold, and nothing is the last resort.
    fn cut_candidates(&self) -> impl Iterator<Item = usize> {
        let end = self.task.messages.len();
        let divisors = if self.exceeds_threshold() {
            KEPT_DIVISORS.as_slice()
        } else {
            &KEPT_DIVISORS[..1]
        };
        let kept = divisors.iter().map(move |divisor| {
            let limits = self.task.limits.divided_by(*divisor);
            first_kept_index(&self.weights, end, self.after_boundary, &limits)
        });
        kept.chain(self.exceeds_threshold().then_some(end))
    }

    fn exceeds_threshold(&self) -> bool {
        let threshold = self.task.limits.threshold;
        threshold.is_some_and(|threshold| self.tokens_before >= threshold)
    }

    /// Declines a conversation that is kept as a whole wherever it is cut.
    pub(super) fn check_length(&self) -> Result<(), Declined> {
        let replaces = |from| self.replaces_anything(self.ties.move_cut_back(from));
        if self.cut_candidates().any(replaces) {
            return Ok(());
        }
        Err(self.too_short())
    }

    /// Says whether a cut replaces messages or the summary of an earlier compaction.
    fn replaces_anything(&self, from: usize) -> bool {
        let cut = self.weights.get(self.first_live()..from).unwrap_or(&[]);
        cut.iter().any(|weight| weight.tokens > Tokens(0)) || self.earlier_summary().is_some()
    }

    fn too_short(&self) -> Declined {
        let live = &self.weights[self.first_live()..];
        Declined::TooShort {
            tokens: self.tokens_before,
            messages: live.iter().filter(|weight| weight.has_text).count(),
            min_tokens: self.task.limits.min_tokens,
            min_messages: self.task.limits.min_messages,
        }
    }

    /// Returns the maximum size of the result.
    fn token_limit(&self) -> Tokens {
        let threshold = self.task.limits.threshold;
        threshold.map_or(self.tokens_before, |most| most.min(self.tokens_before))
    }

    /// Returns the summaries that the model still sees.
    fn live_summaries(&self) -> impl Iterator<Item = &'a str> {
        let first = self.first_live();
        let live = self
            .summaries
            .iter()
            .filter(move |(index, _)| *index >= first);
        live.map(|(_, text)| *text)
    }

    /// Counts the messages from an index on that a model sees.
    fn count_visible(&self, from: usize) -> usize {
        self.visible[from..]
            .iter()
            .filter(|is_visible| **is_visible)
            .count()
    }

    /// Returns the summary of the previous compaction.
    fn earlier_summary(&self) -> Option<&'a str> {
        self.live_summaries().next()
    }

    /// Cuts at `from`, or before it if the rules of the APIs require that. `file` is where the full
    /// summary is, if it has to be truncated.
    fn cut_at(
        &self,
        from: usize,
        source: SummarySource,
        summary: &Summary,
        file: &str,
    ) -> Result<CompactedConversation, Declined> {
        let task = self.task;
        let from = self.ties.move_cut_back(from);
        if !self.replaces_anything(from) {
            return Err(self.too_short());
        }
        let tail = &task.messages[from..];
        let request = merge_turns(tail);
        let restored = match task.restored {
            Some(restored) => restored.clone(),
            None => {
                // A file that was read before the last boundary may still be in use.
                let cut = task.visible.get(..from).unwrap_or(&[]);
                let mut restored = RestoredContext::from_messages(cut, tail, &task.limits.restore);
                if let Some(remembered) = task.remembered {
                    restored.add_remembered(remembered, tail);
                }
                restored
            }
        };
        let mut draft = CompactedConversation {
            source,
            boundary: message::boundary_marker(task, &request.messages, self.tokens_before),
            last_cut: from
                .checked_sub(1)
                .map(|last| task.messages[last].id.clone()),
            summary: message::summary_message(task, summary, file, &request.messages),
            restored: message::restored_message(task, &restored),
            restored_context: restored,
            hook_results: message::hook_message(task),
            repairs: request.repairs,
            open: request.open,
            kept: request.messages,
            figures: CompactionFigures::default(),
        };
        draft.figures = self.figures(&draft, from);
        // Restored context is optional, so it is dropped first.
        if draft.restored.is_some() && self.check_size(&draft.figures).is_err() {
            draft.restored = None;
            draft.restored_context = RestoredContext::default();
            draft.figures = self.figures(&draft, from);
        }
        self.check_size(&draft.figures)?;
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
        let size = |message: &Option<Message>| message.as_ref().map_or(Tokens(0), Message::tokens);
        let tokens_restored = size(&draft.restored);
        let tokens_hook_results = size(&draft.hook_results);
        let messages_before = self.count_visible(self.first_live());
        let live_kept = self.count_visible(from.max(self.first_live()));
        CompactionFigures {
            messages_before,
            messages_cut: messages_before - live_kept,
            messages_kept: draft.kept.len(),
            tokens_before: self.tokens_before,
            tokens_after: tokens_summary + tokens_restored + tokens_hook_results + tokens_kept,
            tokens_summary,
            tokens_restored,
            tokens_hook_results,
            tokens_kept,
        }
    }

    fn check_size(&self, figures: &CompactionFigures) -> Result<(), Declined> {
        let (before, after) = (figures.tokens_before, figures.tokens_after);
        match self.task.limits.threshold {
            _ if after >= before => Err(Declined::NoProgress { before, after }),
            Some(threshold) if after >= threshold => {
                Err(Declined::StillTooLarge { after, threshold })
            }
            _ => Ok(()),
        }
    }
}
