//! The daemon over real sockets.

mod client;
mod life;
mod load;
mod outside;
mod routes;
mod security;
