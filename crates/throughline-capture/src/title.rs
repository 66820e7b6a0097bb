//! The title of a session, made of a prompt.

/// The longest title, in characters.
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
    Some(title.chars().take(TITLE_CHARS_MAX).collect())
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
        assert_eq!(prompt_title(&"é".repeat(200)).unwrap().chars().count(), 120);
    }
}
