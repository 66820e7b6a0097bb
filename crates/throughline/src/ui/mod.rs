//! The interactive UI: search as you type, sessions, facts, what agents were given, usage, limits.
//!
//! It is built in the Elm way. [`state`] is what is shown, [`mod@update`] the only function that
//! changes it, with [`actions`] and [`palette`] for what keys do, and [`view`] draws it; all of
//! them are pure.
//! [`messages`] go between them and three threads: one reads keys ([`terminal`]), one asks the
//! store ([`worker`], with [`rows`] and [`reports`] for the lists), and the main one updates and
//! draws, so that a key is echoed whatever the store is doing. [`keys`] is the key map, [`text`]
//! fits text into cells, [`marks`] are stars, names and tags, [`plain`] is a dialogue in lines for
//! screen readers, and [`guard`] gives the terminal back after `kill -9`.

mod actions;
#[cfg(unix)]
pub(crate) mod guard;
mod input;
pub(crate) mod keys;
mod marks;
mod messages;
mod open_session;
mod palette;
mod patterns;
mod plain;
mod reports;
mod rows;
mod state;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod update;
mod view;
mod worker;

use std::io::{Write, stdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use store::Store;

use self::keys::KeyMap;
use self::messages::{UiEffect, UiEvent, UiQuestion};
use self::state::{Screen, UiState};
use self::terminal::UiTerminal;
use self::update::{ask_rows, update};
use self::worker::Worker;
use crate::commands::App;
use crate::commands::resume::{self, ResumeCommand};
use crate::output::{Exit, error_with_hint};

/// How often the store is asked for what other programs have written.
const POLL: Duration = Duration::from_secs(1);
/// A question that takes longer than this is said to be awaited.
const SLOW: Duration = Duration::from_millis(150);

/// How the UI is started.
#[derive(Debug)]
pub(crate) struct UiSettings {
    /// What to search for first.
    pub(crate) query: String,
    /// Draws this many rows below the prompt instead of the whole screen.
    pub(crate) inline: Option<u16>,
    /// Asks and answers in lines.
    pub(crate) plain: bool,
    pub(crate) mouse: bool,
    /// Prints the command that resumes a session instead of running it.
    pub(crate) print: bool,
}

pub(crate) fn run(app: &App<'_>, settings: &UiSettings) -> anyhow::Result<Exit> {
    let keys = KeyMap::new(&app.config.ui.keys);
    let keys = keys.map_err(|error| error_with_hint(error, "see docs/TERMINAL.md"))?;
    let environment = app.environment;
    if !environment.stdin_is_terminal && !settings.plain {
        return Err(error_with_hint(
            "the UI needs a terminal",
            "use `throughline search`, or `throughline ui --plain`",
        ));
    }
    if !app.has_store() {
        return Err(error_with_hint(
            format!("there is no store in {}", app.home.display()),
            "run `throughline up` to set it up; `throughline --help` lists the commands",
        ));
    }
    let store = app.open_for_query()?;
    let worker = Worker::new(app, &store)?;
    let reaches = worker.reaches()?;
    let resumed = if settings.plain || environment.terminal_is_dumb {
        plain::run(&worker, &reaches, &settings.query)?
    } else {
        let mut state = UiState::new(keys, reaches, &settings.query);
        state.zone = environment.zone.clone();
        state.color = environment.wants_color;
        state.mouse = settings.mouse;
        run_on_terminal(&worker, &mut state, settings)?
    };
    drop(worker);
    match resumed {
        None => Ok(Exit::Done),
        Some(command) => resume_session(store, &command, settings.print),
    }
}

/// Closes the store and hands over to the agent.
fn resume_session(store: Store, command: &ResumeCommand, print: bool) -> anyhow::Result<Exit> {
    drop(store);
    if print {
        writeln!(stdout().lock(), "{}", command.shell)?;
        return Ok(Exit::Done);
    }
    resume::run_agent(&command.agent_command())
}

/// Runs the UI and returns the session to resume, if one was chosen.
fn run_on_terminal(
    worker: &Worker<'_>,
    state: &mut UiState,
    settings: &UiSettings,
) -> anyhow::Result<Option<ResumeCommand>> {
    let (events, incoming) = channel();
    let mut terminal = UiTerminal::take(settings.inline, settings.mouse)?;
    state.size = terminal.size()?;
    let stop = events.clone();
    // A handler can be set only once per process, which starts one UI.
    ctrlc::set_handler(move || {
        stop.send(UiEvent::Terminate).ok();
    })
    .ok();
    let keys = events.clone();
    let is_inline = settings.inline.is_some();
    // The thread waits for keys and dies with the process.
    std::thread::spawn(move || terminal::read_events(&keys, is_inline));
    std::thread::scope(|threads| {
        let (questions, asked) = channel();
        threads.spawn(move || worker.run(&asked, &events));
        run_loop(state, &mut terminal, &questions, &incoming)
    })
}

/// Draws, waits for events, updates, and starts again. Events that wait are taken together, so
/// that no key waits for the drawing of those before it.
fn run_loop(
    state: &mut UiState,
    terminal: &mut UiTerminal,
    questions: &Sender<UiQuestion>,
    events: &Receiver<UiEvent>,
) -> anyhow::Result<Option<ResumeCommand>> {
    let mut effects = ask_rows(state, Screen::Search);
    loop {
        for effect in effects.drain(..) {
            match effect {
                // The worker only ends with this function.
                UiEffect::Ask(question) => questions.send(question).unwrap_or_default(),
                UiEffect::Copy(text) => terminal.copy(&text)?,
                UiEffect::Mouse(mouse) => terminal.capture_mouse(mouse)?,
                UiEffect::Suspend => terminal.suspend()?,
                UiEffect::Quit => return Ok(None),
                UiEffect::Resume(command) => return Ok(Some(command)),
            }
        }
        state.size = terminal.size()?;
        terminal.draw(state)?;
        let is_awaited = state.is_pending() && !state.is_slow;
        let first = if is_awaited {
            events.recv_timeout(SLOW)
        } else {
            events.recv_timeout(POLL)
        };
        let first = match first {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) if is_awaited => UiEvent::Slow,
            Err(RecvTimeoutError::Timeout) => UiEvent::Tick,
            Err(RecvTimeoutError::Disconnected) => UiEvent::Terminate,
        };
        effects = update(state, first);
        for event in events.try_iter() {
            effects.extend(update(state, event));
        }
    }
}
