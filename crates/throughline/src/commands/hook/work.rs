//! What a hook does while its deadline runs.

use std::io::{Read, stdin};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use capture::hook::{Hints, HookEvent, read};
use jiff::Timestamp;
use serve::Settings;
use serve::hook::wire::{PAYLOAD_BYTES_MAX, Reply};
use serve::hook::{After, Answered, after, answer, answer_again, is_asked, leave};
use store::Store;

use super::daemon::{self, Heard};
use super::log::Log;
use crate::config::Answering;
use crate::environment::HookEnvironment;
use crate::keychain::SystemKeychain;

/// What the first thread hears.
#[derive(Debug)]
pub enum News {
    /// The configuration's deadline, in milliseconds.
    Deadline(u64),
    /// To be printed.
    Say(String),
    Done,
}

/// How an event is answered.
type Answers = fn(&Store, &Settings, &HookEvent, Timestamp) -> store::Result<Answered>;

pub struct Work {
    pub hints: Hints,
    pub payload: Option<String>,
    pub started: Instant,
    pub deadline: Duration,
    pub environment: HookEnvironment,
    pub log: Log,
    pub news: Sender<News>,
}

impl Work {
    pub fn run(mut self) {
        if let Some(payload) = self.payload() {
            self.answer(&payload);
        }
        self.tell(News::Done);
    }

    /// Nobody hears any more when the deadline has passed.
    fn tell(&self, news: News) {
        if self.news.send(news).is_err() {
            tracing::debug!("too late");
        }
    }

    fn payload(&mut self) -> Option<Vec<u8>> {
        if let Some(payload) = self.payload.take() {
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

    fn answer(&mut self, payload: &[u8]) {
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
        self.tell(News::Deadline(hook.deadline_ms));
        let ms = environment.deadline_ms.unwrap_or(hook.deadline_ms);
        self.deadline = super::limit(ms);
        let event = match read(payload, &self.hints) {
            Ok(event) => event,
            Err(unknown) => return self.log.say(&unknown.to_string()),
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
            Heard::Reply(reply) => self.say(&event, reply),
            Heard::Nobody => {
                self.answer_here(&event, &settings(), answer);
                if config.serve.start {
                    daemon::start(self);
                }
            }
            Heard::Unasked => self.answer_here(&event, &settings(), answer),
            Heard::Trouble => self.answer_here(&event, &settings(), answer_again),
        }
    }

    fn say(&self, event: &HookEvent, reply: Reply) {
        if let Some(why) = reply.silence {
            tracing::debug!(why, kind = event.kind.name(), "nothing is said");
        }
        self.tell(News::Say(reply.answer));
        self.wait_for_later(event, &reply.shown);
    }

    /// Answers without a daemon, and leaves what follows to who comes next.
    fn answer_here(&self, event: &HookEvent, settings: &Settings, answer: Answers) {
        if !Store::path_in(&self.environment.home).exists() {
            return self.tell(News::Say(event.dialect.silence().to_owned()));
        }
        if !is_asked(&self.environment.home, event) {
            return self.say_nothing(event);
        }
        let answered = Store::open_to_read_with(&self.environment.home, &SystemKeychain)
            .and_then(|store| answer(&store, settings, event, self.environment.now));
        match answered {
            Ok(answered) => {
                self.tell(News::Say(answered.answer.write(event)));
                self.wait_for_later(event, &answered.after);
            }
            Err(error) => {
                self.log
                    .say(&format!("{} {}: {error}", event.flavor, event.kind.name()));
                self.say_nothing(event);
            }
        }
    }

    /// Says that there is nothing to say. What happened is still heard.
    fn say_nothing(&self, event: &HookEvent) {
        self.tell(News::Say(event.dialect.silence().to_owned()));
        self.wait_for_later(event, &after::of(event));
    }

    /// Puts what follows aside.
    fn wait_for_later(&self, event: &HookEvent, after: &[After]) {
        // Without a store nobody has asked us to keep anything.
        if !Store::path_in(&self.environment.home).exists() {
            return;
        }
        let environment = &self.environment;
        if let Err(error) = leave(&environment.home, event, after, environment.now) {
            let kind = event.kind.name();
            self.log.say(&format!(
                "{} {kind}: not kept for later: {error}",
                event.flavor
            ));
        }
    }

    /// Returns how much time is left.
    pub fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }
}

/// Lets tests see how a panic ends. Nothing of it is in a release.
fn fail_if_told() {
    #[cfg(debug_assertions)]
    assert!(
        crate::environment::variable("THROUGHLINE_HOOK_PANIC").is_none(),
        "told to"
    );
}
