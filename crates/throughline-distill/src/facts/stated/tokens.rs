//! Splits a sentence into words and their forms.
//!
//! The form of a function word is the word itself, the form of a word of a known group is the
//! group's name, and that of any other word is its shape: a path, a name, a plural.

use super::words::{CONTRACTIONS, FUNCTION_WORDS, GROUPS};

/// A sentence has at most this many words; the rest is ignored.
const WORDS_MAX: usize = 48;

/// A word and its form. A comma is a word of its own.
pub(super) struct TaggedWord {
    pub word: String,
    pub form: &'static str,
}

/// Returns the words of a sentence, contractions as two words.
pub(super) fn tokens(sentence: &str) -> Vec<TaggedWord> {
    let mut tokens = Vec::new();
    let mut is_quoted = false;
    for raw in sentence.split_whitespace() {
        // The words of others say nothing about the sentence they are quoted in.
        let quotes = raw.matches(['"', '“', '”']).count();
        if quotes % 2 == 1 {
            is_quoted = !is_quoted;
            if is_quoted {
                tokens.push(TaggedWord {
                    word: "\"".to_owned(),
                    form: "QUOTATION",
                });
            }
            continue;
        }
        if is_quoted {
            continue;
        }
        let is_start = tokens.is_empty();
        let bare = raw.trim_matches(|c: char| ",;:.!?()\"“”*".contains(c));
        let lower = bare.to_lowercase().replace('’', "'");
        let full = CONTRACTIONS.iter().find(|(short, _)| *short == lower);
        match full {
            Some((_, words)) => tokens.extend(words.split(' ').map(|word| TaggedWord {
                word: word.to_owned(),
                form: form(word, word, is_start),
            })),
            None if bare.is_empty() => {}
            None => tokens.push(TaggedWord {
                form: form(&lower, bare, is_start),
                word: lower,
            }),
        }
        if raw.ends_with([',', ';', ':']) || matches!(raw, "-" | "–" | "—") {
            tokens.push(TaggedWord {
                word: ",".to_owned(),
                form: ",",
            });
        }
        if tokens.len() >= WORDS_MAX {
            break;
        }
    }
    tokens
}

/// Returns the form of a word, given in lower case and as it was written.
fn form(word: &str, written: &str, is_start: bool) -> &'static str {
    if let Some(function_word) = FUNCTION_WORDS.iter().find(|known| **known == word) {
        return function_word;
    }
    if let Some((group, _)) = GROUPS.iter().find(|(_, words)| words.contains(&word)) {
        return group;
    }
    let is_concrete = word.contains(|c: char| c.is_ascii_digit() || "/_`=@$<>\\".contains(c))
        || word.starts_with("--")
        || word.contains("::")
        || word.trim_matches('.').contains('.');
    let is_name = written.chars().skip(1).any(char::is_uppercase)
        || !is_start && written.starts_with(char::is_uppercase);
    if is_code(written) {
        "CODE"
    } else if word
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'%')
    {
        "NUMBER"
    } else if is_concrete {
        "THING"
    } else if is_name {
        "NAME"
    } else if word.len() > 4 && word.ends_with("ing") {
        "-ING"
    } else if word.len() > 4 && word.ends_with("ed") {
        "-ED"
    } else if word.len() > 4 && word.ends_with("ly") {
        "-LY"
    } else if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        "-S"
    } else {
        "OTHER"
    }
}

/// Says whether a word is the name of a function or a type of a program: `parseLine`, `RateLimiter`
/// with three parts, `close()`. Products have such names too (`GitHub`, `JavaScript`), with two.
fn is_code(written: &str) -> bool {
    let word = written.trim_matches('`');
    if word.len() > 2 && word.contains("()") {
        return true;
    }
    let name = word.rsplit('.').next().unwrap_or(word);
    let is_name = name.len() > 3 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let humps = name
        .as_bytes()
        .windows(2)
        .filter(|pair| !pair[0].is_ascii_uppercase() && pair[1].is_ascii_uppercase())
        .count();
    let starts_lower = name.starts_with(|c: char| c.is_ascii_lowercase());
    is_name && (humps >= 2 || humps == 1 && starts_lower && name.len() > 6)
}
