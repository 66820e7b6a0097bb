//! `hook.log`: why a hook printed nothing. It never contains text of a session.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// A larger log is renamed to `hook.log.old`.
const LOG_BYTES_MAX: u64 = 256 << 10;
const LINE_CHARS_MAX: usize = 400;

#[derive(Clone, Debug)]
pub(crate) struct HookLog {
    path: PathBuf,
    now: Timestamp,
}

impl HookLog {
    pub(crate) fn new(home: &Path, now: Timestamp) -> Self {
        Self {
            path: home.join("hook.log"),
            now,
        }
    }

    /// Appends a line. Errors are ignored: there is no other place to report them.
    pub(crate) fn write(&self, message: &str) {
        let message: String = message
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(LINE_CHARS_MAX)
            .collect();
        let is_full = fs::metadata(&self.path).is_ok_and(|file| file.len() > LOG_BYTES_MAX);
        if is_full && fs::rename(&self.path, self.path.with_extension("log.old")).is_err() {
            return;
        }
        if self.path.is_symlink() {
            tracing::debug!("hook.log is a symbolic link; not written");
            return;
        }
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let line = format!("{} {message}\n", self.now.strftime("%Y-%m-%dT%H:%M:%SZ"));
        let written = options
            .open(&self.path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            tracing::debug!(%error, "cannot write hook.log");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_symbolic_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = dir.path().join("elsewhere");
        fs::write(&elsewhere, "theirs").unwrap();
        std::os::unix::fs::symlink(&elsewhere, dir.path().join("hook.log")).unwrap();
        HookLog::new(dir.path(), Timestamp::UNIX_EPOCH).write("something");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
    }

    #[test]
    fn the_log_never_grows_beyond_its_limit() {
        let dir = tempfile::tempdir().unwrap();
        let log = HookLog::new(dir.path(), Timestamp::UNIX_EPOCH);
        for _ in 0..3_000 {
            log.write(&"why\n".repeat(200));
        }
        let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len();
        assert!(size("hook.log") <= LOG_BYTES_MAX + 1_000);
        assert!(size("hook.log.old") <= LOG_BYTES_MAX + 1_000);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_the_log() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        HookLog::new(dir.path(), Timestamp::UNIX_EPOCH).write("why");
        let mode = fs::metadata(dir.path().join("hook.log"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
