//! For a prompt, now: ranked hits, and a context pack within its budget, or silence.
//!
//! [`ask`] takes a question apart; [`candidates`] asks the index for the rows that hold its terms and weighs
//! them at a glance; [`passages`] reads the texts of the best; [`rank`] turns what was seen into features and
//! features into a score, with [`meaning`] for words that differ and mean the same; [`sessions`] adds up; [`gate`]
//! says whether any of it is worth showing to somebody who did not ask. [`search`] is all of it in order.
//!
//! Knows nothing of SQL: candidates come from the store with what it knows of them. `now` is an
//! argument, and nothing here writes before a prompt is answered.

pub mod ask;
mod candidates;
mod dates;
pub mod gate;
pub mod meaning;
mod passages;
pub mod rank;
mod search;
mod sessions;

pub use crate::ask::Ask;
pub use crate::gate::Verdict;
pub use crate::rank::Part;
pub use crate::search::{Ranked, RankedHit, search};
pub use crate::sessions::RankedSession;
