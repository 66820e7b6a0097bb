//! Splits a prompt into the sentences that the user typed.

/// A longer line was pasted.
const LINE_CHARS_MAX: usize = 400;
/// Signs of a shell prompt and of a program's report at the start of a line.
const TERMINAL_SIGNS: [char; 10] = ['❯', '➜', '$', '✓', '✔', '✗', '✘', '⨯', '⎿', '%'];

/// Returns the sentences that the user typed, without code, quotations and pasted output.
///
/// What follows an announcement ("I got this feedback:") or a line of a terminal is somebody
/// else's text, or a list of tasks and cases. Only a list of rules is read.
pub(super) fn sentences(prompt: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut fenced = false;
    let mut lists_rules = false;
    for line in prompt.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let pasted = fenced
            || line.starts_with("    ")
            || line.starts_with('\t')
            || line.starts_with("E  ")
            || trimmed.contains("Error: ")
            || trimmed.contains("   ")
            || trimmed.starts_with(['>', '|', '$', '#', '<', '{', '[', '"', '\'', '“'])
            || trimmed.chars().count() > LINE_CHARS_MAX;
        if pasted || trimmed.is_empty() {
            continue;
        }
        if trimmed.starts_with(TERMINAL_SIGNS) {
            break;
        }
        let item = trimmed.trim_start_matches(['-', '*', '•']).trim_start();
        if is_numbered(item) && !lists_rules {
            continue;
        }
        lists_rules |= item.ends_with(':');
        let typed = split_announcement(item);
        sentences.extend(split_sentences(strip_number(typed)));
        if typed.len() < item.len() {
            break;
        }
    }
    sentences
}

/// Returns the part of a line before what it announces, which is the whole line if it announces
/// nothing or rules.
fn split_announcement(line: &str) -> &str {
    let starts_clause = |rest: &str| {
        rest.is_empty()
            || rest.starts_with(' ') && rest.trim_start().starts_with(char::is_uppercase)
    };
    let colon = line
        .match_indices([':', '：'])
        .find(|(at, sign)| starts_clause(&line[at + sign.len()..]))
        .map(|(at, _)| at);
    match colon {
        Some(at) if !announces_rules(&line[..at]) => {
            let start = line[..at]
                .rfind(['.', '!', '?', ';'])
                .map_or(0, |end| end + 1);
            line[..start].trim_end()
        }
        _ => line,
    }
}

/// Says whether words announce something that holds for good.
fn announces_rules(announcement: &str) -> bool {
    const WORDS: &[&str] = &[
        "rule", "convention", "guideline", "prefer", "remember", "note", "fyi", "important",
        "decision", "decided", "agreed", "from now on", "keep in mind", "know", "reference",
        "record", "reminder", "one thing", "one more thing", "policy", "standard", "general",
        "always", "never", "wrong", "no", "correction", "context for later", "requirement",
    ];
    let lower = announcement.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let text = format!(" {} ", words.join(" "));
    WORDS
        .iter()
        .any(|word| text.contains(&format!(" {word} ")) || text.contains(&format!(" {word}s ")))
}

/// Says whether a line is an item of a numbered list: an answer, a finding, a step.
fn is_numbered(line: &str) -> bool {
    strip_number(line).len() < line.len()
}

/// Returns an item of a list without its number: `2. `, `3) `, `b) `.
fn strip_number(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_letter = line.starts_with(|c: char| c.is_ascii_alphabetic());
    let (number, signs): (usize, &[char]) = match (digits, is_letter) {
        (0, true) => (1, &[')']),
        (digits, _) => (digits, &['.', ')']),
    };
    let rest = &line[number..];
    match rest.strip_prefix(signs) {
        Some(item) if number > 0 && item.starts_with(' ') => item.trim_start(),
        _ => line,
    }
}

/// Splits at the ends of sentences. A period inside `main.rs` or `3.8` does not end one.
fn split_sentences(line: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, sign) in line.char_indices() {
        let end = at + sign.len_utf8();
        let ends = match sign {
            '.' | '!' | '?' | ';' => line[end..].chars().next().is_none_or(char::is_whitespace),
            '。' | '！' | '？' | '；' => true,
            _ => false,
        };
        if ends {
            sentences.push(line[start..end].trim().to_owned());
            start = end;
        }
    }
    sentences.push(line[start..].trim().to_owned());
    sentences.retain(|sentence| !sentence.is_empty());
    sentences
}
