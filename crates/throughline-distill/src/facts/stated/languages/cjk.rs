//! Statements in Chinese and Japanese, whose words are not separated.

use memory::FactKind;

use super::rules::{CHINESE, JAPANESE};
use super::{Leads, strip_leads};

/// A statement has at least this many characters and at most so many.
const CHARS: std::ops::RangeInclusive<usize> = 6..=120;

/// The phrases by which statements of one language are recognised.
pub(super) struct PhraseRules {
    pub leads: Leads,
    /// Phrases that state something.
    pub phrases: &'static [(&'static str, FactKind)],
    /// A phrase of each list together state something.
    pub orders: &'static [(&'static [&'static str], &'static [&'static str])],
    /// Phrases that limit a sentence to the moment, to one file, to a failure or to a screen.
    pub momentary: &'static [&'static str],
}

/// Returns the statement of a sentence, without the words that introduce it.
pub(super) fn statement(sentence: &str) -> Option<(FactKind, &str)> {
    let rules = if sentence.chars().any(is_kana) {
        &JAPANESE
    } else {
        &CHINESE
    };
    let (announced, rest) = strip_leads(rules.leads, sentence);
    let is_momentary = rules.momentary.iter().any(|phrase| rest.contains(phrase));
    if is_momentary || !CHARS.contains(&rest.chars().count()) {
        return None;
    }
    let phrase = rules.phrases.iter().find(|(it, _)| rest.contains(it));
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| rest.contains(phrase));
    let is_order = rules.orders.iter().any(|(a, b)| has(a) && has(b));
    let kind = match (announced, phrase) {
        (Some(FactKind::Note), _) => FactKind::Note,
        (_, Some((_, kind))) => *kind,
        _ if is_order => FactKind::Preference,
        _ => return None,
    };
    Some((announced.unwrap_or(kind), rest))
}

/// Says whether a character belongs to Chinese or Japanese text.
pub(super) fn is_cjk(c: char) -> bool {
    is_kana(c) || ('\u{4e00}'..='\u{9fff}').contains(&c)
}

fn is_kana(c: char) -> bool {
    ('\u{3040}'..='\u{30ff}').contains(&c)
}
