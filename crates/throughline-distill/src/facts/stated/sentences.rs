//! Splits a prompt into the sentences that the user typed.

/// A longer line was pasted.
const LINE_CHARS_MAX: usize = 400;

/// Returns the sentences that the user typed, without code, quotations and pasted output.
pub(super) fn sentences(prompt: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut fenced = false;
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
            || trimmed.starts_with(['>', '|', '$', '#', '<', '{', '[', '"', '\'', '“'])
            || trimmed.chars().count() > LINE_CHARS_MAX;
        if pasted || trimmed.is_empty() {
            continue;
        }
        let item = trimmed.trim_start_matches(['-', '*', '•']).trim_start();
        sentences.extend(split_sentences(item));
    }
    sentences
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
