//! Output to people and programs. Data goes to standard output, messages go to standard error.

pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time;

use std::io::{self, Write};
use std::process::ExitCode;

use self::text::sanitize;

/// Formats a message and prints it to standard error, as [`say`] does.
macro_rules! say {
    ($($message:tt)*) => {
        $crate::output::say(&std::fmt::format(format_args!($($message)*)))
    };
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    NothingFound,
    Failed,
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(outcome: Exit) -> Self {
        Self::from(match outcome {
            Exit::Done => 0,
            Exit::NothingFound => 1,
            Exit::Failed => 2,
            Exit::Interrupted => 130,
        })
    }
}

/// An error together with the way out of it.
#[derive(Debug)]
pub(crate) struct HintedError {
    pub(crate) error: String,
    pub(crate) hint: String,
}

impl std::fmt::Display for HintedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.error)
    }
}

impl std::error::Error for HintedError {}

/// Returns an error that says what to do.
pub(crate) fn error_with_hint(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    HintedError {
        error: error.into(),
        hint: hint.into(),
    }
    .into()
}

/// Prints an error, its causes and the way out of it, and returns the exit status.
pub(crate) fn report_error(error: &anyhow::Error) -> Exit {
    // The reader of a pipe has left (`throughline show X | head`): nothing is wrong.
    if error.chain().any(is_broken_pipe) {
        return Exit::Done;
    }
    say!("error: {}", sanitize(&error_message(error)));
    let known = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<HintedError>());
    if let Some(hint) = known
        .map(|known| known.hint.clone())
        .or_else(|| hint_for(error))
    {
        say!("hint: {}", sanitize(&hint));
    }
    Exit::Failed
}

/// Prints what is wrong with the command line, or the help that was asked for, and returns the exit
/// status. An argument that a terminal would obey is made harmless; then there are no colours.
pub(crate) fn report_usage_error(error: &clap::Error) -> ExitCode {
    let plain = error.render().to_string();
    let printed = if sanitize(&plain) == plain {
        error.print()
    } else {
        say(sanitize(&plain).trim_end());
        Ok(())
    };
    let is_printed = printed.is_ok() || error.use_stderr();
    match u8::try_from(error.exit_code()) {
        Ok(code) if is_printed => ExitCode::from(code),
        _ => Exit::Failed.into(),
    }
}

/// Returns an error with its causes. Many errors tell their cause themselves, and what stands in the
/// message already is not told again.
fn error_message(error: &anyhow::Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message += &format!(": {cause}");
        }
    }
    message
}

fn is_broken_pipe(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

fn hint_for(error: &anyhow::Error) -> Option<String> {
    let cause = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<store::Error>())?;
    match cause {
        store::Error::TooNew { .. } => {
            Some("update throughline, or use another folder with --home".to_owned())
        }
        store::Error::NotAStore { .. } => Some(
            "if it was one, `throughline doctor --repair` salvages it; else move that file away, or \
             use another folder with --home"
                .to_owned(),
        ),
        store::Error::InUse { .. } => {
            Some("wait for the other throughline, or stop it, and try again".to_owned())
        }
        store::Error::UnsafeFolder { fix, .. } => Some(format!("run `{fix}`, or use another folder with --home")),
        store::Error::IsAnExport { path } => {
            Some(format!("`throughline import {}` reads it", path.display()))
        }
        store::Error::NotAFile { .. } => Some("name a file that `throughline backup` wrote".to_owned()),
        store::Error::ForeignSchema { .. } => Some(
            "it was changed after `throughline backup` wrote it, or comes from somewhere else; the \
             store is as it was"
                .to_owned(),
        ),
        store::Error::AlreadyExists { .. } => Some("name another file".to_owned()),
        store::Error::InvalidFile { .. } => Some("the store is as it was".to_owned()),
        store::Error::Encryption(error) => hint_for_key(error),
        cause if cause.is_corrupt() => Some(
            "`throughline doctor --repair` salvages what can be read, and keeps the damaged file"
                .to_owned(),
        ),
        cause if cause.is_disk_full() => {
            Some("nothing is lost: free some space and run the command again".to_owned())
        }
        cause if cause.is_disk_failure() => Some(
            "the disk, a quota or a limit refused; nothing that was stored is lost: see to it and \
             run the command again"
                .to_owned(),
        ),
        cause if cause.is_read_only() => {
            Some("check the owner and the permissions of the folder and of what is in it".to_owned())
        }
        store::Error::Io { .. } => Some("check the folder's owner and permissions".to_owned()),
        _ => None,
    }
}

fn hint_for_key(error: &store::seal::EncryptionError) -> Option<String> {
    use store::seal::EncryptionError;
    let hint = match error {
        EncryptionError::NotBuilt { .. } => {
            "build Throughline with its feature `encryption`, as docs/design/encryption.md says"
        }
        EncryptionError::NoKey { .. } => {
            "`throughline key --take-from FILE` opens it with a copy of the key; if there is none \
             left, move the store away and `throughline ingest` reads the agents' logs again"
        }
        EncryptionError::WrongKey { .. } => {
            "nothing was changed; name the file that holds the right key"
        }
        EncryptionError::KeyFile { .. } => {
            "a key file is readable by its owner alone and lies outside of the store's folder"
        }
        EncryptionError::Keychain(_) => {
            "a machine without a desktop often has no keychain: use --key-file FILE"
        }
        EncryptionError::NoRandomness(_) => return None,
    };
    Some(hint.to_owned())
}

/// Prints a message to standard error. Messages quote file names, arguments and text from logs, so
/// control characters are replaced here, once for all of them.
pub(crate) fn say(text: &str) {
    say_styled(&sanitize(text));
}

/// Prints a message that holds colour codes. Its author has made the quoted parts safe.
pub(crate) fn say_styled(text: &str) {
    // With standard error closed there is no way left to report that.
    let _unwritable = writeln!(io::stderr(), "{text}");
}

/// Prints a value as JSON on a line of its own.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}
