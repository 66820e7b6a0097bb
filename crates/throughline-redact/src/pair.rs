//! A secret's name in one field and its value in another: `{"name": "X_TOKEN", "value": "…"}`.

use std::sync::LazyLock;

use regex::Regex;

use super::scan::floor;

const REACH_BYTES_MAX: usize = 240;

/// What may lie between the name and the start of its value.
static TO_VALUE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let other = r#"(?:["']?[\w-]+["']?\s*[:=]\s*(?:"[^"\n]{0,40}"|'[^'\n]{0,40}'|[\w./-]{0,40})[\s,;]*){0,3}?"#;
    let field = r#"["']?(?:value|val|default|--body|--value|-v|content|plaintext|text|string|data|current|password)["']?"#;
    Regex::new(&format!(r#"(?i)^["'\])]*[\s,;/>{{]*(?:[\w./-]+:\d+:\s*|\d+[→:|]\s*|\+\s*)?{other}{field}\s*(?:=>|[:=>]|\s)\s*"#)).ok()
});

/// Where the value starts that belongs to the name at `from..to`, when the name is itself a value.
pub(super) fn paired_value_start(text: &str, from: usize, to: usize) -> Option<usize> {
    if !follows_naming_word(&text.as_bytes()[..from]) {
        return None;
    }
    let rest = &text[to..floor(text, (to + REACH_BYTES_MAX).min(text.len()))];
    TO_VALUE.as_ref()?.find(rest).map(|found| to + found.end())
}

/// True after `"name": "`, `key="`, `- name: `, `variable "`, `secret set `.
pub(super) fn follows_naming_word(before: &[u8]) -> bool {
    let mut end = before.len();
    while end > 0 && b"\"'` \t:=\\".contains(&before[end - 1]) {
        end -= 1;
    }
    if end == before.len() {
        return false;
    }
    let start = end
        - before[..end]
            .iter()
            .rev()
            .take(12)
            .take_while(|b| b.is_ascii_alphabetic())
            .count();
    let word = &before[start..end];
    [
        &b"name"[..],
        b"key",
        b"variable",
        b"set",
        b"field",
        b"id",
        b"env",
        b"header",
        b"label",
        b"parameter",
        b"param",
        b"put",
        b"add",
        b"create",
    ]
    .iter()
    .any(|naming| word.eq_ignore_ascii_case(naming))
}
