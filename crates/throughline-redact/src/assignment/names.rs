//! Tells from a name whether its value may be a secret.
//!
//! A name is split into words, and lists of words decide: `api_key` is a secret, `primary_key` and
//! `api_key_hash` are not.

use std::sync::LazyLock;

use crate::word_map::WordMap;

/// A longer name is base64 or the like.
pub(crate) const NAME_BYTES_MAX: usize = 80;
const WORDS_MAX: usize = 16;

/// What the value of a name may be. The order is that of the evidence the name gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NameStrength {
    /// `key`: anything at all. Only a value that must have been generated counts.
    Weak,
    /// `API_TOKEN`: a generated value.
    Token,
    /// `password`: also a value that a person has chosen.
    Password,
}

impl NameStrength {
    /// The rule that marks the value.
    pub(crate) fn rule(self) -> &'static str {
        match self {
            Self::Weak => "key",
            Self::Token => "token",
            Self::Password => "password",
        }
    }
}

/// The words that lead the scanner to a name, in lower case.
#[rustfmt::skip]
pub(crate) const LITERALS: &[&str] = &[
    "pass", "pasw", "pssw", "pswd", "pwd", "pw", "psk", "secret", "token", "key", "auth", "cred",
    "cookie", "jwt", "webhook", "dsn", "license", "salt", "securestring",
];

#[rustfmt::skip]
const PASSWORD_WORDS: &[&str] = &[
    "password", "passwd", "passphrase", "passcode", "pass", "pwd", "pw", "psk", "secret",
    "secrets", "passwort", "pswd", "paswd", "pasword", "paswrd", "pssword", "psswrd", "passwrd",
    "passwordhash", "userpass", "passworsd", "passw", "pwds", "passwords", "securestring",
];
#[rustfmt::skip]
const TOKEN_WORDS: &[&str] = &[
    "token", "apikey", "authorization", "credential", "credentials", "creds", "jwt", "bearer",
    "authkey", "pat", "accesskey", "secretkey", "privatekey", "cookie", "sessionid", "sid",
    "auth", "authtoken", "webhook", "dsn", "salt", "otp", "seed", "oauth", "tokens", "apitoken",
    "keydata", "license", "licensekey", "sessiontoken",
];
/// Last words that make a secret's name the name of something about the secret.
#[rustfmt::skip]
const ATTRIBUTE_WORDS: &[&str] = &[
    "name", "path", "file", "filename", "url", "uri", "endpoint", "type", "count", "length",
    "len", "size", "limit", "index", "idx", "hash", "digest", "ttl", "expiry", "expires",
    "expiration", "expire", "field", "label", "prefix", "suffix", "format", "policy", "version",
    "status", "regex", "pattern", "schema", "arn", "ref", "store", "manager", "provider",
    "handler", "var", "hint", "required", "enabled", "algorithm", "alg", "mode", "scope",
    "scopes", "usage", "budget", "event", "fingerprint", "source", "location", "dir", "class",
    "method", "kind", "state", "error", "message", "text", "title", "description", "placeholder",
    "valid", "invalid", "validator", "rotation", "strategy", "at", "checksum", "issuer",
    "audience", "bits", "in", "selector", "down", "up", "press", "code", "board", "binding",
    "parser", "used", "sha", "sha1", "sha256", "md5", "etag", "min", "max", "variable", "input",
    "prompt", "reset", "tokenizer", "model", "page", "by", "host", "domain", "group", "names",
    "list", "map", "set", "order", "column", "columns", "table", "service", "engine", "factory",
    "spec", "id", "ids", "thumbprint", "curve", "exchange", "algo", "verifier_method", "changed",
    "age", "date", "time", "attempts", "helper", "form", "window", "screen", "dialog",
    "generator", "test", "format_version", "rule", "rules", "check", "checker", "requirements",
    "strength", "confirmation_text", "tip", "info", "callback", "func", "function", "cache",
    "bucket", "ring", "vault", "vaults", "chain", "stream", "frame", "word", "words", "space",
    "pair", "share", "layout", "row", "size_bytes", "period", "option", "options", "timeout",
    "ms", "latency", "pressed", "meshing", "mismatch", "failed",
];
/// Words that make a key or token harmless.
#[rustfmt::skip]
const HARMLESS_WORDS: &[&str] = &[
    "public", "pub", "pubkey", "publishable", "primary", "foreign", "partition", "sort", "cache",
    "idempotency", "csrf", "xsrf", "nonce", "page", "next", "continuation", "cursor", "trace",
    "span", "commit", "etag", "websocket", "hot", "host", "row", "range", "object", "s3", "group",
    "dedup", "dedupe", "query", "lookup", "unique", "composite", "issuer", "event", "sync_cursor",
    "shortcut", "translation", "i18n", "metric", "routing", "sharding", "shard", "bucket", "max",
    "min", "num", "total", "input", "output", "prompt", "completion", "cached", "lock", "map",
    "dict", "json", "yaml", "config", "registry", "natural", "eddsa", "rsa", "ed25519", "gpg",
    "pgp", "signer", "verify", "verification", "known", "authorized", "jwk", "selected",
    "compare", "sorted", "last", "first", "reasoning", "thinking", "budget", "used", "remaining",
    "per", "sec", "concurrency", "anti", "request", "site",
];
/// Words that contain a secret word by accident.
#[rustfmt::skip]
const LOOKALIKE_WORDS: &[&str] = &[
    "monkey", "turkey", "donkey", "hockey", "jockey", "whiskey", "hotkey", "keyboard", "keyword",
    "compass", "bypass", "author", "authors", "authority", "passed", "passing", "passes",
    "passive", "tokenizer", "tokenize", "keynote", "keys", "keyframe", "publickey", "pubkey",
    "hostkey", "encompass", "surpass", "trespass", "buypass", "bypassing", "bypassed",
];

/// Words behind `key` that do not change what is named.
const KEY_SUFFIX_WORDS: &[&str] = &[
    "value", "data", "base", "b64", "base64", "hex", "str", "string", "secret", "material", "pem",
    "raw", "bytes", "enc", "token", "prod", "dev", "staging", "live", "new", "old", "current",
    "plain", "text", "env", "default", "backup",
];

const IS_PASSWORD: u8 = 1;
const IS_TOKEN: u8 = 2;
const IS_ATTRIBUTE: u8 = 4;
const IS_HARMLESS: u8 = 8;
const IS_LOOKALIKE: u8 = 16;
const IS_KEY_SUFFIX: u8 = 32;

/// The lists that each word is in, as flags: one lookup instead of six.
static WORDS: LazyLock<WordMap> = LazyLock::new(|| {
    let mut words = WordMap::default();
    let lists = [
        (PASSWORD_WORDS, IS_PASSWORD),
        (TOKEN_WORDS, IS_TOKEN),
        (ATTRIBUTE_WORDS, IS_ATTRIBUTE),
        (HARMLESS_WORDS, IS_HARMLESS),
        (LOOKALIKE_WORDS, IS_LOOKALIKE),
        (KEY_SUFFIX_WORDS, IS_KEY_SUFFIX),
    ];
    for (list, flag) in lists {
        for word in list {
            *words.entry(word.as_bytes()).or_default() |= flag;
        }
    }
    words
});

/// Classifies a name such as `AWS_SECRET_ACCESS_KEY`, `apiKey`, `x-api-key` or `db.password`.
pub(crate) fn classify_name(name: &str) -> Option<NameStrength> {
    let mut split = NameWords::new(name);
    // `openai_api_key_2`: the number tells one key from others.
    while split.len > 1 && split.word(split.len - 1).iter().all(u8::is_ascii_digit) {
        split.len -= 1;
    }
    let last = split.len.checked_sub(1)?;
    let flags: u8 = (0..split.len).fold(0, |flags, at| flags | split.flags[at]);
    let has = |flag: u8| flags & flag != 0;
    if has(IS_LOOKALIKE) && !has(IS_PASSWORD) {
        return None;
    }
    if last > 0 && split.flags[last] & IS_ATTRIBUTE != 0 && !is_key_id(&split) {
        return None;
    }
    let ends = |ends: &[&str]| (0..split.len).any(|at| ends_with_any(split.word(at), ends));
    let harmless = has(IS_HARMLESS);
    if has(IS_PASSWORD)
        || !harmless && ends(&["password", "passwd", "secret", "passphrase", "pass"])
    {
        return Some(NameStrength::Password);
    }
    if harmless {
        return None;
    }
    let glued = [
        "token", "apikey", "accesskey", "secretkey", "authkey", "credential", "credentials",
        "cookie", "key", "auth",
    ];
    if has(IS_TOKEN) || last > 0 && ends_in_key(&split) || is_key_id(&split) || ends(&glued) {
        return Some(NameStrength::Token);
    }
    matches!(split.word(last), b"key" | b"keys").then_some(NameStrength::Weak)
}

/// True for `access_key_id`, which unlike other ids is half of a key pair.
fn is_key_id(split: &NameWords) -> bool {
    if split.len < 2 || split.word(split.len - 1) != b"id" {
        return false;
    }
    match split.word(split.len - 2) {
        b"key" => (0..split.len).any(|at| split.word(at) == b"access"),
        before => matches!(before, b"secret" | b"accesskey"),
    }
}

/// True when the name is that of a key, not of something for keys (`KeyMeshing`).
fn ends_in_key(split: &NameWords) -> bool {
    let form = (0..split.len)
        .rev()
        .take_while(|&at| split.flags[at] & IS_KEY_SUFFIX != 0)
        .count();
    split.len > form && split.word(split.len - form - 1) == b"key"
}

fn ends_with_any(word: &[u8], ends: &[&str]) -> bool {
    ends.iter()
        .any(|end| word.len() > end.len() && word.ends_with(end.as_bytes()))
}

/// The lower-case words of a name, split at separators and capitals, without allocating.
struct NameWords {
    text: [u8; NAME_BYTES_MAX],
    ends: [usize; WORDS_MAX],
    starts: [usize; WORDS_MAX],
    flags: [u8; WORDS_MAX],
    len: usize,
}

impl NameWords {
    fn new(name: &str) -> Self {
        let mut split = Self {
            text: [0; NAME_BYTES_MAX],
            ends: [0; WORDS_MAX],
            starts: [0; WORDS_MAX],
            flags: [0; WORDS_MAX],
            len: 0,
        };
        let bytes = &name.as_bytes()[..name.len().min(NAME_BYTES_MAX)];
        let mut start = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            split.text[at] = byte.to_ascii_lowercase();
            let previous = at.checked_sub(1).map_or(0, |before| bytes[before]);
            let next = bytes.get(at + 1).copied().unwrap_or(0);
            let hump = byte.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || previous.is_ascii_uppercase() && next.is_ascii_lowercase());
            let number = byte.is_ascii_digit() && previous.is_ascii_alphabetic();
            if hump || number {
                split.push(start, at);
                start = at;
            } else if !byte.is_ascii_alphanumeric() {
                split.push(start, at);
                start = at + 1;
            }
        }
        split.push(start, bytes.len());
        split
    }

    fn push(&mut self, start: usize, end: usize) {
        if start < end && self.len < WORDS_MAX {
            self.starts[self.len] = start;
            self.ends[self.len] = end;
            self.flags[self.len] = WORDS.get(&self.text[start..end]).copied().unwrap_or(0);
            self.len += 1;
        }
    }

    fn word(&self, at: usize) -> &[u8] {
        &self.text[self.starts[at]..self.ends[at]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, promise: Option<NameStrength>) {
        assert_eq!(classify_name(name), promise, "{name}");
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "password", "DB_PASSWORD", "MYSQLPASS", "clientSecret", "spring.datasource.password",
        ] {
            check(name, Some(NameStrength::Password));
        }
        for name in [
            "GITHUB_TOKEN", "apiKey", "x-api-key", "AWS_ACCESS_KEY_ID", "authorization",
            "OPENAI_API_KEY_2",
        ] {
            check(name, Some(NameStrength::Token));
        }
        check("key", Some(NameStrength::Weak));
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "input_tokens", "primary_key", "author", "public_key", "next_page_token", "tokenizer",
            "password_field", "api_key_hash", "idempotency_key", "monkey",
        ] {
            check(name, None);
        }
    }
}
