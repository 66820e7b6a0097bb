//! Passwords in URLs: `scheme://user:password@host`.

use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

pub(crate) const LITERALS: &[&str] = &["://"];

pub(crate) const AUTHORITY_BYTES_MAX: usize = 512;
const SCHEME_BYTES_MAX: usize = 32;
/// Passwords of documentation and of local test databases. They protect nothing.
#[rustfmt::skip]
const DEFAULT_PASSWORDS: &[&str] = &[
    "password", "pass", "passwd", "pw", "pwd", "secret", "token", "user", "username", "postgres",
    "root", "admin", "guest", "test", "changeme", "example", "mysql", "redis", "mongo", "foo",
    "bar", "app", "dev", "xxx", "x-oauth-basic", "key", "p", "apikey", "api_key", "my-password",
    "mypassword", "x", "credentials", "pat",
];

/// Says cheaply whether a URL has user information before an `@`.
pub(crate) fn may_find(text: &str, at: usize) -> bool {
    let rest = &text.as_bytes()[at + 3..];
    rest.iter()
        .take(AUTHORITY_BYTES_MAX)
        .take_while(|&&b| !ends_authority(b) || b == b'\\')
        .any(|&b| b == b'@')
}

/// Finds the password of the URL whose `://` is at `at`.
pub(crate) fn find(text: &str, at: usize, progress: &mut ScanProgress, found: &mut Vec<Detection>) {
    let bytes = text.as_bytes();
    if progress.url.skips(at) || at == 0 || !bytes[at - 1].is_ascii_alphanumeric() {
        return;
    }
    let from = at + 3;
    let limit = (from + AUTHORITY_BYTES_MAX).min(bytes.len());
    let strict = bytes[from..limit]
        .iter()
        .position(|&b| ends_authority(b) || b"/?#,;".contains(&b))
        .unwrap_or(limit - from);
    let scheme = bytes[..at]
        .iter()
        .rev()
        .take(SCHEME_BYTES_MAX)
        .take_while(|b| b.is_ascii_alphanumeric() || b"+.-".contains(b))
        .count();
    let web = matches!(
        &text[at - scheme..at],
        "http" | "https" | "ws" | "wss" | "file"
    );
    let mut authority = &bytes[from..from + strict];
    if !authority.contains(&b'@') {
        // A raw `/`, `?` or `#` in a database password ends the authority for a URL parser, but the
        // password is in the text all the same.
        let loose = bytes[from..limit]
            .iter()
            .position(|&b| ends_authority(b))
            .unwrap_or(limit - from);
        let wide = &bytes[from..from + loose];
        progress.count_work(loose);
        progress.url.record_failure(from, from + loose);
        let odd = authority
            .iter()
            .position(|&b| b == b':')
            .is_some_and(|colon| !authority[colon + 1..].iter().all(u8::is_ascii_digit));
        if web || !odd || !wide.contains(&b'@') {
            return;
        }
        authority = wide;
    }
    let Some(sign) = authority.iter().rposition(|&b| b == b'@') else {
        return;
    };
    if !authority
        .get(sign + 1)
        .is_some_and(|b| b.is_ascii_alphanumeric() || b"[$<{%(*".contains(b))
        && sign + 1 < authority.len()
    {
        return;
    }
    let (start, end) = match authority[..sign].iter().position(|&b| b == b':') {
        Some(colon) => (from + colon + 1, from + sign),
        None => (from, from + sign),
    };
    let alone = start == from;
    let Some(secret) = text.get(start..text.floor_char_boundary(end)) else {
        return;
    };
    let user = if alone { "" } else { &text[from..start - 1] };
    let fits = if alone {
        // Without a password the user may be a token. A Sentry DSN is meant to be published.
        value::is_random(secret, 20)
            && !text[end..].starts_with("@o")
            && !text[end..text.floor_char_boundary((end + 40).min(limit))].contains("sentry")
    } else {
        is_url_password(secret, user)
    };
    progress.count_work(end - from);
    progress.url.record_failure(from, end);
    if fits {
        progress.url.skip_to(end);
        found.push(Detection {
            rule: "url-password",
            confidence: Confidence::Certain,
            start,
            end,
        });
    }
}

fn ends_authority(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte.is_ascii_control() || b"\"'`<>\\".contains(&byte)
}

fn is_url_password(secret: &str, user: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    let plain = DEFAULT_PASSWORDS.contains(&lower.as_str()) || secret == user;
    secret.len() >= 3 && !plain && !value::is_placeholder(secret) && !is_variable(secret)
}

fn is_variable(secret: &str) -> bool {
    let upper_name =
        secret.len() > 3 && secret.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    upper_name
        || secret.starts_with(['$', '{', '<', '[', '(', '*'])
        || secret.contains("${")
        || secret.contains("{{")
        || secret.starts_with('%') && secret.ends_with(['s', '%'])
}
