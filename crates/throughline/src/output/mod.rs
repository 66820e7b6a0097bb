//! Output to people and programs. Data goes to standard output, messages go to standard error.

pub(crate) mod paged;
pub(crate) mod progress;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod text;
pub(crate) mod time;
pub(crate) mod wrap;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue};

use self::text::{TextStyle, sanitize};
use self::wrap::{display_width, wrap_line};
use crate::cli::Cli;
use crate::environment;

/// Formats a message and prints it to standard error, as [`say`] does.
macro_rules! say {
    ($($message:tt)*) => {
        $crate::output::say(&std::fmt::format(format_args!($($message)*)))
    };
}

/// Returns where a panic happened. Its message is left out because it may quote captured text.
pub(crate) fn panic_position(panic: &std::panic::PanicHookInfo<'_>) -> String {
    panic
        .location()
        .map_or_else(String::new, ToString::to_string)
}

/// How a command ended. The exit status is part of the interface: scripts rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    NothingFound,
    Failed,
    Interrupted,
}

impl Exit {
    /// Returns the status of a query.
    pub(crate) fn of_query(is_empty: bool) -> Self {
        if is_empty {
            Self::NothingFound
        } else {
            Self::Done
        }
    }
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

/// An error with a hint on how to resolve it.
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

/// Returns an error with a hint on what to do next.
pub(crate) fn error_with_hint(error: impl Into<String>, hint: impl Into<String>) -> anyhow::Error {
    HintedError {
        error: error.into(),
        hint: hint.into(),
    }
    .into()
}

/// Prints an error, its causes and a hint, and returns the exit status.
pub(crate) fn report_error(error: &anyhow::Error) -> Exit {
    // The reader of a pipe has closed it, as in `throughline show X | head`; that is not an error.
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

/// Prints an error in the command line, or the help that was asked for, and returns the exit
/// status. If an argument contains control characters, they are replaced and the message has no
/// colors; neither has a message that must be wrapped.
pub(crate) fn report_usage_error(mut error: clap::Error) -> ExitCode {
    if let Some(usage) = usage_line(&error) {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    let plain = error.render().to_string();
    let fits = |columns| plain.lines().all(|line| display_width(line) <= columns);
    let is_wide = error.use_stderr() && !environment::message_columns().is_none_or(fits);
    let printed = if sanitize(&plain) == plain && !is_wide {
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

/// Returns the usage line of the command that an error is about. The line that clap makes for an
/// error has every option that was given, also by the environment, as if it were required.
fn usage_line(error: &clap::Error) -> Option<StyledStr> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let mut root = Cli::command();
    root.build();
    let mut command = &mut root;
    for word in usage.split_whitespace().skip(2) {
        if command.find_subcommand(word).is_none() {
            break;
        }
        command = command.find_subcommand_mut(word)?;
    }
    Some(command.render_usage())
}

/// Returns the message of an error with its causes. Many errors already contain the text of their
/// cause, which is then not repeated.
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
    // The store shares its errors, and JSON is written by a library with its own error.
    let shared = cause.downcast_ref::<Arc<io::Error>>().map(Arc::as_ref);
    let json = cause.downcast_ref::<serde_json::Error>();
    let kind = shared
        .or(cause.downcast_ref())
        .map(io::Error::kind)
        .or(json.and_then(serde_json::Error::io_error_kind));
    kind == Some(io::ErrorKind::BrokenPipe)
}

fn hint_for(error: &anyhow::Error) -> Option<String> {
    let cause = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<store::Error>())?;
    match cause {
        store::Error::TooNew { .. } => {
            Some("update throughline, or choose another folder with --home".to_owned())
        }
        store::Error::NotAStore { .. } => Some(
            "if it is a damaged store, run `throughline doctor --repair`; otherwise move the file \
             away, or choose another folder with --home"
                .to_owned(),
        ),
        store::Error::InUse { .. } => {
            Some("wait for the other throughline process or stop it, then try again".to_owned())
        }
        store::Error::UnsafeFolder { fix, .. } => {
            Some(format!("run `{fix}`, or choose another folder with --home"))
        }
        store::Error::IsAnExport { path } => Some(format!(
            "use `throughline import {}` instead",
            path.display()
        )),
        store::Error::NotAFile { .. } => {
            Some("give a file that `throughline backup` wrote".to_owned())
        }
        store::Error::ForeignSchema { .. } => Some(
            "it was changed after `throughline backup` wrote it, or was not written by it; the \
             store was not changed"
                .to_owned(),
        ),
        store::Error::AlreadyExists { .. } => Some("choose another file".to_owned()),
        store::Error::InvalidFile { .. } => Some("the store was not changed".to_owned()),
        store::Error::Encryption(error) => hint_for_key(error),
        cause if cause.is_corrupt() => Some(
            "run `throughline doctor --repair`; it recovers what can be read and keeps the \
             damaged file"
                .to_owned(),
        ),
        cause if cause.is_disk_full() => {
            Some("no stored data was lost; free some space and run the command again".to_owned())
        }
        cause if cause.is_disk_failure() => Some(
            "the disk failed, or a quota or limit was reached; no stored data was lost. Resolve \
             that and run the command again"
                .to_owned(),
        ),
        cause if cause.is_read_only() => {
            Some("check the owner and the permissions of the folder and the files in it".to_owned())
        }
        store::Error::Io { .. } => {
            Some("check the owner and the permissions of the folder".to_owned())
        }
        _ => None,
    }
}

fn hint_for_key(error: &store::encryption::EncryptionError) -> Option<String> {
    use store::encryption::EncryptionError;
    let hint = match error {
        EncryptionError::NotBuilt { .. } => {
            "build Throughline with the feature `encryption`; see docs/design/encryption.md"
        }
        EncryptionError::NoKey { .. } => {
            "run `throughline key --take-from FILE` with a copy of the key; without a copy, move \
             the store away and run `throughline ingest` to read the agents' logs again"
        }
        EncryptionError::WrongKey { .. } => "nothing was changed; give the file with the right key",
        EncryptionError::KeyFile { .. } => {
            "a key file must be readable by its owner only and outside of the store's folder"
        }
        EncryptionError::Keychain(_) => {
            "machines without a desktop often have no keychain; use --key-file FILE"
        }
        EncryptionError::NoRandomness(_) => return None,
    };
    Some(hint.to_owned())
}

/// Prints a message to standard error. Messages quote file names, arguments and text from logs, so
/// this is the one place that replaces control characters.
pub(crate) fn say(text: &str) {
    let style = TextStyle {
        color: environment::message_color(),
    };
    say_styled(&style.message(&sanitize(text)));
}

/// Prints a message that contains color codes. The caller has sanitized the quoted parts. A
/// terminal gets whole words on each of its rows.
pub(crate) fn say_styled(text: &str) {
    let wrapped = match environment::message_columns() {
        Some(columns) => text
            .lines()
            .flat_map(|line| wrap_line(line, columns))
            .collect::<Vec<_>>()
            .join("\n"),
        None => text.to_owned(),
    };
    // If standard error is closed, there is no way to report that.
    writeln!(io::stderr(), "{wrapped}").ok();
}

/// Prints a text to standard output. The caller has sanitized the quoted parts.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

/// Prints a value as one line of JSON to standard output.
pub(crate) fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}
