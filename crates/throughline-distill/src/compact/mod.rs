//! Compaction: a conversation made shorter without breaking a rule of the APIs.
//!
//! [`compact()`] replaces the beginning by the session's running summary and keeps the end verbatim;
//! no model is called. [`keep`] says where to cut, [`close`] moves the cut so that nothing is parted,
//! [`mod@settle`] brings what is kept into the form of a request, [`message`] writes what stands before it,
//! [`restore`] puts files, todos and the plan back. [`full`] needs no running summary: it takes an
//! account of the messages from its caller ([`account()`] is one that needs no model).
//! [`compact_or_full`] tries one and then the other. Whatever is not possible is [`Declined`], by name.
//!
//! Everything here is a function of its arguments. Messages come from the caller or from the agent's
//! own log, never from the store. [`wait`] decides how long a running extraction is waited for.

mod account;
mod close;
mod keep;
mod limits;
mod message;
mod outcome;
mod restore;
mod settle;
pub mod wait;

use memory::summary::Template;
use memory::{Block, Message, MessageId, Summary, Tokens};

pub use self::account::account;
pub use self::close::Ties;
pub use self::keep::{Weight, floor, keep_from};
pub use self::limits::{Configured, Limits, RestoreLimits};
pub use self::outcome::{Compacted, Declined, Figures, Outcome, Trigger, Way};
pub use self::restore::{Restored, RestoredFile, Todo};
pub use self::settle::{Repair, Settled, settle};

/// What is to be compacted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The conversation, in the order of its log; what lies before the last boundary may be there.
    pub messages: &'a [Message],
    /// The running summary, if there is one; or why it could not be read.
    pub notes: Result<Option<Notes<'a>>, &'a str>,
    pub template: &'a Template,
    /// The agent's own log, where the model can look up what was cut.
    pub transcript: Option<&'a str>,
    /// What working memory wants restored; what the messages tell, when it has no opinion.
    pub restored: Option<&'a Restored>,
    pub trigger: Trigger,
    pub limits: &'a Limits,
}

/// The session's running summary.
#[derive(Clone, Copy, Debug)]
pub struct Notes<'a> {
    pub summary: &'a Summary,
    /// Where it lies.
    pub file: &'a str,
    /// The last message that it covers; unknown in a resumed session.
    pub last: Option<&'a MessageId>,
}

/// Compacts with the running summary.
pub fn compact(task: &Task<'_>) -> Result<Compacted, Declined> {
    let scene = Scene::of(task)?;
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
    if start < scene.floor
        && let Some(earlier) = scene.earlier()
    {
        summary.set("Earlier summary", earlier);
    }
    let from = keep_from(&scene.weights, start, scene.floor, task.limits);
    scene.build(Way::Summary, &summary, notes.file, from)
}

/// Compacts with an account of the messages. Keeps as much of the end as a resumed session, less
/// where that is too much, and at last nothing.
pub fn full(
    task: &Task<'_>,
    account: impl FnOnce(&[Message]) -> Option<Summary>,
) -> Result<Compacted, Declined> {
    let scene = Scene::of(task)?;
    let summary = account(scene.live()).ok_or(Declined::NoAccount)?;
    let file = task.transcript.unwrap_or("the transcript");
    let end = task.messages.len();
    let kept = SHARES.map(|share| {
        let limits = task.limits.divided(share);
        keep_from(&scene.weights, end, scene.floor, &limits)
    });
    let mut declined = None;
    for from in kept.into_iter().chain([end]) {
        match scene.build(Way::Full, &summary, file, from) {
            Ok(compacted) => return Ok(compacted),
            Err(why) => declined = Some(why),
        }
    }
    Err(declined.unwrap_or(Declined::Empty))
}

/// By how much a full compaction divides what it keeps, try after try.
const SHARES: [u64; 3] = [1, 4, 16];

/// Compacts with the running summary where that is possible, else with an account of the messages.
pub fn compact_or_full(
    task: &Task<'_>,
    account: impl FnOnce(&[Message]) -> Option<Summary>,
) -> Outcome {
    match compact(task) {
        Ok(compacted) => Outcome {
            result: Ok(compacted),
            fell_through: None,
        },
        Err(declined) => Outcome {
            result: full(task, account),
            fell_through: Some(declined),
        },
    }
}

/// What is known of a conversation before it is cut.
struct Scene<'a> {
    task: &'a Task<'a>,
    weights: Vec<Weight>,
    ties: Ties,
    /// The first message behind the last boundary.
    floor: usize,
    tokens_before: Tokens,
}

impl<'a> Scene<'a> {
    fn of(task: &'a Task<'a>) -> Result<Self, Declined> {
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
    fn live(&self) -> &'a [Message] {
        &self.task.messages[self.first_live()..]
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
    fn build(
        &self,
        way: Way,
        summary: &Summary,
        file: &str,
        from: usize,
    ) -> Result<Compacted, Declined> {
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
            way,
            boundary: message::boundary(task, &settled.messages, from),
            summary: message::summary(task, summary, file, &settled.messages),
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

#[cfg(test)]
mod tests;
