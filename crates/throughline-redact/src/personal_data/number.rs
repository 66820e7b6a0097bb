//! Numbers that identify a person: phones, cards, accounts, ids, addresses, dates of birth.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

use super::PersonalData;

/// Passes the kind of every number that identifies a person to `add`.
pub(super) fn find(bytes: &[u8], add: &mut impl FnMut(PersonalData)) {
    if let Some(patterns) = PATTERNS.as_ref() {
        for number in digit_runs(bytes).take(NUMBERS_MAX) {
            let from = number.start.saturating_sub(BEFORE_BYTES);
            let window = &bytes[from..(number.end + AFTER_BYTES).min(bytes.len())];
            for (kind, pattern, is_valid) in patterns {
                let mut found = pattern
                    .captures_iter(window)
                    .filter_map(|found| found.get(1));
                if found.any(|value| is_valid(window, value.start(), value.end())) {
                    add(*kind);
                }
            }
        }
    }
}

/// How many numbers of a text are checked, and how much text around each.
const NUMBERS_MAX: usize = 256;
const BEFORE_BYTES: usize = 48;
const AFTER_BYTES: usize = 40;

/// Returns the runs of digits with separators that are long enough to identify a person.
fn digit_runs(bytes: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    const DIGITS_MIN: usize = 7;
    const ADDRESS_DOTS: usize = 3;
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !bytes[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let start = at;
            let (mut digits, mut dots) = (0, 0);
            while let Some(&byte) = bytes.get(at) {
                match byte {
                    b'0'..=b'9' => digits += 1,
                    b'.' => dots += 1,
                    b' ' | b'(' | b')' | b'-' => {}
                    _ => break,
                }
                at += 1;
            }
            if digits >= DIGITS_MIN || dots >= ADDRESS_DOTS {
                return Some(start..at);
            }
        }
        None
    })
}

type NumberCheck = fn(&[u8], usize, usize) -> bool;
type NumberPattern = (PersonalData, Regex, NumberCheck);

static PATTERNS: LazyLock<Option<Vec<NumberPattern>>> = LazyLock::new(|| {
    let sources: [(PersonalData, &str, NumberCheck); 8] = [
        (
            PersonalData::Iban,
            r"\b([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?)\b",
            is_iban,
        ),
        (
            PersonalData::CardNumber,
            concat!(
                r"(?i)(?:card|visa|master|amex|pan|cc|charge|credit|debit|payment)[a-z_ .#]{0,16}",
                r"[\x22'\\]*\s*[:=#]?\s*[\x22'\\]*\s?(\d(?:[ -]?\d){12,18})\b"
            ),
            is_card,
        ),
        (
            PersonalData::Phone,
            concat!(
                r"(?i)(?:phone|mobile|mobil|tel|call me|cell|whatsapp|fax|handy|telefon|",
                r"contact number)[a-z_. -]{0,14}[\x22'\\]*\s*[:=]?\s*[\x22'\\]*",
                r"\s?(\+?\(?\d[\d ().-]{7,18}\d)"
            ),
            is_phone,
        ),
        (
            PersonalData::Phone,
            r"(?:^|[^\w.+])(\+\d{1,3}[ (][\d ().-]{7,16}\d)\b",
            is_phone,
        ),
        (
            PersonalData::NationalId,
            concat!(
                r"(?i)(?:ssn|social security|national insurance|nino|tax id|steuer-?id|",
                r"passport|\bnhs|national id|personalausweis|\bdni|aadhaar|\bsin\b)[a-z_ .#]{0,16}",
                r"[\x22'\\]*\s*[:=#]?\s*[\x22'\\]*\s?([A-Z]{0,2}\d[\d -]{6,14}[\dA-Z])\b"
            ),
            is_long_number,
        ),
        (
            PersonalData::IpAddress,
            concat!(
                r"(?i)(?:client|remote|peer|user|source|src|login|logged in|forwarded|visitor|",
                r"from)[a-z_ -]{0,12}[\x22'\\]*\s*[:=]?\s*(?:from)?\s*[\x22'\\]*",
                r"(\d{1,3}(?:\.\d{1,3}){3})\b"
            ),
            is_public_ip,
        ),
        (
            PersonalData::IpAddress,
            r"(?:^|[^\w.])(\d{1,3}(?:\.\d{1,3}){3}) (?:\S+ ){2}\[\d\d/",
            is_public_ip,
        ),
        (
            PersonalData::BirthDate,
            concat!(
                r"(?i)(?:date of birth|birth ?date|\bdob\b|born on|geburtsdatum|geboren am|",
                r"date de naissance)[\x22'\\]*\s*[:=]?\s*[\x22'\\]*\s?(\d{1,4}[-./ ]",
                r"\d{1,2}[-./ ]\d{1,4})\b"
            ),
            |_, _, _| true,
        ),
    ];
    let build = |(kind, source, check): (PersonalData, &str, NumberCheck)| {
        let pattern = RegexBuilder::new(source).unicode(false).build().ok()?;
        Some((kind, pattern, check))
    };
    sources.into_iter().map(build).collect()
});

fn digits(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u32> + '_ {
    bytes
        .iter()
        .filter(|b| b.is_ascii_digit())
        .map(|b| u32::from(b - b'0'))
}

/// Checks an IBAN modulo 97, as ISO 13616 defines it.
fn is_iban(bytes: &[u8], start: usize, end: usize) -> bool {
    let text: Vec<u8> = bytes[start..end]
        .iter()
        .copied()
        .filter(|b| *b != b' ')
        .collect();
    if !(15..=34).contains(&text.len()) {
        return false;
    }
    let before = bytes[start.saturating_sub(24)..start].to_ascii_lowercase();
    let is_named = ["iban", "account", "transfer", "konto", "bank"]
        .iter()
        .any(|word| memchr::memmem::find(&before, word.as_bytes()).is_some());
    let rest = text[4..]
        .iter()
        .chain(&text[..4])
        .fold(0_u32, |rest, &b| match b {
            b'0'..=b'9' => (rest * 10 + u32::from(b - b'0')) % 97,
            _ => (rest * 100 + u32::from(b.to_ascii_uppercase() - b'A') + 10) % 97,
        });
    rest == 1 || is_named
}

/// Checks the Luhn checksum.
fn is_card(bytes: &[u8], start: usize, end: usize) -> bool {
    let number = &bytes[start..end];
    let count = digits(number).count();
    let sum: u32 = digits(number)
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit) {
            (0, digit) => digit,
            (_, digit) if digit > 4 => digit * 2 - 9,
            (_, digit) => digit * 2,
        })
        .sum();
    (13..=19).contains(&count) && sum.is_multiple_of(10) && digits(number).any(|digit| digit > 0)
}

fn is_phone(bytes: &[u8], start: usize, end: usize) -> bool {
    let count = digits(&bytes[start..end]).count();
    let dots = bytes[start..end].iter().filter(|&&b| b == b'.').count();
    (8..=15).contains(&count) && dots <= 4
}

fn is_long_number(bytes: &[u8], start: usize, end: usize) -> bool {
    (8..=16).contains(&digits(&bytes[start..end]).count())
}

/// True for a public address: not private, not for documentation, not of a well-known resolver.
fn is_public_ip(bytes: &[u8], start: usize, end: usize) -> bool {
    let Ok(text) = std::str::from_utf8(&bytes[start..end]) else {
        return false;
    };
    let Ok(ip) = text.parse::<std::net::Ipv4Addr>() else {
        return false;
    };
    let [a, b, ..] = ip.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_resolver = matches!(
        text,
        "8.8.8.8" | "8.8.4.4" | "1.1.1.1" | "1.0.0.1" | "9.9.9.9"
    );
    !(ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || ip.is_broadcast()
        || ip.is_multicast()
        || a == 0
        || is_shared
        || is_resolver)
}
