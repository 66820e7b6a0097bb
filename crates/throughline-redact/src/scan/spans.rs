//! Turns raw detections into spans that can be replaced: without marks, without overlaps, and
//! within one JSON string.

use super::{Confidence, Detection, SourceDetection};
use crate::detect::private_tag;
use crate::mark;

/// Cuts the marks out of the detections, so that a cleaned text stays as it is and the text beside
/// a mark is judged without it.
pub(crate) fn exclude_marks(found: &mut Vec<Detection>, text: &str) {
    if found.is_empty() || !mark::has_mark(text) {
        return;
    }
    let marks = mark::find_marks(text);
    let mut kept = Vec::with_capacity(found.len());
    for next in found.drain(..) {
        let first = marks.partition_point(|&(_, end)| end <= next.start);
        let inside = marks[first..].iter().take_while(|mark| mark.0 < next.end);
        if next.rule == private_tag::RULE || inside.clone().next().is_none() {
            kept.push(next);
            continue;
        }
        let mut from = next.start;
        let limits = inside.copied().chain([(next.end, next.end)]);
        for (start, end) in limits {
            if from < start
                && may_be_secret_part(&text[from..start])
                && next.confidence != Confidence::Possible
            {
                kept.push(Detection {
                    start: from,
                    end: start,
                    ..next
                });
            }
            from = end.max(from);
        }
    }
    *found = kept;
}

/// Sorts the detections and joins those that overlap. The surer rule names the joined one.
pub(crate) fn merge_overlapping(detections: &mut Vec<SourceDetection>, text: &str) {
    detections.sort_by_key(|next| (next.start, next.confidence, std::cmp::Reverse(next.end)));
    let mut merged: Vec<SourceDetection> = Vec::with_capacity(detections.len());
    for next in detections.drain(..) {
        match merged.last_mut() {
            Some(last) if next.start < last.end => {
                if next.confidence < last.confidence {
                    last.rule = next.rule;
                    last.confidence = next.confidence;
                }
                if next.end > last.end {
                    last.end = next.end;
                    last.value.clear();
                }
            }
            _ => merged.push(next),
        }
    }
    for joined in merged.iter_mut().filter(|next| next.value.is_empty()) {
        text[joined.start..joined.end].clone_into(&mut joined.value);
    }
    *detections = merged;
}

/// Ends each detection where the JSON string that it starts in ends, since a quote of another kind
/// may open in one string and close in the next. A private key may be an array of strings, one for
/// each line; then each string becomes a detection.
pub(crate) fn clip_to_json_strings(detections: &mut Vec<SourceDetection>, text: &str) {
    let bytes = text.as_bytes();
    let is_quote = |at: &usize| {
        let escapes = bytes[..*at].iter().rev().take_while(|&&b| b == b'\\');
        bytes[*at] == b'"' && escapes.count().is_multiple_of(2)
    };
    let mut clipped = Vec::with_capacity(detections.len());
    let (mut counted, mut is_inside) = (0, false);
    for next in detections.drain(..) {
        let before = memchr::memchr_iter(b'"', &bytes[counted..next.start]);
        is_inside ^= before.filter(|at| is_quote(&(counted + at))).count() % 2 == 1;
        counted = next.start;
        let mut quotes = (next.start..next.end).filter(is_quote).peekable();
        if quotes.peek().is_none() {
            clipped.push(next);
            continue;
        }
        let is_block = next.rule.ends_with("private-key") || next.rule == "putty-key";
        let mut from = is_inside.then_some(next.start);
        for quote in quotes.chain([next.end]) {
            if let Some(start) = from
                && start < quote
                && (!is_block || may_be_secret_part(&text[start..quote]))
            {
                clipped.push(SourceDetection {
                    start,
                    end: quote,
                    value: text[start..quote].to_owned(),
                    ..next
                });
            }
            if !is_block && from.is_some() {
                break;
            }
            from = if from.is_some() {
                None
            } else {
                Some(quote + 1)
            };
        }
    }
    *detections = clipped;
}

/// True when the text left beside a mark may be part of a secret, and not just punctuation.
fn may_be_secret_part(piece: &str) -> bool {
    const BYTES_MIN: usize = 3;
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b >= 0x80;
    piece.as_bytes().iter().filter(|b| is_word(b)).count() >= BYTES_MIN
}
