//! GraphQL requests: `login(password: $p)` in the query, `{"p": "…"}` among the variables.

use crate::assignment::extent::value_extent;
use crate::assignment::is_name_byte;
use crate::assignment::names::{NameStrength, classify_name};
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

pub(crate) const LITERALS: &[&str] = &["variables"];

/// How far before the literal the query is read, and how far behind it the variables.
const QUERY_BYTES_MAX: usize = 2048;
const VARIABLES_BYTES_MAX: usize = 1024;
const SECRETS_MAX: usize = 8;

/// Finds the values of the variables that the query before `start` gives to secret arguments.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.graphql.skips(start) {
        return;
    }
    let from = text.floor_char_boundary(start.saturating_sub(QUERY_BYTES_MAX));
    let to = text.floor_char_boundary(end + VARIABLES_BYTES_MAX);
    // The query is read again by the next literal; the work stays linear when that is some way off.
    progress.graphql.skip_to(end + QUERY_BYTES_MAX / 4);
    progress.count_work(to - from);
    for (variable, strength) in secret_variables(&text[from..start]) {
        let Some(at) = member_value(text, end, to, variable) else {
            continue;
        };
        let Some((start, end, _)) = value_extent(text, at, progress) else {
            continue;
        };
        let value = value::judged_prefix(&text[start..end]);
        let is_secret = match strength {
            NameStrength::Password => value::is_password(value),
            _ => value::is_random(value, 10),
        };
        if is_secret {
            found.push(Detection {
                rule: strength.rule(),
                confidence: Confidence::Probable,
                start,
                end,
            });
        }
    }
}

/// Says cheaply, of text that may still be escaped, whether the query could have secret variables.
pub(crate) fn may_find(bytes: &[u8], start: usize) -> bool {
    let query = &bytes[start.saturating_sub(QUERY_BYTES_MAX)..start];
    memchr::memchr(b'$', query).is_some()
}

/// The variables of `name: $variable` whose name is a secret's.
fn secret_variables(query: &str) -> Vec<(&str, NameStrength)> {
    let bytes = query.as_bytes();
    let mut variables = Vec::new();
    for dollar in memchr::memchr_iter(b'$', bytes) {
        let before = query[..dollar].trim_end();
        let Some(before) = before.strip_suffix(':').map(str::trim_end) else {
            continue;
        };
        let len = before
            .bytes()
            .rev()
            .take_while(|&b| is_name_byte(b))
            .count();
        let strength = classify_name(&before[before.len() - len..]);
        let rest = &query[dollar + 1..];
        let len = rest
            .bytes()
            .take_while(|&b| b.is_ascii_alphanumeric() || b == b'_')
            .count();
        if let Some(strength) = strength.filter(|strength| *strength > NameStrength::Weak)
            && len > 0
            && variables.len() < SECRETS_MAX
        {
            variables.push((&rest[..len], strength));
        }
    }
    variables
}

/// Where the value of the JSON member `name` starts between `from` and `to`.
fn member_value(text: &str, from: usize, to: usize, name: &str) -> Option<usize> {
    let key = format!("\"{name}\"");
    let at = from + text[from..to].find(&key)? + key.len();
    let rest = text[at..to].trim_start();
    let rest = rest.strip_prefix(':')?.trim_start();
    Some(to - rest.len())
}
