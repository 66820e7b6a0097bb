//! Test support: a scripted model on loopback, with a clock that only sleeping advances.

use std::cell::Cell;
use std::time::Duration;

use jiff::Timestamp;
use memory::{Prices, SessionId, Usage};
use store::{ModelCall, Store};
use testkit::model_server::{Act, Got, ModelServer};

use crate::model::{
    ApiKey, Endpoint, HttpModel, ModelBudget, ModelClock, ModelSession, WireFormat,
};

pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) const BUDGET: ModelBudget = ModelBudget {
    enabled: true,
    daily_tokens: 1_000_000,
    daily_usd: 0.0,
    is_free: true,
};

/// Calls `run` with a session of a scripted model, and returns the requests that the model
/// received.
pub(crate) fn with_scripted_model<T>(
    store: &Store,
    session: Option<&SessionId>,
    budget: ModelBudget,
    script: Vec<Act>,
    run: impl FnOnce(&ModelSession<'_>) -> T,
) -> (T, Vec<Got>) {
    let server = ModelServer::start(script);
    let endpoint = Endpoint::new(&server.url(), Some(ApiKey::new("k"))).unwrap();
    let model = HttpModel {
        format: WireFormat::Anthropic,
        endpoint,
        model: "m".into(),
    };
    let clock = Cell::new(at(100));
    let done = run(&ModelSession {
        store,
        model: &model,
        budget,
        prices: &Prices::default(),
        clock: ModelClock {
            now: &|| clock.get(),
            sleep: &|time| clock.set(clock.get() + time),
            jitter: &|| 0.5,
        },
        purpose: "test",
        session,
        budget_day_start: at(0),
        attempt_timeout: Duration::from_millis(1_500),
    });
    (done, server.got())
}

/// Records a successful call, which ends the cooldown after failures.
pub(crate) fn record_successful_call(store: &Store) {
    store
        .record_model_call(&ModelCall {
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
