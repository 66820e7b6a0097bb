//! Shell commands as agents' tools run them.
//!
//! [`parse_call`] finds the command in the arguments of a tool call. It is the only parser of
//! commands: digests, summaries, facts and the questions `how` and `fix` all use it, so they agree
//! on what was run. [`CallFiles`] lists the files that a command names, prints and writes, which
//! decides what is withheld from memory.
//!
//! The parts: [`call`] reads tool arguments, [`script`] splits a script into simple commands,
//! [`words`] classifies single words, [`programs`] lists well-known programs, [`files`] puts them
//! together, and [`runs`] says which programs are run. No shell is emulated: variables and globs
//! stay as they are written.

mod call;
mod files;
mod programs;
mod runs;
mod script;
mod words;

pub use self::call::{call_succeeded, is_shell_tool, parse_call, strip_setup};
pub use self::files::CallFiles;
pub use self::runs::{only_prints_files, runs_program, without_here_documents};
