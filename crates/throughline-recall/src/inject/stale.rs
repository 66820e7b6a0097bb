//! Finds the files that a memory mentions and that have changed since it was made.
//!
//! After a decision, the session goes on to change files, often because of it. So only files that
//! changed after the session had ended make its memory doubtful.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};

/// Files of one memory that are checked; each costs a system call.
const FILES_MAX: usize = 4;
/// Longer words are not taken for paths.
const PATH_BYTES_MAX: usize = 200;

/// Logs may have times in whole seconds, and file systems round theirs.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(2);

/// Returns the files that a memory mentions and that have changed since its session ended.
/// `session_end` is called only if a file has changed since the memory was made.
pub(super) fn changed_files(
    text: &str,
    path: Option<&str>,
    at: Option<Timestamp>,
    session_end: &dyn Fn() -> store::Result<Option<Timestamp>>,
    changed_since: &dyn Fn(&Path, Timestamp) -> bool,
) -> store::Result<Vec<String>> {
    let Some(at) = at else {
        return Ok(Vec::new());
    };
    let mut files = mentioned_files(text, path);
    files.retain(|file| changed_since(Path::new(file), at));
    if files.is_empty() {
        return Ok(files);
    }
    let end = session_end()?.map_or(at, |end| end.max(at));
    let end = end.checked_add(CLOCK_SLACK).unwrap_or(end);
    files.retain(|file| changed_since(Path::new(file), end));
    Ok(files)
}

/// Returns the file that a memory is about and those that its text mentions.
pub(super) fn mentioned_files(text: &str, path: Option<&str>) -> Vec<String> {
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

/// Returns whether a word is a file name with an extension, such as `src/main.rs`.
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
        // "e.g" and "i.e" are not files.
        && stem.len() + ending.len() > 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_in_text() {
        assert_eq!(
            mentioned_files(
                "fixed src/a.rs:42 and `test_b.py`, see https://x.io.",
                Some("/p/c.go")
            ),
            ["/p/c.go", "src/a.rs", "test_b.py"]
        );
        assert_eq!(
            mentioned_files("version 1.2.3, e.g. nothing. 3.14", None),
            Vec::<String>::new()
        );
    }

    #[test]
    fn only_what_changed_later_is_named() {
        let at = Timestamp::from_second(1_000).ok();
        let newer = |path: &Path, _: Timestamp| path.ends_with("a.rs");
        let check = |text, at| changed_files(text, None, at, &|| Ok(None), &newer).unwrap();
        assert_eq!(check("a.rs b.rs", at), ["a.rs"]);
        assert!(check("a.rs", None).is_empty());
    }

    #[test]
    fn what_the_session_itself_changed_is_not_stale() {
        let second = |second: i64| Timestamp::from_second(second).unwrap();
        // The decision was made at 1,000, the session carried it out and ended at 2,000.
        let check = |written: i64| {
            let since = |_: &Path, at: Timestamp| second(written) > at;
            let end = || Ok(Some(second(2_000)));
            changed_files("a.rs", None, Some(second(1_000)), &end, &since).unwrap()
        };
        assert!(check(1_500).is_empty());
        assert!(check(2_001).is_empty());
        assert_eq!(check(3_000), ["a.rs"]);
    }
}
