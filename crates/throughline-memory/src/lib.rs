//! The nouns of session memory, and the few pure functions that belong to them.
//!
//! [`message`] is what a model API sees, verbatim. [`record`] is what is stored and searched;
//! [`record::records`] is the one way from the first to the second, and there is none back.
//! [`session`] and [`workspace`] say whose they are, [`flavor`] which agent wrote them,
//! [`tokens`] how large they are for a model, [`price`] what they cost. [`summary`] is the running
//! notes of a live session.
//!
//! This crate performs no I/O, reads no clock and knows no agent's own format.

pub mod fence;
pub mod flatten;
pub mod flavor;
pub mod id;
pub mod message;
pub mod price;
pub mod record;
pub mod session;
pub mod summary;
pub mod tokens;
pub mod workspace;

pub use flavor::{Evidence, Flavor};
pub use id::{ApiId, CallId, Chain, MessageId, RecordId, SessionId};
pub use message::{
    Block, Boundary, Change, Entry, Message, Origin, Preserved, Role, ToolResult, ToolUse,
};
pub use price::{Cost, Price, Prices};
pub use record::{Context, Kind, Record, Trust};
pub use session::{Session, SessionKind, SessionPatch, Title, TitleRank, Usage, UsageEntry};
pub use summary::Summary;
pub use tokens::Tokens;
pub use workspace::Workspace;
