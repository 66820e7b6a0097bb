//! A process that gives the terminal back if the UI is killed in a way that no program can catch.
//!
//! The UI starts `throughline restore-terminal` and holds its standard input open. The end of that
//! input means that the UI is gone, because a UI that ends by itself kills the process first.

use std::ffi::OsString;
use std::fmt;
use std::io::{Read, stderr, stdin};
use std::process::{Child, Command, ExitCode, Stdio};
use std::str::FromStr;
use std::time::Duration;

use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, Termios, tcgetattr,
    tcgetwinsize, tcsetattr, tcsetwinsize,
};

use super::terminal::leave_screen;

/// The name of the process, so that `pkill -9 throughline` leaves it alone.
#[cfg(target_os = "linux")]
const PROCESS_NAME: &std::ffi::CStr = c"tl-restore-tty";
/// How long a shell has to set the modes of the terminal itself, as most shells do.
const SHELL_PATIENCE: Duration = Duration::from_millis(100);

/// The word that starts the process. It is not meant to be typed, and reads no configuration.
const COMMAND: &str = "restore-terminal";
const ALTERNATE: &str = "alternate";

/// What the process has to restore.
#[derive(Debug)]
pub(crate) struct TerminalRestore {
    before: TerminalModes,
    during: TerminalModes,
    is_alternate: bool,
}

/// Parses the arguments with which the UI starts the process.
pub(crate) fn parse_command_line(arguments: &[OsString]) -> Option<TerminalRestore> {
    let mut words = arguments.iter().skip(1).map(|word| word.to_str());
    if words.next()?? != COMMAND {
        return None;
    }
    Some(TerminalRestore {
        before: words.next()??.parse().ok()?,
        during: words.next()??.parse().ok()?,
        is_alternate: words.next().flatten() == Some(ALTERNATE),
    })
}

/// The flags of a terminal that the UI changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TerminalModes {
    input: InputModes,
    output: OutputModes,
    control: ControlModes,
    local: LocalModes,
}

impl TerminalModes {
    /// Returns the modes of the terminal that the UI draws on.
    pub(super) fn read() -> std::io::Result<Self> {
        Ok(Self::of(&tcgetattr(stderr())?))
    }

    fn of(modes: &Termios) -> Self {
        Self {
            input: modes.input_modes,
            output: modes.output_modes,
            control: modes.control_modes,
            local: modes.local_modes,
        }
    }
}

impl fmt::Display for TerminalModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (input, output) = (self.input.bits(), self.output.bits());
        let (control, local) = (self.control.bits(), self.local.bits());
        write!(f, "{input}:{output}:{control}:{local}")
    }
}

impl FromStr for TerminalModes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let flags: Result<Vec<_>, _> = text.split(':').map(str::parse).collect();
        let flags = flags.map_err(|_| "the modes are four numbers")?;
        let [input, output, control, local] = flags[..] else {
            return Err("the modes are four numbers".to_owned());
        };
        Ok(Self {
            input: InputModes::from_bits_retain(input),
            output: OutputModes::from_bits_retain(output),
            control: ControlModes::from_bits_retain(control),
            local: LocalModes::from_bits_retain(local),
        })
    }
}

/// The running process.
#[derive(Debug)]
pub(super) struct TerminalGuard {
    process: Child,
}

impl TerminalGuard {
    /// Starts the process. The UI works without it, so an error is only logged.
    #[expect(
        clippy::disallowed_methods,
        reason = "the process outlives a UI that is killed"
    )]
    pub(super) fn start(before: TerminalModes, is_alternate: bool) -> Option<Self> {
        let started = TerminalModes::read().and_then(|during| {
            let mut command = Command::new(std::env::current_exe()?);
            command
                .arg(COMMAND)
                .args([before.to_string(), during.to_string()])
                .args(is_alternate.then_some(ALTERNATE))
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::inherit());
            command.spawn()
        });
        match started {
            Ok(process) => Some(Self { process }),
            Err(error) => {
                tracing::warn!(%error, "nothing gives the terminal back after kill -9");
                None
            }
        }
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        // Killed before its input ends, which would be the sign to act.
        if self.process.kill().is_ok() {
            self.process.wait().ok();
        }
    }
}

/// Waits for the end of the UI, and gives the terminal back. Errors are ignored, because the
/// screen is gone.
pub(crate) fn wait_and_restore(restore: &TerminalRestore) -> ExitCode {
    match try_restore(restore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn try_restore(restore: &TerminalRestore) -> std::io::Result<()> {
    // In a session of its own, a signal to the UI's process group does not reach this process, and
    // it may set the modes of a terminal that is not its own.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    rustix::thread::set_name(PROCESS_NAME)?;
    stdin().read_to_end(&mut Vec::new())?;
    leave_screen(restore.is_alternate);
    std::thread::sleep(SHELL_PATIENCE);
    let mut modes = tcgetattr(stderr())?;
    if TerminalModes::of(&modes) == restore.during {
        let TerminalModes {
            input,
            output,
            control,
            local,
        } = restore.before;
        (modes.input_modes, modes.output_modes) = (input, output);
        (modes.control_modes, modes.local_modes) = (control, local);
        tcsetattr(stderr(), OptionalActions::Now, &modes)?;
    }
    redraw_prompt()
}

/// Makes the shell draw its prompt again, which it may have drawn on the screen that is gone: a
/// change of the window's size is reported to it.
fn redraw_prompt() -> std::io::Result<()> {
    let size = tcgetwinsize(stderr())?;
    let mut other = size;
    other.ws_row = size.ws_row.saturating_add(1);
    tcsetwinsize(stderr(), other)?;
    tcsetwinsize(stderr(), size)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_passed_as_text() {
        let modes: TerminalModes = "17664:5:191:35387".parse().unwrap();
        assert_eq!(modes.to_string(), "17664:5:191:35387");
        assert!(modes.local.contains(LocalModes::ICANON | LocalModes::ECHO));
        assert!("1:2:3".parse::<TerminalModes>().is_err());
        assert!("a:b:c:d".parse::<TerminalModes>().is_err());
        let parse = |line: &str| {
            let words: Vec<_> = line.split(' ').map(OsString::from).collect();
            parse_command_line(&words)
        };
        let parsed = parse("throughline restore-terminal 1:2:3:4 5:6:7:8 alternate").unwrap();
        assert!(parsed.is_alternate && parsed.before != parsed.during);
        assert!(parse("throughline restore-terminal").is_none());
        assert!(parse("throughline search restore-terminal").is_none());
    }
}
