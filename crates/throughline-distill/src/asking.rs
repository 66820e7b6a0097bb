//! For tests: a scripted model on loopback, asked with a clock that stands still but for its sleeps.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use memory::{Prices, SessionId, Usage};
use store::{ModelCall, Store};
use testkit::model_server::{Act, Got, ModelServer};

use crate::model::anthropic::Anthropic;
use crate::model::{Asker, Budget, Clock, Endpoint, Key};

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub const BUDGET: Budget = Budget {
    enabled: true,
    daily_tokens: 1_000_000,
    daily_usd: 0.0,
    is_free: true,
};

/// Runs with an asker of a model that follows a script, and returns what the model got.
pub fn asking<T>(
    store: &Store,
    session: Option<&SessionId>,
    budget: Budget,
    script: Vec<Act>,
    run: impl FnOnce(&Asker<'_>) -> T,
) -> (T, Vec<Got>) {
    let server = ModelServer::start(script);
    let endpoint = Endpoint::new(&server.url(), Some(Key::new("k"))).unwrap();
    let model = Anthropic {
        endpoint,
        model: "m".into(),
    };
    let clock = Cell::new(at(100));
    let done = run(&Asker {
        store,
        model: &model,
        budget,
        prices: &Prices::default(),
        clock: Clock {
            now: &|| clock.get(),
            sleep: &|time| clock.set(clock.get() + time),
            jitter: &|| 0.5,
        },
        purpose: "test",
        session,
        today: at(0),
        timeout: Duration::from_millis(1_500),
    });
    (done, server.got())
}

/// Enters a good call, or the pause after failures would answer instead of the model.
pub fn end_the_pause(store: &Store) {
    store
        .record_call(&ModelCall {
            at: at(100),
            purpose: "test".into(),
            session: None,
            model: "m".into(),
            usage: Usage::default(),
            usd: None,
            outcome: "ok".into(),
        })
        .unwrap();
}
