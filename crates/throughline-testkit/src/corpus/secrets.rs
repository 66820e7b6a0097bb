//! Invented secrets, planted on request so that redaction can be measured.
//!
//! Each is made of random letters after a prefix that is put together here, so that no scanner
//! takes this source for a leak.

use super::json::Object;
use super::rng::Rng;

/// A planted value. It has no character that JSON escapes, so it stands in a line as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    pub kind: &'static str,
    pub value: String,
}

/// Returns the text to append somewhere, and notes the secret in it.
pub fn plant(rng: &mut Rng, planted: &mut Vec<Secret>) -> String {
    const UPPER: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let (kind, value, before, after) = match rng.between(0, 7) {
        0 => (
            "aws-access-key",
            format!("{}{}", ["AK", "IA"].concat(), rng.letters(UPPER, 16)),
            "AWS_ACCESS_KEY_ID=",
            "",
        ),
        1 => (
            "github-token",
            format!("{}{}", ["gh", "p_"].concat(), rng.base62(36)),
            "GITHUB_TOKEN=",
            "",
        ),
        2 => (
            "slack-token",
            format!(
                "{}{}-{}",
                ["xo", "xb-"].concat(),
                rng.between(100_000_000, 999_999_999),
                rng.base62(24)
            ),
            "token: ",
            "",
        ),
        3 => (
            "url-password",
            rng.base62(18),
            "postgres://app:",
            "@db.internal:5432/app",
        ),
        4 => ("bearer-token", rng.base62(40), "Authorization: Bearer ", ""),
        5 => (
            "private-key-body",
            rng.base62(64),
            concat!("-----BEGIN ", "PRIVATE KEY-----\n"),
            concat!("\n-----END ", "PRIVATE KEY-----"),
        ),
        _ => ("assigned-password", rng.base62(16), "DB_PASSWORD=", ""),
    };
    let text = format!("\n{before}{value}{after}\n");
    planted.push(Secret { kind, value });
    text
}

impl Secret {
    /// Returns the line of the manifest that says where this secret stands.
    pub fn manifest_line(&self, file: &str, line: u64) -> String {
        Object::new()
            .text("file", file)
            .raw("line", line)
            .text("kind", self.kind)
            .text("value", &self.value)
            .to_string()
    }
}
