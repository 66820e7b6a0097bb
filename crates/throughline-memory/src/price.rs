//! The cost of tokens by a price list. A model that is not on the list has an unknown cost, which
//! is not the same as zero.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// A price list with its date.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub struct Prices {
    pub as_of: String,
    pub models: BTreeMap<String, Price>,
}

/// The prices of a model in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Cached tokens without a price of their own cost as much as input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
}

/// A cost that may be known only in part.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Cost {
    /// The known part, `None` if nothing is known.
    pub usd: Option<f64>,
    /// The number of tokens without a known cost.
    pub unpriced: u64,
}

impl Prices {
    /// Returns the price of a model, or the price of the longest name that the model is a dated
    /// release of.
    pub fn price_of(&self, model: &str) -> Option<&Price> {
        self.price_of_name(model).or_else(|| {
            // Some agents write `claude-sonnet-4.5` for `claude-sonnet-4-5`.
            let dashed = model.replace('.', "-");
            self.price_of_name(&dashed)
        })
    }

    fn price_of_name(&self, model: &str) -> Option<&Price> {
        self.models.get(model).or_else(|| {
            self.models
                .iter()
                .filter(|(name, _)| is_dated_release(model, name))
                .max_by_key(|(name, _)| name.len())
                .map(|(_, price)| price)
        })
    }

    /// Returns the cost of tokens whose log states no cost.
    pub fn cost(&self, model: Option<&str>, usage: &Usage) -> Cost {
        let price = model.and_then(|model| self.price_of(model));
        match price {
            Some(price) => Cost {
                usd: Some(price.cost_usd(usage)),
                unpriced: 0,
            },
            None => Cost {
                usd: None,
                unpriced: usage.total(),
            },
        }
    }
}

/// Says whether `model` is `name` followed by a date (`-20250929`, `-2025-08-07`, `@20250929`,
/// `-0709`, `-preview-09-2025`) or by `-latest`. Any other suffix is a different model, whose price
/// may differ by a factor of ten: `gpt-5-mini`, `gpt-5-pro`, `claude-opus-4-5` next to
/// `claude-opus-4`.
fn is_dated_release(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(['-', '@', ':']) else {
        return false;
    };
    let (date, first_digits_min) = match rest.strip_prefix("preview-") {
        Some(date) => (date, 2),
        None => (rest, 4),
    };
    let first_digits = date.bytes().take_while(u8::is_ascii_digit).count();
    let is_date =
        first_digits >= first_digits_min && date.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    is_date || matches!(rest, "latest" | "preview")
}

impl Price {
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        // Reasoning is part of the output.
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read.unwrap_or(self.input)),
            (usage.cache_write, self.cache_write.unwrap_or(self.input)),
        ];
        let millionths: f64 = parts
            .iter()
            .map(|(tokens, price)| *tokens as f64 * price)
            .sum();
        millionths / 1e6
    }

    /// Says whether all prices are finite and not negative.
    pub fn is_valid(&self) -> bool {
        [
            Some(self.input),
            Some(self.output),
            self.cache_read,
            self.cache_write,
        ]
        .iter()
        .flatten()
        .all(|price| price.is_finite() && *price >= 0.0)
    }
}

impl Cost {
    /// Returns a cost that the log states.
    pub const fn stated(usd: f64) -> Self {
        Self {
            usd: Some(usd),
            unpriced: 0,
        }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.usd = match (self.usd, other.usd) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.unpriced += other.unpriced;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(input: f64) -> Price {
        Price {
            input,
            output: 5.0 * input,
            cache_read: Some(input / 10.0),
            cache_write: None,
        }
    }

    fn list() -> Prices {
        let models = [
            ("claude-opus-4", 15.0),
            ("claude-opus-4-5", 5.0),
            ("gpt-5", 1.25),
            ("grok-4", 3.0),
        ];
        Prices {
            as_of: "2026-11-01".into(),
            models: models
                .map(|(name, input)| (name.to_owned(), flat(input)))
                .into(),
        }
    }

    #[test]
    fn a_release_has_its_models_price() {
        let cases = [
            ("claude-opus-4-5", Some(5.0)),
            ("claude-opus-4-5-20251101", Some(5.0)),
            ("claude-opus-4-5@20251101", Some(5.0)),
            ("claude-opus-4-20250514", Some(15.0)),
            ("claude-opus-4.5", Some(5.0)),
            ("gpt-5-2025-08-07", Some(1.25)),
            ("gpt-5-latest", Some(1.25)),
            ("gpt-5-preview-09-2025", Some(1.25)),
            ("grok-4-0709", Some(3.0)),
            // Other models with the same prefix.
            ("claude-opus-4-9", None),
            ("claude-opus-4-9-20270101", None),
            ("gpt-5-pro", None),
            ("gpt-5.9", None),
            ("gpt-50", None),
            ("grok-4-fast", None),
            ("gpt-5-", None),
            ("gpt", None),
            ("", None),
        ];
        for (model, input) in cases {
            assert_eq!(
                list().price_of(model).map(|price| price.input),
                input,
                "{model}"
            );
        }
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        let price = Price {
            input: 3.0,
            output: 15.0,
            cache_read: Some(0.3),
            cache_write: Some(3.75),
        };
        let million = 1_000_000;
        let cases = [
            (Usage::default(), 0.0),
            (
                Usage {
                    input: million,
                    ..Usage::default()
                },
                3.0,
            ),
            (
                Usage {
                    output: million,
                    reasoning: million,
                    ..Usage::default()
                },
                15.0,
            ),
            (
                Usage {
                    cache_read: 10 * million,
                    ..Usage::default()
                },
                3.0,
            ),
            (
                Usage {
                    cache_write: million,
                    ..Usage::default()
                },
                3.75,
            ),
        ];
        for (usage, cost) in cases {
            assert!((price.cost_usd(&usage) - cost).abs() < 1e-9, "{usage:?}");
        }
        let uncached = Price {
            cache_read: None,
            cache_write: None,
            ..price
        };
        let cached = Usage {
            cache_read: million,
            cache_write: million,
            ..Usage::default()
        };
        assert!((uncached.cost_usd(&cached) - 6.0).abs() < 1e-9);
    }

    #[test]
    fn an_unknown_cost_is_not_zero() {
        let usage = Usage {
            input: 7,
            output: 3,
            ..Usage::default()
        };
        let mut cost = list().cost(Some("unheard-of"), &usage);
        let unknown = Cost {
            usd: None,
            unpriced: 10,
        };
        assert_eq!(cost, unknown);
        assert_eq!(list().cost(None, &usage), unknown);
        cost += Cost::stated(0.5);
        assert_eq!((cost.usd, cost.unpriced), (Some(0.5), 10));
    }

    #[test]
    fn a_price_is_a_number_of_dollars() {
        assert!(flat(0.0).is_valid());
        assert!(!flat(-1.0).is_valid());
        assert!(!flat(f64::NAN).is_valid());
    }
}
