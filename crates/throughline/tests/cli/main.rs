//! The binary as people run it, each test in a home of its own.

mod commands;
mod crash;
mod env;
mod readme;
mod tidy;
