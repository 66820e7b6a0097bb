//! One invocation of a hook, from reading its payload to saving the follow-up work.

use std::io::{Read, stdin};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use capture::hook::{HookEvent, HookHints, HookKind, StartReason, parse_payload};
use jiff::Timestamp;
use serve::ServeSettings;
use serve::client::HookCall;
use serve::hook::wire::{HookReply, PAYLOAD_BYTES_MAX};
use serve::hook::{
    AnswerMode, FollowUp, answer_event, follow_up, may_add_context, save_for_later_hooks,
};
use serve::live::LiveLayers;
use store::{OpenMode, Store};

use super::daemon::{self, DaemonReply};
use super::log::HookLog;
use super::output::{FallbackAnswer, HookOutput};
use crate::config::HookAnswerConfig;
use crate::environment::HookEnvironment;
use crate::keychain::SystemKeychain;

/// If this share of the time has passed before the answer is computed, the machine is busy. Then a
/// partial answer is computed first, in case the full one is too late.
const FALLBACK_AFTER_SHARE: f64 = 0.2;

/// The share of the remaining time during which a daemon that has begun to answer is waited for.
/// Then a partial answer is computed here, in case the daemon is too late.
const ANSWERING_WAIT_SHARE: f64 = 0.5;

/// Which thread printed the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PrintedBy {
    ThisThread,
    /// Another thread, which also ends the process.
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
    /// Answers the hook and ends the process. Sends the configured deadline, in milliseconds, to
    /// `deadlines`.
    pub(crate) fn run(mut self, payload: Option<String>, deadlines: &Sender<u64>) {
        let printed = match self.read_payload(payload) {
            Some(payload) => self.answer(&payload, deadlines),
            None => PrintedBy::ThisThread,
        };
        if printed == PrintedBy::ThisThread {
            exit_process();
        }
        // The other thread ends the process.
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
                self.log.write(&format!("cannot read the payload: {error}"));
                None
            }
        }
    }

    fn answer(&mut self, payload: &[u8], deadlines: &Sender<u64>) -> PrintedBy {
        panic_if_requested();
        let environment = &self.environment;
        // If the configuration cannot be read, it may disable injection: print nothing then.
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
            tracing::debug!("the deadline has already passed");
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
        // In a folder that others can write to, another user's daemon could read the prompt.
        if let Err(error) = store::check_folder(&environment.home) {
            self.log.write(&error.to_string());
            return self.print_empty(&event);
        }
        // The daemon does not know that injection is disabled for this process.
        let response = if environment.injection_off && may_add_context(&environment.home, &event) {
            DaemonReply::NotAsked
        } else {
            daemon::ask_daemon(self, payload)
        };
        let settings = || config.settings(environment.injection_off);
        match response {
            DaemonReply::Reply(reply) => self.print_reply(&event, &reply),
            DaemonReply::Pending(call) => self.answer_while_waiting(&event, call, &settings()),
            DaemonReply::NotRunning => {
                let printed = self.answer_locally(&event, &settings(), AnswerMode::Once);
                if config.serve.start {
                    daemon::start_daemon(self);
                }
                printed
            }
            DaemonReply::NotAsked => self.answer_locally(&event, &settings(), AnswerMode::Once),
            DaemonReply::Failed => self.answer_locally(&event, &settings(), AnswerMode::Again),
        }
    }

    /// Answers while the daemon has not replied yet.
    fn answer_while_waiting(
        &self,
        event: &HookEvent,
        mut call: HookCall,
        settings: &ServeSettings,
    ) -> PrintedBy {
        // On a busy machine, the same search here would only make the daemon slower.
        let is_answering = call.is_acknowledged();
        if is_answering {
            let wait = self.time_left().mul_f64(ANSWERING_WAIT_SHARE);
            match daemon::wait_for_reply(self, &mut call, wait) {
                Ok(Some(reply)) => return self.print_reply(event, &reply),
                Ok(None) => {}
                Err(_) => return self.answer_locally(event, settings, AnswerMode::Again),
            }
        } else {
            self.log
                .write("the daemon has not answered yet; the hook computes an answer itself");
        }
        let (local, local_event, local_settings) = (self.clone(), event.clone(), settings.clone());
        // This thread keeps waiting for the daemon; the new one computes an answer.
        std::thread::spawn(move || {
            if is_answering {
                local.prepare_partial_answer(&local_event, &local_settings);
            } else if local.answer_locally(&local_event, &local_settings, AnswerMode::Again)
                == PrintedBy::ThisThread
            {
                exit_process();
            }
        });
        match daemon::wait_for_reply(self, &mut call, self.time_left()) {
            Ok(Some(reply)) => self.print_reply(event, &reply),
            Err(_) if is_answering => self.answer_locally(event, settings, AnswerMode::Again),
            Ok(None) | Err(_) => PrintedBy::OtherThread,
        }
    }

    /// Computes the partial answer for the deadline, from a store of this process.
    fn prepare_partial_answer(&self, event: &HookEvent, settings: &ServeSettings) {
        let home = &self.environment.home;
        if !may_add_context(home, event) {
            return;
        }
        let prepared = Store::open_with(home, OpenMode::ReadOnly, &SystemKeychain)
            .and_then(|store| self.prepare_fallback(&store, settings, event));
        if let Err(error) = prepared {
            self.log
                .write(&format!("{} {}: {error}", event.flavor, event.kind.name()));
        }
    }

    fn print_reply(&self, event: &HookEvent, reply: &HookReply) -> PrintedBy {
        if let Some(why) = &reply.silence {
            tracing::debug!(why, kind = event.kind.name(), "the answer is empty");
        }
        self.print(event, &reply.answer, &reply.shown)
    }

    /// Answers without the daemon. The follow-up work is saved for the next daemon or `ingest`.
    fn answer_locally(
        &self,
        event: &HookEvent,
        settings: &ServeSettings,
        mode: AnswerMode,
    ) -> PrintedBy {
        if !Store::database_path(&self.environment.home).exists() {
            return self.print(event, event.dialect.empty_answer(), &[]);
        }
        if !may_add_context(&self.environment.home, event) {
            return self.print_empty(event);
        }
        let answered =
            Store::open_with(&self.environment.home, OpenMode::ReadOnly, &SystemKeychain).and_then(
                |store| {
                    self.prepare_fallback(&store, settings, event)?;
                    answer_event(
                        &store,
                        settings,
                        &LiveLayers::default(),
                        event,
                        mode,
                        self.environment.now,
                    )
                },
            );
        match answered {
            Ok(answered) => self.print(event, &answered.answer.render(event), &answered.follow_ups),
            Err(error) => {
                self.log
                    .write(&format!("{} {}: {error}", event.flavor, event.kind.name()));
                self.print_empty(event)
            }
        }
    }

    /// Computes the partial answer, which is fast, if the time is already short.
    fn prepare_fallback(
        &self,
        store: &Store,
        settings: &ServeSettings,
        event: &HookEvent,
    ) -> store::Result<()> {
        let has_partial = match &event.kind {
            HookKind::SessionStart { source } => *source != StartReason::Compacted,
            HookKind::Prompt { .. } => true,
            _ => false,
        };
        if !has_partial || self.started.elapsed() < self.deadline.mul_f64(FALLBACK_AFTER_SHARE) {
            return Ok(());
        }
        let now = self.environment.now;
        let part = answer_event(
            store,
            settings,
            &LiveLayers::default(),
            event,
            AnswerMode::FactsOnly,
            now,
        )?;
        self.output.set_fallback(FallbackAnswer {
            text: part.answer.render(event),
            event: event.clone(),
            follow_ups: part.follow_ups,
        });
        Ok(())
    }

    /// Prints the empty answer. The event still causes follow-up work.
    fn print_empty(&self, event: &HookEvent) -> PrintedBy {
        self.print(
            event,
            event.dialect.empty_answer(),
            &follow_up::follow_ups_of(event),
        )
    }

    /// Prints an answer unless another was printed, and saves its follow-up work.
    fn print(&self, event: &HookEvent, text: &str, after: &[FollowUp]) -> PrintedBy {
        if !self.output.print(text) {
            return PrintedBy::OtherThread;
        }
        let environment = &self.environment;
        save_follow_ups(&environment.home, event, after, environment.now, &self.log);
        PrintedBy::ThisThread
    }

    /// Returns the time until the deadline.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.started.elapsed())
    }
}

/// Saves the follow-up work of an event for the next daemon or `ingest`.
pub(crate) fn save_follow_ups(
    home: &Path,
    event: &HookEvent,
    after: &[FollowUp],
    now: Timestamp,
    log: &HookLog,
) {
    // Without a store, the user has not set up Throughline: write nothing.
    if !Store::database_path(home).exists() {
        return;
    }
    if let Err(error) = save_for_later_hooks(home, event, after, now) {
        let (flavor, kind) = (event.flavor, event.kind.name());
        log.write(&format!(
            "{flavor} {kind}: cannot save follow-up work: {error}"
        ));
    }
}

/// Ends the process from this thread. Waking the main thread would take a while on a busy machine.
#[expect(clippy::exit, reason = "the agent waits for the process to end")]
fn exit_process() -> ! {
    std::process::exit(0)
}

/// Panics if a test asks for it. Release builds do not contain this.
fn panic_if_requested() {
    #[cfg(debug_assertions)]
    assert!(
        crate::environment::variable("THROUGHLINE_HOOK_PANIC").is_none(),
        "a test asked for a panic"
    );
}
