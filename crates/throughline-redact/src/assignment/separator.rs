//! The text between a name and its value: operators, type annotations, verbs.

use super::names::NameStrength;
use super::skip_spaces;

/// How a name and its value are joined; the looser the join, the more the value must prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueJoin {
    /// `=`, `:`, `=>`, an argument, an element.
    Operator,
    /// `--token value`, `set -gx TOKEN value`, `PASSWORD 'value'`.
    Space,
    /// `the password is value`.
    Prose,
}

/// Says cheaply whether a value may follow a name that ends at `at`. Also called with text that is
/// still escaped.
pub(crate) fn may_precede_value(bytes: &[u8], at: usize) -> bool {
    let Some(&byte) = bytes.get(at) else {
        return false;
    };
    match byte {
        b' ' | b'\t' => {
            let next = skip_spaces(bytes, at);
            match bytes.get(next) {
                None => false,
                Some(b) if b.is_ascii_lowercase() => {
                    let rest = &bytes[next..];
                    rest.starts_with(b"is ")
                        || rest.starts_with(b"was ")
                        || starts_with_mixed_word(rest)
                        || go_type_len(rest).is_some()
                }
                Some(_) => true,
            }
        }
        b'+' => bytes.get(at + 1) == Some(&b'='),
        b'%' => matches!(bytes.get(at + 1), Some(b'2' | b'3')),
        b'&' => matches!(bytes.get(at + 1), Some(b'#' | b'q' | b'e' | b'c' | b'a')),
        b';' | b'/' | b'@' | b'{' | b'^' => false,
        _ => true,
    }
}

/// True when `rest` starts with a word that mixes letters with other characters, unlike prose.
fn starts_with_mixed_word(rest: &[u8]) -> bool {
    let word = rest
        .iter()
        .take(24)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-".contains(b));
    word.clone().count() >= 5 && word.clone().any(|b| !b.is_ascii_lowercase())
}

/// Returns where the value of the name at `from..to` starts and how it is joined to the name.
pub(crate) fn value_start(
    text: &str,
    from: usize,
    to: usize,
    strength: NameStrength,
) -> Option<(usize, ValueJoin)> {
    let bytes = text.as_bytes();
    let closing = bytes[to..].iter().take(4);
    let closed = to + closing.take_while(|b| b"\"'`])*".contains(b)).count();
    let spaced = skip_spaces(bytes, closed);
    let spaced = spaced + prompt_default_len(&bytes[spaced..]);
    let rest = &bytes[spaced..];
    if let Some(len) = operator_len(rest) {
        let after = skip_type_annotation(text, spaced + len);
        // Markdown emphasis: `**password:** value`, `password: **value**`.
        let stars = bytes[skip_spaces(bytes, after)..].iter().take(2);
        let stars = stars.take_while(|&&b| b == b'*').count();
        let after = skip_spaces(bytes, after) + stars;
        let after = after + block_scalar_len(&bytes[after..]);
        let after = after + heredoc_len(&bytes[after..]);
        return Some((skip_spaces(bytes, after), ValueJoin::Operator));
    }
    let is_quote = |at: usize| bytes.get(at).is_some_and(|b| b"\"'`".contains(b));
    match rest.first()? {
        // In a list of quoted words a comma joins nothing.
        b',' if closed > to && !is_name_argument(bytes, from) => return None,
        b',' | b'-' | b'(' => {
            let at = skip_spaces(bytes, spaced + 1);
            return is_quote(at).then_some((at, ValueJoin::Operator));
        }
        b'"' | b'\'' if spaced > closed && strength > NameStrength::Weak => {
            return Some((spaced, ValueJoin::Space));
        }
        _ => {}
    }
    for verb in ["is ", "was ", "is: ", "are ", "to be "] {
        if rest.starts_with(verb.as_bytes()) {
            return Some((skip_spaces(bytes, spaced + verb.len()), ValueJoin::Prose));
        }
    }
    if strength > NameStrength::Weak
        && spaced > closed
        && let Some(len) = go_type_len(rest)
    {
        return Some((skip_spaces(bytes, spaced + len), ValueJoin::Operator));
    }
    let is_flag = bytes[from] == b'-' && (from == 0 || !bytes[from - 1].is_ascii_alphanumeric());
    if spaced > closed && (is_flag || follows_set_command(bytes, from)) {
        return Some((spaced, ValueJoin::Space));
    }
    // `DB_PASSWORD      value`: a list of variables in two columns.
    let is_aligned = bytes[closed..spaced].contains(&b'\t') || spaced >= closed + 2;
    let is_variable = strength > NameStrength::Weak
        && bytes[from..to].contains(&b'_')
        && !bytes[from..to].iter().any(u8::is_ascii_lowercase)
        && (from == 0 || b"\n\t ".contains(&bytes[from - 1]));
    (is_aligned && is_variable).then_some((spaced, ValueJoin::Prose))
}

/// Length of the sign of a YAML block, whose value is indented on the next line: `password: |-`.
fn block_scalar_len(rest: &[u8]) -> usize {
    if !matches!(rest.first(), Some(b'|' | b'>')) {
        return 0;
    }
    let signs = rest.iter().take(4);
    let len = signs.take_while(|b| b"|>-+".contains(b)).count();
    let is_block = rest[len..].starts_with(b"\n ") || rest[len..].starts_with(b"\r\n ");
    let line_break = 1 + usize::from(rest.get(len) == Some(&b'\r'));
    if is_block { len + line_break } else { 0 }
}

/// Length of the first line of a here-document, whose value is on the next line: `<<-EOT`.
fn heredoc_len(rest: &[u8]) -> usize {
    const WORD_BYTES_MAX: usize = 24;
    if !rest.starts_with(b"<<") {
        return 0;
    }
    let word = rest[2..].iter().take(WORD_BYTES_MAX);
    let is_word = |b: &&u8| b.is_ascii_alphanumeric() || b"-~_'\"".contains(b);
    let len = 2 + word.take_while(is_word).count();
    if len > 2 && rest.get(len) == Some(&b'\n') {
        len + 1
    } else {
        0
    }
}

/// Length of the default that a prompt shows before its colon: `Secret Access Key [None]: `.
fn prompt_default_len(rest: &[u8]) -> usize {
    const DEFAULT_BYTES_MAX: usize = 24;
    if rest.first() != Some(&b'[') {
        return 0;
    }
    let close = rest.iter().take(DEFAULT_BYTES_MAX).position(|&b| b == b']');
    match close {
        Some(close) if rest.get(close + 1) == Some(&b':') => close + 1,
        _ => 0,
    }
}

/// Length of the assignment operator that `rest` starts with.
fn operator_len(rest: &[u8]) -> Option<usize> {
    let len = rest
        .iter()
        .take(5)
        .take_while(|b| matches!(b, b'=' | b':' | b'?' | b'|' | b'!' | b'>' | b'+' | b'~'))
        .count();
    rest[..len]
        .iter()
        .any(|b| b"=:>".contains(b))
        .then_some(len)
}

/// Skips a type between `:` and `=`, as in `const KEY: &str = "…"`.
fn skip_type_annotation(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let len = bytes[at..]
        .iter()
        .take(40)
        .take_while(|b| {
            let is_sign = matches!(b, b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'|' | b'?');
            b.is_ascii_alphanumeric() || is_sign || matches!(b, b' ' | b':' | b'_' | b'.')
        })
        .count();
    let after = at + len;
    let is_type =
        len > 1 && bytes[at] == b' ' && bytes.get(after) == Some(&b'=') && bytes[after - 1] == b' ';
    // In `password: abc =` the text before the sign is the value.
    if is_type && bytes.get(after + 1).is_some_and(|b| b" \"'`".contains(b)) {
        after + 1
    } else {
        at
    }
}

/// Go puts the type behind the name: `var token string = "…"`. Returns the length up to the value.
fn go_type_len(rest: &[u8]) -> Option<usize> {
    let len = rest
        .iter()
        .take(24)
        .take_while(|b| b.is_ascii_alphanumeric() || b"[].*".contains(b))
        .count();
    (len > 0 && rest[len..].starts_with(b" = ")).then_some(len + 3)
}

/// True when a quoted name is an argument that the next one gives a value to: the first argument, a
/// flag, or the second one behind a type (`buildConfigField "String", "API_KEY", "…"`).
fn is_name_argument(bytes: &[u8], from: usize) -> bool {
    let before = &bytes[..from];
    let len = before.iter().rev().take_while(|b| b"\"'`#. \t".contains(b));
    let before = &before[..before.len() - len.count()];
    let follows_type = || {
        let word = before.strip_suffix(b",").map(<[u8]>::trim_ascii_end);
        let word = word.and_then(|word| word.strip_suffix(b"\"").or(word.strip_suffix(b"'")));
        word.is_some_and(|word| {
            let at = word.len().saturating_sub(b"string".len());
            word[at..].eq_ignore_ascii_case(b"string")
        })
    };
    bytes[from] == b'-' || matches!(before.last(), Some(b'(' | b'[')) || follows_type()
}

/// True after `set -gx`, `setx`, `ENV` and the like, where a space joins name and value.
fn follows_set_command(bytes: &[u8], from: usize) -> bool {
    let before = &bytes[..from];
    [
        "set ", "-gx ", "-x ", "setx ", "setenv ", "ENV ", "env ", "ARG ", "define ", "define\t",
        "login ",
    ]
    .iter()
    .any(|verb| before.ends_with(verb.as_bytes()))
}
