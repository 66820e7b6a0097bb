//! Kubernetes `Secret` manifests: the values under `stringData` and `data`, whatever their names.

use crate::assignment::is_token_value;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

pub(crate) const LITERALS: &[&str] = &[
    "stringData", "kind: Secret\n", "kind: Secret\r", "kind: Secret\\n", "kind\":\"Secret\"",
    "kind\": \"Secret\"", "kind\\\":\\\"Secret\\\"", "kind\\\": \\\"Secret\\\"",
];

/// How far before and behind the literal a manifest is read.
const MANIFEST_BYTES_MAX: usize = 4 << 10;
const BASE64_BYTES_MIN: usize = 8;

/// How a manifest writes the values of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldEncoding {
    /// `stringData`: as they are.
    Plain,
    /// `data`: in base64.
    Base64,
}

/// Finds the values of the manifest that holds the literal at `start..end`.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.kubernetes.skips(start) {
        return;
    }
    // `kubectl get -o yaml` sorts the fields: `data` comes before `kind`.
    let from = text.floor_char_boundary(start.saturating_sub(MANIFEST_BYTES_MAX));
    let from = from
        + text[from..start]
            .rfind("apiVersion")
            .unwrap_or(start - from);
    let from = text[..from]
        .rfind('\n')
        .map_or(0, |line_break| line_break + 1)
        .min(from);
    let to = text.floor_char_boundary(end + MANIFEST_BYTES_MAX);
    let to = end + text[end..to].find("\n---").unwrap_or(to - end);
    progress.kubernetes.skip_to(to);
    progress.count_work(to - from);
    let manifest = &text[from..to];
    let mut push = |offset: usize, value: &str, encoding: FieldEncoding| {
        if is_secret(value, encoding) {
            found.push(Detection {
                rule: "kubernetes-secret",
                confidence: Confidence::Probable,
                start: from + offset,
                end: from + offset + value.len(),
            });
        }
    };
    if text[start..end].contains('"') || text[end..].starts_with('"') {
        read_json(manifest, &mut push);
    } else {
        read_yaml(manifest, &mut push);
    }
}

/// Passes each value of the manifest's secret fields to `each`, with its offset.
fn read_yaml(manifest: &str, each: &mut impl FnMut(usize, &str, FieldEncoding)) {
    let mut block = None;
    let mut line_start = 0;
    for line in manifest.split_inclusive('\n') {
        let start = line_start;
        line_start += line.len();
        let body = strip_line_prefix(line).trim_end();
        let content = body.trim_start();
        if content.is_empty() {
            continue;
        }
        let indent = body.len() - content.len();
        if let Some((field_indent, encoding)) = block
            && indent > field_indent
        {
            // A line without a name belongs to the `key: |` above it.
            let value = content
                .split_once(": ")
                .map_or(content, |(_, value)| value.trim_start());
            let value = value.trim_matches(['"', '\'']);
            let offset = value.as_ptr() as usize - manifest.as_ptr() as usize;
            debug_assert!(offset >= start);
            each(offset, value, encoding);
            continue;
        }
        block = match content {
            "data:" => Some((indent, FieldEncoding::Base64)),
            "stringData:" => Some((indent, FieldEncoding::Plain)),
            _ => None,
        };
    }
}

/// Removes a diff sign or the line number that a tool puts before each line.
fn strip_line_prefix(line: &str) -> &str {
    let numbered = line.trim_start_matches([' ', '\t']);
    let digits = numbered.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0
        && let Some(rest) = numbered[digits..].strip_prefix(['→', '\t', '|'])
    {
        return rest;
    }
    line.strip_prefix(['+', '-']).unwrap_or(line)
}

fn read_json(manifest: &str, each: &mut impl FnMut(usize, &str, FieldEncoding)) {
    for (field, encoding) in [
        ("\"stringData\"", FieldEncoding::Plain),
        ("\"data\"", FieldEncoding::Base64),
    ] {
        let Some(at) = manifest.find(field) else {
            continue;
        };
        let is_gap = |c: char| c.is_whitespace() || ":{,".contains(c);
        let mut rest = manifest[at + field.len()..].trim_start_matches(is_gap);
        while let Some(member) = rest.strip_prefix('"')
            && let Some((_, after)) = member.split_once('"')
            && let Some(value) = after.trim_start_matches([':', ' ']).strip_prefix('"')
            && let Some((value, after)) = value.split_once('"')
        {
            each(
                value.as_ptr() as usize - manifest.as_ptr() as usize,
                value,
                encoding,
            );
            rest = after.trim_start_matches(is_gap);
        }
    }
}

fn is_secret(value: &str, encoding: FieldEncoding) -> bool {
    match encoding {
        FieldEncoding::Plain => is_token_value(value) || value::is_password(value),
        FieldEncoding::Base64 => {
            let is_base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
            value.len() >= BASE64_BYTES_MIN
                && value.len().is_multiple_of(4)
                && value.bytes().all(is_base64)
                && !value::is_placeholder(value)
        }
    }
}
