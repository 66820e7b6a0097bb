//! Ranked hits for a query, and the context that a prompt gets from memory, or silence with a
//! reason.
//!
//! [`search()`] answers a query in four steps. [`query`] parses the text; [`retrieve`] asks the
//! index for the rows that hold its terms and scores them unread; [`score`] reads the texts of the
//! best and ranks them by a linear model; [`gate`] turns the best hits into a confidence.
//!
//! [`recall()`] is what a hook calls for a prompt. [`inject`] searches, decides of each fact and
//! record whether it may be shown, and fits the rest into a [`Budget`].
//!
//! [`find_near_capsules`] finds the knowledge capsules for a task, on the scale of the gate.
//!
//! [`seed`] predicts the files that a session will need, and [`replay`] measures how well.
//!
//! [`questions`] answers `blame`, `how` and `fix`.
//!
//! This crate contains no SQL: rows come from the store with their attributes. It writes nothing
//! before the prompt is answered, reads no clock and touches no file: the caller passes `now` and a
//! function that says whether a file has changed.

#![cfg_attr(
    not(test),
    warn(
        unreachable_pub,
        let_underscore_drop,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::await_holding_lock
    )
)]

mod capsules;
pub(crate) mod gate;
pub(crate) mod inject;
pub(crate) mod query;
pub mod questions;
pub mod replay;
pub(crate) mod retrieve;
pub(crate) mod score;
mod search;
pub mod seed;

pub use crate::capsules::{CapsuleHit, NEAR_CONFIDENCE_MIN, find_near_capsules};
pub use crate::gate::{CONFIDENCE_MIN, GateFeatures};
pub use crate::inject::filter::{ConsideredItem, ItemDecision, RejectReason};
pub use crate::inject::labels;
pub use crate::inject::pack::{Budget, ContextPack, PackItem};
pub use crate::inject::prompt_hits::{PromptHits, find_prompt_hits};
pub use crate::inject::request::{PromptRequest, Silence, typed_text};
pub use crate::inject::standing::{RepeatPolicy, standing_facts};
pub use crate::inject::usage::{InjectionUseReport, score_past_injections};
pub use crate::inject::{RecallAnswer, RecallConfig, RecallEnv, RecallOutcome, recall};
pub use crate::query::{RecallQuery, utterance};
pub use crate::score::ScorePart;
pub use crate::score::answers::AnsweredQuestion;
pub use crate::score::embedding;
pub use crate::score::features::RecordFeatures;
pub use crate::score::sessions::{RankedSession, SessionFeatures};
pub use crate::search::{RankedHit, RankedHits, search};
