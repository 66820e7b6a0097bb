//! Names of files and folders, and the addresses that stand for them.

use std::ffi::OsStr;
use std::path::Path;

/// Returns the last component of a path; empty if there is none or it is not UTF-8.
pub(crate) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// Says whether a text has the form of a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns the path of a `file:` address; any other text is already a path.
pub(crate) fn path_of_uri(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let path = String::from_utf8_lossy(&percent_decode(rest)).into_owned();
    // `file:///C:/src` is `C:/src`: the slash before the drive belongs to the address.
    match path.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => path[1..].to_owned(),
        _ => path,
    }
}

/// Decodes escapes such as `%20`; a `%` without two hexadecimal digits stays.
pub(crate) fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_paths() {
        for (uri, expected) in [
            ("file:///home/d%C3%A9v/a%20b", "/home/dév/a b"),
            ("file:///c%3A/src", "c:/src"),
            ("/home/dev/100%", "/home/dev/100%"),
            ("file:///100%", "/100%"),
        ] {
            assert_eq!(path_of_uri(uri), expected);
        }
    }
}
