//! Text as a terminal lays it out: how many columns it takes, and where it continues.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Terminals move to the next multiple of this column at a tab.
const TAB_COLUMNS: usize = 8;

/// Returns the number of columns that a text without color codes takes.
pub(crate) fn display_width(text: &str) -> usize {
    text.width()
}

/// Truncates a text to `columns_max` columns, of which the last is then an ellipsis.
pub(crate) fn truncate(text: &str, columns_max: usize) -> String {
    if display_width(text) <= columns_max {
        return text.to_owned();
    }
    let mut head = String::new();
    let mut columns = 1;
    for c in text.chars() {
        columns += c.width().unwrap_or(0);
        if columns > columns_max {
            break;
        }
        head.push(c);
    }
    head + "…"
}

/// Truncates a path to `columns_max` columns at its start, so that the file's name stays. A part of
/// the path is kept whole where there is room.
pub(crate) fn truncate_start(path: &str, columns_max: usize) -> String {
    if display_width(path) <= columns_max {
        return path.to_owned();
    }
    let starts = path.char_indices().map(|(at, _)| at);
    let fits = |at: &usize| display_width(&path[*at..]) < columns_max;
    let Some(start) = starts.clone().find(fits) else {
        return "…".to_owned();
    };
    let parts = starts.filter(|at| *at >= start && path[*at..].starts_with('/'));
    let start = parts.min().unwrap_or(start);
    format!("…{}", &path[start..])
}

/// A word that is followed by two spaces and is not longer than this is a label.
const LABEL_COLUMNS_MAX: usize = 18;

/// Splits a line into rows of at most `columns` columns. A row continues at the indentation of its
/// line, or below the text beside a label. A longer word is left whole, so that a path or an
/// address can still be copied.
pub(crate) fn wrap_line(line: &str, columns: usize) -> Vec<String> {
    if line.len() <= columns && !line.contains('\t') {
        return vec![line.to_owned()];
    }
    let spaces = line.len() - line.trim_start_matches(' ').len();
    // A comment stays one, so that a configuration can be copied from the screen.
    let indent = match line.starts_with("# ") {
        true => "# ".to_owned(),
        false => " ".repeat(continuation(line, spaces, columns).min(columns / 2)),
    };
    let mut rows = Vec::new();
    let mut row = String::new();
    let mut width = 0;
    // Where the row can be split, and how wide it is up to there.
    let mut split: Option<(usize, usize)> = None;
    let mut in_escape = false;
    for c in line.chars() {
        if c == '\x1b' || in_escape {
            in_escape = c == '\x1b' || !c.is_ascii_alphabetic();
            row.push(c);
            continue;
        }
        let char_width = match c {
            '\t' => TAB_COLUMNS - width % TAB_COLUMNS,
            c => c.width().unwrap_or(0),
        };
        let is_space = matches!(c, ' ' | '\t');
        // Scripts with wide characters are written without spaces.
        if char_width == 2 && width > indent.len() {
            split = Some((row.len(), width));
        }
        if width + char_width > columns
            && !is_space
            && let Some((at, up_to)) = split.take()
        {
            let rest = row.split_off(at);
            rows.push(row.trim_end_matches(' ').to_owned());
            row = indent.clone() + &rest;
            width = indent.len() + (width - up_to);
        }
        row.push(c);
        width += char_width;
        if is_space && width > spaces.max(indent.len()) {
            split = Some((row.len(), width));
        }
    }
    rows.push(row.trim_end_matches(' ').to_owned());
    rows
}

/// Returns the column at which a line with this indentation continues. A word that has no room
/// beside the label takes a row of its own, from the indentation on.
fn continuation(line: &str, spaces: usize, columns: usize) -> usize {
    let text = &line[spaces..];
    let label = match text.find("  ") {
        Some(end) if !text[..end].ends_with(['.', ':', '!', '?']) => &text[..end],
        _ => return spaces,
    };
    let value = text[label.len()..].trim_start_matches(' ');
    let is_plain = label
        .bytes()
        .all(|byte| byte.is_ascii_graphic() || byte == b' ');
    let column = line.len() - value.len();
    let longest = value.split(' ').map(display_width).max().unwrap_or(0);
    match is_plain && label.len() <= LABEL_COLUMNS_MAX && column + longest <= columns {
        true => column,
        false => spaces,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, columns: usize, expected: &[&str]) {
        assert_eq!(wrap_line(line, columns), expected);
    }

    #[test]
    fn rows_continue_at_the_indentation() {
        check("  one two three", 9, &["  one two", "  three"]);
        check("# one two", 7, &["# one", "# two"]);
        check("one two ", 7, &["one two"]);
        check("", 7, &[""]);
    }

    #[test]
    fn rows_continue_below_the_text_beside_a_label() {
        let expected = ["log   one two", "      three"];
        check("log   one two three", 14, &expected);
        let expected = ["  a b  one two", "       three"];
        check("  a b  one two three", 15, &expected);
        check("log  /a/very/long/path", 12, &["log", "/a/very/long/path"]);
        check("Done.  The rest", 10, &["Done.  The", "rest"]);
    }

    #[test]
    fn long_words_stay_whole() {
        check(
            "see /a/very/long/path now",
            10,
            &["see", "/a/very/long/path", "now"],
        );
    }

    #[test]
    fn colors_take_no_room_and_wide_characters_take_two_columns() {
        check("\x1b[1mone\x1b[0m two", 5, &["\x1b[1mone\x1b[0m", "two"]);
        check("日本語テキスト", 8, &["日本語テ", "キスト"]);
        check("a\tb c", 10, &["a\tb", "c"]);
        assert_eq!(
            truncate_start("/home/dev/proj/src/main.rs", 17),
            "…/src/main.rs"
        );
        assert_eq!(truncate_start("/home/main.rs", 20), "/home/main.rs");
        assert_eq!(truncate_start("/a-very-long-name.rs", 8), "…name.rs");
        assert_eq!(truncate("日本語", 5), "日本…");
        assert_eq!(truncate("añb", 3), "añb");
        assert_eq!(truncate("añbc", 3), "añ…");
    }
}
