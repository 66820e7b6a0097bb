//! Files and folders that only their owner can read, written so that a crash leaves the old or the
//! new one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Fails unless a folder belongs to this user and only this user can write to it. Another user who
/// can write to it could put a store, a key or a socket of their own in place of ours. A folder
/// that does not exist yet is created private later.
#[cfg(unix)]
pub fn check_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(folder)(error)),
    };
    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    let unsafe_folder = |why: String, fix: String| Error::UnsafeFolder {
        path: folder.to_owned(),
        why,
        fix: format!("{fix} {}", folder.display()),
    };
    if owner != user {
        let why = format!("it belongs to user {owner}, and you are user {user}");
        return Err(unsafe_folder(why, format!("sudo chown -R {user}")));
    }
    if mode & 0o022 != 0 {
        let why = format!("other users can write to it (mode {mode:04o})");
        return Err(unsafe_folder(why, "chmod 700".to_owned()));
    }
    Ok(())
}

/// Accepts every folder: on other systems the folders of a profile belong to its user.
#[cfg(not(unix))]
pub fn check_folder(_: &Path) -> Result<()> {
    Ok(())
}

/// Creates a folder that only its owner can enter, with its parents.
pub(crate) fn create_private_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io(path))
}

/// Creates an empty file that only its owner can read; an existing file stays as it is. SQLite
/// gives its side files the mode of the database.
pub(crate) fn create_private_file(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io(path)(error)),
    }
}

/// Writes a file that only its owner can read, and waits until it is on disk.
pub(crate) fn write_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    create_private_file(path)?;
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(Error::io(path))
}

/// Replaces a private file: a crash leaves the old content or the new one.
pub(crate) fn replace_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let partial = with_suffix(path, "-partial");
    remove_if_exists(&partial)?;
    write_private_file(&partial, bytes)?;
    fs::rename(&partial, path).map_err(Error::io(path))?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Appends a suffix to the name of a file, as SQLite names its side files.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn remove_if_exists(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(path)(error)),
        _ => Ok(()),
    }
}

/// Removes a folder with everything in it, if it exists.
pub(crate) fn remove_dir_if_exists(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io(folder)(error)),
        _ => Ok(()),
    }
}

pub(crate) fn sync_file(path: &Path) -> Result<()> {
    OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.sync_all())
        .map_err(Error::io(path))
}

/// Makes renamed and new files in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) {
        File::open(folder)
            .and_then(|file| file.sync_all())
            .map_err(Error::io(folder))?;
    }
    Ok(())
}
