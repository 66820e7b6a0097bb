//! Asking within the budget, again where that helps, and on the record.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use memory::tokens::estimate;
use memory::{Prices, SessionId, Usage};
use store::{ModelCall, Store};
use thiserror::Error;

use super::budget::{self, Exhausted};
use super::{Budget, Model, ModelError, Reply, Request, Turn, retry};

/// The world outside: time, patience and chance.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    pub now: &'a dyn Fn() -> Timestamp,
    pub sleep: &'a dyn Fn(Duration),
    /// A number between 0 and 1.
    pub jitter: &'a dyn Fn() -> f64,
}

impl std::fmt::Debug for Clock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// Asks a model for one purpose.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    pub store: &'a Store,
    pub model: &'a dyn Model,
    pub budget: Budget,
    pub prices: &'a Prices,
    pub clock: Clock<'a>,
    pub purpose: &'static str,
    pub session: Option<&'a SessionId>,
    /// When the day of the budget began.
    pub today: Timestamp,
    /// The longest that one attempt may take.
    pub timeout: Duration,
}

/// Why there is no reply.
#[derive(Debug, Error)]
pub enum Refused {
    #[error(transparent)]
    Budget(#[from] Exhausted),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("the time is up")]
    TimeIsUp,
}

impl Asker<'_> {
    /// Asks until there is a reply, the deadline has come, or it is of no use.
    pub fn ask(&self, request: &Request, deadline: Timestamp) -> Result<Reply, Refused> {
        let input = size(request);
        for attempt in 1.. {
            let now = (self.clock.now)();
            self.check(input, request, now)?;
            let left = left(deadline, now).ok_or(Refused::TimeIsUp)?;
            let asked = self.model.complete(request, left.min(self.timeout));
            self.record(now, &asked)?;
            let error = match asked {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            tracing::debug!(model = self.model.name(), %error, attempt, "no reply");
            let left = self::left(deadline, (self.clock.now)()).ok_or(Refused::TimeIsUp)?;
            match retry::wait(attempt, &error, (self.clock.jitter)(), left) {
                Some(wait) => (self.clock.sleep)(wait),
                None => return Err(error.into()),
            }
        }
        Err(Refused::TimeIsUp)
    }

    fn check(&self, input: u64, request: &Request, now: Timestamp) -> Result<(), Refused> {
        let spent = self.store.spent(self.today)?;
        let need = (input, u64::from(request.max_tokens));
        self.budget
            .check(spent, need, self.model.name(), self.prices)?;
        let recent = self
            .store
            .model_calls(Some(self.today), budget::FAILURES_MAX)?;
        Ok(budget::cooling(&recent, now)?)
    }

    fn record(&self, at: Timestamp, asked: &Result<Reply, ModelError>) -> Result<(), Refused> {
        let (usage, outcome) = match asked {
            Ok(reply) => (reply.usage, "ok".to_owned()),
            Err(error) => (error.usage, error.what.name()),
        };
        let name = self.model.name();
        let usd = if usage == Usage::default() {
            Some(0.0)
        } else {
            self.budget.cost(&usage, name, self.prices)
        };
        Ok(self.store.record_call(&ModelCall {
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

fn left(deadline: Timestamp, now: Timestamp) -> Option<Duration> {
    let left = deadline.duration_since(now);
    (left > SignedDuration::ZERO).then(|| left.unsigned_abs())
}

/// Estimates what a request costs to read.
fn size(request: &Request) -> u64 {
    let turn = |turn: &Turn| match turn {
        Turn::User(text) => estimate(text).0,
        Turn::Assistant { text, calls } => {
            let calls: u64 = calls
                .iter()
                .map(|call| estimate(&call.input.to_string()).0)
                .sum();
            estimate(text).0 + calls
        }
        Turn::Results(answers) => answers.iter().map(|answer| estimate(&answer.text).0).sum(),
    };
    let tool = request.tool.as_ref().map_or(0, |tool| {
        estimate(&tool.description).0 + estimate(&tool.schema.to_string()).0
    });
    let parent = request
        .parent
        .as_ref()
        .map_or(0, |parent| estimate(&parent.to_string()).0);
    estimate(&request.system).0 + tool + parent + request.turns.iter().map(turn).sum::<u64>()
}
