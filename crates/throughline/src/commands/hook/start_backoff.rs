//! Exponential backoff for starting the daemon.
//!
//! On a machine where the daemon cannot run, such as a sandbox, hooks must not try to start it
//! every time. The number of attempts is stored in a small file, whose modification time is that of
//! the last attempt; a daemon that starts deletes the file.

#![expect(
    clippy::disallowed_methods,
    reason = "the modification time of the file is compared with the system clock"
)]

use std::fs::{OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serve::daemon::home::start_attempts_path;

/// The pause after the first attempt. It doubles with each attempt.
const FIRST_PAUSE: Duration = Duration::from_secs(30);
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 3600);
/// The number of digits of a `u32`.
const COUNT_BYTES_MAX: u64 = 10;

/// Returns whether to start the daemon now, and counts the attempt. Of several processes that ask
/// at the same time, one gets `true`.
pub(crate) fn claim_start(home: &Path) -> io::Result<bool> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(start_attempts_path(home))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(false),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut text = String::new();
    Read::by_ref(&mut file)
        .take(COUNT_BYTES_MAX)
        .read_to_string(&mut text)?;
    let tries: u32 = text.trim().parse().unwrap_or(0);
    let last = file.metadata()?.modified()?;
    // The time is in the future if the clock was set back; do not wait for it.
    let since = SystemTime::now()
        .duration_since(last)
        .unwrap_or(LONGEST_PAUSE);
    if since < backoff(tries) {
        return Ok(false);
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(tries.saturating_add(1).to_string().as_bytes())?;
    Ok(true)
}

fn backoff(tries: u32) -> Duration {
    match tries {
        0 => Duration::ZERO,
        tries => FIRST_PAUSE
            .saturating_mul(1 << (tries - 1).min(16))
            .min(LONGEST_PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_of_many_processes_starts_it() {
        let dir = tempfile::tempdir().unwrap();
        let yes = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| claim_start(dir.path()).unwrap()))
                .collect();
            asking
                .into_iter()
                .filter_map(|one| one.join().ok())
                .filter(|yes| *yes)
                .count()
        });
        assert_eq!(yes, 1);
        assert!(!claim_start(dir.path()).unwrap());
    }

    #[test]
    fn the_pause_doubles_with_each_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let path = start_attempts_path(dir.path());
        for tries in 0_u32..40 {
            assert!(claim_start(dir.path()).unwrap(), "{tries}");
            assert!(!claim_start(dir.path()).unwrap(), "{tries}");
            assert_eq!(
                std::fs::read_to_string(&path).unwrap(),
                (tries + 1).to_string()
            );
            let then = SystemTime::now() - backoff(tries + 1);
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            file.set_modified(then).unwrap();
        }
        assert_eq!(
            (backoff(1), backoff(2), backoff(40)),
            (FIRST_PAUSE, 2 * FIRST_PAUSE, LONGEST_PAUSE)
        );
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_block_a_start() {
        let dir = tempfile::tempdir().unwrap();
        assert!(claim_start(dir.path()).unwrap());
        let file = OpenOptions::new()
            .write(true)
            .open(start_attempts_path(dir.path()))
            .unwrap();
        file.set_modified(SystemTime::now() + 9 * LONGEST_PAUSE)
            .unwrap();
        assert!(claim_start(dir.path()).unwrap());
    }
}
