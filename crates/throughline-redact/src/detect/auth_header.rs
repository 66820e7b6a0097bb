//! Credentials behind an HTTP authorization scheme.

use crate::assignment::{VALUE_BYTES_MAX, skip_spaces};
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

/// Schemes that announce a credential wherever they stand, as `Bearer …` does in a log line.
pub(crate) const AUTH_SCHEMES: &[&str] = &[
    "bearer ", "Bearer ", "BEARER ", "basic ", "Basic ", "BASIC ", "apikey ", "ApiKey ", "Apikey ",
    "Digest ",
];

/// Skips `Bearer`, `Basic`, `Token` or another scheme before the credential at `at`.
pub(crate) fn skip_auth_scheme(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let quote = usize::from(bytes.get(at).is_some_and(|b| b"\"'`".contains(b)));
    let from = at + quote;
    let len = bytes[from.min(bytes.len())..]
        .iter()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric() || **b == b'-')
        .count();
    let known = [
        "bearer", "basic", "token", "apikey", "api-key", "key", "ssws", "bot", "jwt", "negotiate",
        "ntlm", "oauth", "sso-key", "genie", "genieKey", "access", "splunk", "zoho-oauthtoken",
        "bearertoken",
    ];
    let is_scheme = known
        .iter()
        .any(|scheme| text[from..from + len].eq_ignore_ascii_case(scheme));
    if is_scheme && matches!(bytes.get(from + len), Some(b' ' | b'\t')) {
        return skip_spaces(bytes, from + len);
    }
    at
}

/// Says cheaply whether a credential could follow the scheme that ends at `at`.
pub(crate) fn may_find(text: &str, at: usize) -> bool {
    let rest = &text.as_bytes()[at..];
    let run = rest
        .iter()
        .take(16)
        .take_while(|b| !b.is_ascii_whitespace() && !b"\"'<{$\\".contains(b));
    run.clone().count() >= 8 && run.clone().any(|b| !b.is_ascii_lowercase())
}

/// Finds the credential behind the scheme at `start..at`.
pub(crate) fn find(
    text: &str,
    start: usize,
    at: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    let bytes = text.as_bytes();
    if start > 0 && bytes[start - 1].is_ascii_alphanumeric() {
        return;
    }
    let at = skip_spaces(bytes, at);
    let len = bytes[at..]
        .iter()
        .take(VALUE_BYTES_MAX)
        .take_while(|b| b.is_ascii_alphanumeric() || b"+/=_.~:-%".contains(b))
        .count();
    let secret = text[at..at + len].trim_end_matches(['.', ':', ',']);
    let len = secret.len();
    let basic = text[start..]
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case("basic"));
    progress.count_work(len);
    let secret = value::judged_prefix(secret);
    if value::is_random(secret, 16) || basic && is_basic_credential(secret) {
        found.push(Detection {
            rule: "auth-header",
            confidence: Confidence::Probable,
            start: at,
            end: at + len,
        });
    }
}

/// True for base64 of `user:password`. Its letters may look like words, so its length and its mix
/// of cases decide.
fn is_basic_credential(secret: &str) -> bool {
    let shape = value::shape(secret);
    secret.len() >= 8
        && secret.len().is_multiple_of(4)
        && shape.lower > 1
        && shape.upper > 1
        && shape.common_pair_share < 0.5
        && !value::is_placeholder(secret)
}
