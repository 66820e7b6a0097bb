//! Code and paths that stand where a value could: `$TOKEN`, `get_token()`, `config/key.pem`.

use super::shape;

/// True for code that fetches a value: `$TOKEN`, `${{ secrets.X }}`, `os.environ[…]`,
/// `get_token()`.
pub(crate) fn is_code_reference(value: &str) -> bool {
    const PARTS: &[&str] = &[
        "${", "{{", "$(", "process.env", "os.environ", "getenv", "env.", "import.meta", "self.",
        "this.", "secrets.", "://", "::", "->", "%s", "%(", "#{", "%{", "[\"", "['", "=>", "]{",
        "[a-z", "[A-Z", "[0-9", "(?", "\\d", "\\w", "\\n", "`",
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

/// True when the value holds a placeholder of a format string, such as `{error}`.
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

/// True for `dir/name.ext`.
fn is_file(value: &str) -> bool {
    let Some((_, name)) = value.rsplit_once('/') else {
        return false;
    };
    name.rsplit_once('.').is_some_and(|(_, ext)| {
        (1..=5).contains(&ext.len()) && ext.bytes().all(|b| b.is_ascii_lowercase())
    })
}

/// True for a call: `name(…)`.
fn is_call(value: &str) -> bool {
    let name = value
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"_.".contains(b))
        .count();
    name > 1 && value.as_bytes().get(name) == Some(&b'(') && value.contains(')')
}
