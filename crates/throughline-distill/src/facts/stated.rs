//! Statements of the user that hold beyond the moment: preferences, decisions, notes, corrections.
//!
//! A prompt is split into sentences, without code, quotations and pasted text ([`mod@sentences`]).
//! Words that only introduce a sentence are put aside ([`leads`]), and questions, guesses and
//! sentences about the task at hand are sorted out ([`moment`]). A fitted classifier
//! ([`classifier`]) decides about the rest by the form of the sentence ([`features`]): "don't touch
//! that line" is an instruction, "never commit to main" is a preference. The recognizer prefers to
//! miss a fact over inventing one. In some other languages the certain forms are known
//! ([`languages`]).

pub mod classifier;
mod features;
mod languages;
mod leads;
mod moment;
mod sentences;
mod tokens;
mod words;

use memory::FactKind;
use memory::fact::WORDS_MAX;
use memory::hygiene::{self, InstructionPattern};

use self::leads::split_lead;
use self::sentences::sentences;

/// Only the beginning of a longer prompt is read: the rest is usually pasted.
pub(super) const PROMPT_BYTES_MAX: usize = 4 << 10;
/// A fact of fewer words carries no information.
const WORDS_MIN: usize = 3;
/// A prompt up to this length, without headings and tables, is typed by hand.
const TYPED_BYTES_MAX: usize = 1_200;
const TYPED_LINES_MAX: usize = 14;

/// Returns the statements of a prompt that hold beyond the moment.
///
/// Plans, reviews and task descriptions are pasted or written for one task: what they say in the
/// form of a rule describes that task. There only decisions count, and sentences that say
/// themselves that they hold for good.
pub fn statements(prompt: &str) -> Vec<(FactKind, String)> {
    let is_typed = is_typed(prompt);
    let prompt = &prompt[..prompt.floor_char_boundary(PROMPT_BYTES_MAX)];
    sentences(prompt)
        .into_iter()
        .filter(|sentence| is_typed || announces_choice(sentence))
        .filter_map(|sentence| statement(&sentence))
        .collect()
}

fn is_typed(prompt: &str) -> bool {
    let mut lines = prompt.lines();
    prompt.len() <= TYPED_BYTES_MAX
        && prompt.lines().count() <= TYPED_LINES_MAX
        && !prompt.contains("**")
        && !lines.any(|line| line.starts_with(['#', '|', '+', '⎿', '⏺', '●']))
}

/// Says whether a person speaks of a choice, which a task description seldom does.
fn announces_choice(sentence: &str) -> bool {
    const PHRASES: &[&str] = &[
        "we decided", "we've decided", "we have decided", "i decided", "we agreed", "we settled",
        "we chose", "we went with", "we switched", "we're sticking", "decision:", "from now on",
        "going forward", "as a rule", "i prefer ", "we prefer ", "i hate ", "never again",
    ];
    let lower = sentence.to_lowercase().replace('’', "'");
    PHRASES.iter().any(|phrase| lower.contains(phrase))
}

fn statement(sentence: &str) -> Option<(FactKind, String)> {
    if languages::is_foreign(sentence) {
        let (kind, text) = languages::statement(sentence)?;
        let is_fact =
            text.split_whitespace().count() <= WORDS_MAX && is_prose(text) && !is_hostile(text);
        return is_fact.then(|| (kind, text.to_owned()));
    }
    let lead = split_lead(sentence);
    let text = lead
        .statement
        .trim_end_matches(['.', '!', ',', ';', ':'])
        .trim();
    let words = text.split_whitespace().count();
    let is_short = (WORDS_MIN..=WORDS_MAX).contains(&words);
    if !is_short || !is_prose(text) || is_hostile(text) || is_momentary(sentence) {
        return None;
    }
    let kind = classifier::statement_kind(&sentence_features(sentence))?;
    let kind = match (lead.is_correction, lead.is_note) {
        (true, _) => FactKind::Correction,
        (false, true) => FactKind::Note,
        (false, false) => kind,
    };
    let text = strip_ignoring_case(text, "decision: ");
    Some((kind, text.to_owned()))
}

/// Returns the names of the features by which the classifier judges a sentence.
pub fn sentence_features(sentence: &str) -> Vec<String> {
    features::features(&split_lead(sentence))
}

/// Says whether a sentence clearly holds only for the moment, whatever the classifier says.
pub fn is_momentary(sentence: &str) -> bool {
    moment::is_momentary(split_lead(sentence).statement)
}

fn is_prose(text: &str) -> bool {
    // A redacted secret is of no use to anybody, and neither is a sentence around it.
    text.starts_with(|c: char| c.is_alphanumeric() || c == '`')
        && !["→", "->", "=>", "…", " | ", "[redacted:"]
            .iter()
            .any(|sign| text.contains(sign))
}

fn strip_ignoring_case<'a>(text: &'a str, prefix: &str) -> &'a str {
    match text.get(..prefix.len()) {
        Some(start) if start.eq_ignore_ascii_case(prefix) => &text[prefix.len()..],
        _ => text,
    }
}

/// A user may give standing orders, but not those that only an attacker would give.
fn is_hostile(said: &str) -> bool {
    match hygiene::instruction_pattern(&said.to_lowercase()) {
        None | Some(InstructionPattern::Standing) => false,
        Some(
            InstructionPattern::Override
            | InstructionPattern::Role
            | InstructionPattern::Order
            | InstructionPattern::Send
            | InstructionPattern::Hidden,
        ) => true,
    }
}

#[cfg(test)]
mod tests;
