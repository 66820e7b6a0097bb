//! Measuring search: corpora and questions as JSON Lines, the real store in between.
//!
//! [`corpus`] reads the files and puts their rows through the store's door, [`stdio`] answers a harness line by line,
//! [`measures`] says how good an order is, [`report`] runs the questions of a folder and prints tables, and
//! [`silence`] asks what nothing in the corpus can answer.

pub mod corpus;
pub mod measures;
pub mod report;
pub mod silence;
pub mod stdio;
