//! The title of a session, made of a prompt.

/// The longest title, in characters, without the mark that it goes on.
const TITLE_CHARS_MAX: usize = 120;

/// Returns the first line of a prompt. A line that only announces the next one, such as "Implement
/// the following plan:", is joined with it.
pub(crate) fn prompt_title(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    // Headings and list items are announced without their marks.
    let next = lines
        .next()
        .map(|line| line.trim_start_matches(['#', '-', '*', ' ']));
    let title = match next {
        Some(next) if first.ends_with(':') && !next.is_empty() && !next.starts_with("```") => {
            format!("{first} {next}")
        }
        _ => first.to_owned(),
    };
    Some(shorten_title(&title))
}

/// Returns the first line of a text as a title; `None` if the text is blank.
pub(crate) fn first_line_title(text: &str) -> Option<String> {
    let line = text.trim_start().lines().next()?.trim_end();
    (!line.is_empty()).then(|| shorten_title(line))
}

/// Cuts a title that is too long after a word, and marks that it goes on.
fn shorten_title(title: &str) -> String {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((limit, _)) = title.char_indices().nth(TITLE_CHARS_MAX) else {
        return title;
    };
    // A text without spaces, such as Chinese, is cut anywhere.
    let is_behind_word = title[limit..].starts_with(' ');
    let space = title[..limit].rfind(' ').filter(|_| !is_behind_word);
    let end = space.filter(|at| at * 2 >= limit).unwrap_or(limit);
    format!("{}…", &title[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(prompt: &str, expected: Option<&str>) {
        assert_eq!(prompt_title(prompt).as_deref(), expected);
    }

    #[test]
    fn an_announcement_is_joined_with_what_it_announces() {
        check(
            "Implement the following plan:\n\n# Cache the index\n\n## Context",
            Some("Implement the following plan: Cache the index"),
        );
        check(
            "Fix this:\n- the flaky test",
            Some("Fix this: the flaky test"),
        );
        check("Fix this:\n```\nerror", Some("Fix this:"));
        check("\n  Fix the build\nand more", Some("Fix the build"));
        check("Fix this:", Some("Fix this:"));
        check(" \n", None);
    }

    #[test]
    fn a_long_title_ends_behind_a_word() {
        let shortened = |text: &str| first_line_title(text).unwrap();
        let words = "word ".repeat(23);
        assert_eq!(
            shortened(&format!("{words}please look\nat this")),
            format!("{words}…").replace(" …", "…")
        );
        assert_eq!(
            shortened(&format!("{words}12345 then")),
            format!("{words}12345…")
        );
        assert_eq!(shortened(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(shortened(&"é".repeat(200)), format!("{}…", "é".repeat(120)));
        assert_eq!(
            prompt_title(&format!("a {}", "é".repeat(200))).unwrap(),
            format!("a {}…", "é".repeat(118))
        );
        assert_eq!(first_line_title(" \n "), None);
    }
}
