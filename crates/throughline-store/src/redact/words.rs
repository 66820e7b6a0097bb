//! Judges a name: may what it names be a secret?

/// How much a name promises about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Promise {
    /// `key`: anything at all; only a value nobody could have typed counts.
    Weak,
    /// `API_TOKEN`: a generated value.
    Token,
    /// `password`: also what people choose.
    Password,
}

impl Promise {
    /// The rule a value is named after.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::Weak => "key",
            Self::Token => "token",
            Self::Password => "password",
        }
    }
}

/// The words that bring the automaton to a name, in any case.
pub(super) const LITERALS: &[&str] = &[
    "pass",
    "pasw",
    "pssw",
    "pswd",
    "pwd",
    "pw",
    "psk",
    "secret",
    "token",
    "key",
    "auth",
    "cred",
    "cookie",
    "session",
    "sid",
    "jwt",
    "bearer",
    "webhook",
    "dsn",
    "license",
    "salt",
    "signature",
    "seed",
    "otp",
    "connection",
    "private",
];

const PASSWORD: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "pw",
    "psk",
    "secret",
    "secrets",
    "passwort",
    "pswd",
    "paswd",
    "pasword",
    "paswrd",
    "pssword",
    "psswrd",
    "passwrd",
    "passwordhash",
    "userpass",
    "passworsd",
    "passw",
    "pwds",
    "passwords",
    "securestring",
];
const TOKEN: &[&str] = &[
    "token",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "creds",
    "jwt",
    "bearer",
    "authkey",
    "pat",
    "accesskey",
    "secretkey",
    "privatekey",
    "cookie",
    "sessionid",
    "sid",
    "auth",
    "authtoken",
    "webhook",
    "dsn",
    "salt",
    "otp",
    "seed",
    "oauth",
    "tokens",
    "apitoken",
    "keydata",
    "license",
    "licensekey",
    "sessiontoken",
];
/// Last words that turn a secret's name into the name of something about it.
const ABOUT: &[&str] = &[
    "name",
    "path",
    "file",
    "filename",
    "url",
    "uri",
    "endpoint",
    "type",
    "count",
    "length",
    "len",
    "size",
    "limit",
    "index",
    "idx",
    "hash",
    "digest",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "expire",
    "field",
    "label",
    "prefix",
    "suffix",
    "format",
    "policy",
    "version",
    "status",
    "regex",
    "pattern",
    "schema",
    "arn",
    "ref",
    "store",
    "manager",
    "provider",
    "handler",
    "var",
    "hint",
    "required",
    "enabled",
    "algorithm",
    "alg",
    "mode",
    "scope",
    "scopes",
    "usage",
    "budget",
    "event",
    "fingerprint",
    "source",
    "location",
    "dir",
    "class",
    "method",
    "kind",
    "state",
    "error",
    "message",
    "text",
    "title",
    "description",
    "placeholder",
    "valid",
    "invalid",
    "validator",
    "rotation",
    "strategy",
    "at",
    "checksum",
    "issuer",
    "audience",
    "bits",
    "in",
    "selector",
    "down",
    "up",
    "press",
    "code",
    "board",
    "binding",
    "parser",
    "used",
    "sha",
    "sha1",
    "sha256",
    "md5",
    "etag",
    "min",
    "max",
    "variable",
    "input",
    "prompt",
    "reset",
    "tokenizer",
    "model",
    "page",
    "by",
    "host",
    "domain",
    "group",
    "names",
    "list",
    "map",
    "set",
    "order",
    "column",
    "columns",
    "table",
    "service",
    "engine",
    "factory",
    "spec",
    "id",
    "ids",
    "thumbprint",
    "curve",
    "exchange",
    "algo",
    "verifier_method",
    "changed",
    "age",
    "date",
    "time",
    "attempts",
    "helper",
    "form",
    "window",
    "screen",
    "dialog",
    "generator",
    "test",
    "format_version",
    "rule",
    "rules",
    "check",
    "checker",
    "requirements",
    "strength",
    "confirmation_text",
    "tip",
    "info",
    "callback",
    "func",
    "function",
    "cache",
    "bucket",
    "ring",
    "vault",
    "vaults",
    "chain",
    "stream",
    "frame",
    "word",
    "words",
    "space",
    "pair",
    "share",
    "layout",
    "row",
    "size_bytes",
    "period",
    "option",
    "options",
    "timeout",
];
/// First words that make a key or token harmless.
const HARMLESS: &[&str] = &[
    "public",
    "pub",
    "pubkey",
    "publishable",
    "primary",
    "foreign",
    "partition",
    "sort",
    "cache",
    "idempotency",
    "csrf",
    "xsrf",
    "nonce",
    "page",
    "next",
    "continuation",
    "cursor",
    "trace",
    "span",
    "commit",
    "etag",
    "websocket",
    "hot",
    "host",
    "row",
    "range",
    "object",
    "s3",
    "group",
    "dedup",
    "dedupe",
    "query",
    "lookup",
    "unique",
    "composite",
    "issuer",
    "event",
    "sync_cursor",
    "shortcut",
    "translation",
    "i18n",
    "metric",
    "routing",
    "sharding",
    "shard",
    "bucket",
    "max",
    "min",
    "num",
    "total",
    "input",
    "output",
    "prompt",
    "completion",
    "cached",
    "lock",
    "map",
    "dict",
    "json",
    "yaml",
    "config",
    "registry",
    "natural",
    "eddsa",
    "rsa",
    "ed25519",
    "gpg",
    "pgp",
    "signer",
    "verify",
    "verification",
    "known",
    "authorized",
    "jwk",
    "selected",
    "compare",
    "sorted",
    "last",
    "first",
    "reasoning",
    "thinking",
    "budget",
    "used",
    "remaining",
    "per",
    "sec",
    "concurrency",
    "anti",
    "request",
    "site",
];
const NOT_KEYS: &[&str] = &[
    "monkey",
    "turkey",
    "donkey",
    "hockey",
    "jockey",
    "whiskey",
    "hotkey",
    "keyboard",
    "keyword",
    "compass",
    "bypass",
    "author",
    "authors",
    "authority",
    "passed",
    "passing",
    "passes",
    "passive",
    "tokenizer",
    "tokenize",
    "keynote",
    "keys",
    "keyframe",
    "publickey",
    "pubkey",
    "hostkey",
    "encompass",
    "surpass",
    "trespass",
    "bypassed",
];

/// Judges a name such as `AWS_SECRET_ACCESS_KEY`, `apiKey`, `x-api-key` or `db.password`.
pub(super) fn judge(name: &str) -> Option<Promise> {
    let words = split(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // `openai_api_key_2`: a number at the end names one of several.
    let mut end = words.len();
    while end > 1 && words[end - 1].bytes().all(|b| b.is_ascii_digit()) {
        end -= 1;
    }
    let words = &words[..end];
    let last = *words.last()?;
    if words.iter().any(|word| NOT_KEYS.contains(word))
        && !words.iter().any(|word| PASSWORD.contains(word))
    {
        return None;
    }
    // Unlike other ids, half of a key pair.
    let is_key_id = last == "id"
        && words.len() >= 2
        && (words[words.len() - 2] == "key" && words.contains(&"access")
            || matches!(words[words.len() - 2], "secret" | "accesskey"));
    if words.len() > 1 && ABOUT.contains(&last) && !is_key_id {
        return None;
    }
    let harmless = words.iter().any(|word| HARMLESS.contains(word));
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    if has(PASSWORD)
        || (!harmless
            && words.iter().any(|word| {
                ends_with_any(
                    word,
                    &["password", "passwd", "secret", "passphrase", "pass"],
                )
            }))
    {
        return Some(Promise::Password);
    }
    if harmless {
        return None;
    }
    let strong_key = names_key(words) && words.len() >= 2;
    if has(TOKEN)
        || strong_key
        || is_key_id
        || words.iter().any(|word| {
            ends_with_any(
                word,
                &[
                    "token",
                    "apikey",
                    "accesskey",
                    "secretkey",
                    "authkey",
                    "credential",
                    "credentials",
                    "cookie",
                ],
            )
        })
    {
        return Some(Promise::Token);
    }
    if words
        .iter()
        .any(|word| word.len() >= 4 && ends_with_any(word, &["key", "auth"]))
    {
        return Some(Promise::Token);
    }
    (last == "key"
        || last == "keys"
        )
        .then_some(Promise::Weak)
}

/// True when `key` is what is named, not what the named thing is for (`KeyMeshing`).
fn names_key(words: &[&str]) -> bool {
    const FORMS: &[&str] = &["value", "data", "base", "b64", "base64", "hex", "str", "string", "secret", "material", "pem", "raw", "bytes", "enc", "token", "prod", "dev", "staging", "live", "new", "old", "current", "plain", "text", "env", "default", "backup"];
    let form = words.iter().rev().take_while(|word| FORMS.contains(word)).count();
    words.len() > form && words[words.len() - form - 1] == "key"
}

fn ends_with_any(word: &str, ends: &[&str]) -> bool {
    ends.iter()
        .any(|end| word.len() > end.len() && word.ends_with(end))
}

/// Splits at separators and at camel humps, in lower case.
fn split(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let bytes = name.as_bytes();
    for (index, &byte) in bytes.iter().enumerate() {
        if !byte.is_ascii_alphanumeric() {
            flush(&mut word, &mut words);
            continue;
        }
        let previous = index.checked_sub(1).map_or(0, |i| bytes[i]);
        let next = bytes.get(index + 1).copied().unwrap_or(0);
        let hump = byte.is_ascii_uppercase()
            && (previous.is_ascii_lowercase()
                || previous.is_ascii_digit()
                || previous.is_ascii_uppercase() && next.is_ascii_lowercase());
        let number = byte.is_ascii_digit() && previous.is_ascii_alphabetic();
        if hump || number {
            flush(&mut word, &mut words);
        }
        word.push(char::from(byte.to_ascii_lowercase()));
    }
    flush(&mut word, &mut words);
    words
}

fn flush(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, promise: Option<Promise>) {
        assert_eq!(judge(name), promise, "{name}");
    }

    #[test]
    fn names_of_secrets() {
        for name in [
            "password",
            "DB_PASSWORD",
            "MYSQLPASS",
            "clientSecret",
            "spring.datasource.password",
        ] {
            check(name, Some(Promise::Password));
        }
        for name in [
            "GITHUB_TOKEN",
            "apiKey",
            "x-api-key",
            "AWS_ACCESS_KEY_ID",
            "authorization",
            "OPENAI_API_KEY_2",
        ] {
            check(name, Some(Promise::Token));
        }
        check("key", Some(Promise::Weak));
    }

    #[test]
    fn names_of_other_things() {
        for name in [
            "input_tokens",
            "primary_key",
            "author",
            "public_key",
            "next_page_token",
            "tokenizer",
            "password_field",
            "api_key_hash",
            "idempotency_key",
            "monkey",
        ] {
            check(name, None);
        }
    }
}
