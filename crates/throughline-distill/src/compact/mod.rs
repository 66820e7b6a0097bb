//! Compaction: a conversation made shorter without breaking a rule of the APIs.
//!
//! [`compact()`] replaces the beginning by the session's running summary and keeps the end verbatim;
//! no model is called. [`keep`] says where to cut, [`close`] moves the cut so that nothing is parted,
//! [`mod@settle`] brings what is kept into the form of a request, [`message`] writes what stands before it,
//! [`restore`] puts files, todos and the plan back, [`scene`] does it all to one conversation. [`full`] needs
//! no running summary: [`account()`] makes one of the messages, as the embedded extractor does of records.
//! [`compact_or_full`] tries one, then the account of a model if the caller has one, then the other.
//! Whatever is not possible is [`Declined`], by name.
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
mod scene;
mod settle;
pub mod wait;

use memory::summary::Template;
use memory::{Message, MessageId, Summary};

pub use self::account::account;
pub use self::close::Ties;
pub use self::keep::{Weight, floor, keep_from};
pub use self::limits::{Configured, Limits, RestoreLimits};
pub use self::outcome::{Compacted, Declined, Figures, Outcome, Trigger, Way};
pub use self::restore::{Restored, RestoredFile, Todo};
use self::scene::Scene;
pub use self::settle::{Repair, Settled, settle};

/// What is to be compacted, and how.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The conversation, in the order of its log; what lies before the last boundary may be there.
    pub messages: &'a [Message],
    /// The same messages without what notes may not quote, one for each. Accounts and restored files
    /// are made of these; what is kept is kept as it is.
    pub visible: &'a [Message],
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
    Scene::of(task)?.by_notes()
}

/// Compacts with an account that the embedded extractor makes of the messages.
pub fn full(task: &Task<'_>) -> Result<Compacted, Declined> {
    embedded(&Scene::of(task)?)
}

/// Gives an account of the messages that a model still sees, or says why it cannot.
pub type Teller<'a> = &'a dyn Fn(&[Message]) -> Result<Summary, Declined>;

/// Compacts with the running summary where that is possible, else with the account of a model where
/// there is one, else with that of the embedded extractor.
pub fn compact_or_full(task: &Task<'_>, model: Option<Teller<'_>>) -> Outcome {
    let scene = match Scene::of(task) {
        Ok(scene) => scene,
        Err(declined) => return Outcome::of(Err(declined)),
    };
    let fell_through = match scene.by_notes() {
        Ok(compacted) => return Outcome::of(Ok(compacted)),
        Err(declined) => declined,
    };
    let told = model.map(|tell| {
        let summary = tell(scene.live())?;
        scene.by_account(Way::FullByModel, &summary)
    });
    let (result, model) = match told {
        Some(Ok(compacted)) => (Ok(compacted), None),
        Some(Err(declined)) => (embedded(&scene), Some(declined)),
        None => (embedded(&scene), None),
    };
    Outcome {
        result,
        fell_through: Some(fell_through),
        model,
    }
}

fn embedded(scene: &Scene<'_>) -> Result<Compacted, Declined> {
    let summary = account(scene.live(), scene.task.template).ok_or(Declined::NoAccount)?;
    scene.by_account(Way::Full, &summary)
}

#[cfg(test)]
mod tests;
