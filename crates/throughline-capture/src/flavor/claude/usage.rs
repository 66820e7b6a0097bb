//! Reads the tokens of an API response, which every line of the response repeats.

use memory::{SessionId, Usage, UsageEntry};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::wire;
use crate::json::{self, Number};

#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct WireUsage<'a> {
    input_tokens: Number,
    output_tokens: Number,
    cache_creation_input_tokens: Number,
    cache_read_input_tokens: Number,
    cache_creation: Option<&'a RawValue>,
    output_tokens_details: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Number,
    ephemeral_1h_input_tokens: Number,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct OutputDetails {
    thinking_tokens: Number,
}

/// The last emitted entry, so that the lines of one response yield one entry.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastUsage(Option<(String, Usage)>);

/// Returns the usage on this line unless the line before it had the same.
pub(crate) fn usage_entry(
    record: &wire::Record<'_>,
    message: &wire::Message<'_>,
    session: &SessionId,
    last: &mut LastUsage,
) -> Option<UsageEntry> {
    let raw = message.usage?;
    let key = usage_key(record, message)?;
    let usage = parse_usage(&json::parse_or_default(Some(raw)));
    let entry = Some((key, usage));
    if usage.total() == 0 || last.0 == entry {
        return None;
    }
    last.0.clone_from(&entry);
    Some(UsageEntry {
        session: session.clone(),
        key: entry?.0,
        at: record.timestamp.0,
        model: message.model(),
        usage,
        cost_usd: record.cost_usd.0,
    })
}

/// Returns a key for the response: the API's message and request ids, which copies of a log keep.
fn usage_key(record: &wire::Record<'_>, message: &wire::Message<'_>) -> Option<String> {
    match (message.id.get(), record.request_id.get()) {
        (Some(message), Some(request)) => Some(format!("{message}:{request}")),
        (Some(one), None) | (None, Some(one)) => Some(one.to_owned()),
        (None, None) => record.uuid.get().map(str::to_owned),
    }
}

fn parse_usage(wire: &WireUsage<'_>) -> Usage {
    let by_lifetime: CacheCreation = json::parse_or_default(wire.cache_creation);
    let details: OutputDetails = json::parse_or_default(wire.output_tokens_details);
    let by_lifetime = by_lifetime.ephemeral_5m_input_tokens.count()
        + by_lifetime.ephemeral_1h_input_tokens.count();
    Usage {
        input: wire.input_tokens.count(),
        output: wire.output_tokens.count(),
        cache_read: wire.cache_read_input_tokens.count(),
        cache_write: wire.cache_creation_input_tokens.count().max(by_lifetime),
        reasoning: details.thinking_tokens.count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: [u64; 5]) {
        let usage = parse_usage(&serde_json::from_str(json).unwrap());
        let found = [
            usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning,
        ];
        assert_eq!(found, expected, "{json}");
    }

    #[test]
    fn all_generations() {
        check(r#"{"input_tokens":4,"output_tokens":2}"#, [4, 2, 0, 0, 0]);
        check(
            r#"{"input_tokens":4,"cache_creation_input_tokens":7,"cache_read_input_tokens":9,
                "cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},
                "output_tokens":2,"output_tokens_details":{"thinking_tokens":1}}"#,
            [4, 2, 9, 7, 1],
        );
        check(
            r#"{"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4}}"#,
            [0, 0, 0, 7, 0],
        );
    }

    #[test]
    fn odd_numbers_count_nothing() {
        check(
            concat!(
                r#"{"input_tokens":"4","output_tokens":-2,"cache_creation":7,"cache_read_input_t"#,
                r#"okens":null}"#,
            ),
            [0; 5],
        );
    }
}
