//! Reads and atomically replaces the configuration files of other programs.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::output::error_with_hint;

/// A larger file is certainly not a configuration file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Reads a file, or returns `None` if it does not exist.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<String>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(error_with_hint(
                    format!("{} is a broken symbolic link", path.display()),
                    "delete it, or create its target",
                ));
            }
            return Ok(None);
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        anyhow::bail!("{} is not a configuration file", path.display());
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| {
        error_with_hint(
            format!("{} is not UTF-8", path.display()),
            "it was not changed",
        )
    })
}

/// Replaces a file atomically, unless it has changed since it was read. Keeps its mode, and
/// symbolic links to it. Returns the folders that were created, outermost first.
pub(crate) fn replace(
    path: &Path,
    before: Option<&str>,
    after: &str,
) -> anyhow::Result<Vec<PathBuf>> {
    // A user who links to a configuration in another place wants the target changed.
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().unwrap_or(Path::new("."));
    let created = create_folders(folder)?;
    let temporary = temporary_path(&real);
    let written = write_temporary(&real, &temporary, after).and_then(|()| {
        let now = read(path)?;
        if now.as_deref() != before {
            return Err(error_with_hint(
                format!(
                    "{} was changed by another program in the meantime",
                    path.display()
                ),
                "nothing was written; run the command again",
            ));
        }
        fs::rename(&temporary, &real).with_context(|| format!("cannot replace {}", real.display()))
    });
    if written.is_err() {
        // The file may not exist, and the first error is the one to report.
        fs::remove_file(&temporary).ok();
    }
    written.map(|()| created)
}

/// Deletes a file, and those of the folders that are then empty.
pub(crate) fn remove(path: &Path, folders: &[PathBuf]) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot delete {}", path.display()));
        }
        _ => {}
    }
    for folder in folders.iter().rev() {
        // A folder that is not empty is kept.
        fs::remove_dir(folder).ok();
    }
    Ok(())
}

fn write_temporary(real: &Path, temporary: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", temporary.display());
    let mut file = create_private(temporary).with_context(failed)?;
    file.write_all(text.as_bytes()).with_context(failed)?;
    if let Ok(metadata) = fs::metadata(real) {
        fs::set_permissions(temporary, metadata.permissions()).with_context(failed)?;
    }
    file.sync_all().with_context(failed)
}

/// Creates a file that only its owner can read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

fn temporary_path(real: &Path) -> PathBuf {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let id = std::process::id();
    real.with_file_name(format!(".{name}.throughline-{id}"))
}

fn create_folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let mut created: Vec<_> = folder
        .ancestors()
        .take_while(is_missing)
        .map(Path::to_owned)
        .collect();
    created.reverse();
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn links_and_modes_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().join("dotfiles.json");
        let link = dir.path().join("settings.json");
        fs::write(&real, "a").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        assert!(replace(&link, Some("a"), "b").unwrap().is_empty());
        assert_eq!(fs::read_to_string(&real).unwrap(), "b");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            fs::metadata(&real).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_changed_in_the_meantime_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x/y/settings.json");
        let made = replace(&path, None, "a").unwrap();
        assert_eq!(made, [dir.path().join("x"), dir.path().join("x/y")]);
        let error = replace(&path, Some("old"), "b").unwrap_err();
        assert!(error.to_string().contains("meantime"), "{error}");
        assert_eq!(read(&path).unwrap().as_deref(), Some("a"));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        remove(&path, &made).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_utf8_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("c.json");
        assert_eq!(read(&path).unwrap(), None);
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("UTF-8"));
        let link = dir.path().join("l.json");
        std::os::unix::fs::symlink(dir.path().join("gone"), &link).unwrap();
        assert!(read(&link).unwrap_err().to_string().contains("broken"));
    }
}
