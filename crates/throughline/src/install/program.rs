//! How agents are told to start us.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::output::shell;

/// The word by which agents start Throughline, and why that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) reason: String,
}

impl Program {
    /// A bare name survives updates that move the program, and Codex CLI asks for trust again whenever
    /// the command changes; so the path is written only where the name would not be found.
    pub(crate) fn of(environment: &Environment) -> Self {
        let own = environment.program.as_deref();
        match (find_on_path("throughline", &environment.path), own) {
            (Some(found), own) => Self {
                command: "throughline".to_owned(),
                reason: if own.is_none_or(|own| is_same_file(&found, own)) {
                    "it is on PATH".to_owned()
                } else {
                    format!(
                        "it is on PATH, as {}, which is not this program",
                        found.display()
                    )
                },
            },
            (None, Some(own)) => Self {
                command: own.display().to_string(),
                reason:
                    "throughline is not on PATH; put it there and run this again, and the command \
                      stays the same when the program moves"
                        .to_owned(),
            },
            (None, None) => Self {
                command: "throughline".to_owned(),
                reason: "where this program lies is unknown; put it on PATH".to_owned(),
            },
        }
    }

    /// Says whether what we write would be known as ours again.
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
