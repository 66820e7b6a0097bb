//! What a hook does while its deadline runs.

use std::io::{Read, stdin};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use capture::hook::{Hints, HookEvent, HookKind, Start, read};
use jiff::Timestamp;
use serve::Settings;
use serve::hook::wire::{PAYLOAD_BYTES_MAX, Reply};
use serve::hook::{
    After, Answered, after, answer, answer_again, answer_from_facts, is_asked, leave,
};
use store::Store;

use super::daemon::{self, Heard};
use super::log::Log;
use super::output::{Fallback, Output};
use crate::config::Answering;
use crate::environment::HookEnvironment;
use crate::keychain::SystemKeychain;

/// How an event is answered.
type Answers = fn(&Store, &Settings, &HookEvent, Timestamp) -> store::Result<Answered>;

/// Where so much of the time has passed before an answer is begun, its part that is quickly made is made
/// first: the machine is busy, and the whole may not be there in time.
const LATE_SHARE: f64 = 0.2;

/// Whose answer was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printed {
    Ours,
    /// That of another thread, which ends the process.
    Others,
}

#[derive(Clone)]
pub struct Work {
    pub hints: Hints,
    pub started: Instant,
    pub deadline: Duration,
    pub environment: HookEnvironment,
    pub log: Log,
    pub output: Arc<Output>,
}

impl Work {
    /// Answers, and ends the process. `deadlines` hears the configured deadline, in milliseconds.
    pub fn run(mut self, payload: Option<String>, deadlines: &Sender<u64>) {
        let printed = match self.payload(payload) {
            Some(payload) => self.answer(&payload, deadlines),
            None => Printed::Ours,
        };
        if printed == Printed::Ours {
            end();
        }
        // The thread whose answer was printed ends the process.
        loop {
            std::thread::park();
        }
    }

    fn payload(&self, given: Option<String>) -> Option<Vec<u8>> {
        if let Some(payload) = given {
            return Some(payload.into_bytes());
        }
        let mut bytes = Vec::new();
        let most = PAYLOAD_BYTES_MAX as u64 + 1;
        match stdin().lock().take(most).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() > PAYLOAD_BYTES_MAX => {
                self.log.say("the payload is too long");
                None
            }
            Ok(_) => Some(bytes),
            Err(error) => {
                self.log
                    .say(&format!("the payload cannot be read: {error}"));
                None
            }
        }
    }

    fn answer(&mut self, payload: &[u8], deadlines: &Sender<u64>) -> Printed {
        fail_if_told();
        let environment = &self.environment;
        // A configuration that cannot be read may be one that switches us off.
        let config = match Answering::load(environment.config.as_deref(), &environment.config_usual)
        {
            Ok(config) => Some(config),
            Err(error) => {
                self.log.say(&format!("{error:#}"));
                None
            }
        };
        let hook = config
            .as_ref()
            .map(|config| config.hook)
            .unwrap_or_default();
        if deadlines.send(hook.deadline_ms).is_err() {
            tracing::debug!("the deadline has passed already");
        }
        let ms = environment.deadline_ms.unwrap_or(hook.deadline_ms);
        self.deadline = super::limit(ms);
        let event = match read(payload, &self.hints) {
            Ok(event) => event,
            Err(unknown) => {
                self.log.say(&unknown.to_string());
                return Printed::Ours;
            }
        };
        let Some(config) = config else {
            return self.say_nothing(&event);
        };
        // Another user's daemon could wait there, and would get to see the prompt.
        if let Err(error) = store::check_folder(&environment.home) {
            self.log.say(&error.to_string());
            return self.say_nothing(&event);
        }
        // Only we know that injection is off here.
        let heard = if environment.injection_off && is_asked(&environment.home, &event) {
            Heard::Unasked
        } else {
            daemon::ask(self, payload)
        };
        let settings = || config.settings(environment.injection_off);
        match heard {
            Heard::Reply(reply) => self.say(&event, &reply),
            Heard::Late(call) => {
                let (here, of_here, settings) = (self.clone(), event.clone(), settings());
                // This thread goes on listening; the other answers meanwhile.
                std::thread::spawn(move || {
                    if here.answer_here(&of_here, &settings, answer_again) == Printed::Ours {
                        end();
                    }
                });
                self.log
                    .say("the daemon does not answer yet; the hook works on an answer of its own");
                match daemon::wait(self, call) {
                    Some(reply) => self.say(&event, &reply),
                    None => Printed::Others,
                }
            }
            Heard::Nobody => {
                let printed = self.answer_here(&event, &settings(), answer);
                if config.serve.start {
                    daemon::start(self);
                }
                printed
            }
            Heard::Unasked => self.answer_here(&event, &settings(), answer),
            Heard::Trouble => self.answer_here(&event, &settings(), answer_again),
        }
    }

    fn say(&self, event: &HookEvent, reply: &Reply) -> Printed {
        if let Some(why) = &reply.silence {
            tracing::debug!(why, kind = event.kind.name(), "nothing is said");
        }
        self.print(event, &reply.answer, &reply.shown)
    }

    /// Answers without a daemon, and leaves what follows to who comes next.
    fn answer_here(&self, event: &HookEvent, settings: &Settings, answer: Answers) -> Printed {
        if !Store::path_in(&self.environment.home).exists() {
            return self.print(event, event.dialect.silence(), &[]);
        }
        if !is_asked(&self.environment.home, event) {
            return self.say_nothing(event);
        }
        let answered =
            Store::open_to_read_with(&self.environment.home, &SystemKeychain).and_then(|store| {
                self.prepare_fallback(&store, settings, event)?;
                answer(&store, settings, event, self.environment.now)
            });
        match answered {
            Ok(answered) => self.print(event, &answered.answer.write(event), &answered.after),
            Err(error) => {
                self.log
                    .say(&format!("{} {}: {error}", event.flavor, event.kind.name()));
                self.say_nothing(event)
            }
        }
    }

    /// Makes the part of the answer that takes next to no time, where time is short already.
    fn prepare_fallback(
        &self,
        store: &Store,
        settings: &Settings,
        event: &HookEvent,
    ) -> store::Result<()> {
        let has_part = match &event.kind {
            HookKind::SessionStart { source } => *source != Start::Compacted,
            HookKind::Prompt { .. } => true,
            _ => false,
        };
        if !has_part || self.started.elapsed() < self.deadline.mul_f64(LATE_SHARE) {
            return Ok(());
        }
        let part = answer_from_facts(store, settings, event, self.environment.now)?;
        self.output.keep(Fallback {
            text: part.answer.write(event),
            event: event.clone(),
            after: part.after,
        });
        Ok(())
    }

    /// Says that there is nothing to say. What happened is still heard.
    fn say_nothing(&self, event: &HookEvent) -> Printed {
        self.print(event, event.dialect.silence(), &after::of(event))
    }

    /// Prints an answer, unless another was printed before, and notes what follows from it.
    fn print(&self, event: &HookEvent, text: &str, after: &[After]) -> Printed {
        if !self.output.print(text) {
            return Printed::Others;
        }
        let environment = &self.environment;
        note_for_later(&environment.home, event, after, environment.now, &self.log);
        Printed::Ours
    }

    /// Returns how much time is left.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }
}

/// Puts what follows from an event aside, for the next daemon or `ingest`.
pub fn note_for_later(home: &Path, event: &HookEvent, after: &[After], now: Timestamp, log: &Log) {
    // Without a store nobody has asked us to keep anything.
    if !Store::path_in(home).exists() {
        return;
    }
    if let Err(error) = leave(home, event, after, now) {
        let (flavor, kind) = (event.flavor, event.kind.name());
        log.say(&format!("{flavor} {kind}: not kept for later: {error}"));
    }
}

/// Ends the process. The first thread is not woken for it: on a busy machine that takes a while.
#[expect(clippy::exit, reason = "the agent waits for the process to end")]
fn end() -> ! {
    std::process::exit(0)
}

/// Lets tests see how a panic ends. Nothing of it is in a release.
fn fail_if_told() {
    #[cfg(debug_assertions)]
    assert!(
        crate::environment::variable("THROUGHLINE_HOOK_PANIC").is_none(),
        "told to"
    );
}
