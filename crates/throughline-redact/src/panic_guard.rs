//! Catches the panic of a detector: a text that a detector fails on must not stop a sweep, and must
//! not be stored unchecked.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_DETECTING: Cell<bool> = const { Cell::new(false) };
}

/// Says whether a panic of this thread would come from a detector and be caught. A program whose
/// panic hook ends the process lets such a panic pass.
pub fn is_detecting() -> bool {
    IS_DETECTING.get()
}

/// Returns what `detect` returns, or `None` if it panics. The secrets of a session, which `detect`
/// may change, are complete except for those of the text at hand.
pub(crate) fn catch_panic<T>(detect: impl FnOnce() -> T) -> Option<T> {
    let before = IS_DETECTING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(detect));
    IS_DETECTING.set(before);
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_only_announced_meanwhile() {
        assert!(!is_detecting());
        assert_eq!(catch_panic(is_detecting), Some(true));
        assert_eq!(catch_panic(|| catch_panic(is_detecting)), Some(Some(true)));
        assert_eq!(catch_panic(|| -> u8 { panic!("a detector failed") }), None);
        assert!(!is_detecting());
    }
}
