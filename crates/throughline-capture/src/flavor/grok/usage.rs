//! Reads the tokens and the cost of a prompt.

use jiff::Timestamp;
use memory::{SessionId, Usage, UsageEntry};
use serde_json::value::RawValue;

use super::wire::{Spent, SpentByModel};

/// Grok's unit of cost is 10⁻¹⁰ dollars.
const TICKS_PER_USD: f64 = 1e10;

/// Returns the usage of one prompt, per model where the log has that. An incomplete bill yields its
/// tokens but no cost.
pub(crate) fn entries(
    session: &SessionId,
    prompt: &str,
    at: Option<Timestamp>,
    usage: &RawValue,
) -> serde_json::Result<Vec<UsageEntry>> {
    let total: Spent = serde_json::from_str(usage.get())?;
    let parts: SpentByModel<'_> = serde_json::from_str(usage.get())?;
    let trusted = !parts.usage_is_incomplete && !total.cost_is_partial;
    let entry = |key: String, model: Option<String>, spent: &Spent| UsageEntry {
        session: session.clone(),
        key,
        at,
        model,
        usage: tokens(spent),
        cost_usd: spent
            .cost_usd_ticks
            .filter(|_| trusted && !spent.cost_is_partial)
            .map(|ticks| ticks as f64 / TICKS_PER_USD),
    };
    let key = format!("{session}/{prompt}");
    let mut entries: Vec<UsageEntry> = parts
        .model_usage
        .iter()
        .map(|(model, spent)| entry(format!("{key}/{model}"), Some(model.to_string()), spent))
        .collect();
    if entries.is_empty() {
        entries.push(entry(key, None, &total));
    } else if entries.len() == 1 && entries[0].cost_usd.is_none() {
        entries[0].cost_usd = total
            .cost_usd_ticks
            .filter(|_| trusted)
            .map(|ticks| ticks as f64 / TICKS_PER_USD);
    }
    entries.retain(|entry| entry.usage != Usage::default() || entry.cost_usd.is_some());
    Ok(entries)
}

fn tokens(spent: &Spent) -> Usage {
    Usage {
        input: spent
            .input_tokens
            .saturating_sub(spent.cached_read_tokens)
            .saturating_sub(spent.cache_creation_tokens),
        output: spent.output_tokens,
        cache_read: spent.cached_read_tokens,
        cache_write: spent.cache_creation_tokens,
        reasoning: spent.reasoning_tokens,
    }
}

#[cfg(test)]
mod tests {
    use memory::Flavor;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: &[(&str, Option<f64>, u64, u64)]) {
        let usage: Box<RawValue> = serde_json::from_str(json).unwrap();
        let session = SessionId::of(Flavor::Grok, "s");
        let found: Vec<_> = entries(&session, "p", None, &usage)
            .unwrap()
            .into_iter()
            .map(|e| (e.key, e.cost_usd, e.usage.input, e.usage.total()))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|e| (e.0.as_str(), e.1, e.2, e.3))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn cached_input_is_counted_once() {
        check(
            concat!(
                r#"{"inputTokens":100,"outputTokens":5,"cachedReadTokens":60,"cacheCreationToken"#,
                r#"s":30}"#,
            ),
            &[("grok:s/p", None, 10, 105)],
        );
        check(
            r#"{"inputTokens":10,"cachedReadTokens":60}"#,
            &[("grok:s/p", None, 0, 60)],
        );
    }

    #[test]
    fn models_are_told_apart() {
        check(
            r#"{"inputTokens":3,"costUsdTicks":30000000000,"modelUsage":{
                "a":{"inputTokens":1,"costUsdTicks":10000000000},
                "b":{"inputTokens":2,"costUsdTicks":20000000000}}}"#,
            &[
                ("grok:s/p/a", Some(1.0), 1, 1),
                ("grok:s/p/b", Some(2.0), 2, 2),
            ],
        );
    }

    #[test]
    fn a_partial_bill_has_no_cost() {
        for flag in ["usageIsIncomplete", "costIsPartial"] {
            check(
                &format!(r#"{{"inputTokens":1,"costUsdTicks":5,"{flag}":true}}"#),
                &[("grok:s/p", None, 1, 1)],
            );
        }
        check(r#"{"usageIsIncomplete":true}"#, &[]);
    }
}
