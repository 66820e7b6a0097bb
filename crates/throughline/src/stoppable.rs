//! A model whose pending requests are abandoned when the program shuts down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use distill::model::{Completion, CompletionRequest, Model, ModelError, ModelFailure};

/// How often the stop flag is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(crate) struct StoppableModel {
    pub(crate) model: Arc<dyn Model>,
    pub(crate) stop: Arc<AtomicBool>,
}

impl StoppableModel {
    /// Sleeps until the time has passed or the stop flag is set.
    pub(crate) fn sleep(stop: &AtomicBool, time: Duration) {
        let mut left = time;
        while !left.is_zero() && !stop.load(Ordering::Relaxed) {
            let step = left.min(POLL_INTERVAL);
            std::thread::sleep(step);
            left -= step;
        }
    }
}

impl Model for StoppableModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn complete(
        &self,
        request: &CompletionRequest,
        timeout: Duration,
    ) -> Result<Completion, ModelError> {
        let (answer, answered) = channel();
        let (model, request) = (Arc::clone(&self.model), request.clone());
        // The thread dies with the process, which is safe: it writes nothing.
        std::thread::spawn(move || {
            // The send fails if the receiver has given up.
            answer.send(model.complete(&request, timeout)).ok();
        });
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(ModelFailure::Cancelled.into());
            }
            match answered.recv_timeout(POLL_INTERVAL) {
                Ok(reply) => return reply,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(ModelFailure::Connection(
                        "the thread of the request ended".to_owned(),
                    )
                    .into());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use distill::model::{Endpoint, HttpModel, ModelTurn, WireFormat};
    use testkit::model_server::{Act, ModelServer};

    use super::*;

    #[test]
    fn a_model_that_hangs_does_not_delay_shutdown() {
        let server = ModelServer::start(vec![Act::Hang]);
        let stop = Arc::new(AtomicBool::new(false));
        let model = StoppableModel {
            model: Arc::new(HttpModel {
                format: WireFormat::Anthropic,
                endpoint: Endpoint::new(&server.url(), None).unwrap(),
                model: "m".into(),
            }),
            stop: Arc::clone(&stop),
        };
        let asking = std::thread::spawn(move || {
            let request = CompletionRequest {
                turns: vec![ModelTurn::User("go".into())],
                max_tokens: 10,
                ..CompletionRequest::default()
            };
            model.complete(&request, Duration::from_secs(600))
        });
        server.wait_for(1);
        stop.store(true, Ordering::Relaxed);
        let ended = asking.join().unwrap();
        assert_eq!(ended.unwrap_err().failure, ModelFailure::Cancelled);
    }
}
