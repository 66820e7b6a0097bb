//! The priority of background work.

/// How much background work yields to everything else: 19 would be the most.
#[cfg(target_os = "linux")]
const BACKGROUND_NICENESS: i32 = 10;

/// Lowers the priority of this thread and of the threads that it starts, so that answers go before it.
/// It cannot be raised again, so this is for threads that only do background work.
///
/// Only Linux sets the priority of one thread; elsewhere it would be that of the whole process.
pub fn lower_thread_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, BACKGROUND_NICENESS) {
        tracing::debug!(%error, "background work has the priority of answers");
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
