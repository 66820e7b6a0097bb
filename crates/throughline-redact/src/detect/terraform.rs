//! Terraform's `random_password`: in a state and in a plan, its `result` is the password.

use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

pub(crate) const LITERALS: &[&str] = &["random_password"];

const RESULT: &str = "result";
/// How far behind its type the attributes of a resource are read.
const RESOURCE_BYTES_MAX: usize = 4 << 10;
const PASSWORD_BYTES: std::ops::RangeInclusive<usize> = 6..=256;

/// Says cheaply, of text that may still be escaped, whether a result could follow the type.
pub(crate) fn may_find(bytes: &[u8], end: usize) -> bool {
    let resource = &bytes[end..bytes.len().min(end + RESOURCE_BYTES_MAX)];
    memchr::memmem::find(resource, RESULT.as_bytes()).is_some()
}

/// Finds the result of the resource whose type is at `start..end`.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.terraform.skips(start) {
        return;
    }
    let to = text.floor_char_boundary(end + RESOURCE_BYTES_MAX);
    // The next resource of this type has a result of its own.
    let next = text[end..to].find(LITERALS[0]);
    let resource = &text[end..next.map_or(to, |next| end + next)];
    progress.terraform.skip_to(end + resource.len());
    progress.count_work(resource.len());
    for (at, _) in resource.match_indices(RESULT) {
        if let Some(password) = attribute_value(resource, at) {
            found.push(Detection {
                rule: "terraform-password",
                confidence: Confidence::Probable,
                start: end + password.start,
                end: end + password.end,
            });
        }
    }
}

/// Returns where the value of the attribute `result` at `at` stands: `"result": "…"` in a state,
/// `result = "…"` in a plan.
fn attribute_value(resource: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let is_whole = !resource[..at].ends_with(|c: char| c.is_alphanumeric() || "_.".contains(c));
    let rest = &resource[at + RESULT.len()..];
    let rest = rest.strip_prefix('"').unwrap_or(rest).trim_start();
    let rest = rest.strip_prefix([':', '='])?.trim_start();
    let value = rest.strip_prefix('"')?;
    let value = &value[..value.find(['"', '\n'])?];
    let start = value.as_ptr() as usize - resource.as_ptr() as usize;
    let is_password = PASSWORD_BYTES.contains(&value.len())
        && !value.contains(char::is_whitespace)
        && !value::is_placeholder(value);
    (is_whole && is_password).then_some(start..start + value.len())
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[track_caller]
    fn check(text: &str, is_replaced: bool) {
        let clean = Redactor::new([7; 32]).clean(text).into_owned();
        let is_gone = !clean.as_str().contains("q8Zr_pl0)kT<w");
        assert_eq!(is_gone, is_replaced, "{}", clean.as_str());
    }

    #[test]
    fn results_are_passwords() {
        check(
            concat!(
                "{\"type\": \"random_password\", \"name\": \"db\", \"instances\": [{\n",
                "\"attributes\": {\"id\": \"none\", \"keepers\": null, \"length\": 13,\n",
                "  \"result\": \"q8Zr_pl0)kT\\u003cw\", \"special\": true}}]}",
            ),
            true,
        );
        check(
            "resource \"random_password\" \"db\" {\n  length = 13\n  result = \"q8Zr_pl0)kT<w\"\n}",
            true,
        );
    }

    #[test]
    fn results_of_other_things_are_not() {
        check(
            "{\"type\": \"random_pet\", \"result\": \"q8Zr_pl0)kT<w\"}",
            false,
        );
        check("random_password.db.result and then q8Zr_pl0)kT<w", false);
    }
}
