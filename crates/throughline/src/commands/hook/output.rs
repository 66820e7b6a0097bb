//! What a hook prints: one answer, of whichever thread has one first.

use std::io::{Write, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use capture::hook::HookEvent;
use serve::hook::FollowUp;

use super::log::HookLog;

/// The answer, printed or still to come. Threads share it.
#[derive(Debug)]
pub(crate) struct HookOutput {
    state: Mutex<HookOutputState>,
    log: HookLog,
}

#[derive(Debug, Default)]
struct HookOutputState {
    is_printed: bool,
    fallback: Option<FallbackAnswer>,
}

/// A part of the answer that is printed where the whole is not there at the deadline.
#[derive(Debug)]
pub(crate) struct FallbackAnswer {
    pub(crate) text: String,
    pub(crate) event: HookEvent,
    /// What follows once it is printed.
    pub(crate) follow_ups: Vec<FollowUp>,
}

impl HookOutput {
    pub(crate) fn new(log: HookLog) -> Self {
        Self {
            state: Mutex::default(),
            log,
        }
    }

    /// Prints an answer, and says whether it was the first.
    pub(crate) fn print(&self, text: &str) -> bool {
        let mut state = self.state();
        if state.is_printed {
            return false;
        }
        state.is_printed = true;
        // The lock is held: nobody ends the process in the middle of it.
        write(text, &self.log);
        true
    }

    /// Keeps a part of the answer for the deadline.
    pub(crate) fn set_fallback(&self, fallback: FallbackAnswer) {
        self.state().fallback = Some(fallback);
    }

    /// Prints the part of the answer that is there, where nothing is printed yet, and returns it.
    pub(crate) fn print_fallback(&self) -> Option<FallbackAnswer> {
        let mut state = self.state();
        if state.is_printed {
            return None;
        }
        state.is_printed = true;
        let fallback = state.fallback.take()?;
        write(&fallback.text, &self.log);
        Some(fallback)
    }

    fn state(&self) -> MutexGuard<'_, HookOutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(text: &str, log: &HookLog) {
    if text.is_empty() {
        return;
    }
    let mut out = stdout().lock();
    if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        log.write(&format!("the answer could not be printed: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output() -> (tempfile::TempDir, HookOutput) {
        let dir = tempfile::tempdir().unwrap();
        let log = HookLog::new(dir.path(), jiff::Timestamp::UNIX_EPOCH);
        (dir, HookOutput::new(log))
    }

    fn fallback() -> FallbackAnswer {
        let payload = br#"{"hook_event_name":"SessionStart","session_id":"a","cwd":"/w"}"#;
        FallbackAnswer {
            text: String::new(),
            event: capture::hook::parse_payload(payload, &capture::hook::HookHints::default())
                .unwrap(),
            follow_ups: Vec::new(),
        }
    }

    #[test]
    fn one_answer_is_printed_and_a_part_only_where_nothing_was() {
        let (_dir, whole_first) = output();
        whole_first.set_fallback(fallback());
        assert!(whole_first.print(""));
        assert!(!whole_first.print(""));
        assert!(whole_first.print_fallback().is_none());
        let (_dir, part_first) = output();
        part_first.set_fallback(fallback());
        assert!(part_first.print_fallback().is_some());
        assert!(!part_first.print(""));
        let (_dir, nothing) = output();
        assert!(nothing.print_fallback().is_none());
        assert!(!nothing.print(""), "too late");
    }
}
