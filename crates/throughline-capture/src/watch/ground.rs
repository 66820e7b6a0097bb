//! The roots under watch: those that exist, those that come later, those that send no events.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::event::{AccessKind, AccessMode, ModifyKind, RenameMode};
use notify::{Config, EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::changes::Mailbox;
use crate::Root;

/// Kinds of file systems on which others write without our kernel's knowing.
const REMOTE: &[&str] = &[
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
pub struct Ground {
    /// `None` when the platform has no watcher for us, or none is wanted.
    watcher: Option<RecommendedWatcher>,
    /// Of each root, where it was when it was last armed.
    armed: Vec<Option<PathBuf>>,
    heard: Arc<Heard>,
    is_deaf: bool,
}

/// What the watcher's thread tells besides changes.
#[derive(Debug, Default)]
struct Heard {
    /// Some folder could not be watched.
    has_failed: AtomicBool,
    /// Where the roots are.
    roots: Mutex<BTreeSet<PathBuf>>,
    /// One of them went. When it comes again it looks the same, but is not watched.
    has_lost: AtomicBool,
}

impl Ground {
    pub fn new(mailbox: &Arc<Mailbox>, poll: bool) -> Self {
        let heard = Arc::new(Heard::default());
        let watcher = if poll { None } else { watcher(mailbox, &heard) };
        Self {
            is_deaf: watcher.is_none(),
            watcher,
            armed: Vec::new(),
            heard,
        }
    }

    /// Says whether events may be missing, so that one has to look.
    pub fn is_deaf(&self) -> bool {
        self.is_deaf || self.heard.has_failed.load(Ordering::Relaxed)
    }

    /// Watches the roots that have come since the last time; says whether there are such.
    pub fn arm(&mut self, roots: &[Root]) -> bool {
        self.armed.resize(roots.len(), None);
        if self.heard.has_lost.swap(false, Ordering::Relaxed) {
            self.armed.fill(None);
        }
        let mut has_come = false;
        let heard = Arc::clone(&self.heard);
        for (at, root) in roots.iter().enumerate() {
            let real = fs::canonicalize(&root.path).ok();
            if real != self.armed[at] {
                if let Some(real) = &real {
                    heard.roots().insert(real.clone());
                    self.watch(real);
                    has_come = true;
                }
                self.armed[at] = real;
            }
        }
        has_come
    }

    fn watch(&mut self, root: &Path) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let watched = if root.is_file() {
            // A file that is replaced is another one, which only its folder tells. A folder that is
            // watched with all below it must not be watched again with less.
            let folder = root.parent().unwrap_or(root);
            if folder
                .ancestors()
                .any(|above| self.heard.roots().contains(above))
            {
                return;
            }
            watcher.watch(folder, RecursiveMode::NonRecursive)
        } else {
            watcher.watch(root, RecursiveMode::Recursive)
        };
        if let Err(error) = watched {
            tracing::warn!(root = %root.display(), %error, "cannot be watched and is polled");
            self.is_deaf = true;
        } else if is_remote(root) {
            tracing::info!(root = %root.display(), "lies on a network mount and is polled");
            self.is_deaf = true;
        }
    }
}

impl Heard {
    fn roots(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.roots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn watcher(mailbox: &Arc<Mailbox>, heard: &Arc<Heard>) -> Option<RecommendedWatcher> {
    let (mailbox, heard) = (Arc::clone(mailbox), Arc::clone(heard));
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) => hear(event, &mailbox, &heard),
        Err(error) => {
            if !heard.has_failed.swap(true, Ordering::Relaxed) {
                tracing::warn!(%error, "a folder cannot be watched; all are polled");
            }
            mailbox.anything_changed();
        }
    };
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(handler, config)
        .inspect_err(|error| tracing::warn!(%error, "no watcher; folders are polled"))
        .ok()
}

fn hear(event: notify::Event, mailbox: &Mailbox, heard: &Heard) {
    if event.need_rescan() {
        return mailbox.anything_changed();
    }
    match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => {}
        // Our own reading is such an event.
        EventKind::Access(_) => return,
        EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(RenameMode::From))
            if event.paths.iter().any(|path| heard.roots().contains(path)) =>
        {
            heard.has_lost.store(true, Ordering::Relaxed);
        }
        _ => {}
    }
    for path in event.paths {
        mailbox.path_changed(path);
    }
}

/// Says whether a folder lies on a mount whose changes may come from elsewhere.
fn is_remote(folder: &Path) -> bool {
    let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else {
        return false;
    };
    kind_of_mount(&mounts, folder)
        .is_some_and(|kind| REMOTE.contains(&kind) || kind.starts_with("fuse."))
}

/// Returns the kind of file system that a folder lies on, by the kernel's list of mounts.
fn kind_of_mount<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
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
        let kind = |folder: &str| kind_of_mount(mounts, Path::new(folder));
        assert_eq!(kind("/homework"), Some("ext4"));
        assert_eq!(kind("/home/me/.claude"), Some("nfs4"));
        assert_eq!(kind("/home/me/fast disk/logs"), Some("xfs"));
    }
}
