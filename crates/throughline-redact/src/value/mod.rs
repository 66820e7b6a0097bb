//! Judges values: random, a password, a placeholder, a word, code.
//!
//! The detectors find a value by its surroundings; these functions decide whether it can be a
//! secret.

mod placeholder;
mod reference;
mod shape;

pub(crate) use self::placeholder::is_placeholder;
use self::reference::is_code_reference;
pub(crate) use self::shape::{entropy, shape};

/// True for a generated value of `len_min` bytes or more: an API key, a token, a hash.
pub(crate) fn is_random(value: &str, len_min: usize) -> bool {
    let value = value.trim();
    if value.len() < len_min || !value.is_ascii() || value.contains([' ', '\t', '\n']) {
        return false;
    }
    // The shape is cheap and rejects most values.
    has_random_shape(value)
        && !is_number(value)
        && !is_versioned(value)
        && !is_code_reference(value)
        && !is_placeholder(value)
}

fn has_random_shape(value: &str) -> bool {
    let s = shape(value);
    let letters = s.lower + s.upper;
    if s.distinct < 6 || letters + s.digits < s.len / 2 {
        return false;
    }
    if s.digits == s.len {
        return s.len >= 24;
    }
    if s.digits == 0 {
        // Letters alone: mixed case without words, or a long run that cannot be pronounced.
        let mixed = s.lower >= 3 && s.upper >= 3 && s.kind_change_share > 0.34;
        return s.len >= 16 && s.common_pair_share < if mixed { 0.42 } else { 0.26 };
    }
    let limit = match s.len {
        0..16 => 0.34,
        16..24 => 0.40,
        _ => 0.44,
    };
    // In a random value the kinds of characters alternate; in a name they change between words.
    let restless = s.kind_change_share > 0.34 && s.common_pair_share < 0.52;
    // Several runs that can be pronounced are an identifier, however long.
    if !restless && s.letter_run_mean >= 3.0 && s.letter_pair_share >= 0.5 {
        return false;
    }
    restless || s.common_pair_share < limit && (s.digits >= 2 || s.common_pair_share < 0.25)
}

/// True for a value that a person may have chosen as a password.
pub(crate) fn is_password(value: &str) -> bool {
    if !(5..=128).contains(&value.len()) {
        return false;
    }
    let s = shape(value);
    let letters = s.lower + s.upper;
    if s.distinct < 4 || is_number(value) && s.digits < s.len || is_type(value) {
        return false;
    }
    let hex_pair = value
        .split_once(':')
        .is_some_and(|(a, b)| shape(a).hex && shape(b).hex);
    let special = value.bytes().any(|b| b"!@#$%^&*+~?".contains(&b)) || hex_pair;
    let is_chosen = (s.digits > 0 && letters > 0)
        || (special && letters >= 3)
        || (s.digits == s.len && s.len >= 6)
        || (s.lower >= 2 && s.upper >= 2 && s.common_pair_share < 0.34);
    is_chosen && !is_code_reference(value) && !is_placeholder(value)
}

/// The length of a value that is judged. The rest of a longer value looks the same.
const JUDGED_BYTES_MAX: usize = 1024;

/// Returns the part of a value that is judged.
pub(crate) fn judged_prefix(value: &str) -> &str {
    &value[..value.floor_char_boundary(JUDGED_BYTES_MAX)]
}

/// True for the name of a type: `u32`, `__u32`, `int64_t`, `&[u8; 32]`.
pub(crate) fn is_type(value: &str) -> bool {
    let name = value.trim_start_matches(['_', '&', '[', '*']);
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let word = &name[..name.len() - digits.len()];
    matches!(
        word,
        "u" | "i"
            | "f"
            | "int"
            | "uint"
            | "float"
            | "char"
            | "varchar"
            | "sha"
            | "md"
            | "VARCHAR"
            | "CHAR"
            | "String"
    ) && (digits.starts_with('(')
        || digits.len() <= 5
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .len()
                <= 2
            && !digits.ends_with(|c: char| c.is_ascii_uppercase()))
}

/// True for a name with its version: `jackson-0.11.2`.
fn is_versioned(value: &str) -> bool {
    let Some((name, version)) = value.rsplit_once(['-', '@', ':']) else {
        return false;
    };
    let dotted = version.contains('.') && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    dotted && shape(name).letter_run_mean >= 3.0
}

/// True for numbers, versions, dates and addresses: digits with separators.
fn is_number(value: &str) -> bool {
    let other = value.bytes().filter(|b| !b.is_ascii_digit()).count();
    let between = value
        .bytes()
        .filter(|b| b".:-+_,/ TZeEx".contains(b))
        .count();
    let all_digits = other == 0 && value.len() >= 24;
    other == between && !all_digits && other <= value.len() / 2
}

pub(crate) fn is_uuid(value: &str) -> bool {
    is_grouped(value) && value.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// True for letters and digits that are grouped like those of a UUID.
pub(crate) fn is_grouped(value: &str) -> bool {
    let bytes = value.as_bytes();
    let fits = |(at, b): (usize, &u8)| {
        if matches!(at, 8 | 13 | 18 | 23) {
            *b == b'-'
        } else {
            b.is_ascii_alphanumeric()
        }
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(fits) && bytes.iter().any(u8::is_ascii_digit)
}

/// True for a value that looks like a commit, a checksum or a UUID. Only its name can make it
/// secret.
pub(crate) fn is_digest(value: &str) -> bool {
    is_uuid(value)
        || matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128)
            && value.bytes().all(|b| b.is_ascii_hexdigit())
}

/// True for a digest, also behind a name as in the keys of a cache: `node-modules-9c1f…`.
pub(crate) fn ends_in_digest(value: &str) -> bool {
    let last = value.rsplit(['-', '_', ':', '/', '.']).next();
    is_digest(value) || last.is_some_and(|last| last.len() < value.len() && is_digest(last))
}

/// True for a password that is recognised even in prose: letters and a digit, with a special
/// character or mixed case.
pub(crate) fn is_strong_password(value: &str) -> bool {
    let s = shape(value);
    let mixed = s.lower > 0 && s.upper > 0;
    let special = value.bytes().any(|b| b"!@#$%^&*+~?".contains(&b));
    s.len >= 6 && is_password(value) && s.digits > 0 && (mixed || special)
}

/// True for an identifier of several words that can be pronounced.
pub(crate) fn is_worded_identifier(value: &str) -> bool {
    let s = shape(value);
    is_identifier(value)
        && s.letter_run_mean >= 3.0
        && s.letter_pair_share >= 0.5
        && value.trim_matches('_').contains(['_', '.'])
}

/// True for `snake_case`, `camelCase` and `dotted.name`.
pub(crate) fn is_identifier(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b))
        && !value.as_bytes().first().is_some_and(u8::is_ascii_digit)
}
