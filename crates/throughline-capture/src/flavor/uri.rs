//! Addresses of files.

/// Returns the path that a `file:` address stands for; a path stays as it is.
pub fn path_of_uri(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("file://") else {
        return uri.to_owned();
    };
    let path = percent_decode(rest);
    // `/C:/src` is a drive's path behind the address's own slash.
    match path.as_bytes() {
        [b'/', drive, b':', ..] if drive.is_ascii_alphabetic() => path[1..].to_owned(),
        _ => path,
    }
}

/// Decodes `%20` and its like.
fn percent_decode(text: &str) -> String {
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
    String::from_utf8_lossy(&bytes).into_owned()
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
