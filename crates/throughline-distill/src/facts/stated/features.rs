//! The features of a sentence by which statements are told from everything else.
//!
//! The forms of neighbouring words, the subject, the verb and the object are the features, so that
//! "use pnpm, never npm" and "use ruff, never flake8" have nearly the same ones.

use super::leads::StatementLead;
use super::tokens::{TaggedWord, tokens};

/// A comma within this many words ends the introduction of a sentence ("when you add a route, …").
const INTRODUCTION_WORDS_MAX: usize = 14;
/// The subject of a sentence has at most this many words.
const SUBJECT_WORDS_MAX: usize = 7;

/// Returns the names of the features that a sentence has, each once.
pub(super) fn features(lead: &StatementLead<'_>) -> Vec<String> {
    let tokens = tokens(lead.statement);
    let mut names = Vec::new();
    let leads = [
        (lead.is_correction, "correction"),
        (lead.is_note, "note"),
        (lead.is_order, "order"),
    ];
    for (_, name) in leads.iter().filter(|(is_there, _)| *is_there) {
        names.push(format!("lead {name}"));
    }
    add_words(&tokens, &mut names);
    add_structure(&tokens, &mut names);
    add_references(&tokens, &mut names);
    let length = match tokens.len() {
        0..4 => "under 4",
        4..7 => "under 7",
        7..11 => "under 11",
        11..17 => "under 17",
        17..26 => "under 26",
        _ => "over 25",
    };
    names.push(format!("length {length}"));
    names.sort_unstable();
    names.dedup();
    names
}

/// Adds single words and their neighbours.
fn add_words(tokens: &[TaggedWord], names: &mut Vec<String>) {
    for token in tokens {
        names.push(format!("has {}", token.form));
        if token.word.chars().all(|c| c.is_alphabetic() || c == '\'') {
            names.push(format!("word {}", token.word));
        }
    }
    for pair in tokens.windows(2) {
        names.push(format!("pair {} {}", pair[0].form, pair[1].form));
    }
    for three in tokens.windows(3) {
        let [a, b, c] = [three[0].form, three[1].form, three[2].form];
        names.push(format!("three {a} {b} {c}"));
    }
    let form = |at: usize| tokens.get(at).map_or("END", |token| token.form);
    names.push(format!("opening {} {}", form(0), form(1)));
    names.push(format!("opening {} {} {}", form(0), form(1), form(2)));
    if let Some(token) = tokens.first() {
        names.push(format!("first {}", token.word));
    }
    if let Some(token) = tokens.last() {
        names.push(format!("last {}", token.form));
    }
    for clause in tokens.windows(3).filter(|three| three[0].word == ",") {
        names.push(format!("clause {} {}", clause[1].form, clause[2].form));
    }
}

/// Adds the introduction, and the subject, verb and object of the main clause.
fn add_structure(tokens: &[TaggedWord], names: &mut Vec<String>) {
    let mut main = tokens;
    let first = tokens.first().map_or("", |token| token.word.as_str());
    if INTRODUCTIONS.contains(&first) {
        let comma = tokens
            .iter()
            .take(INTRODUCTION_WORDS_MAX)
            .position(|token| token.word == ",");
        let second = tokens.get(1).map_or("END", |token| token.form);
        names.push(format!("introduction {first} {second}"));
        if let Some(comma) = comma {
            main = &tokens[comma + 1..];
            names.push(format!("introduction {first}"));
        }
    }
    let adverbs = leading_adverbs(main);
    let adverb = match adverbs {
        0 => "plain".to_owned(),
        count => main[..count]
            .iter()
            .map(|token| token.word.as_str())
            .collect::<Vec<_>>()
            .join("-"),
    };
    let rest = &main[adverbs..];
    let detached = if is_detached(tokens) {
        "lasting"
    } else {
        "bound"
    };
    let Some(verb) = rest.first() else {
        return;
    };
    let is_imperative = ["TASK", "HABIT", "PREFER", "use", "make", "be", "let"]
        .contains(&verb.form)
        && !rest.get(1).is_some_and(|next| FINITE.contains(&next.form))
        || adverbs > 0 && !FINITE.contains(&verb.form) && adverb != "only" && adverb != "no";
    if is_imperative {
        let object = object_kind(&rest[1..]);
        names.push(format!("imperative {adverb}"));
        names.push(format!("imperative {adverb} {}", verb.form));
        names.push(format!("imperative {adverb} object {object}"));
        names.push(format!("imperative {} object {object}", verb.form));
        names.push(format!("imperative {adverb} {} object {object}", verb.form));
        names.push(format!("imperative verb {}", verb.word));
        names.push(format!("imperative {adverb} {detached}"));
        names.push(format!("imperative {} {detached}", verb.form));
        names.push(format!("imperative object {object} {detached}"));
        names.push(format!("imperative {adverb} object {object} {detached}"));
        if main.len() < tokens.len() {
            names.push(format!("introduction {first} imperative {detached}"));
        }
        let has_contrast = contrast(rest);
        names.push(format!("imperative {} contrast {has_contrast}", verb.form));
        return;
    }
    let Some((subject, verb)) = subject_and_verb(main) else {
        names.push(format!("fragment {detached}"));
        return;
    };
    let next = main.get(verb + 1).map_or("END", |token| token.form);
    let after = main.get(verb + 2).map_or("END", |token| token.form);
    let verb = main[verb].form;
    names.push(format!("subject {subject}"));
    names.push(format!("subject {subject} verb {verb}"));
    names.push(format!("subject {subject} verb {verb} {next}"));
    names.push(format!("verb {verb} {next}"));
    names.push(format!("verb {verb} {next} {detached}"));
    names.push(format!("subject {subject} {detached}"));
    names.push(format!("subject {subject} verb {verb} {detached}"));
    names.push(format!("verb {verb} {next} {after}"));
    names.push(format!("subject {subject} contrast {}", contrast(main)));
}

/// Says whether no word of a sentence refers to the moment, to a failure or to something outside.
fn is_detached(tokens: &[TaggedWord]) -> bool {
    !tokens.iter().enumerate().any(|(at, token)| {
        let next = tokens.get(at + 1).map_or("END", |next| next.form);
        match token.word.as_str() {
            "this" | "that" | "these" | "those" => next != "PROJECT",
            "it" | "them" | "here" | "he" | "she" | "they" => at < 4,
            "now" => at.checked_sub(1).is_none_or(|at| tokens[at].word != "from"),
            _ => ["MOMENT", "TROUBLE", "GUESS", "REPORT", "SCREEN"].contains(&token.form),
        }
    })
}

/// Words that begin an introduction.
#[rustfmt::skip]
const INTRODUCTIONS: &[&str] = &[
    "when", "whenever", "if", "before", "after", "for", "in", "on", "to", "with", "at", "by", "as",
    "since", "because", "until", "unless", "from", "inside", "outside", "without", "while", "once",
];

/// Forms of verbs and auxiliaries that a subject stands before.
#[rustfmt::skip]
const FINITE: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "must", "should", "shall", "will", "would",
    "can", "could", "may", "might", "need", "needs", "do", "does", "did", "used", "uses", "wants",
    "LOCATED", "am",
];

/// Returns how many words before an imperative verb only modify it: "do not", "always", "never".
fn leading_adverbs(main: &[TaggedWord]) -> usize {
    let word = |at: usize| main.get(at).map_or("", |token| token.word.as_str());
    match (word(0), word(1), word(2)) {
        ("do", "not", "ever") => 3,
        ("do", "not", _) | ("never", "ever", _) | ("only", "ever", _) => 2,
        ("always" | "never" | "only" | "no", ..) => 1,
        _ => 0,
    }
}

/// Returns the kind of a clause's subject and the index of its verb.
fn subject_and_verb(main: &[TaggedWord]) -> Option<(String, usize)> {
    let first = main.first()?;
    let pronouns = ["we", "i", "you", "they", "he", "she", "it", "there"];
    if pronouns.contains(&first.form) {
        let adverbs = [
            "always", "never", "only", "also", "all", "MOMENT", "-LY", "STANDING",
        ];
        let verb = (1..main.len()).find(|at| !adverbs.contains(&main[*at].form))?;
        return Some((first.form.to_owned(), verb));
    }
    let is_verb = |token: &TaggedWord| FINITE.contains(&token.form) || token.form == "use";
    let verb = (1..main.len().min(SUBJECT_WORDS_MAX + 1))
        .find(|at| is_verb(&main[*at]))
        .or_else(|| {
            (1..main.len().min(SUBJECT_WORDS_MAX + 1)).find(|at| {
                ["-ED", "CHOSE", "MADE", "REPORT", "TROUBLE", "PREFER"].contains(&main[*at].form)
            })
        })?;
    let head = object_kind(&main[verb - 1..verb]);
    let determiner = match first.form {
        "the" | "a" | "an" | "our" | "my" | "your" | "every" | "each" | "all" | "any" | "no"
        | "this" | "that" | "these" | "those" | "its" | "their" => first.form,
        _ => "bare",
    };
    Some((format!("{determiner} {head}"), verb))
}

/// Returns the kind of a noun phrase by its first word.
fn object_kind(phrase: &[TaggedWord]) -> &'static str {
    let Some(token) = phrase.first() else {
        return "none";
    };
    match token.form {
        "the" => match phrase.get(1).map_or("END", |next| next.form) {
            "PRODUCTS" | "-S" => "the plural",
            "PLACE" | "PROJECT" | "STANDING" => "the place",
            _ => "the",
        },
        "a" | "an" | "one" | "two" | "some" => "a",
        "this" | "that" | "these" | "those" | "it" | "them" | "here" | "there" => "this",
        "my" | "our" | "your" | "me" | "us" => "my",
        "all" | "every" | "each" | "any" | "anything" | "everything" | "no" | "nothing" => "all",
        "PRODUCTS" | "-S" => "plural",
        "NAME" | "THING" | "LANGUAGE" => "name",
        "PLACE" | "PROJECT" => "place",
        "-ING" | "using" => "activity",
        "to" | "in" | "on" | "at" | "with" | "for" | "from" | "by" | "before" | "after"
        | "when" | "if" | "unless" | "without" | "into" | "about" => "preposition",
        _ => "other",
    }
}

/// Says whether a clause prefers one thing to another, and how.
fn contrast(main: &[TaggedWord]) -> &'static str {
    let mut before = "";
    for token in main {
        match (before, token.word.as_str()) {
            (",", "not" | "never" | "no") => return "not",
            ("instead", "of") | ("rather", "than") => return "instead",
            (_, "over") => return "over",
            _ => before = &token.word,
        }
    }
    "none"
}

/// Adds whether a sentence refers to something outside itself, in its main clause or in a reason.
fn add_references(tokens: &[TaggedWord], names: &mut Vec<String>) {
    let reasons = ["because", "since", "unless", "until", "so", "as", "while"];
    let mut clause = "main";
    for (at, token) in tokens.iter().enumerate() {
        let next = tokens.get(at + 1).map_or("END", |next| next.form);
        let before = at.checked_sub(1).map_or("START", |at| tokens[at].form);
        match token.word.as_str() {
            "," if at >= 3 => clause = "second",
            word if at > 0 && reasons.contains(&word) => clause = "reason",
            "this" | "these" | "those" if next != "PROJECT" => {
                names.push(format!("points this {clause}"));
            }
            "that" if !["-S", "PRODUCTS", "CHOSE", "so"].contains(&before) => {
                names.push(format!("points that {clause}"));
            }
            "it" | "them" | "here" | "he" | "she" | "they" | "there" => {
                names.push(format!("points it {clause}"));
            }
            "every" | "each" | "any" | "all" | "per" => {
                names.push(format!("recurs {} {next}", token.word));
                if at > 0 {
                    names.push("recurs".to_owned());
                }
            }
            "now" if before == "from" => names.push("from now on".to_owned()),
            _ if token.form == "MOMENT" => names.push(format!("moment {clause}")),
            _ if token.form == "TROUBLE" => names.push(format!("trouble {clause}")),
            _ => {}
        }
    }
}
