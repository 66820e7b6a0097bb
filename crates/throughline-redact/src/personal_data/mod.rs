//! Personal data: text that is nobody's secret key and still nothing to repeat in another session.
//!
//! Nothing is replaced here; a text with personal data is tagged `sensitive`, which leaves it out of what is
//! injected. Ordinary work is full of numbers and addresses (commit authors, loopback and documentation
//! addresses, versions, ids), so a number counts only where its checksum or the word before it says what
//! it is.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// What a text holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PersonalData {
    Email,
    Phone,
    Iban,
    CardNumber,
    NationalId,
    IpAddress,
    HomeFolder,
    BirthDate,
    Confidential,
}

impl PersonalData {
    pub fn name(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Phone => "phone",
            Self::Iban => "iban",
            Self::CardNumber => "card-number",
            Self::NationalId => "national-id",
            Self::IpAddress => "ip-address",
            Self::HomeFolder => "home-folder",
            Self::BirthDate => "birth-date",
            Self::Confidential => "confidential",
        }
    }
}

/// Longer texts are files and logs: only their start is looked at, so that the cost stays small.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Returns the kinds of personal data in a text, without duplicates. `own_folder` is a folder of the
/// user's own, whose name says nothing new.
pub fn personal_data(text: &str, own_folder: Option<&str>) -> Vec<PersonalData> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let bytes = text.as_bytes();
    let mut kinds = Vec::new();
    let mut add = |kind: PersonalData| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    if memchr::memchr_iter(b'@', bytes).any(|at| is_email(bytes, at)) {
        add(PersonalData::Email);
    }
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
    if home_folder_names(text).any(|name| own_folder.is_none_or(|own| !own.contains(name))) {
        add(PersonalData::HomeFolder);
    }
    kinds.sort_unstable();
    kinds
}

/// How many numbers of a text are looked at, and how much around each.
const NUMBERS_MAX: usize = 256;
const BEFORE_BYTES: usize = 48;
const AFTER_BYTES: usize = 40;

/// The stretches of digits and the signs between them that are long enough to identify somebody.
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
            r"(?i)(?:card|visa|master|amex|pan|cc|charge|credit|debit|payment)[a-z_ .#]{0,16}[\x22'\\]*\s*[:=#]?\s*[\x22'\\]*\s?(\d(?:[ -]?\d){12,18})\b",
            is_card,
        ),
        (
            PersonalData::Phone,
            r"(?i)(?:phone|mobile|mobil|tel|call me|cell|whatsapp|fax|handy|telefon|contact number)[a-z_. -]{0,14}[\x22'\\]*\s*[:=]?\s*[\x22'\\]*\s?(\+?\(?\d[\d ().-]{7,18}\d)",
            is_phone,
        ),
        (
            PersonalData::Phone,
            r"(?:^|[^\w.+])(\+\d{1,3}[ (][\d ().-]{7,16}\d)\b",
            is_phone,
        ),
        (
            PersonalData::NationalId,
            r"(?i)(?:ssn|social security|national insurance|nino|tax id|steuer-?id|passport|\bnhs|national id|personalausweis|\bdni|aadhaar|\bsin\b)[a-z_ .#]{0,16}[\x22'\\]*\s*[:=#]?\s*[\x22'\\]*\s?([A-Z]{0,2}\d[\d -]{6,14}[\dA-Z])\b",
            is_long_number,
        ),
        (
            PersonalData::IpAddress,
            r"(?i)(?:client|remote|peer|user|source|src|login|logged in|forwarded|visitor|from)[a-z_ -]{0,12}[\x22'\\]*\s*[:=]?\s*(?:from)?\s*[\x22'\\]*(\d{1,3}(?:\.\d{1,3}){3})\b",
            is_public_ip,
        ),
        (
            PersonalData::IpAddress,
            r"(?:^|[^\w.])(\d{1,3}(?:\.\d{1,3}){3}) (?:\S+ ){2}\[\d\d/",
            is_public_ip,
        ),
        (
            PersonalData::BirthDate,
            r"(?i)(?:date of birth|birth ?date|\bdob\b|born on|geburtsdatum|geboren am|date de naissance)[\x22'\\]*\s*[:=]?\s*[\x22'\\]*\s?(\d{1,4}[-./ ]\d{1,2}[-./ ]\d{1,4})\b",
            |_, _, _| true,
        ),
    ];
    let build = |(kind, source, check): (PersonalData, &str, NumberCheck)| {
        let pattern = RegexBuilder::new(source).unicode(false).build().ok()?;
        Some((kind, pattern, check))
    };
    sources.into_iter().map(build).collect()
});

/// True when the `@` is the middle of a person's address: no documentation domain, no machine, no bot,
/// and not the author of a commit, whom every log names.
fn is_email(bytes: &[u8], at: usize) -> bool {
    let local = bytes[..at].iter().rev().take(64);
    let local = local
        .take_while(|b| b.is_ascii_alphanumeric() || b"._%+-".contains(b))
        .count();
    let domain = bytes[at + 1..].iter().take(128);
    let domain = domain
        .take_while(|b| b.is_ascii_alphanumeric() || b".-".contains(b))
        .count();
    let (local, domain) = (&bytes[at - local..at], &bytes[at + 1..at + 1 + domain]);
    // A diff sign is no part of the name.
    let local = local
        .strip_prefix(b"+")
        .or(local.strip_prefix(b"-"))
        .unwrap_or(local);
    let Some(dot) = domain.iter().rposition(|&b| b == b'.') else {
        return false;
    };
    let is_domain = dot > 0
        && (2..=24).contains(&(domain.len() - dot - 1))
        && domain[dot + 1..].iter().all(u8::is_ascii_alphabetic);
    if local.len() < 2 || !is_domain || !local.iter().any(u8::is_ascii_alphabetic) {
        return false;
    }
    let start = at - local.len();
    // `user:password@host` and `git@host:path` are no addresses of people.
    let before = start.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let after = bytes.get(at + 1 + domain.len()).copied().unwrap_or(b' ');
    if b"/:@".contains(&before)
        || b"/:@".contains(&after) && after != b':'
        || after == b':' && local == b"git"
    {
        return false;
    }
    let is_one_of = |list: &[&str], text: &[u8]| {
        list.iter()
            .any(|one| text.eq_ignore_ascii_case(one.as_bytes()))
    };
    let is_machine = is_one_of(
        &[
            "git", "noreply", "no-reply", "root", "admin", "postgres", "support", "info", "bot",
            "user", "test", "hello", "contact", "security", "dev", "me", "you", "foo", "bar",
            "alice", "bob", "someone", "name", "email",
        ],
        local,
    );
    let ends = |tail: &str| {
        domain.len() >= tail.len()
            && domain[domain.len() - tail.len()..].eq_ignore_ascii_case(tail.as_bytes())
    };
    let is_documentation = [
        "example.com",
        "example.org",
        "example.net",
        ".test",
        ".example",
        ".invalid",
        ".local",
        ".localhost",
        "noreply.github.com",
        "users.noreply.github.com",
        "acme.com",
        "acme.dev",
        "foo.com",
        "bar.com",
        "domain.com",
        "email.com",
        "test.com",
        "company.com",
        "googlegroups.com",
        "gserviceaccount.com",
    ]
    .iter()
    .any(|tail| ends(tail));
    !is_machine
        && !is_documentation
        && !is_author_line(bytes, start)
        && !is_file_extension(&domain[dot + 1..])
}

/// True for the address of a commit's author, a package's maintainer or a signature: they are public.
fn is_author_line(bytes: &[u8], start: usize) -> bool {
    let line = bytes[..start]
        .iter()
        .rev()
        .take(96)
        .take_while(|&&b| b != b'\n')
        .count();
    let line = &bytes[start - line..start];
    [
        "Author",
        "author",
        "Commit",
        "Signed-off-by",
        "Co-authored-by",
        "Co-Authored-By",
        "Reviewed-by",
        "maintainer",
        "Maintainer",
        "Copyright",
        "copyright",
        "(c)",
        "user.email",
        "Merge:",
        "Tagger",
        "ssh-",
    ]
    .iter()
    .any(|word| memchr::memmem::find(line, word.as_bytes()).is_some())
}

/// `icon@2x.png`, `file@v1.ts`.
fn is_file_extension(ending: &[u8]) -> bool {
    [
        "png", "jpg", "jpeg", "svg", "gif", "ts", "js", "py", "rs", "json", "md", "css", "html",
        "webp", "service", "so", "whl", "gz", "lock", "local", "internal", "lan",
    ]
    .iter()
    .any(|one| ending.eq_ignore_ascii_case(one.as_bytes()))
}

fn digits(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u32> + '_ {
    bytes
        .iter()
        .filter(|b| b.is_ascii_digit())
        .map(|b| u32::from(b - b'0'))
}

/// Modulo 97, as ISO 13616 has it.
fn is_iban(bytes: &[u8], start: usize, end: usize) -> bool {
    let text: Vec<u8> = bytes[start..end]
        .iter()
        .copied()
        .filter(|b| *b != b' ')
        .collect();
    if !(15..=34).contains(&text.len()) {
        return false;
    }
    let said = bytes[start.saturating_sub(24)..start].to_ascii_lowercase();
    let is_named = ["iban", "account", "transfer", "konto", "bank"]
        .iter()
        .any(|word| memchr::memmem::find(&said, word.as_bytes()).is_some());
    let rest = text[4..]
        .iter()
        .chain(&text[..4])
        .fold(0_u32, |rest, &b| match b {
            b'0'..=b'9' => (rest * 10 + u32::from(b - b'0')) % 97,
            _ => (rest * 100 + u32::from(b.to_ascii_uppercase() - b'A') + 10) % 97,
        });
    rest == 1 || is_named
}

/// The Luhn checksum.
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

/// An address that belongs to somebody: not private, not for documentation, no version.
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

/// The names of people's home folders: `/home/first.last/…`, as companies write them.
fn home_folder_names(text: &str) -> impl Iterator<Item = &str> {
    ["/home/", "/Users/", "\\Users\\", "\\\\Users\\\\"]
        .into_iter()
        .flat_map(move |root| {
            memchr::memmem::find_iter(text.as_bytes(), root)
                .map(move |at| &text[at + root.len()..])
                .filter_map(|rest| {
                    let len =
                        rest.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c))?;
                    let name = &rest[..len];
                    let (first, last) = name.split_once('.')?;
                    let is_name = |part: &str| {
                        part.len() >= 2 && part.bytes().all(|b| b.is_ascii_lowercase())
                    };
                    (is_name(first) && is_name(last)).then_some(name)
                })
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, kinds: &[PersonalData]) {
        assert_eq!(
            personal_data(text, Some("/home/own.user/code")),
            kinds,
            "{text}"
        );
    }

    #[test]
    fn personal_data_is_found() {
        check(
            "customer: jo.larsen84@proton.me, plan: pro",
            &[PersonalData::Email],
        );
        check("call me at 726-540-1137", &[PersonalData::Phone]);
        check("tel +49 151 94896657 (office)", &[PersonalData::Phone]);
        check("IBAN DE89 3704 0044 0532 0130 00", &[PersonalData::Iban]);
        check("VISA 4539 1488 0343 6467", &[PersonalData::CardNumber]);
        check("ssn=306-81-8775", &[PersonalData::NationalId]);
        check("NHS number 479 498 9342", &[PersonalData::NationalId]);
        check("client_ip=104.44.14.200", &[PersonalData::IpAddress]);
        check(
            "93.101.191.88 - - [02/May/2026:10:11:12 +0000] \"GET /\" 200",
            &[PersonalData::IpAddress],
        );
        check(
            "open /Users/ravi.tanaka/projects/api",
            &[PersonalData::HomeFolder],
        );
        check("date of birth: 1984-05-17", &[PersonalData::BirthDate]);
    }

    #[test]
    fn ordinary_work_is_not() {
        for text in [
            "Author: Ada <ada.lovelace@corp-mail.net>",
            "Co-Authored-By: Claude <noreply@anthropic.com>",
            "user@example.com, git@github.com:acme/api.git, actions/checkout@v4",
            "127.0.0.1:8080 and 192.168.1.4 and version 5.70.678.5532",
            "snowflake 947050542438216324, order 2612495428854993",
            "ISBN 978-3-16-747381-0, RFC 1374 section 4.2",
            "/home/own.user/code/api and /home/runner/work",
            "994-25 tests passed in 4539 1488 ms",
            "client connected from 10.0.94.133",
        ] {
            check(text, &[]);
        }
    }
}
