//! Limits how many bytes of batches a reading thread may have between reading and the disk.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A semaphore over the bytes of batches that were read and are not written yet.
#[derive(Clone, Debug)]
pub(super) struct InFlightBytes {
    counter: Arc<InFlightCounter>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct InFlightCounter {
    bytes: Mutex<usize>,
    /// Notified when a permit is dropped.
    released: Condvar,
}

impl InFlightBytes {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            counter: Arc::default(),
            bytes_max,
        }
    }

    /// Waits until the bytes fit below the limit. A batch larger than the limit waits until no
    /// other permit is held.
    pub(super) fn acquire(&self, bytes: usize) -> InFlightPermit {
        let bytes = bytes.min(self.bytes_max);
        let held = self
            .counter
            .bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut held = self
            .counter
            .released
            .wait_while(held, |held| *held + bytes > self.bytes_max)
            .unwrap_or_else(PoisonError::into_inner);
        *held += bytes;
        InFlightPermit {
            counter: Arc::clone(&self.counter),
            bytes,
        }
    }
}

/// Bytes that count as in flight until this is dropped.
#[derive(Debug)]
pub(super) struct InFlightPermit {
    counter: Arc<InFlightCounter>,
    bytes: usize,
}

impl Drop for InFlightPermit {
    fn drop(&mut self) {
        let mut held = self
            .counter
            .bytes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = held.saturating_sub(self.bytes);
        self.counter.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn no_more_is_under_way_than_there_is_room() {
        let in_flight = InFlightBytes::new(100);
        let (sender, receiver) = channel();
        let reader = in_flight.clone();
        let thread = std::thread::spawn(move || {
            for bytes in [40, 60, 1, 1_000, 99, 2] {
                sender.send(reader.acquire(bytes)).unwrap();
            }
        });
        for share in receiver {
            let held = *in_flight.counter.bytes.lock().unwrap();
            assert!(held <= 100 && share.bytes <= held, "{held}");
        }
        thread.join().unwrap();
        assert_eq!(*in_flight.counter.bytes.lock().unwrap(), 0);
    }
}
