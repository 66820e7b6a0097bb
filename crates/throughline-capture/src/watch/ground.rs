//! The roots under watch: those that exist, those that come later, those that send no events.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::changes::ChangeQueue;
use crate::Root;

/// Kinds of file systems on which others write without our kernel's knowing.
const REMOTE_FILE_SYSTEMS: &[&str] = &[
    "9p",
    "afs",
    "ceph",
    "cifs",
    "drvfs",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "prl_fs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// The watcher and what it watches.
pub struct RootWatcher {
    /// `None` when the platform has no watcher for us, or none is wanted.
    watcher: Option<RecommendedWatcher>,
    /// Of each root, where it was when it was last armed.
    watched_paths: Vec<Option<PathBuf>>,
    state: Arc<WatcherState>,
    has_unwatched_root: bool,
}

/// What the watcher's thread tells besides changes.
#[derive(Debug, Default)]
struct WatcherState {
    /// Some folder could not be watched.
    watch_failed: AtomicBool,
    /// Where the roots are.
    roots: Mutex<BTreeSet<PathBuf>>,
    /// One of them went. When it comes again it looks the same, but is not watched.
    root_removed: AtomicBool,
}

impl RootWatcher {
    pub fn new(mailbox: &Arc<ChangeQueue>, poll: bool) -> Self {
        let state = Arc::new(WatcherState::default());
        let watcher = if poll {
            None
        } else {
            start_watcher(mailbox, &state)
        };
        Self {
            has_unwatched_root: watcher.is_none(),
            watcher,
            watched_paths: Vec::new(),
            state,
        }
    }

    /// Says whether events may be missing, so that one has to look.
    pub fn needs_polling(&self) -> bool {
        self.has_unwatched_root || self.state.watch_failed.load(Ordering::Relaxed)
    }

    /// Watches the roots that have come since the last time; says whether there are such.
    pub fn watch_new_roots(&mut self, roots: &[Root]) -> bool {
        self.watched_paths.resize(roots.len(), None);
        if self.state.root_removed.swap(false, Ordering::Relaxed) {
            self.watched_paths.fill(None);
        }
        let mut has_come = false;
        let heard = Arc::clone(&self.state);
        for (at, root) in roots.iter().enumerate() {
            let real = fs::canonicalize(&root.path).ok();
            if real != self.watched_paths[at] {
                if let Some(real) = &real {
                    heard.roots().insert(real.clone());
                    self.watch_root(real);
                    has_come = true;
                }
                self.watched_paths[at] = real;
            }
        }
        has_come
    }

    fn watch_root(&mut self, root: &Path) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let watched = if root.is_file() {
            // A file that is replaced is another one, which only its folder tells. A folder that is
            // watched with all below it must not be watched again with less.
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
            tracing::warn!(root = %root.display(), %error, "cannot be watched and is polled");
            self.has_unwatched_root = true;
        } else if is_remote_mount(root) {
            tracing::info!(root = %root.display(), "lies on a network mount and is polled");
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
    mailbox: &Arc<ChangeQueue>,
    heard: &Arc<WatcherState>,
) -> Option<RecommendedWatcher> {
    let (mailbox, heard) = (Arc::clone(mailbox), Arc::clone(heard));
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) => handle_watch_event(event, &mailbox, &heard),
        Err(error) => {
            if !heard.watch_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "a folder cannot be watched; all are polled");
            }
            mailbox.request_rescan();
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(handler, config)
        .inspect_err(|error| tracing::warn!(%error, "no watcher; folders are polled"))
        .ok()
}

fn handle_watch_event(event: notify::Event, mailbox: &ChangeQueue, heard: &WatcherState) {
    if event.need_rescan() {
        return mailbox.request_rescan();
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        // Our own reading is such an event.
        EventKind::Access(_) => return,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
            if event.paths.iter().any(|path| heard.roots().contains(path)) =>
        {
            heard.root_removed.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
    for path in event.paths {
        mailbox.push_path(path);
    }
}

/// Says whether a folder lies on a mount whose changes may come from elsewhere.
fn is_remote_mount(folder: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else {
        return false;
    };
    mount_type(&mounts, folder)
        .is_some_and(|kind| REMOTE_FILE_SYSTEMS.contains(&kind) || kind.starts_with("fuse."))
}

/// Returns the kind of file system that a folder lies on, by the kernel's list of mounts.
fn mount_type<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
    let mount = |line: &'m str| {
        let mut words = line.split(' ').skip(1);
        let point = words.next()?.replace("\\040", " ");
        let length = point.len();
        folder.starts_with(point).then_some((length, words.next()?))
    };
    // Of mounts at the same place the last one counts.
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
    fn the_innermost_mount_counts() {
        let mounts = "/dev/sda1 / ext4 rw 0 0\nserver:/home /home nfs4 rw 0 0\n\
            /dev/sdb1 /home/me/fast\\040disk xfs rw 0 0\n";
        let kind = |folder: &str| mount_type(mounts, Path::new(folder));
        assert_eq!(kind("/homework"), Some("ext4"));
        assert_eq!(kind("/home/me/.claude"), Some("nfs4"));
        assert_eq!(kind("/home/me/fast disk/logs"), Some("xfs"));
    }
}
