//! Texts that were redacted before, found again in the lines of a log.
//!
//! A log holds the texts of its records as JSON strings. A record's text that the redactor left
//! as it is needs no second look there: only what stands around it does. Where the redactor has
//! changed a text, the string in the log differs from it, and the line is searched as a whole.

use std::collections::HashMap;
use std::ops::Range;

use crate::CleanString;
use crate::scan::view;

/// Texts are looked up by this many of their first bytes.
const HEAD_BYTES: usize = 16;
/// Searching a shorter text costs less than recognising it.
const TEXT_BYTES_MIN: usize = 96;
/// A string is compared with at most so many texts that begin like it.
const CANDIDATES_MAX: usize = 8;

/// Texts without a secret, by their first bytes.
#[derive(Debug, Default)]
pub struct CheckedTexts<'t> {
    by_head: HashMap<[u8; HEAD_BYTES], Vec<&'t str>>,
}

impl<'t> CheckedTexts<'t> {
    /// Returns the texts that are long enough to be looked for.
    pub fn new(texts: impl IntoIterator<Item = &'t CleanString>) -> Self {
        let mut by_head: HashMap<_, Vec<&str>> = HashMap::new();
        for text in texts {
            let text = text.as_str();
            if text.len() < TEXT_BYTES_MIN {
                continue;
            }
            if let Some(head) = text.as_bytes().first_chunk::<HEAD_BYTES>() {
                let alike = by_head.entry(*head).or_default();
                if alike.len() < CANDIDATES_MAX && !alike.contains(&text) {
                    alike.push(text);
                }
            }
        }
        Self { by_head }
    }

    /// Puts the ranges of a line that are not such a text into `ranges`, in order.
    pub(crate) fn unchecked_ranges(&self, line: &str, ranges: &mut Vec<Range<usize>>) {
        ranges.clear();
        let bytes = line.as_bytes();
        let (mut from, mut at) = (0, 0);
        while !self.by_head.is_empty()
            && let Some(quote) = memchr::memchr(b'"', &bytes[at..])
        {
            let start = at + quote + 1;
            match self.string_len(line, start) {
                Some(len) => {
                    ranges.push(from..start);
                    from = start + len;
                    at = from + 1;
                }
                None => at = string_end(bytes, start),
            }
        }
        ranges.push(from..bytes.len());
    }

    /// Returns the length of the JSON string at `start` when it stands for one of the texts.
    fn string_len(&self, line: &str, start: usize) -> Option<usize> {
        let candidates = self.by_head.get(&decoded_head(line, start)?)?;
        let lens = candidates.iter().map(|text| encoded_len(line, start, text));
        lens.flatten().next()
    }
}

/// Returns the first decoded bytes of the JSON string at `start`.
fn decoded_head(line: &str, start: usize) -> Option<[u8; HEAD_BYTES]> {
    let bytes = line.as_bytes();
    let mut head = [0; HEAD_BYTES];
    let (mut at, mut filled) = (start, 0);
    while filled < HEAD_BYTES {
        match *bytes.get(at)? {
            b'"' => return None,
            b'\\' => {
                let (len, decoded) = view::decode_escape(line, at)?;
                let mut buffer = [0; 4];
                let encoded = decoded.encode_utf8(&mut buffer).as_bytes();
                let fits = encoded.len().min(HEAD_BYTES - filled);
                head[filled..filled + fits].copy_from_slice(&encoded[..fits]);
                filled += fits;
                at += len;
            }
            byte => {
                head[filled] = byte;
                filled += 1;
                at += 1;
            }
        }
    }
    Some(head)
}

/// Returns the length of the JSON string at `start` when it stands for `text`.
fn encoded_len(line: &str, start: usize, text: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let mut rest = text.as_bytes();
    let mut at = start;
    loop {
        let run = memchr::memchr2(b'"', b'\\', &bytes[at..])?;
        rest = rest.strip_prefix(&bytes[at..at + run])?;
        at += run;
        if bytes[at] == b'"' {
            return rest.is_empty().then_some(at - start);
        }
        let (len, decoded) = view::decode_escape(line, at)?;
        rest = rest.strip_prefix(decoded.encode_utf8(&mut [0; 4]).as_bytes())?;
        at += len;
    }
}

/// Returns the offset behind the closing quote of the JSON string at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = bytes
        .get(at..)
        .and_then(|rest| memchr::memchr2(b'"', b'\\', rest))
    {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Redactor;

    fn unchecked<'l>(texts: &[&str], line: &'l str) -> Vec<&'l str> {
        let redactor = Redactor::new([7; 32]);
        let texts: Vec<CleanString> = texts
            .iter()
            .map(|text| redactor.clean(text).into_owned())
            .collect();
        let mut ranges = Vec::new();
        CheckedTexts::new(&texts).unchecked_ranges(line, &mut ranges);
        ranges.into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn a_string_is_recognised_behind_its_escapes() {
        let text = "first \"line\"\n\tsecond \\ line é 😀 and so on ".repeat(3);
        let long = serde_json::to_string(&text).unwrap();
        let escaped = long.replace('é', "\\u00e9").replace('😀', "\\ud83d\\ude00");
        for string in [long, escaped] {
            let line = format!(r#"{{"a\"":1,"text":{string},"b":[{string}]}}"#);
            assert_eq!(
                unchecked(&[&text], &line),
                [r#"{"a\"":1,"text":""#, r#"","b":[""#, r#""]}"#]
            );
        }
    }

    #[test]
    fn other_strings_are_not() {
        let text = "the same words over and over again ".repeat(4);
        let longer = format!("{text}and more");
        let line = format!(r#"{{"text":"{longer}"}}"#);
        assert_eq!(unchecked(&[&text], &line), [line.as_str()]);
        let torn = format!(r#"{{"text":"{text}"#);
        assert_eq!(unchecked(&[&text], &torn), [torn.as_str()]);
        assert_eq!(
            unchecked(&["short"], r#"{"a":"short"}"#),
            [r#"{"a":"short"}"#]
        );
    }

    /// Secrets around a text that was searched before are found, and so are names before it.
    #[test]
    fn secrets_around_a_checked_text_are_replaced() {
        let redactor = Redactor::new([7; 32]);
        let prose = "a harmless sentence, said \"twice\"\n".repeat(4);
        let random: String = (0..6_u8)
            .map(|n| blake3::hash(&[n]).to_hex()[..20].to_owned())
            .collect();
        let texts = [redactor.clean(&prose), redactor.clean(&random)].map(CleanString::from);
        assert_eq!(
            texts[1].as_str(),
            random,
            "nothing says that it is a secret"
        );
        let checked = CheckedTexts::new(&texts);
        let prose = serde_json::to_string(&prose).unwrap();
        for (line, secret) in [
            (
                format!(r#"{{"text":{prose},"api_token":"{random}"}}"#),
                &random[..],
            ),
            (
                format!(r#"{{"db_password":"Tr0ub4dor&3x","text":{prose}}}"#),
                "Tr0ub4dor",
            ),
            (
                format!(r#"{{"text":{prose},"note":"PASSWORD=Tr0ub4dor&3x"}}"#),
                "Tr0ub4dor",
            ),
        ] {
            let mut session = crate::SessionSecrets::default();
            let clean = redactor.clean_lines(&line, &checked, &mut session, &mut []);
            assert!(!clean.as_str().contains(secret), "{}", clean.as_str());
            assert!(clean.as_str().contains(&prose), "{}", clean.as_str());
        }
    }

    #[test]
    fn a_changed_text_is_searched_again() {
        let text = format!(
            "PASSWORD=Tr0ub4dor&3x and then {}",
            "some other words ".repeat(8)
        );
        let line = format!(r#"{{"text":"{text}"}}"#);
        assert_eq!(unchecked(&[&text], &line), [line.as_str()]);
    }
}
