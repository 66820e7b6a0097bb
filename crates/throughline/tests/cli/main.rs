//! Tests of the binary. Each test has its own home folder.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

mod answers;
mod commands;
mod compact;
mod crash;
mod env;
mod facts;
mod faults;
mod forget;
mod hook;
mod install;
mod layers;
mod learning;
mod lost;
mod marks;
mod mcp;
mod portable;
mod privacy;
mod reading;
mod readme;
mod resume;
mod retention;
mod seal;
mod serve;
mod stages;
mod summary;
mod terminal;
mod tidy;
mod ui;
mod usage;
mod watch;
mod workspaces;
