//! Personal data: text that is not a credential but should not be repeated in another session.
//!
//! Personal data is not replaced. A text that holds some is tagged `sensitive`, which keeps it out
//! of injected context. Ordinary work is full of numbers and addresses (commit authors, loopback
//! and documentation addresses, versions, ids), so a number counts only where its checksum or the
//! word before it identifies it.

mod email;
mod number;

/// A kind of personal data.
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

/// Longer texts are files and logs. Only their start is searched, which bounds the cost.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Returns the kinds of personal data in a text, without duplicates. `own_folder` is a folder of
/// the user; their own name is not reported.
pub fn personal_data(text: &str, own_folder: Option<&str>) -> Vec<PersonalData> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let bytes = text.as_bytes();
    let mut kinds = Vec::new();
    let mut add = |kind: PersonalData| {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    if memchr::memchr_iter(b'@', bytes).any(|at| email::is_email(bytes, at)) {
        add(PersonalData::Email);
    }
    number::find(bytes, &mut add);
    if home_folder_names(text).any(|name| own_folder.is_none_or(|own| !own.contains(name))) {
        add(PersonalData::HomeFolder);
    }
    kinds.sort_unstable();
    kinds
}

/// Returns the names in paths such as `/home/first.last/…`, as companies name home folders.
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
