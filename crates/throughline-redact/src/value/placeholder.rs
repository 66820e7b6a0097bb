//! Values that stand for a secret without being one: `your-api-key-here`, `xxxx`, `changeme`.
//!
//! A word such as `your` inside a value proves nothing: `Yourself99!xK` is a password, and a random
//! token may hold `todo`. A placeholder is made of such words, or mostly of filler.

use std::sync::LazyLock;

use crate::word_map::WordMap;

/// Words that ask the reader to fill in a value.
#[rustfmt::skip]
const PLACEHOLDER_WORDS: &[&str] = &[
    "your", "yours", "changeme", "change", "changeit", "placeholder", "dummy", "redacted", "todo",
    "replace", "replaceme", "insert", "sample", "fixme", "hidden", "masked", "undefined", "example",
    "put", "fake", "mock", "notreal", "notareal", "xxx", "xxxx", "xxxxx", "xxxxxx", "xxxxxxxx",
    "removed", "omitted", "elided", "censored",
];
/// Words that often stand beside them and carry no information.
#[rustfmt::skip]
const NEUTRAL_WORDS: &[&str] = &[
    "api", "key", "keys", "token", "secret", "password", "passwd", "pass", "pwd", "here", "my",
    "this", "me", "with", "the", "a", "an", "of", "for", "in", "it", "to", "not", "real", "actual",
    "value", "string", "id", "client", "access", "app", "user", "db", "database", "name", "goes",
    "test", "prod", "production", "dev", "staging", "env", "bot", "auth", "sk", "pk", "github",
    "openai", "aws", "x", "is", "be", "must", "do", "use", "new", "own", "some", "long", "random",
    "at", "least", "before", "deploy", "please", "and", "bearer", "jwt", "hash", "private",
    "public", "live", "enter", "add", "paste", "default", "something", "anything", "secure",
    "strong", "super", "generated", "credential", "credentials", "account", "service", "host",
    "url", "local", "text", "super", "ghp", "ant", "proj", "or", "com",
];
const IS_PLACEHOLDER: u8 = 1;
const IS_NEUTRAL: u8 = 2;

static WORDS: LazyLock<WordMap> = LazyLock::new(|| {
    let mut words = WordMap::default();
    for (list, flag) in [
        (PLACEHOLDER_WORDS, IS_PLACEHOLDER),
        (NEUTRAL_WORDS, IS_NEUTRAL),
    ] {
        for word in list {
            *words.entry(word.as_bytes()).or_default() |= flag;
        }
    }
    words
});

/// Words so long that a random value does not hold them by chance.
const LONG_WORDS: &[&str] = &[
    "placeholder", "changeme", "change_me", "change-me", "redacted", "not_a_real", "not-a-real",
    "notareal", "goes_here", "goes-here", "secret_here", "my-bot-token", "your_", "your-", "_your",
    "-your", "replace_", "replace-", "put_", "insert_", "insert-", "undefined",
];
/// A value this long was generated, so a long word in it is not part of a password.
const GENERATED_BYTES_MIN: usize = 20;
/// A placeholder has at most so many digits.
const DIGITS_MAX: usize = 4;

/// True for values that stand for a secret without being one.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let value = value.trim();
    if value.starts_with('<') && value.ends_with('>') || value.contains('…') || value.contains("••")
    {
        return true;
    }
    if is_filler(value.as_bytes()) || is_ascending(value.as_bytes()) {
        return true;
    }
    // A random value may hold these letters by chance, but hardly in a uniform case.
    if value.len() >= GENERATED_BYTES_MIN
        && ["EXAMPLE", "example", "Example"]
            .iter()
            .any(|word| value.contains(word))
    {
        return true;
    }
    // A prefix may stand before the block that repeats.
    let tail = &value.as_bytes()[value.len() / 3..];
    if is_repeating(value.as_bytes()) || is_repeating(tail) {
        return true;
    }
    is_made_of_placeholder_words(value)
}

/// True when half of the value consists of runs of a filler character.
fn is_filler(bytes: &[u8]) -> bool {
    let mut filler = 0;
    for run in bytes.chunk_by(u8::eq_ignore_ascii_case) {
        let is_fill = b"xX*.#_-0?".contains(&run[0]) && run.len() >= 3;
        filler += if is_fill { run.len() } else { 0 };
    }
    bytes.len() >= 3 && filler * 2 >= bytes.len()
}

/// True when the value consists of words, one of them a placeholder word.
fn is_made_of_placeholder_words(value: &str) -> bool {
    let mut has_word = false;
    let mut is_neutral = true;
    let (mut digits, mut letters) = (0, 0);
    let mut lower = [0_u8; 24];
    for word in words(value.as_bytes()) {
        if word[0].is_ascii_digit() {
            digits += word.len();
            continue;
        }
        letters += word.len();
        if word.len() > lower.len() {
            is_neutral = false;
            continue;
        }
        let lower = &mut lower[..word.len()];
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        let flags = WORDS.get(&*lower).copied().unwrap_or(0);
        has_word |= flags & IS_PLACEHOLDER != 0;
        is_neutral &= flags != 0;
    }
    if has_word && is_neutral && digits <= DIGITS_MAX {
        return true;
    }
    let is_plain = value
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || b"_-. ".contains(&b));
    if has_word && is_plain && value.contains(['_', '-', ' ', '.']) {
        return true;
    }
    let holds_long = || {
        let lower = value.to_ascii_lowercase();
        LONG_WORDS.iter().any(|word| lower.contains(word))
    };
    letters > 0 && (value.len() >= GENERATED_BYTES_MIN || digits == 0 && is_plain) && holds_long()
}

/// Returns the runs of letters and of digits. A capital behind a small letter starts a new run.
fn words(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let same = |a: &u8, b: &u8| {
        a.is_ascii_digit() && b.is_ascii_digit()
            || a.is_ascii_alphabetic()
                && b.is_ascii_alphabetic()
                && !(a.is_ascii_lowercase() && b.is_ascii_uppercase())
    };
    bytes
        .chunk_by(same)
        .filter(|word| word[0].is_ascii_alphanumeric())
}

/// True for `aaaaaaaa` and `abcabcabcabc`: a short block that repeats.
fn is_repeating(bytes: &[u8]) -> bool {
    bytes.len() >= 6
        && (1..=3).any(|period| {
            let same = bytes
                .iter()
                .zip(&bytes[period..])
                .filter(|(a, b)| a == b)
                .count();
            same * 10 >= (bytes.len() - period) * 8
        })
}

/// True for `123456789` and `abcdefgh…`: most bytes are the successor of the one before.
fn is_ascending(bytes: &[u8]) -> bool {
    let steps = bytes
        .windows(2)
        .filter(|pair| pair[1] == pair[0].wrapping_add(1))
        .count();
    bytes.len() >= 12 && steps * 10 >= bytes.len() * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_to_be_filled_in() {
        for value in [
            "your-api-key-here",
            "YOUR_TOKEN",
            "changeme123",
            "xxxxxxxx",
            "sk-test-your-key-here",
            "ghs_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "AKIAIOSFODNN7EXAMPLE",
            "<token>",
            "********",
            "REPLACE_WITH_A_LONG_RANDOM_STRING",
            "123456789012",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn secrets_with_such_words_in_them() {
        for value in [
            "Yourself99!xK",
            "HiddenValley#2024",
            "SampleTown!8473",
            "ghp_aB3dtodo6fG9hJ2kL5mN8pQ1rS4tU7vW0xY3z4Q",
            "ghp_aB3dE6fG9xxxxhJ2kL5mN8pQ1rS4tU7vW0xY3z4",
            "TodoList-8842-Zq",
            "InsertCoin!77x",
        ] {
            assert!(!is_placeholder(value), "{value}");
        }
    }
}
