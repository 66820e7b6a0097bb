//! Helpers for the adapters' tests: fixtures, databases made of JSON, and the checks that every
//! adapter must pass.

mod checks;
mod database;
mod fixtures;

pub(crate) use checks::check_all;
pub(crate) use database::{build_database, insert_row, read_new_rows};
pub(crate) use fixtures::{
    claimed_below, fixtures, message_ids, messages, read_file, read_fixture, read_source,
    show_fixture, show_output, total_usage, usage_by_key,
};
