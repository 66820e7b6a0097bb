//! Whether the files that a memory names have changed since it was made.

use std::path::Path;

use jiff::Timestamp;

/// Files of one memory that are asked about; each costs a look at the disk.
const FILES_MAX: usize = 4;
/// A longer word is no path.
const PATH_BYTES_MAX: usize = 200;

/// Returns the files a memory names that have changed since.
pub fn changed(
    text: &str,
    path: Option<&str>,
    at: Option<Timestamp>,
    changed_since: &dyn Fn(&Path, Timestamp) -> bool,
) -> Vec<String> {
    let Some(at) = at else {
        return Vec::new();
    };
    files(text, path)
        .into_iter()
        .filter(|file| changed_since(Path::new(file), at))
        .collect()
}

/// Returns the files that a memory names: the one it is about, and those its text mentions.
pub fn files(text: &str, path: Option<&str>) -> Vec<String> {
    let mut files: Vec<String> = path.map(str::to_owned).into_iter().collect();
    let separates = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;=|*".contains(c);
    for word in text.split(separates) {
        let word = word.trim_matches(|c: char| ".:!?".contains(c) || c.is_control());
        let word = word.split(':').next().unwrap_or(word);
        if files.len() >= FILES_MAX {
            break;
        }
        if is_path(word) && !files.iter().any(|file| file == word) {
            files.push(word.to_owned());
        }
    }
    files
}

/// Says whether a word is the name of a file with an ending, such as `src/main.rs`.
fn is_path(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let Some((stem, ending)) = name.rsplit_once('.') else {
        return false;
    };
    let letters = ending.chars().all(|c| c.is_ascii_alphanumeric());
    let starts = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    word.len() <= PATH_BYTES_MAX
        && !word.contains('\0')
        && !word.starts_with("//")
        && !stem.is_empty()
        && (1..=6).contains(&ending.len())
        && letters
        && starts
        && stem.contains(|c: char| c.is_alphanumeric())
        // "e.g" and "i.e" are no files.
        && stem.len() + ending.len() > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_text() {
        assert_eq!(
            files(
                "fixed src/a.rs:42 and `test_b.py`, see https://x.io.",
                Some("/p/c.go")
            ),
            ["/p/c.go", "src/a.rs", "test_b.py"]
        );
        assert_eq!(
            files("version 1.2.3, e.g. nothing. 3.14", None),
            Vec::<String>::new()
        );
    }

    #[test]
    fn only_what_changed_later_is_named() {
        let at = Timestamp::from_second(1_000).ok();
        let newer = |path: &Path, _: Timestamp| path.ends_with("a.rs");
        assert_eq!(changed("a.rs b.rs", None, at, &newer), ["a.rs"]);
        assert!(changed("a.rs", None, None, &newer).is_empty());
    }
}
