//! Sends requests within the budget, retries them, and records them in the ledger.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::tokens::estimate;
use memory::{Prices, SessionId, Usage};
use store::{ModelCall, Store};
use thiserror::Error;

use super::budget::{self, BudgetError};
use super::{Completion, CompletionRequest, Model, ModelBudget, ModelError, ModelTurn, retry};

/// Time, sleep and randomness, provided by the caller.
#[derive(Clone, Copy)]
pub struct ModelClock<'a> {
    pub now: &'a dyn Fn() -> Timestamp,
    pub sleep: &'a dyn Fn(Duration),
    /// Returns a random number between 0 and 1.
    pub jitter: &'a dyn Fn() -> f64,
}

impl std::fmt::Debug for ModelClock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// A model with the budget, ledger and clock for one purpose.
#[derive(Clone, Copy, Debug)]
pub struct ModelSession<'a> {
    pub store: &'a Store,
    pub model: &'a dyn Model,
    pub budget: ModelBudget,
    pub prices: &'a Prices,
    pub clock: ModelClock<'a>,
    pub purpose: &'static str,
    pub session: Option<&'a SessionId>,
    /// The start of the day that the budget covers.
    pub budget_day_start: Timestamp,
    /// The timeout of one attempt.
    pub attempt_timeout: Duration,
}

/// Why a request was not sent or got no reply.
#[derive(Debug, Error)]
pub enum ModelUnavailable {
    #[error(transparent)]
    Budget(#[from] BudgetError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("deadline exceeded")]
    DeadlineExceeded,
}

impl ModelSession<'_> {
    /// Sends a request, and retries until there is a reply, the deadline has passed, or a retry
    /// cannot succeed.
    pub fn complete(
        &self,
        request: &CompletionRequest,
        deadline: Timestamp,
    ) -> Result<Completion, ModelUnavailable> {
        let input = estimate_input(request);
        for attempt in 1.. {
            let now = (self.clock.now)();
            self.check_budget(input, request, now)?;
            let left = time_left(deadline, now).ok_or(ModelUnavailable::DeadlineExceeded)?;
            let result = self.model.complete(request, left.min(self.attempt_timeout));
            self.record_call(now, &result)?;
            let error = match result {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            tracing::debug!(model = self.model.name(), %error, attempt, "no reply");
            let left = time_left(deadline, (self.clock.now)())
                .ok_or(ModelUnavailable::DeadlineExceeded)?;
            match retry::retry_delay(attempt, &error, (self.clock.jitter)(), left) {
                Some(wait) => (self.clock.sleep)(wait),
                None => return Err(error.into()),
            }
        }
        Err(ModelUnavailable::DeadlineExceeded)
    }

    fn check_budget(
        &self,
        input: u64,
        request: &CompletionRequest,
        now: Timestamp,
    ) -> Result<(), ModelUnavailable> {
        let spent = self.store.spending_since(self.budget_day_start)?;
        let need = (input, u64::from(request.max_tokens));
        self.budget
            .check(spent, need, self.model.name(), self.prices)?;
        let recent = self
            .store
            .model_calls(Some(self.budget_day_start), budget::FAILURES_MAX)?;
        Ok(budget::check_cooldown(&recent, now)?)
    }

    fn record_call(
        &self,
        at: Timestamp,
        result: &Result<Completion, ModelError>,
    ) -> Result<(), ModelUnavailable> {
        let (usage, outcome) = match result {
            Ok(reply) => (reply.usage, "ok".to_owned()),
            Err(error) => (error.usage, error.failure.ledger_name()),
        };
        let name = self.model.name();
        let usd = if usage == Usage::default() {
            Some(0.0)
        } else {
            self.budget.cost(&usage, name, self.prices)
        };
        Ok(self.store.record_model_call(&ModelCall {
            at,
            purpose: self.purpose.to_owned(),
            session: self.session.cloned(),
            model: name.to_owned(),
            usage,
            usd,
            outcome,
        })?)
    }
}

fn time_left(deadline: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = deadline.duration_since(now);
    (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
}

/// Estimates the number of input tokens of a request.
fn estimate_input(request: &CompletionRequest) -> u64 {
    let turn = |turn: &ModelTurn| match turn {
        ModelTurn::User(text) => estimate(text).0,
        ModelTurn::Assistant { text, calls } => {
            let calls: u64 = calls
                .iter()
                .map(|call| estimate(&call.input.to_string()).0)
                .sum();
            estimate(text).0 + calls
        }
        ModelTurn::Results(answers) => answers.iter().map(|answer| estimate(&answer.text).0).sum(),
    };
    let tool = request.tool.as_ref().map_or(0, |tool| {
        estimate(&tool.description).0 + estimate(&tool.schema.to_string()).0
    });
    let parent = request
        .parent_request
        .as_ref()
        .map_or(0, |parent| estimate(&parent.to_string()).0);
    estimate(&request.system).0 + tool + parent + request.turns.iter().map(turn).sum::<u64>()
}
