//! Where texts are stored: compressed, and without their secrets.
//!
//! Short texts share compressed [`blocks`]; long ones are stored once each as [`bodies`], named by
//! their hash. The agents' own logs are kept in pieces ([`logs`]). [`packs`] moves the texts of old
//! sessions into larger blocks that compress better, and [`reader`] reads a text wherever it is.
//! [`compression`] calls zstd for all of them.

pub(crate) mod blocks;
pub(crate) mod bodies;
pub(crate) mod compression;
pub(crate) mod logs;
pub(crate) mod packs;
pub(crate) mod reader;
