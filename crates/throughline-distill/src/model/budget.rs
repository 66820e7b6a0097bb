//! Decides whether a model may be used: by configuration, by the tokens and the money spent today,
//! and by a cooldown after repeated failures.

use jiff::{SignedDuration, Timestamp};
use memory::{Prices, Usage};
use store::{ModelCall, ModelSpending};
use thiserror::Error;

/// The daily limits of model use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelBudget {
    pub enabled: bool,
    pub daily_tokens: u64,
    pub daily_usd: f64,
    /// The model runs on the user's machine or subscription and costs nothing.
    pub is_free: bool,
}

/// Why a request is not allowed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BudgetError {
    #[error("models are disabled")]
    Disabled,
    #[error("daily token budget exceeded: {needed} needed, {left} of {limit} left")]
    TokensExceeded { limit: u64, left: u64, needed: u64 },
    #[error("daily budget exceeded: ${needed:.2} needed, ${left:.2} of ${limit:.2} left")]
    MoneyExceeded { limit: f64, left: f64, needed: f64 },
    #[error("the price of {model} is unknown, so the daily budget in US dollars cannot be checked")]
    UnknownPrice { model: String },
    #[error(
        "the model failed {FAILURES_MAX} times in a row; the next request is sent after {until}"
    )]
    CoolingDown { until: Timestamp },
}

/// After this many failures in a row …
pub(super) const FAILURES_MAX: usize = 5;
/// … no request is sent for this long.
pub(super) const COOLDOWN: SignedDuration = SignedDuration::from_mins(10);

impl ModelBudget {
    /// Checks whether a request of about `input` tokens with a reply of at most `output` is
    /// allowed.
    pub fn check(
        &self,
        spent: ModelSpending,
        (input, output): (u64, u64),
        model: &str,
        prices: &Prices,
    ) -> Result<(), BudgetError> {
        if !self.enabled {
            return Err(BudgetError::Disabled);
        }
        let (left, needed) = (
            self.daily_tokens.saturating_sub(spent.tokens),
            input + output,
        );
        if needed > left {
            let limit = self.daily_tokens;
            return Err(BudgetError::TokensExceeded {
                limit,
                left,
                needed,
            });
        }
        if self.is_free {
            return Ok(());
        }
        let usage = Usage {
            input,
            output,
            ..Usage::default()
        };
        let Some(needed) = prices.cost(Some(model), &usage).usd else {
            let model = model.to_owned();
            return Err(BudgetError::UnknownPrice { model });
        };
        let left = (self.daily_usd - spent.usd).max(0.0);
        if needed > left {
            let limit = self.daily_usd;
            return Err(BudgetError::MoneyExceeded {
                limit,
                left,
                needed,
            });
        }
        Ok(())
    }

    /// Returns the cost of a request, if it is known.
    pub fn cost(&self, usage: &Usage, model: &str, prices: &Prices) -> Option<f64> {
        if self.is_free {
            return Some(0.0);
        }
        prices.cost(Some(model), usage).usd
    }
}

/// Rejects requests for some time after repeated failures. `calls` has the latest first.
pub(super) fn check_cooldown(calls: &[ModelCall], now: Timestamp) -> Result<(), BudgetError> {
    let failed = calls.iter().take_while(|call| call.outcome != "ok").count();
    let Some(latest) = calls.first().filter(|_| failed >= FAILURES_MAX) else {
        return Ok(());
    };
    let until = latest.at.saturating_add(COOLDOWN).unwrap_or(latest.at);
    if now < until {
        return Err(BudgetError::CoolingDown { until });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use memory::Price;

    fn prices() -> Prices {
        let price = Price {
            input: 10.0,
            output: 100.0,
            cache_read: None,
            cache_write: None,
        };
        Prices {
            as_of: String::new(),
            models: [("m".to_owned(), price)].into(),
        }
    }

    const BUDGET: ModelBudget = ModelBudget {
        enabled: true,
        daily_tokens: 10_000,
        daily_usd: 1.0,
        is_free: false,
    };

    fn spent(tokens: u64, usd: f64) -> ModelSpending {
        ModelSpending { tokens, usd }
    }

    #[test]
    fn tokens_and_money_both_count() {
        let check = |spent, need| BUDGET.check(spent, need, "m", &prices());
        assert_eq!(check(spent(0, 0.0), (5_000, 5_000)), Ok(()));
        assert!(matches!(
            check(spent(1, 0.0), (5_000, 5_000)),
            Err(BudgetError::TokensExceeded { left: 9_999, .. })
        ));
        assert_eq!(check(spent(0, 0.5), (0, 5_000)), Ok(()));
        assert!(matches!(
            check(spent(0, 0.51), (0, 5_000)),
            Err(BudgetError::MoneyExceeded { .. })
        ));
    }

    #[test]
    fn the_switch_and_the_unknown_price() {
        let off = ModelBudget {
            enabled: false,
            ..BUDGET
        };
        assert_eq!(
            off.check(spent(0, 0.0), (1, 1), "m", &prices()),
            Err(BudgetError::Disabled)
        );
        let unknown = BUDGET.check(spent(0, 0.0), (1, 1), "other", &prices());
        assert!(matches!(unknown, Err(BudgetError::UnknownPrice { .. })));
        let free = ModelBudget {
            is_free: true,
            ..BUDGET
        };
        assert_eq!(
            free.check(spent(0, 9.0), (1, 1), "other", &prices()),
            Ok(())
        );
        assert_eq!(free.cost(&Usage::default(), "other", &prices()), Some(0.0));
    }

    #[test]
    fn five_failures_in_a_row_are_a_pause() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let call = |outcome: &str| ModelCall {
            at: at(1_000),
            purpose: "summary".into(),
            session: None,
            model: "m".into(),
            usage: Usage::default(),
            usd: None,
            outcome: outcome.into(),
        };
        let mut calls = vec![call("http_529"); 5];
        assert!(check_cooldown(&calls, at(1_001)).is_err());
        assert!(check_cooldown(&calls, at(1_599)).is_err());
        assert_eq!(check_cooldown(&calls, at(1_600)), Ok(()));
        calls[4] = call("ok");
        assert_eq!(check_cooldown(&calls, at(1_001)), Ok(()));
        assert_eq!(check_cooldown(&calls[..4], at(1_001)), Ok(()));
    }
}
