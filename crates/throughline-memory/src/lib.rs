//! The data types of session memory, and the pure functions that belong to them.
//!
//! - [`message`]: a conversation as a model API sees it, verbatim.
//! - [`record`]: the searchable events that the store keeps. [`record::project_records`] is the
//!   only conversion from messages to records; there is none in the other direction.
//! - [`session`], [`workspace`], [`flavor`]: the conversation, the repository and the agent that a
//!   record belongs to. [`id`] defines their identifiers.
//! - [`tokens`], [`price`]: the size of a text for a model, and its cost.
//! - [`summary`]: the running notes of a live session. [`digest`]: the account of a session that
//!   outlives its records; it names errors by their [`fingerprint`]. [`signal`]: what happened in
//!   a session that may recur in others.
//! - [`fact`]: a short durable statement. [`words`] compares statements with each other.
//! - [`hygiene`], [`directives`]: detection of text that tries to instruct a model. [`fence`]
//!   marks the text that Throughline itself puts into a conversation.
//! - [`layers`]: the policies of working memory and of the context cache.
//! - [`flatten`], [`command`]: tool arguments as readable text, and the shell commands in them.
//!
//! The crate performs no I/O, reads no clock and knows no agent's own log format.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

#[macro_use]
mod named_enum;

pub mod command;
pub mod digest;
pub mod directives;
pub mod fact;
pub mod fence;
pub mod fingerprint;
pub mod flatten;
pub mod flavor;
pub mod hygiene;
pub mod id;
pub mod item;
pub mod layers;
pub mod message;
pub mod price;
pub mod record;
pub mod session;
pub mod signal;
pub mod summary;
pub mod tokens;
pub mod words;
pub mod workspace;

pub use digest::{Digest, Outcome};
pub use fact::{Fact, FactId, FactKind};
pub use fingerprint::ErrorFingerprint;
pub use flavor::{Flavor, FormatEvidence};
pub use id::{ApiId, CallId, IdChain, MessageId, RecordId, SessionId};
pub use item::MemoryItem;
pub use message::{
    Block, Boundary, FileModification, LogEntry, Message, Origin, PreservedRange, Role, ToolResult,
    ToolUse,
};
pub use price::{Cost, Price, Prices};
pub use record::{Record, RecordEnvironment, RecordKind, Trust};
pub use session::{
    Session, SessionKind, SessionMarks, SessionPatch, Title, TitleRank, Usage, UsageEntry,
};
pub use signal::{Signal, SignalKind};
pub use summary::Summary;
pub use tokens::Tokens;
pub use workspace::Workspace;
