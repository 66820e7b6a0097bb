//! Opening the database file: locks, connections, migrations.
//!
//! [`lock`] says which processes may have the store open, [`connection`] opens SQLite with the
//! settings of a writer or a reader and runs the migrations, [`readers`] keeps reading connections
//! for the next caller. [`safety_copy`] copies a store before it is migrated, and [`schema`] checks
//! that a file from outside has the tables that the migrations make.

pub(crate) mod connection;
pub(crate) mod lock;
pub(crate) mod readers;
pub(crate) mod safety_copy;
pub(crate) mod schema;
