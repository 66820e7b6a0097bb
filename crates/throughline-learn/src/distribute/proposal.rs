//! Turns a change into a diff that `git apply` takes, or applies it.

use std::fs;
use std::path::Path;

use similar::TextDiff;

use super::plan::FileChange;
use super::{DistributeError, io_error};

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// Returns a change as a unified diff.
pub fn unified_diff(change: &FileChange) -> String {
    let path = change.path.to_string_lossy().replace('\\', "/");
    // A file outside of a repository is named as `git diff --no-index` names it.
    let path = path.trim_start_matches('/');
    let (old, new) = (change.before.as_deref(), change.after.as_deref());
    let name = |text: Option<&str>, side: &str| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let mut header = format!("diff --git a/{path} b/{path}\n");
    match (old, new) {
        (None, _) => header += "new file mode 100644\n",
        (_, None) => header += "deleted file mode 100644\n",
        _ => {}
    }
    let diff = TextDiff::from_lines(old.unwrap_or_default(), new.unwrap_or_default());
    let body = diff
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .missing_newline_hint(true)
        .header(&name(old, "a"), &name(new, "b"))
        .to_string();
    header + &body
}

/// Writes a change into the repository, unless the file has changed since the plan was made.
pub fn apply_change(root: &Path, change: &FileChange) -> Result<(), DistributeError> {
    let path = root.join(&change.path);
    let found = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(source) => return Err(io_error(&path, source)),
    };
    if found != change.before {
        return Err(DistributeError::Changed { path });
    }
    let Some(after) = &change.after else {
        return fs::remove_file(&path).map_err(|source| io_error(&path, source));
    };
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut beside = path.clone().into_os_string();
        beside.push(".throughline-new");
        fs::write(&beside, after)?;
        if found.is_some() {
            fs::set_permissions(&beside, fs::metadata(&path)?.permissions())?;
        }
        fs::rename(&beside, &path)
    };
    write().map_err(|source| io_error(&path, source))
}
