//! The priority of background work.

/// The niceness of background work; the maximum is 19.
#[cfg(target_os = "linux")]
const BACKGROUND_NICENESS: i32 = 10;

/// Lowers the priority of this thread and of the threads that it starts, so that answers come
/// first. The priority cannot be raised again, so only threads for background work may call this.
///
/// Only Linux has a priority per thread; elsewhere this would slow down the whole process.
pub(super) fn lower_thread_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, BACKGROUND_NICENESS) {
        tracing::debug!(%error, "cannot lower the priority of background work");
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_and_those_it_starts_yield_and_the_others_do_not() {
        use super::*;
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        let lowered = std::thread::spawn(move || {
            lower_thread_priority();
            let child = std::thread::spawn(niceness);
            (niceness(), child.join().unwrap())
        });
        let expected = before.max(BACKGROUND_NICENESS);
        assert_eq!(lowered.join().unwrap(), (expected, expected));
        assert_eq!(niceness(), before);
    }
}
