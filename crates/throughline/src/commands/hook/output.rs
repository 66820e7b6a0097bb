//! The output of a hook. Several threads may have an answer; only the first one is printed.

use std::io::{Write, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use capture::hook::HookEvent;
use serve::hook::FollowUp;

use super::log::HookLog;

/// The output, shared by the threads of a hook.
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

/// A partial answer that is printed if the full one is not ready at the deadline.
#[derive(Debug)]
pub(crate) struct FallbackAnswer {
    pub(crate) text: String,
    pub(crate) event: HookEvent,
    /// The work that follows once the answer is printed.
    pub(crate) follow_ups: Vec<FollowUp>,
}

impl HookOutput {
    pub(crate) fn new(log: HookLog) -> Self {
        Self {
            state: Mutex::default(),
            log,
        }
    }

    /// Prints an answer unless another was printed. Returns whether it was printed.
    pub(crate) fn print(&self, text: &str) -> bool {
        let mut state = self.state();
        if state.is_printed {
            return false;
        }
        state.is_printed = true;
        // The lock is held, so that no other thread ends the process during the write.
        write(text, &self.log);
        true
    }

    /// Sets the partial answer for the deadline.
    pub(crate) fn set_fallback(&self, fallback: FallbackAnswer) {
        self.state().fallback = Some(fallback);
    }

    /// Prints and returns the partial answer, if there is one and nothing was printed.
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
        log.write(&format!("cannot print the answer: {error}"));
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
    fn only_the_first_answer_is_printed() {
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
