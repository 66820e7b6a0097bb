//! Remembers what the last opened database of an agent holds.
//!
//! Discovery asks of each file of an older layout whether the agent's database has replaced it, and
//! there may be thousands of such files beside one database.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use memory::Flavor;
use store::SourceIdentity;
use store::foreign::ForeignDatabase;

use crate::{Source, SourceFormat, tail};

/// The content of one database, valid while the file stays the same.
pub(crate) struct DatabaseCache<T>(Mutex<Option<CachedContent<T>>>);

struct CachedContent<T> {
    path: PathBuf,
    stamp: SourceIdentity,
    content: T,
}

impl<T: Default> DatabaseCache<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Applies `test` to what `load` finds in the database; false if there is no such file. A
    /// database that cannot be opened counts as empty here; the sweep reports the error when it
    /// reads the database for itself.
    pub(crate) fn query(
        &self,
        path: PathBuf,
        load: impl FnOnce(&ForeignDatabase) -> T,
        test: impl FnOnce(&T) -> bool,
    ) -> bool {
        let source = Source {
            // The stamp of a database does not depend on the agent.
            flavor: Flavor::Claude,
            path,
            format: SourceFormat::Database,
        };
        let Ok(stamp) = tail::source_stamp(&source) else {
            return false;
        };
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*cached
            && known.path == source.path
            && known.stamp == stamp
        {
            return test(&known.content);
        }
        let content = ForeignDatabase::open(&source.path)
            .map_or_else(|_| T::default(), |database| load(&database));
        let answer = test(&content);
        *cached = Some(CachedContent {
            path: source.path,
            stamp,
            content,
        });
        answer
    }
}
