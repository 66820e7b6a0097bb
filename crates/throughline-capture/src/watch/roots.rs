//! Keeps a file watcher on every root: those that exist, and those that are created later. Says
//! whether polling is needed because some root sends no events.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::changes::ChangeQueue;
use crate::Root;

/// File systems that other machines write to without our kernel noticing.
const REMOTE_FILE_SYSTEMS: &[&str] = &[
    "9p", "afs", "ceph", "cifs", "drvfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "prl_fs",
    "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs",
];

/// A file watcher for a list of roots.
pub(super) struct RootWatcher {
    /// `None` when the platform has no watcher, or the user asked for polling.
    watcher: Option<RecommendedWatcher>,
    /// For each root, its canonical path when it was last watched.
    watched_paths: Vec<Option<PathBuf>>,
    state: Arc<WatcherState>,
    has_unwatched_root: bool,
}

/// The events of the watcher's thread besides changes.
#[derive(Debug, Default)]
struct WatcherState {
    /// A folder could not be watched.
    watch_failed: AtomicBool,
    /// The canonical paths of the roots.
    roots: Mutex<BTreeSet<PathBuf>>,
    /// A root was removed. A new folder at its path would look the same, but is not watched.
    root_removed: AtomicBool,
}

impl RootWatcher {
    pub(super) fn new(queue: &Arc<ChangeQueue>, poll: bool) -> Self {
        let state = Arc::new(WatcherState::default());
        let watcher = if poll {
            None
        } else {
            start_watcher(queue, &state)
        };
        Self {
            has_unwatched_root: watcher.is_none(),
            watcher,
            watched_paths: Vec::new(),
            state,
        }
    }

    /// Says whether events may be missing, so that the roots must be polled.
    pub(super) fn needs_polling(&self) -> bool {
        self.has_unwatched_root || self.state.watch_failed.load(Ordering::Relaxed)
    }

    /// Watches the roots that were created since the last call, and says whether there are any.
    pub(super) fn watch_new_roots(&mut self, roots: &[Root]) -> bool {
        self.watched_paths.resize(roots.len(), None);
        if self.state.root_removed.swap(false, Ordering::Relaxed) {
            self.watched_paths.fill(None);
        }
        let mut has_new = false;
        let state = Arc::clone(&self.state);
        for (index, root) in roots.iter().enumerate() {
            let real = fs::canonicalize(&root.path).ok();
            if real != self.watched_paths[index] {
                if let Some(real) = &real {
                    state.roots().insert(real.clone());
                    self.watch_root(real);
                    has_new = true;
                }
                self.watched_paths[index] = real;
            }
        }
        has_new
    }

    fn watch_root(&mut self, root: &Path) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let watched = if root.is_file() {
            // When a file is replaced, only its folder gets an event. A folder that is watched
            // recursively must not be watched again: that would replace the recursive watch.
            let folder = root.parent().unwrap_or(root);
            if folder
                .ancestors()
                .any(|above| self.state.roots().contains(above))
            {
                return;
            }
            watcher.watch(folder, RecursiveMode::NonRecursive)
        } else {
            watcher.watch(root, RecursiveMode::Recursive)
        };
        if let Err(error) = watched {
            tracing::warn!(root = %root.display(), %error, "cannot watch a root; polling");
            self.has_unwatched_root = true;
        } else if is_remote_mount(root) {
            tracing::info!(root = %root.display(), "this root is on a network mount; polling it");
            self.has_unwatched_root = true;
        }
    }
}

impl WatcherState {
    fn roots(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start_watcher(
    queue: &Arc<ChangeQueue>,
    state: &Arc<WatcherState>,
) -> Option<RecommendedWatcher> {
    let (queue, state) = (Arc::clone(queue), Arc::clone(state));
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) => handle_watch_event(event, &queue, &state),
        Err(error) => {
            if !state.watch_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "cannot watch a folder; polling all roots");
            }
            queue.request_rescan();
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(handler, config)
        .inspect_err(
            |error| tracing::warn!(%error, "cannot start the file watcher; polling instead"),
        )
        .ok()
}

fn handle_watch_event(event: notify::Event, queue: &ChangeQueue, state: &WatcherState) {
    if event.need_rescan() {
        return queue.request_rescan();
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        // Our own reads cause these events.
        EventKind::Access(_) => return,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
            if event.paths.iter().any(|path| state.roots().contains(path)) =>
        {
            state.root_removed.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
    for path in event.paths {
        queue.push_path(path);
    }
}

/// Says whether a folder is on a mount that other machines may write to.
fn is_remote_mount(folder: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else {
        return false;
    };
    mount_type(&mounts, folder)
        .is_some_and(|kind| REMOTE_FILE_SYSTEMS.contains(&kind) || kind.starts_with("fuse."))
}

/// Returns the type of the file system that holds a folder, from the kernel's list of mounts.
fn mount_type<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
    let mount = |line: &'m str| {
        let mut words = line.split(' ').skip(1);
        let point = words.next()?.replace("\\040", " ");
        let length = point.len();
        folder.starts_with(point).then_some((length, words.next()?))
    };
    // Of several mounts at the same path, the last one counts.
    let (_, kind) = mounts
        .lines()
        .filter_map(mount)
        .max_by_key(|(length, _)| *length)?;
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_decides() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\n\
            /dev/sdb1 /home/me/fast\\040disk xfs rw 0 0\n";
        let kind = |folder: &str| mount_type(mounts, Path::new(folder));
        assert_eq!(kind("/homework"), Some("ext4"));
        assert_eq!(kind("/home/me/.claude"), Some("nfs4"));
        assert_eq!(kind("/home/me/fast disk/logs"), Some("xfs"));
    }
}
