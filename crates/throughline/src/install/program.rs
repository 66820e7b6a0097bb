//! The command with which agents run this program.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::environment::Environment;
use crate::output::shell;

/// The name of this program, without the suffix of the platform.
const PROGRAM_NAME: &str = "throughline";

/// The command that is written into configuration files, and the reason for choosing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) command: String,
    pub(crate) reason: String,
    /// The copy of this program that has to be made before an agent can run the command.
    pub(crate) copy: Option<ProgramCopy>,
}

/// A copy of this program outside of the build folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgramCopy {
    pub(crate) from: PathBuf,
    pub(crate) to: PathBuf,
}

/// What to do if this program is in the output folder of a build, where `cargo clean` deletes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildFolderPolicy {
    /// Agents run a copy in `~/.local/bin`.
    Copy,
    /// Agents run the program where it is.
    RunInPlace,
}

impl Program {
    /// Chooses the bare name if it is on PATH: it survives updates that move the program, and Codex
    /// CLI asks for trust again whenever the command changes. Otherwise chooses the full path.
    pub(crate) fn of(environment: &Environment, policy: BuildFolderPolicy) -> Self {
        let this = environment.program.as_deref();
        let found = find_on_path(PROGRAM_NAME, &environment.path);
        if policy == BuildFolderPolicy::Copy
            && let Some(this) = this.filter(|this| is_in_build_folder(this))
            && let Some(copied) = Self::copied(environment, this, found.as_deref())
        {
            return copied;
        }
        match (found, this) {
            (Some(found), this) => Self {
                command: PROGRAM_NAME.to_owned(),
                reason: if this.is_none_or(|this| is_same_file(&found, this)) {
                    "found on PATH".to_owned()
                } else {
                    format!(
                        "found on PATH as {}, which is not this program",
                        found.display()
                    )
                },
                copy: None,
            },
            (None, Some(this)) => Self {
                command: this.display().to_string(),
                reason:
                    "throughline is not on PATH; add it and run this command again, so that the \
                     hooks keep working when the program moves"
                        .to_owned(),
                copy: None,
            },
            (None, None) => Self {
                command: PROGRAM_NAME.to_owned(),
                reason: "the path of this program is unknown; add it to PATH".to_owned(),
                copy: None,
            },
        }
    }

    /// Chooses a copy of this program in `~/.local/bin`, unless another one is on PATH.
    fn copied(environment: &Environment, this: &Path, found: Option<&Path>) -> Option<Self> {
        let folder = environment.places.home.join(".local/bin");
        let file = format!("{PROGRAM_NAME}{}", std::env::consts::EXE_SUFFIX);
        let to = folder.join(file);
        if found.is_some_and(|found| !is_same_file(found, &to)) {
            return None;
        }
        let is_on_path = environment.path.contains(&folder);
        let (command, reason) = if is_on_path {
            let reason = format!("a copy of this program in {}", folder.display());
            (PROGRAM_NAME.to_owned(), reason)
        } else {
            let reason = format!(
                "a copy of this program; add {} to PATH to run it by name",
                folder.display()
            );
            (to.display().to_string(), reason)
        };
        let copy = (!has_same_content(this, &to)).then(|| ProgramCopy {
            from: this.to_owned(),
            to,
        });
        Some(Self {
            command,
            reason,
            copy,
        })
    }

    /// Returns whether entries with this command would be recognised as ours.
    pub(crate) fn is_recognised(&self) -> bool {
        let name = Path::new(&self.command).file_stem();
        name.is_some_and(|name| name == PROGRAM_NAME)
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

impl ProgramCopy {
    /// Copies the program. The file appears under its name only when it is complete, and an older
    /// copy may be running meanwhile.
    pub(crate) fn make(&self) -> anyhow::Result<()> {
        let failed = || format!("cannot copy this program to {}", self.to.display());
        if let Some(folder) = self.to.parent() {
            std::fs::create_dir_all(folder).with_context(failed)?;
        }
        let temporary = self.to.with_extension(format!("{}", std::process::id()));
        let copied = std::fs::copy(&self.from, &temporary)
            .and_then(|_| std::fs::rename(&temporary, &self.to));
        if copied.is_err() {
            // The file may not exist, and the first error is the one to report.
            std::fs::remove_file(&temporary).ok();
        }
        copied.with_context(failed)
    }
}

/// Returns whether a program is in the output folder of a build, in which Cargo keeps this file.
fn is_in_build_folder(program: &Path) -> bool {
    let mut folders = program.ancestors().skip(1);
    folders.any(|folder| folder.join(".rustc_info.json").is_file())
}

fn has_same_content(a: &Path, b: &Path) -> bool {
    let size = |path: &Path| path.metadata().map(|metadata| metadata.len()).ok();
    size(a).is_some() && size(a) == size(b) && std::fs::read(a).ok() == std::fs::read(b).ok()
}

/// Returns how a person can run this program in a shell: by name if it is on PATH, else by the path
/// of the copy that agents run, or of this program.
pub(crate) fn shell_command(environment: &Environment) -> String {
    if find_on_path(PROGRAM_NAME, &environment.path).is_some() {
        return PROGRAM_NAME.to_owned();
    }
    let copies = [environment.places.home.join(".local/bin")];
    let program = find_on_path(PROGRAM_NAME, &copies).or_else(|| environment.program.clone());
    program.map_or_else(
        || PROGRAM_NAME.to_owned(),
        |program| shell::quote(&program.display().to_string()),
    )
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
