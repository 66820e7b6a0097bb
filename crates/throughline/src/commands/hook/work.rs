//! What a hook does while its deadline runs.

use std::io::{Read, stdin};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use capture::hook::{HookEvent, HookHints, HookKind, StartReason, parse_payload};
use jiff::Timestamp;
use serve::ServeSettings;
use serve::hook::wire::{PAYLOAD_BYTES_MAX, Reply};
use serve::hook::{
    FollowUp, HookOutcome, after, answer_event, answer_event_without_dedup, answer_from_facts,
    may_add_context, save_for_later_hooks,
};
use store::Store;

use super::daemon::{self, DaemonReply};
use super::log::HookLog;
use super::output::{FallbackAnswer, HookOutput};
use crate::config::HookAnswerConfig;
use crate::environment::HookEnvironment;
use crate::keychain::SystemKeychain;

/// How an event is answered.
type AnswerFn = fn(&Store, &ServeSettings, &HookEvent, Timestamp) -> store::Result<HookOutcome>;

/// Where so much of the time has passed before an answer is begun, its part that is quickly made is made
/// first: the machine is busy, and the whole may not be there in time.
const FALLBACK_AFTER_SHARE: f64 = 0.2;

/// Whose answer was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrintedBy {
    ThisThread,
    /// That of another thread, which ends the process.
    OtherThread,
}

#[derive(Clone)]
pub(crate) struct HookInvocation {
    pub(crate) hints: HookHints,
    pub(crate) started: Instant,
    pub(crate) deadline: Duration,
    pub(crate) environment: HookEnvironment,
    pub(crate) log: HookLog,
    pub(crate) output: Arc<HookOutput>,
}

impl HookInvocation {
    /// Answers, and ends the process. `deadlines` hears the configured deadline, in milliseconds.
    pub(crate) fn run(mut self, payload: Option<String>, deadlines: &Sender<u64>) {
        let printed = match self.read_payload(payload) {
            Some(payload) => self.answer(&payload, deadlines),
            None => PrintedBy::ThisThread,
        };
        if printed == PrintedBy::ThisThread {
            exit_process();
        }
        // The thread whose answer was printed ends the process.
        loop {
            std::thread::park();
        }
    }

    fn read_payload(&self, given: Option<String>) -> Option<Vec<u8>> {
        if let Some(payload) = given {
            return Some(payload.into_bytes());
        }
        let mut bytes = Vec::new();
        let most = PAYLOAD_BYTES_MAX as u64 + 1;
        match stdin().lock().take(most).read_to_end(&mut bytes) {
            Ok(_) if bytes.len() > PAYLOAD_BYTES_MAX => {
                self.log.write("the payload is too long");
                None
            }
            Ok(_) => Some(bytes),
            Err(error) => {
                self.log
                    .write(&format!("the payload cannot be read: {error}"));
                None
            }
        }
    }

    fn answer(&mut self, payload: &[u8], deadlines: &Sender<u64>) -> PrintedBy {
        panic_if_requested();
        let environment = &self.environment;
        // A configuration that cannot be read may be one that switches us off.
        let config = match HookAnswerConfig::load(
            environment.config.as_deref(),
            &environment.default_config,
        ) {
            Ok(config) => Some(config),
            Err(error) => {
                self.log.write(&format!("{error:#}"));
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
        self.deadline = super::clamp_deadline(ms);
        let event = match parse_payload(payload, &self.hints) {
            Ok(event) => event,
            Err(unknown) => {
                self.log.write(&unknown.to_string());
                return PrintedBy::ThisThread;
            }
        };
        let Some(config) = config else {
            return self.print_empty(&event);
        };
        // Another user's daemon could wait there, and would get to see the prompt.
        if let Err(error) = store::check_folder(&environment.home) {
            self.log.write(&error.to_string());
            return self.print_empty(&event);
        }
        // Only we know that injection is off here.
        let heard = if environment.injection_off && may_add_context(&environment.home, &event) {
            DaemonReply::NotAsked
        } else {
            daemon::ask_daemon(self, payload)
        };
        let settings = || config.settings(environment.injection_off);
        match heard {
            DaemonReply::Reply(reply) => self.print_reply(&event, &reply),
            DaemonReply::Pending(call) => {
                let (here, of_here, settings) = (self.clone(), event.clone(), settings());
                // This thread goes on listening; the other answers meanwhile.
                std::thread::spawn(move || {
                    if here.answer_locally(&of_here, &settings, answer_event_without_dedup)
                        == PrintedBy::ThisThread
                    {
                        exit_process();
                    }
                });
                self.log.write(
                    "the daemon does not answer yet; the hook works on an answer of its own",
                );
                match daemon::wait_for_reply(self, call) {
                    Some(reply) => self.print_reply(&event, &reply),
                    None => PrintedBy::OtherThread,
                }
            }
            DaemonReply::NotRunning => {
                let printed = self.answer_locally(&event, &settings(), answer_event);
                if config.serve.start {
                    daemon::start_daemon(self);
                }
                printed
            }
            DaemonReply::NotAsked => self.answer_locally(&event, &settings(), answer_event),
            DaemonReply::Failed => {
                self.answer_locally(&event, &settings(), answer_event_without_dedup)
            }
        }
    }

    fn print_reply(&self, event: &HookEvent, reply: &Reply) -> PrintedBy {
        if let Some(why) = &reply.silence {
            tracing::debug!(why, kind = event.kind.name(), "nothing is said");
        }
        self.print(event, &reply.answer, &reply.shown)
    }

    /// Answers without a daemon, and leaves what follows to who comes next.
    fn answer_locally(
        &self,
        event: &HookEvent,
        settings: &ServeSettings,
        answer: AnswerFn,
    ) -> PrintedBy {
        if !Store::database_path(&self.environment.home).exists() {
            return self.print(event, event.dialect.empty_answer(), &[]);
        }
        if !may_add_context(&self.environment.home, event) {
            return self.print_empty(event);
        }
        let answered =
            Store::open_to_read_with(&self.environment.home, &SystemKeychain).and_then(|store| {
                self.prepare_fallback(&store, settings, event)?;
                answer(&store, settings, event, self.environment.now)
            });
        match answered {
            Ok(answered) => self.print(event, &answered.answer.render(event), &answered.follow_ups),
            Err(error) => {
                self.log
                    .write(&format!("{} {}: {error}", event.flavor, event.kind.name()));
                self.print_empty(event)
            }
        }
    }

    /// Makes the part of the answer that takes next to no time, where time is short already.
    fn prepare_fallback(
        &self,
        store: &Store,
        settings: &ServeSettings,
        event: &HookEvent,
    ) -> store::Result<()> {
        let has_part = match &event.kind {
            HookKind::SessionStart { source } => *source != StartReason::Compacted,
            HookKind::Prompt { .. } => true,
            _ => false,
        };
        if !has_part || self.started.elapsed() < self.deadline.mul_f64(FALLBACK_AFTER_SHARE) {
            return Ok(());
        }
        let part = answer_from_facts(store, settings, event, self.environment.now)?;
        self.output.set_fallback(FallbackAnswer {
            text: part.answer.render(event),
            event: event.clone(),
            follow_ups: part.follow_ups,
        });
        Ok(())
    }

    /// Says that there is nothing to say. What happened is still heard.
    fn print_empty(&self, event: &HookEvent) -> PrintedBy {
        self.print(
            event,
            event.dialect.empty_answer(),
            &after::follow_ups_of(event),
        )
    }

    /// Prints an answer, unless another was printed before, and notes what follows from it.
    fn print(&self, event: &HookEvent, text: &str, after: &[FollowUp]) -> PrintedBy {
        if !self.output.print(text) {
            return PrintedBy::OtherThread;
        }
        let environment = &self.environment;
        save_follow_ups(&environment.home, event, after, environment.now, &self.log);
        PrintedBy::ThisThread
    }

    /// Returns how much time is left.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }
}

/// Puts what follows from an event aside, for the next daemon or `ingest`.
pub(crate) fn save_follow_ups(
    home: &Path,
    event: &HookEvent,
    after: &[FollowUp],
    now: Timestamp,
    log: &HookLog,
) {
    // Without a store nobody has asked us to keep anything.
    if !Store::database_path(home).exists() {
        return;
    }
    if let Err(error) = save_for_later_hooks(home, event, after, now) {
        let (flavor, kind) = (event.flavor, event.kind.name());
        log.write(&format!("{flavor} {kind}: not kept for later: {error}"));
    }
}

/// Ends the process. The first thread is not woken for it: on a busy machine that takes a while.
#[expect(clippy::exit, reason = "the agent waits for the process to end")]
fn exit_process() -> ! {
    std::process::exit(0)
}

/// Lets tests see how a panic ends. Nothing of it is in a release.
fn panic_if_requested() {
    #[cfg(debug_assertions)]
    assert!(
        crate::environment::variable("THROUGHLINE_HOOK_PANIC").is_none(),
        "told to"
    );
}
