//! Standard output for people: rows that fit the terminal, and a pager for more than one screen.

use std::io::{self, Write, stdout};
use std::process::{Child, Command, Stdio};

use super::wrap::wrap_line;

/// The terminal that standard output is connected to.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// The shell command of the pager, unless it is turned off.
    pub(crate) pager: Option<String>,
}

/// A writer to standard output. What goes to a file or a pipe is not changed. In a terminal, long
/// lines are wrapped, and text that is longer than the screen goes through the pager.
#[derive(Debug)]
pub(crate) struct PagedOutput<'a> {
    terminal: Option<&'a Terminal>,
    /// The last line, as long as its end is not known.
    line: Vec<u8>,
    /// The rows so far, until it is known whether they fit on the screen.
    screen: Vec<String>,
    pager: Option<Child>,
}

impl<'a> PagedOutput<'a> {
    pub(crate) fn new(terminal: Option<&'a Terminal>) -> Self {
        Self {
            terminal,
            line: Vec::new(),
            screen: Vec::new(),
            pager: None,
        }
    }

    /// Writes what is held back and waits for the pager.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_rest()
    }

    fn write_rest(&mut self) -> io::Result<()> {
        if let Some(terminal) = self.terminal
            && !self.line.is_empty()
        {
            let line = std::mem::take(&mut self.line);
            self.write_line(terminal, &String::from_utf8_lossy(&line))?;
        }
        for row in std::mem::take(&mut self.screen) {
            writeln!(stdout(), "{row}")?;
        }
        if let Some(mut pager) = self.pager.take() {
            // The pager ends when its input does, or when the user leaves it.
            drop(pager.stdin.take());
            pager.wait()?;
        }
        stdout().flush()
    }

    fn write_line(&mut self, terminal: &Terminal, line: &str) -> io::Result<()> {
        self.screen.extend(wrap_line(line, terminal.columns));
        // The shell's prompt takes the last row.
        if self.pager.is_none()
            && self.screen.len() >= terminal.rows
            && let Some(command) = &terminal.pager
        {
            self.pager = start_pager(command).ok();
        }
        if let Some(input) = self.pager.as_mut().and_then(|pager| pager.stdin.as_mut()) {
            for row in self.screen.drain(..) {
                writeln!(input, "{row}")?;
            }
        } else if self.screen.len() >= terminal.rows {
            for row in self.screen.drain(..) {
                writeln!(stdout(), "{row}")?;
            }
        }
        Ok(())
    }
}

impl Write for PagedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(terminal) = self.terminal else {
            return stdout().write(bytes);
        };
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = String::from_utf8_lossy(&line[..line.len() - 1]);
                self.write_line(terminal, &line)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for PagedOutput<'_> {
    fn drop(&mut self) {
        // The user may have left the pager; there is nowhere else to write to.
        self.write_rest().ok();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the user configured the pager to be run"
)]
fn start_pager(command: &str) -> io::Result<Child> {
    // Like git: `less` leaves short output on the screen and keeps colors. It ends at Ctrl-C,
    // because that ends this process too.
    let script = format!("export LESS=\"${{LESS-FRXK}}\"; {command}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdin(Stdio::piped());
    shell.spawn()
}
