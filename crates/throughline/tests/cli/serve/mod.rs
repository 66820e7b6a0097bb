//! The daemon over real sockets.

pub mod client;
pub mod life;
mod load;
mod model;
mod outside;
mod routes;
mod security;
