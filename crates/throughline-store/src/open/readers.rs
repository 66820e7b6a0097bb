//! The pool of reading connections.
//!
//! Every page that a memory-mapped connection has touched counts as memory of the process, so only
//! one connection of a store maps the database; the others read through a small cache. A caller
//! never waits for a connection: another one is opened, and closed again when enough are idle.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use crate::encryption::EncryptionKey;
use crate::error::Result;
use crate::open::connection::{self, FileAccess};

/// How many connections of a store map the database into memory.
const MAPPED_MAX: usize = 1;
/// How many idle connections stay open.
const IDLE_MAX: usize = 4;

#[derive(Debug, Default)]
pub(crate) struct ReaderPool {
    /// The mapped connection is the last one, so that it is used first.
    idle: Mutex<Vec<PooledReader>>,
    /// How many mapped connections are open, in use or idle.
    mapped: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct PooledReader {
    connection: Connection,
    /// Set for a connection that maps the database.
    slot: Option<MappedSlot>,
}

impl ReaderPool {
    /// Starts with an open connection that maps the database.
    pub(crate) fn with_connection(connection: Connection) -> Self {
        let pool = Self::default();
        let slot = MappedSlot::claim(&pool.mapped);
        pool.idle().push(PooledReader { connection, slot });
        pool
    }

    /// Runs `read` on a connection that no other caller uses at the same time.
    pub(crate) fn read<T>(
        &self,
        path: &Path,
        key: Option<&EncryptionKey>,
        read: impl FnOnce(&Connection) -> Result<T>,
    ) -> Result<T> {
        let idle = self.idle().pop();
        let reader = match idle {
            Some(reader) => reader,
            None => self.open_pooled(path, key)?,
        };
        let result = read(&reader.connection);
        self.return_reader(reader);
        result
    }

    fn open_pooled(&self, path: &Path, key: Option<&EncryptionKey>) -> Result<PooledReader> {
        let slot = MappedSlot::claim(&self.mapped);
        let access = if slot.is_some() {
            FileAccess::Mapped
        } else {
            FileAccess::Cached
        };
        let connection = connection::open_reader(path, key, access)?;
        Ok(PooledReader { connection, slot })
    }

    fn return_reader(&self, reader: PooledReader) {
        let mut idle = self.idle();
        if reader.slot.is_some() {
            idle.push(reader);
        } else if idle.len() < IDLE_MAX {
            idle.insert(0, reader);
        } else {
            // Closing takes a while, and other callers must not wait for it.
            drop(idle);
            drop(reader);
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PooledReader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permission of a connection to map the database, released when the connection is closed.
#[derive(Debug)]
struct MappedSlot(Arc<AtomicUsize>);

impl MappedSlot {
    fn claim(mapped: &Arc<AtomicUsize>) -> Option<Self> {
        let claim = |count| (count < MAPPED_MAX).then_some(count + 1);
        let claimed = mapped.fetch_update(Ordering::AcqRel, Ordering::Acquire, claim);
        claimed.is_ok().then(|| Self(Arc::clone(mapped)))
    }
}

impl Drop for MappedSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mmap_size(connection: &Connection) -> Result<i64> {
        Ok(connection.query_row("PRAGMA mmap_size", [], |row| row.get(0))?)
    }

    /// Reads with `depth` connections at once, and notes how much each of them maps.
    fn nested(pool: &ReaderPool, path: &Path, depth: usize, sizes: &mut Vec<i64>) -> Result<()> {
        if depth == 0 {
            return Ok(());
        }
        pool.read(path, None, |connection| {
            sizes.push(mmap_size(connection)?);
            nested(pool, path, depth - 1, sizes)
        })
    }

    #[test]
    fn many_readers_at_once_map_the_database_once_and_few_stay_open() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        drop(connection::open_writer(&path, None).unwrap());
        let pool = ReaderPool::default();
        for _ in 0..3 {
            let mut sizes = Vec::new();
            nested(&pool, &path, 16, &mut sizes).unwrap();
            let mapped = sizes.iter().filter(|size| **size > 0).count();
            assert_eq!((sizes.len(), mapped), (16, MAPPED_MAX), "{sizes:?}");
            assert!(sizes[0] > 0, "a lone reader has the mapped connection");
            assert!(pool.idle().len() <= IDLE_MAX + MAPPED_MAX);
        }
    }

    #[test]
    fn a_read_that_panics_does_not_take_the_mapped_slot_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        drop(connection::open_writer(&path, None).unwrap());
        let pool = ReaderPool::default();
        let panics = || pool.read::<()>(&path, None, |_| panic!("in the middle of a read"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert!(pool.read(&path, None, mmap_size).unwrap() > 0);
    }
}
