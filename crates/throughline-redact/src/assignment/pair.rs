//! A secret's name in one field and its value in another: `{"name": "X_TOKEN", "value": "…"}`.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// How far behind the name its value may start.
const REACH_BYTES_MAX: usize = 240;

/// The text between the name and the start of its value.
static TO_VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let string = r#""[^"\n]{0,40}"|'[^'\n]{0,40}'|[\w./-]{0,40}"#;
    let other_fields = format!(r#"(?:["']?[\w-]+["']?\s*[:=]\s*(?:{string})[\s,;]*){{0,3}}?"#);
    let line_prefix = r"(?:[\w./-]+:\d+:\s*|\d+(?:→|[:|])\s*|\+\s*)?";
    let value_field = concat!(
        r#"["']?(?:value|val|default|--body|--value|-v|content|plaintext|text|string|data|"#,
        r#"current|password)["']?"#
    );
    let field = format!(r"{other_fields}{value_field}\s*(?:=>|[:=>]|\s)\s*");
    // A property list: `<key>API_KEY</key> <string>…</string>`.
    let element = r"</key>\s*<string>";
    let gap = r#"["'\])]*[\s,;/>{]*"#;
    // Without the tables of Unicode the pattern is compiled in a tenth of the time.
    let pattern = format!("(?i)^(?:{element}|{gap}{line_prefix}{field})");
    RegexBuilder::new(&pattern).unicode(false).build().ok()
});

/// Returns where the value starts that belongs to the name at `from..to`, when the name is itself
/// the value of a field such as `name`.
pub(crate) fn paired_value_start(text: &str, from: usize, to: usize) -> Option<usize> {
    if !follows_naming_word(&text.as_bytes()[..from]) {
        return None;
    }
    let rest = &text[to..text.floor_char_boundary(to + REACH_BYTES_MAX)];
    let found = TO_VALUE.as_ref()?.find(rest.as_bytes())?;
    Some(to + found.end()).filter(|&end| text.is_char_boundary(end))
}

/// True after `"name": "`, `key="`, `- name: `, `<key>`, `variable "`, `secret set `.
pub(crate) fn follows_naming_word(before: &[u8]) -> bool {
    const NAMING_WORDS: &[&[u8]] = &[
        b"name", b"key", b"variable", b"set", b"field", b"id", b"env", b"header", b"label",
        b"parameter", b"param", b"put", b"add", b"create",
    ];
    let gap = before.iter().rev();
    let gap = gap.take_while(|b| b"\"'` \t:=\\>".contains(b)).count();
    if gap == 0 {
        return false;
    }
    let before = &before[..before.len() - gap];
    let letters = before.iter().rev().take(12);
    let len = letters.take_while(|b| b.is_ascii_alphabetic()).count();
    let word = &before[before.len() - len..];
    NAMING_WORDS
        .iter()
        .any(|naming| word.eq_ignore_ascii_case(naming))
}
