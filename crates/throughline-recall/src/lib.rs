//! A prompt in, a context pack within its budget out, or silence with a reason.
//!
//! [`recall`](recall::recall) is what a hook calls: [`occasion`] says whether a person typed the
//! prompt at all, [`candidates`] finds records, [`judge`] decides of each fact and record whether
//! it may be shown, [`pack`] fits what is left into its [`Budget`] and fences it, with
//! [`provenance`] and [`stale`] notes. [`used`] looks later at what became of it.
//!
//! [`questions`] answers `blame`, `how` and `fix`.
//!
//! Nothing here writes before the prompt is answered, reads a clock or touches a file: the caller
//! hands in `now` and a way to ask whether a file has changed.

pub mod candidates;
pub mod judge;
pub mod occasion;
pub mod pack;
pub mod provenance;
pub mod questions;
pub mod recall;
pub mod stale;
pub mod used;

pub use crate::candidates::{Candidate, Candidates};
pub use crate::judge::{Considered, Fate, Why};
pub use crate::occasion::{Occasion, Silence};
pub use crate::pack::{Budget, ContextPack, Packed};
pub use crate::recall::{Answer, Config, Recalled, World, recall};
