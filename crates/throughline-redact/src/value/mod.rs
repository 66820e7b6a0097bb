//! What a value looks like: random, a password, a placeholder, a word.
//!
//! The context rules find `name = value`; these gates decide whether the value can be a secret.

mod placeholder;

pub(crate) use crate::value::placeholder::is_placeholder;

/// Letter pairs common in English and in identifiers. Random letters hit a fifth of them, words most.
const COMMON_PAIRS: &str = "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng \
of al de se le sa si ar ve ra ld ur ro ri io me ma co li ne ce el ta la ec no il ch us em ot ad pe ac \
ho ge ut be ly so wa ke tr ss ai pr fo un ul am ns ol id om ic po ow rs do ca ee rt su pa di fi lo mo ie \
ts ay op wh bl ir mi ag os tu gh im ap up vi ab tt pl cl cr ck sp ev ey ry ty ni iv ex na ig if ba da bo go \
dr fr sh bu fa gr gi qu ug ue ef oo od ui br je av uc ob ok by my ls wo ff ub rc rd rm rn ru mp nc nf nk ct ft \
au ci cu gu hu ju lu mu nu pu sc sk sl sm sn sw tl tw uf um va vo we wi xt ye yo ys ze op pt rk ws ep eb eg";

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ValueShape {
    pub(crate) len: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    pub(crate) symbols: usize,
    pub(crate) distinct: usize,
    /// Share of neighbouring bytes of different kinds (small, capital, digit).
    pub(crate) kind_change_share: f32,
    /// Share of neighbouring bytes that form a common letter pair.
    pub(crate) common_pair_share: f32,
    /// The same among letters alone, and the mean length of their runs.
    letter_pair_share: f32,
    letter_run_mean: f32,
    pub(crate) hex: bool,
}

pub(crate) fn shape(value: &str) -> ValueShape {
    let mut shape = ValueShape {
        len: value.len(),
        hex: !value.is_empty(),
        ..ValueShape::default()
    };
    let mut seen = [false; 256];
    let mut pairs = 0;
    let mut turns = 0;
    let (mut letter_pairs, mut runs) = (0, 0);
    let mut previous = 0_u8;
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' => shape.lower += 1,
            b'A'..=b'Z' => shape.upper += 1,
            b'0'..=b'9' => shape.digits += 1,
            _ => shape.symbols += 1,
        }
        shape.hex &= byte.is_ascii_hexdigit();
        if !std::mem::replace(&mut seen[usize::from(byte)], true) {
            shape.distinct += 1;
        }
        // A capital after a small letter starts a new word, it is no pair of the old one.
        let same_word = !(previous.is_ascii_lowercase() && byte.is_ascii_uppercase());
        if byte.is_ascii_alphabetic() {
            let goes_on = same_word && previous.is_ascii_alphabetic();
            letter_pairs += usize::from(goes_on);
            runs += usize::from(!goes_on);
        }
        if same_word && is_common_pair(previous, byte) {
            pairs += 1;
        }
        let (before, now) = (byte_kind(previous), byte_kind(byte));
        turns += usize::from(before != now && before != 0 && now != 0);
        previous = byte;
    }
    if value.len() > 1 {
        shape.common_pair_share = pairs as f32 / (value.len() - 1) as f32;
        shape.kind_change_share = turns as f32 / (value.len() - 1) as f32;
        shape.letter_pair_share = pairs as f32 / letter_pairs.max(1) as f32;
        shape.letter_run_mean = (shape.lower + shape.upper) as f32 / runs.max(1) as f32;
    }
    shape
}

fn byte_kind(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    }
}

fn is_common_pair(a: u8, b: u8) -> bool {
    use std::sync::LazyLock;
    static PAIRS: LazyLock<[u32; 26]> = LazyLock::new(|| {
        let mut table = [0; 26];
        for pair in COMMON_PAIRS.split_whitespace() {
            let pair = pair.as_bytes();
            table[usize::from(pair[0] - b'a')] |= 1 << (pair[1] - b'a');
        }
        table
    });
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    a.is_ascii_lowercase()
        && b.is_ascii_lowercase()
        && PAIRS[usize::from(a - b'a')] >> (b - b'a') & 1 == 1
}

/// Shannon entropy in bits per byte.
pub(crate) fn entropy(value: &str) -> f32 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let len = value.len() as f32;
    counts
        .iter()
        .filter(|&&n| n > 0)
        .map(|&n| n as f32 / len)
        .map(|p| -p * p.log2())
        .sum()
}

/// True for a value somebody generated: an API key, a token, a hash.
pub(crate) fn is_random(value: &str, len_min: usize) -> bool {
    let value = value.trim();
    if value.len() < len_min || !value.is_ascii() || value.contains([' ', '\t', '\n']) {
        return false;
    }
    // The shape is cheap, and turns down most.
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
        // Letters alone: either mixed case without words, or a long run nobody could say.
        let mixed = s.lower >= 3 && s.upper >= 3 && s.kind_change_share > 0.34;
        return s.len >= 16 && s.common_pair_share < if mixed { 0.42 } else { 0.26 };
    }
    let limit = match s.len {
        0..16 => 0.34,
        16..24 => 0.40,
        _ => 0.44,
    };
    // Kinds alternate in a random value; in a name they change between words.
    let restless = s.kind_change_share > 0.34 && s.common_pair_share < 0.52;
    // Runs one can say, one after another: an identifier, however long.
    if !restless && s.letter_run_mean >= 3.0 && s.letter_pair_share >= 0.5 {
        return false;
    }
    restless || s.common_pair_share < limit && (s.digits >= 2 || s.common_pair_share < 0.25)
}

/// True for a value a person might have chosen as a password.
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

/// How much of a value is judged; a longer one is no different behind.
const JUDGED_BYTES_MAX: usize = 1024;

/// The part of a value that is judged.
pub(crate) fn judged_prefix(value: &str) -> &str {
    &value[..value.floor_char_boundary(JUDGED_BYTES_MAX)]
}

/// True for code that fetches a value: `$TOKEN`, `${{ secrets.X }}`, `os.environ[...]`, `get_token()`.
pub(crate) fn is_code_reference(value: &str) -> bool {
    const PARTS: &[&str] = &[
        "${",
        "{{",
        "$(",
        "process.env",
        "os.environ",
        "getenv",
        "env.",
        "import.meta",
        "self.",
        "this.",
        "secrets.",
        "://",
        "::",
        "->",
        "%s",
        "%(",
        "#{",
        "%{",
        "[\"",
        "['",
        "=>",
        "]{",
        "[a-z",
        "[A-Z",
        "[0-9",
        "(?",
        "\\d",
        "\\w",
        "\\n",
        "`",
    ];
    let Some(first) = value.bytes().next() else {
        return true;
    };
    if PARTS.iter().any(|part| value.contains(part)) || has_format_slot(value) {
        return true;
    }
    let rest = &value.as_bytes()[1..];
    match first {
        b'$' => {
            rest.iter()
                .all(|&b| b.is_ascii_alphanumeric() || b"_.:-".contains(&b))
                && !looks_hashed(value)
        }
        b'%' => value.len() > 2 && value.ends_with('%'),
        b'{' => value.ends_with('}'),
        b'[' => value.ends_with(']'),
        b'(' => value.ends_with(')'),
        b'@' => rest
            .iter()
            .all(|&b| b.is_ascii_lowercase() || b"_-./".contains(&b)),
        b'/' | b'~' | b'.' => is_path(value),
        _ => is_call(value) || is_file(value),
    }
}

/// A format string's `{error}`.
fn has_format_slot(value: &str) -> bool {
    let Some((_, rest)) = value.split_once('{') else {
        return false;
    };
    rest.split_once('}').is_some_and(|(name, _)| {
        !name.is_empty()
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b"_.".contains(&b))
    })
}

fn looks_hashed(value: &str) -> bool {
    value.starts_with("$2") || value.bytes().filter(|&b| b == b'$').count() > 1
}

fn is_path(value: &str) -> bool {
    value.matches('/').count() >= 1
        && value.split('/').filter(|part| part.len() > 24).count() == 0
        && shape(value).common_pair_share > 0.25
}

/// `dir/name.ext`.
fn is_file(value: &str) -> bool {
    let Some((_, name)) = value.rsplit_once('/') else {
        return false;
    };
    name.rsplit_once('.').is_some_and(|(_, ext)| {
        (1..=5).contains(&ext.len()) && ext.bytes().all(|b| b.is_ascii_lowercase())
    })
}

/// `name(…)` or `name.name.name`.
fn is_call(value: &str) -> bool {
    let name = value
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b))
        .count();
    name > 1 && value.as_bytes().get(name) == Some(&b'(') && value.contains(')')
}

/// `u32`, `__u32`, `int64_t`, `&[u8; 32]`.
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

/// `jackson-0.11.2`: a name and its version.
fn is_versioned(value: &str) -> bool {
    let Some((name, version)) = value.rsplit_once(['-', '@', ':']) else {
        return false;
    };
    let dotted = version.contains('.') && version.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    dotted && shape(name).letter_run_mean >= 3.0
}

/// Numbers, versions, dates, addresses: digits and what stands between them.
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

/// Letters and digits grouped like a UUID.
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

/// The shape of a commit, a checksum or a UUID: only a name can make it a secret.
pub(crate) fn is_digest(value: &str) -> bool {
    is_uuid(value)
        || matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128)
            && value.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A digest, or a name and a digest as caches have it: `node-modules-9c1f…`.
pub(crate) fn ends_in_digest(value: &str) -> bool {
    let last = value.rsplit(['-', '_', ':', '/', '.']).next();
    is_digest(value) || last.is_some_and(|last| last.len() < value.len() && is_digest(last))
}

/// A password even where the join is loose: letters and a digit, and a sign or mixed case.
pub(crate) fn is_strong_password(value: &str) -> bool {
    let s = shape(value);
    let mixed = s.lower > 0 && s.upper > 0;
    let special = value.bytes().any(|b| b"!@#$%^&*+~?".contains(&b));
    s.len >= 6 && is_password(value) && s.digits > 0 && (mixed || special)
}

/// An identifier of several words one can say.
pub(crate) fn is_worded_identifier(value: &str) -> bool {
    let s = shape(value);
    is_identifier(value)
        && s.letter_run_mean >= 3.0
        && s.letter_pair_share >= 0.5
        && value.trim_matches('_').contains(['_', '.'])
}

/// `snake_case`, `camelCase`, `dotted.name`: a name made of words.
pub(crate) fn is_identifier(value: &str) -> bool {
    value
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b))
        && !value.as_bytes().first().is_some_and(u8::is_ascii_digit)
}
