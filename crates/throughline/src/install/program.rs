//! The command with which agents run this program.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::output::shell;

/// The command that is written into configuration files, and the reason for choosing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) reason: String,
}

impl Program {
    /// Chooses the bare name if it is on PATH: it survives updates that move the program, and Codex
    /// CLI asks for trust again whenever the command changes. Otherwise chooses the full path.
    pub(crate) fn of(environment: &Environment) -> Self {
        let this = environment.program.as_deref();
        match (find_on_path("throughline", &environment.path), this) {
            (Some(found), this) => Self {
                command: "throughline".to_owned(),
                reason: if this.is_none_or(|this| is_same_file(&found, this)) {
                    "found on PATH".to_owned()
                } else {
                    format!(
                        "found on PATH as {}, which is not this program",
                        found.display()
                    )
                },
            },
            (None, Some(this)) => Self {
                command: this.display().to_string(),
                reason:
                    "throughline is not on PATH; add it and run this command again, so that the \
                     hooks keep working when the program moves"
                        .to_owned(),
            },
            (None, None) => Self {
                command: "throughline".to_owned(),
                reason: "the path of this program is unknown; add it to PATH".to_owned(),
            },
        }
    }

    /// Returns whether entries with this command would be recognised as ours.
    pub(crate) fn is_recognised(&self) -> bool {
        let name = Path::new(&self.command).file_stem();
        name.is_some_and(|name| name == "throughline")
    }

    /// Returns the command line of a hook.
    pub(crate) fn hook_command(&self, arguments: &str) -> String {
        let word = if cfg!(windows) {
            format!("\"{}\"", self.command)
        } else {
            shell::quote(&self.command)
        };
        format!("{word} hook {arguments}").trim_end().to_owned()
    }
}

/// Returns the first program of that name on PATH.
pub(crate) fn find_on_path(name: &str, path: &[PathBuf]) -> Option<PathBuf> {
    let suffix = std::env::consts::EXE_SUFFIX;
    path.iter()
        .map(|folder| folder.join(format!("{name}{suffix}")))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}
