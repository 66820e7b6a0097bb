//! For a prompt, now: ranked hits, and a context pack within its budget, or silence with a reason.
//!
//! [`ask`] takes a question apart; [`candidates`] asks the index for the rows that hold its terms and weighs
//! them at a glance; [`passages`] reads the texts of the best; [`rank`] turns what was seen into features and
//! features into a score, with [`meaning`] for words that differ and mean the same; [`sessions`] adds up; [`gate`]
//! says whether any of it is worth showing to somebody who did not ask. [`search()`] is all of it in order.
//!
//! [`recall`](recall::recall) is what a hook calls: [`occasion`] says whether a person typed the
//! prompt at all, [`offered`] finds records, [`judge`] decides of each fact and record whether
//! it may be shown, [`pack`] fits what is left into its [`Budget`] and fences it, with
//! [`provenance`] and [`stale`] notes. [`used`] looks later at what became of it.
//!
//! A stored question is shown beside its answer ([`answers`], [`echo`]); a rule of the user is
//! found by what ties it to a prompt ([`rules`]); [`origin`] decides what of a record is shown.
//!
//! [`standing`] is what holds whatever is asked: a session gets it once, when it starts.
//!
//! [`questions`] answers `blame`, `how` and `fix`.
//!
//! Knows nothing of SQL: candidates come from the store with what it knows of them. Nothing here writes
//! before the prompt is answered, reads a clock or touches a file: the caller hands in `now` and a way to
//! ask whether a file has changed.

mod answers;
pub mod ask;
mod candidates;
mod dates;
pub mod echo;
pub mod gate;
pub mod judge;
pub mod meaning;
pub mod occasion;
pub mod offered;
pub mod origin;
pub mod pack;
mod passages;
pub mod provenance;
pub mod questions;
pub mod rank;
pub mod recall;
mod rules;
mod search;
pub mod sessions;
pub mod stale;
pub mod standing;
mod stretches;
mod turns;
pub mod used;
mod wishes;

pub use crate::answers::AnsweredQuestion;
pub use crate::ask::RecallQuery;
pub use crate::gate::Verdict;
pub use crate::judge::{ConsideredItem, ItemDecision, RejectReason};
pub use crate::occasion::{PromptRequest, Silence};
pub use crate::offered::{PromptHit, PromptHits};
pub use crate::pack::{Budget, ContextPack, PackItem};
pub use crate::rank::ScorePart;
pub use crate::recall::{RecallAnswer, RecallConfig, RecallEnv, RecallOutcome, recall};
pub use crate::search::{RankedHit, RankedHits, search};
pub use crate::sessions::RankedSession;
