//! Commands that the daemon runs on behalf of `throughline`, so that a person does not wait for a
//! new process to open the store and to warm up.
//!
//! The daemon runs the same code as the command itself, so the output is the same. A command that
//! it cannot run the same way is declined, and the client runs it itself.

use std::fmt::Debug;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use store::Store;

/// The path that commands are posted to.
pub const COMMAND_PATH: &str = "/command";

/// A command line, with the surroundings that its output depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRequest {
    /// The version of the program that asks.
    pub version: String,
    /// The arguments without the name of the program.
    pub arguments: Vec<String>,
    pub cwd: PathBuf,
    /// The configuration file that the command would read.
    pub config_path: PathBuf,
    pub now: Timestamp,
    /// The variable `TZ`.
    pub time_zone: Option<String>,
    /// The width of the terminal, if the output goes to one.
    pub columns: Option<usize>,
    pub color: bool,
}

/// The output of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandReply {
    /// The messages that are printed to standard error first.
    pub messages: Vec<String>,
    /// The text that is printed to standard output.
    pub text: String,
    /// The text is for people: a terminal wraps it, and shows it in a pager if it is long.
    pub is_paged: bool,
    pub found: bool,
}

/// Runs commands in the daemon; the program gives one to it.
pub trait CommandRunner: Debug + Send + Sync {
    /// Runs a command. Returns `None` for one that the client has to run itself.
    fn run(&self, store: &Store, request: &CommandRequest) -> Option<CommandReply>;
}
