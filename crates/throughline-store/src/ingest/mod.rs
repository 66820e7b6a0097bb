//! The write path: from what a stage read to rows on disk.
//!
//! The [`sanitizer`] redacts every string and names the records. A [`batch`] is what one reading of
//! a source gave, and is written together with the cursor of that source ([`sources`]) by the one
//! [`writer`] thread. [`detached`] handles records that a source has lost, and [`secrets`] removes
//! a value from earlier rows once it is known to be a secret; the [`text_filter`] tells it whether
//! it has to read those rows at all.

pub(crate) mod batch;
mod batch_writer;
pub(crate) mod detached;
pub(crate) mod sanitizer;
pub(crate) mod secrets;
pub(crate) mod sources;
pub(crate) mod text_filter;
pub(crate) mod writer;
