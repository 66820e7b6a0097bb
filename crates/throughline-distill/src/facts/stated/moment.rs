//! Signs that a sentence belongs to the task at hand and not to the project.

/// Words that refer to the present or to a moment.
const TIMES: &[&str] = &[
    "now", "today", "tonight", "yesterday", "tomorrow", "yet", "again", "currently", "temporarily",
    "later", "still", "already", "just",
];

/// Phrases with one of these words that hold for good all the same.
const LASTING: &[&str] = &[
    "from now on", "are already pushed", "is already pushed", "in this repository", "in this repo",
    "in this project", "in this codebase", "in this monorepo", "in this workspace", "in this team",
    "this repository ", "this repo ", "this project ", "this codebase ", "this monorepo ",
    "of this repo", "of this project", "so that", "decided that", "agreed that", "important that",
    "make sure that", "now on",
];

/// Phrases that limit a sentence to the task at hand.
const TASK_PHRASES: &[&str] = &[
    "for now", "right now", "at the moment", "this time", "just this once", "this once", "so far",
    "since yesterday", "since noon", "since monday", "the first one", "the second one",
    "the other one", "option ", "the attached", "in line ", "on line ", "at line ", "the last ",
    "the next ", "changed my mind", "never mind", " we should ", " can we ", " can you ",
    " could you ", "user ", "you can always", "in the diff", "in the log below",
];

/// Beginnings of questions and of guesses.
const QUESTIONS: &[&str] = &[
    "why ", "how ", "what ", "which ", "where ", "who ", "do we ", "do you ", "does ", "did ",
    "is it ", "is there ", "are there ", "can ", "could ", "should we ", "should i ", "would ",
    "will ", "maybe ", "perhaps ", "i think ", "i guess ", "i believe ", "probably ", "what if ",
];

/// Words that begin a reason or a condition. What follows may refer back to the sentence itself.
const CLAUSES: &[&str] = &[
    " because ", " since ", " so that ", " otherwise ", " or else ", " unless ", " until ",
    ", it ", ", so ", ", as ", " if it ", " while ",
];

/// Fewer words before a comma are an introduction ("for dates, …"), not a clause.
const CLAUSE_WORDS_MIN: usize = 3;

/// Says whether a sentence asks, guesses, or refers to the task at hand.
pub(super) fn is_momentary(said: &str) -> bool {
    let is_question = said.contains('?') || QUESTIONS.iter().any(|start| said.starts_with(start));
    if is_question || said.contains(" maybe ") || said.contains(" i think ") {
        return true;
    }
    let mut text = format!("{said} ");
    for phrase in LASTING {
        text = text.replace(phrase, " ");
    }
    if TASK_PHRASES.iter().any(|phrase| text.contains(phrase)) {
        return true;
    }
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    if words(&text)
        .iter()
        .any(|word| TIMES.contains(&word.as_str()))
    {
        return true;
    }
    let main = main_clause(&text);
    points_at_something(&words(main)) || points_at_something_here(&words(main))
}

/// Returns a sentence up to its first reason, condition or second clause. A pronoun behind that may
/// refer to the first clause ("I hate barrel files, don't create them").
pub(super) fn main_clause(text: &str) -> &str {
    let reason = CLAUSES.iter().filter_map(|clause| text.find(clause)).min();
    let comma = text
        .find(", ")
        .filter(|end| text[..*end].split_whitespace().count() >= CLAUSE_WORDS_MIN);
    let end = reason.into_iter().chain(comma).min();
    end.map_or(text, |end| &text[..end])
}

/// Says whether a word of the main clause refers to something outside the sentence.
fn points_at_something(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        match word.as_str() {
            "it" | "them" | "here" | "there" | "above" | "below" => true,
            // "It" in "it's important to" was stripped before; these are other uses.
            "it's" | "that's" => true,
            "one" | "ones" => before.is_some_and(|word| {
                ["the", "this", "that", "other", "first", "second"].contains(&word)
            }),
            "first" | "second" | "third" | "other" => before == Some("the"),
            _ => false,
        }
    })
}

/// Says whether a demonstrative points at something; a relative clause does not.
fn points_at_something_here(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        match word.as_str() {
            "this" | "these" | "those" => true,
            "that" => !before.is_some_and(is_noun_before_relative_clause),
            _ => false,
        }
    })
}

/// Says whether "that" after this word begins a relative clause ("files that are generated").
fn is_noun_before_relative_clause(word: &str) -> bool {
    let is_plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss");
    let is_thing = [
        "code", "anything", "everything", "something", "text", "data", "logic",
    ];
    is_plural || is_thing.contains(&word)
}
