//! The nouns of session memory, and the few pure functions that belong to them.
//!
//! [`message`] is what a model API sees, verbatim. [`record`] is what is stored and searched;
//! [`record::records`] is the one way from the first to the second, and there is none back.
//! [`session`] and [`workspace`] say whose they are, [`flavor`] which agent wrote them,
//! [`tokens`] how large they are for a model, [`price`] what they cost. [`summary`] is the running
//! notes of a live session, [`digest`] what remains of it when its records are gone; errors in it have a
//! [`fingerprint`].
//!
//! [`fact`] is a short durable statement; [`words`] compares such texts, [`hygiene`] tells those
//! that want to be obeyed, [`directives`] the sentences that direct a reader, [`fence`] stands
//! around what goes back to a model, and [`command`] reads shell commands.
//!
//! This crate performs no I/O, reads no clock and knows no agent's own format.

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
pub mod message;
pub mod price;
pub mod record;
pub mod session;
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
pub use session::{Session, SessionKind, SessionPatch, Title, TitleRank, Usage, UsageEntry};
pub use summary::Summary;
pub use tokens::Tokens;
pub use workspace::Workspace;
