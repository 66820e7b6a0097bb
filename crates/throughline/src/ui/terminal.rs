//! The terminal: taken over while the UI runs, and given back however it ends.

use std::cell::OnceCell;
use std::io::{BufWriter, Stderr, Write, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture, Event,
    KeyEventKind, MouseEventKind,
};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, event, execute};
use ratatui::backend::CrosstermBackend;
use ratatui::{Terminal, TerminalOptions, Viewport};

#[cfg(unix)]
use super::guard::{TerminalGuard, TerminalModes};
use super::messages::UiEvent;
use super::state::UiState;
use super::view::view;

/// In a part of the screen, drawing asks the terminal where the cursor is, which must not wait for
/// the thread that waits for keys.
const INLINE_POLL: Duration = Duration::from_millis(50);
/// On the whole screen, the thread waits as long as it takes.
const KEY_WAIT: Duration = Duration::from_secs(3600);
/// Rows that one step of the mouse wheel scrolls.
const WHEEL_ROWS: isize = 3;

/// Whether the terminal is taken over, on the alternate screen or not. The panic hook reads it.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);

/// The terminal while the UI runs. Standard error is drawn on, so that standard output stays free
/// for the command that a shell widget reads.
pub(super) struct UiTerminal {
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    inline: Option<u16>,
    mouse: bool,
    #[cfg(unix)]
    modes_before: TerminalModes,
    #[cfg(unix)]
    guard: OnceCell<Option<TerminalGuard>>,
    // Declared last: the terminal is given back before standard output is.
    _output: RedirectedOutput,
}

/// Standard output, which is the terminal while this value lives: crossterm asks there where the
/// cursor is, also if a shell widget reads the actual standard output through a pipe.
struct RedirectedOutput {
    #[cfg(unix)]
    actual: std::os::fd::OwnedFd,
}

impl RedirectedOutput {
    #[cfg(unix)]
    fn start() -> std::io::Result<Self> {
        let actual = rustix::io::dup(std::io::stdout())?;
        rustix::stdio::dup2_stdout(stderr())?;
        Ok(Self { actual })
    }

    #[cfg(not(unix))]
    fn start() -> std::io::Result<Self> {
        Ok(Self {})
    }
}

#[cfg(unix)]
impl Drop for RedirectedOutput {
    fn drop(&mut self) {
        if let Err(error) = rustix::stdio::dup2_stdout(&self.actual) {
            tracing::warn!(%error, "cannot restore the standard output");
        }
    }
}

impl UiTerminal {
    /// Takes the terminal over: the whole screen, or some rows below the prompt.
    pub(super) fn take(inline: Option<u16>, mouse: bool) -> std::io::Result<Self> {
        give_back_on_panic();
        let output = RedirectedOutput::start()?;
        #[cfg(unix)]
        let modes_before = TerminalModes::read()?;
        enter(inline, mouse)?;
        let terminal = open_terminal(inline).inspect_err(|_| give_back())?;
        Ok(Self {
            terminal,
            inline,
            mouse,
            #[cfg(unix)]
            modes_before,
            #[cfg(unix)]
            guard: OnceCell::new(),
            _output: output,
        })
    }

    pub(super) fn draw(&mut self, state: &UiState) -> std::io::Result<()> {
        self.terminal.draw(|frame| view(state, frame))?;
        // Started once the first frame is there, which it must not delay.
        #[cfg(unix)]
        self.guard
            .get_or_init(|| TerminalGuard::start(self.modes_before, self.inline.is_none()));
        Ok(())
    }

    /// Returns the columns and rows that are drawn on.
    pub(super) fn size(&self) -> std::io::Result<(u16, u16)> {
        let size = self.terminal.size()?;
        let rows = self
            .inline
            .map_or(size.height, |rows| rows.min(size.height));
        Ok((size.width, rows))
    }

    pub(super) fn capture_mouse(&mut self, mouse: bool) -> std::io::Result<()> {
        self.mouse = mouse;
        if mouse {
            execute!(stderr(), EnableMouseCapture)
        } else {
            execute!(stderr(), DisableMouseCapture)
        }
    }

    /// Puts a text into the clipboard of the terminal (OSC 52), also through ssh.
    pub(super) fn copy(&self, text: &str) -> std::io::Result<()> {
        execute!(stderr(), CopyToClipboard::to_clipboard_from(text))
    }

    /// Stops the process as Ctrl-Z does, and draws everything again when it continues.
    #[cfg(unix)]
    pub(super) fn suspend(&mut self) -> std::io::Result<()> {
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        enter(self.inline, self.mouse)?;
        self.terminal = open_terminal(self.inline)?;
        Ok(())
    }

    #[cfg(not(unix))]
    pub(super) fn suspend(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Drop for UiTerminal {
    fn drop(&mut self) {
        if self.inline.is_some() {
            // The rows below the prompt are left empty for the shell.
            let top = self.terminal.get_frame().area().y;
            execute!(
                stderr(),
                cursor::MoveTo(0, top),
                Clear(ClearType::FromCursorDown)
            )
            .ok();
        }
        give_back();
    }
}

fn open_terminal(
    inline: Option<u16>,
) -> std::io::Result<Terminal<CrosstermBackend<BufWriter<Stderr>>>> {
    let viewport = inline.map_or(Viewport::Fullscreen, Viewport::Inline);
    let backend = CrosstermBackend::new(BufWriter::new(stderr()));
    Terminal::with_options(backend, TerminalOptions { viewport })
}

fn enter(inline: Option<u16>, mouse: bool) -> std::io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    IS_ALTERNATE.store(inline.is_none(), Ordering::SeqCst);
    let entered = enable_raw_mode().and_then(|()| {
        match inline {
            None => execute!(stderr(), EnterAlternateScreen, Clear(ClearType::All))?,
            // A shell may leave its cursor behind what was typed, which the first frame would only
            // overwrite in part.
            Some(_) => execute!(
                stderr(),
                cursor::MoveToColumn(0),
                Clear(ClearType::FromCursorDown)
            )?,
        }
        if mouse {
            execute!(stderr(), EnableMouseCapture)?;
        }
        execute!(stderr(), EnableBracketedPaste)
    });
    entered.inspect_err(|_| give_back())
}

/// Gives the terminal back as it was. Errors are ignored, because the screen is gone.
fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    leave_screen(IS_ALTERNATE.load(Ordering::SeqCst));
    disable_raw_mode().ok();
}

/// Undoes what the UI has told the terminal. Errors are ignored.
pub(super) fn leave_screen(is_alternate: bool) {
    let mut out = stderr();
    execute!(
        out,
        DisableMouseCapture,
        DisableBracketedPaste,
        cursor::Show
    )
    .ok();
    if is_alternate {
        execute!(out, LeaveAlternateScreen).ok();
    }
    out.flush().ok();
}

/// Gives the terminal back before a panic prints its message, which a full screen would hide.
fn give_back_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        give_back();
        print(panic);
    }));
}

/// Sends what the terminal reports, until nothing receives it.
pub(super) fn read_events(events: &Sender<UiEvent>, is_inline: bool) {
    let wait = if is_inline { INLINE_POLL } else { KEY_WAIT };
    loop {
        let read = match event::poll(wait) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let event = match read {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => UiEvent::Key(key),
            Ok(Event::Paste(text)) => UiEvent::Paste(text),
            Ok(Event::Resize(columns, rows)) => UiEvent::Resize(columns, rows),
            Ok(Event::Mouse(mouse)) => match mouse.kind {
                MouseEventKind::ScrollUp => UiEvent::Wheel(-WHEEL_ROWS),
                MouseEventKind::ScrollDown => UiEvent::Wheel(WHEEL_ROWS),
                _ => continue,
            },
            Ok(_) => continue,
            // The terminal is gone.
            Err(_) => UiEvent::Terminate,
        };
        let is_end = matches!(event, UiEvent::Terminate);
        if events.send(event).is_err() || is_end {
            return;
        }
    }
}
