//! Classification of single words of a shell command.

/// Returns the last component of a path.
pub(super) fn base_name(word: &str) -> &str {
    word.rsplit(['/', '\\']).next().unwrap_or(word)
}

/// Joins a path to the folder of a preceding `cd`, unless it is absolute or starts with a variable.
pub(super) fn join_path(folder: Option<&str>, path: &str) -> String {
    let is_absolute = path.starts_with(['/', '~', '$', '\\']) || path.get(1..2) == Some(":");
    match folder {
        Some(folder) if !is_absolute => format!("{}/{path}", folder.trim_end_matches('/')),
        _ => path.to_owned(),
    }
}

/// Recognizes `NAME=value` before a command.
pub(super) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// Recognizes `-c`, `-lc`, `-e`, `-Command` and the like, whose value is a program.
pub(super) fn is_command_option(word: &str) -> bool {
    let Some(option) = word.strip_prefix('-') else {
        return false;
    };
    option.eq_ignore_ascii_case("command")
        || option.len() <= 3 && option.ends_with(['c', 'e']) && !option.starts_with('-')
}

/// Says whether a character separates the parts of a word or of a program that may be paths.
pub(super) fn is_separator(c: char) -> bool {
    "'\"`();|&<>=,{}[]$@:#!".contains(c)
}

/// Recognizes `process.env` and `self.key`: names of values in a program.
pub(super) fn is_identifier_chain(name: &str) -> bool {
    let mut parts = name.split('.');
    name.contains('.')
        && parts.all(|part| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        })
}

/// Recognizes an argument that contains a program or prose rather than a path.
pub(super) fn is_text(word: &str) -> bool {
    word.contains(|c: char| c.is_whitespace() || "()'\"`".contains(c))
}

pub(super) fn is_path_like(word: &str) -> bool {
    word.contains(['/', '.', '~', '\\'])
}
