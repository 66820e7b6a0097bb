//! Quoting for shells.

/// Quotes a word so that a POSIX shell reads exactly this text. Control characters and invisible
/// characters are escaped as `$'…'`, which bash, zsh and ksh support.
pub(crate) fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if super::text::sanitize(word) == word && !word.contains(['\n', '\t']) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        let is_visible =
            c == '\u{fffd}' || super::text::sanitize(c.encode_utf8(&mut [0; 4])) == c.to_string();
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            c if is_visible && !matches!(c, '\n' | '\t') => quoted.push(c),
            c => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    quoted += &format!("\\{byte:03o}");
                }
            }
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[(&str, &str)] = &[
        ("/home/dev/proj", "/home/dev/proj"),
        ("4c5420d7-85c7", "4c5420d7-85c7"),
        ("", "''"),
        ("my project", "'my project'"),
        ("it's", r"'it'\''s'"),
        ("~", "'~'"),
        ("$(rm -rf /)`x`;&|<>*?!\"\\", "'$(rm -rf /)`x`;&|<>*?!\"\\'"),
        ("größe", "'größe'"),
        ("a\nb", r"$'a\012b'"),
        ("\u{1b}]0;'x\\\u{202e}", r"$'\033]0;\'x\\\342\200\256'"),
    ];

    #[test]
    fn words_are_quoted() {
        for (word, quoted) in WORDS {
            assert_eq!(quote(word), *quoted, "{word:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test runs a shell")]
    fn a_shell_reads_them_back() {
        for (word, _) in WORDS {
            let script = format!("printf %s {}", quote(word));
            let output = std::process::Command::new("bash")
                .args(["-c", &script])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), *word);
        }
    }
}
