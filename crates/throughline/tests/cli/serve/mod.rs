//! The daemon over real sockets.

pub mod client;
mod compaction;
mod contract;
mod examples;
mod forgotten;
pub mod life;
mod load;
mod model;
mod outside;
mod page;
mod routes;
mod search;
mod security;
