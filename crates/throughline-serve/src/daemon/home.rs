//! The files of a running daemon in the data folder: lock, sockets, token and info file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::DaemonError;

const LOCK_FILE: &str = "daemon.lock";
const SOCKET_FILE: &str = "daemon.sock";
const HOOK_SOCKET_FILE: &str = "hook.sock";
const TOKEN_FILE: &str = "daemon.token";
const INFO_FILE: &str = "daemon.json";
const START_ATTEMPTS_FILE: &str = "daemon.tries";
/// A process that only checks for a daemon holds the lock for a moment, so taking it is retried.
const LOCK_ATTEMPTS_MAX: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// What a running daemon publishes about itself in its info file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonInfo {
    pub pid: u32,
    pub version: String,
    pub socket: PathBuf,
    /// The TCP address, if the daemon listens on one.
    pub address: Option<String>,
    /// A random id of this run of the daemon.
    pub boot: String,
    /// The daemon was started in the background: it exits when idle, and a hook starts it again.
    #[serde(default)]
    pub background: bool,
}

impl DaemonInfo {
    pub fn for_this_process(home: &Path, port: Option<u16>, background: bool) -> Self {
        Self {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            socket: socket_path(home),
            address: port.map(|port| format!("127.0.0.1:{port}")),
            boot: random_hex::<4>().unwrap_or_default(),
            background,
        }
    }

    pub fn write(&self, home: &Path) -> Result<(), DaemonError> {
        let path = home.join(INFO_FILE);
        let text = serde_json::to_string(self).unwrap_or_default();
        let written = open_private(&path, OpenOptions::new().create(true).truncate(true))
            .and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| DaemonError::Write { path, error })
    }
}

/// Returns the info of the daemon that runs for a folder. An info file without a held lock is left
/// over from a daemon that has died, and is ignored.
pub fn running_daemon(home: &Path) -> Option<DaemonInfo> {
    if !is_locked(home) {
        return None;
    }
    let mut text = String::new();
    let card = File::open(home.join(INFO_FILE)).ok()?;
    card.take(64 << 10).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

/// Returns whether a daemon runs for a folder, or is starting up or shutting down.
pub fn is_locked(home: &Path) -> bool {
    let lock = File::open(home.join(LOCK_FILE));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
}

/// Returns the file in which hooks count failed attempts to start a daemon. A daemon that starts
/// removes it.
pub fn start_attempts_path(home: &Path) -> PathBuf {
    home.join(START_ATTEMPTS_FILE)
}

/// Takes the daemon lock; the OS releases it if the process dies.
pub fn acquire_lock(home: &Path) -> Result<File, DaemonError> {
    let path = home.join(LOCK_FILE);
    let write = |error| DaemonError::Write {
        path: path.clone(),
        error,
    };
    // This check comes before the mode is set: another user who could write here may have planted
    // files.
    store::check_folder(home)?;
    fs::create_dir_all(home).map_err(write)?;
    fs::set_permissions(home, fs::Permissions::from_mode(0o700)).map_err(write)?;
    let lock = open_private(&path, OpenOptions::new().create(true)).map_err(write)?;
    for _ in 0..LOCK_ATTEMPTS_MAX {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
            Err(fs::TryLockError::Error(error)) => return Err(write(error)),
        }
    }
    Err(DaemonError::Running {
        home: home.to_owned(),
    })
}

pub fn socket_path(home: &Path) -> PathBuf {
    home.join(SOCKET_FILE)
}

/// Returns the path of the socket that serves hooks only.
pub fn hook_socket_path(home: &Path) -> PathBuf {
    home.join(HOOK_SOCKET_FILE)
}

/// Binds a socket and replaces a stale socket file.
pub fn bind_socket(path: &Path) -> io::Result<UnixListener> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    // The folder is private to the user, so the mode can be set after the socket is bound.
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

pub fn token_path(home: &Path) -> PathBuf {
    home.join(TOKEN_FILE)
}

/// Returns the token and creates it on first use.
pub fn load_or_create_token(home: &Path) -> Result<String, DaemonError> {
    let path = home.join(TOKEN_FILE);
    let write = |error| DaemonError::Write {
        path: path.clone(),
        error,
    };
    if let Ok(known) = fs::read_to_string(&path)
        && known.trim().len() == 64
    {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(write)?;
        return Ok(known.trim().to_owned());
    }
    rotate_token(home)
}

/// Creates a new token; the old one becomes invalid.
pub fn rotate_token(home: &Path) -> Result<String, DaemonError> {
    let path = home.join(TOKEN_FILE);
    let temp_path = home.join(format!("{TOKEN_FILE}.new"));
    let write = |error| DaemonError::Write {
        path: path.clone(),
        error,
    };
    let token = random_hex::<32>().map_err(write)?;
    match fs::remove_file(&temp_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(write(error)),
        _ => {}
    }
    let mut file = open_private(&temp_path, OpenOptions::new().create_new(true)).map_err(write)?;
    writeln!(file, "{token}").map_err(write)?;
    fs::rename(&temp_path, &path).map_err(write)?;
    Ok(token)
}

/// Removes the files that only a running daemon has. A socket that was inherited from the service
/// manager stays.
pub fn remove_runtime_files(home: &Path, is_given: bool) {
    let ours: &[_] = if is_given {
        &[HOOK_SOCKET_FILE, INFO_FILE]
    } else {
        &[SOCKET_FILE, HOOK_SOCKET_FILE, INFO_FILE]
    };
    for name in ours {
        remove_if_present(&home.join(name));
    }
}

/// Clears the count of failed start attempts.
pub fn reset_start_attempts(home: &Path) {
    remove_if_present(&start_attempts_path(home));
}

fn remove_if_present(path: &Path) {
    if let Err(error) = fs::remove_file(path)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(path = %path.display(), %error, "cannot remove the file");
    }
}

fn open_private(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.write(true).mode(0o600).open(path)
}

pub(crate) fn random_hex<const BYTES: usize>() -> io::Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn the_token_is_made_once_and_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let first = load_or_create_token(home.path()).unwrap();
        assert_eq!(
            (first.len(), &first),
            (64, &load_or_create_token(home.path()).unwrap())
        );
        assert_eq!(mode(&home.path().join(TOKEN_FILE)), 0o600);
        fs::write(home.path().join(TOKEN_FILE), "short").unwrap();
        assert_ne!(load_or_create_token(home.path()).unwrap(), first);
    }

    #[test]
    fn a_new_token_takes_the_place_of_the_old_one() {
        let home = tempfile::tempdir().unwrap();
        let first = load_or_create_token(home.path()).unwrap();
        let second = rotate_token(home.path()).unwrap();
        assert_ne!(first, second);
        assert_eq!(load_or_create_token(home.path()).unwrap(), second);
        assert_eq!(mode(&home.path().join(TOKEN_FILE)), 0o600);
    }

    #[test]
    fn a_card_without_a_lock_is_nobodys() {
        let home = tempfile::tempdir().unwrap();
        let held = acquire_lock(home.path()).unwrap();
        let card = DaemonInfo::for_this_process(home.path(), Some(7), true);
        card.write(home.path()).unwrap();
        assert_eq!(running_daemon(home.path()), Some(card));
        assert!(matches!(
            acquire_lock(home.path()),
            Err(DaemonError::Running { .. })
        ));
        drop(held);
        assert_eq!(running_daemon(home.path()), None);
    }

    #[test]
    fn a_socket_that_was_left_is_taken_over() {
        let home = tempfile::tempdir().unwrap();
        let path = socket_path(home.path());
        drop(bind_socket(&path).unwrap());
        assert!(path.exists());
        let _listener = bind_socket(&path).unwrap();
        assert_eq!(mode(&path), 0o600);
    }
}
