//! The forms of sentences that state a fact.
//!
//! Each function recognizes one form. They look at the beginning of a sentence, at its subject and
//! at its object, never at the subject matter, so that they apply to any project.

use memory::FactKind;
use memory::FactKind::{Decision, Note, Preference};

use super::moment::main_clause;
use super::words::{
    HABITS, IMPERATIVES, MADE, NARRATION, NOT_RULES, OUTPUTS, PERSONS, RECURRENCES, SCOPES,
    TROUBLE, WORK_PRODUCTS,
};

/// Returns which kind of fact a lower-cased sentence states, if it states one.
///
/// In text that was not typed by hand only forms count in which a person speaks of a choice.
pub(super) fn fact_kind(said: &str, is_typed: bool) -> Option<FactKind> {
    let sentence = Sentence::new(said);
    let spoken: &[Form] = &[
        (Decision, is_decision),
        (Preference, is_announced_rule),
        (Preference, is_taste),
    ];
    let typed: &[Form] = &[
        (Preference, is_standing_rule),
        (Preference, is_conditional_rule),
        (Preference, is_prohibition),
        (Preference, is_choice),
        (Preference, is_team_practice),
        (Preference, is_general_obligation),
        (Preference, is_lasting_imperative),
        (Note, is_location_or_tool),
    ];
    let typed = if is_typed { typed } else { &[] };
    spoken
        .iter()
        .chain(typed)
        .find(|(_, has_form)| has_form(&sentence))
        .map(|(kind, _)| *kind)
}

/// A kind of fact and the test of a sentence's form.
type Form = (FactKind, fn(&Sentence<'_>) -> bool);

/// Says whether the rest of a note ("remember that …") says something about the project.
pub(super) fn is_informative(said: &str) -> bool {
    let sentence = Sentence::new(said);
    let speaks_of_self = sentence.starts_with(&["i ", "i'm ", "you "]);
    sentence.words.len() >= 4 && !speaks_of_self && !sentence.has_trouble()
}

/// A lower-cased sentence and its words, without punctuation.
struct Sentence<'a> {
    text: &'a str,
    words: Vec<&'a str>,
}

impl<'a> Sentence<'a> {
    fn new(text: &'a str) -> Self {
        let text = text.trim().trim_end_matches(['.', '!', ',', ';', ':']);
        let words = text
            .split_whitespace()
            .map(|word| word.trim_matches(|c: char| ",;:()\"".contains(c)))
            .filter(|word| !word.is_empty())
            .collect();
        Self { text, words }
    }

    fn starts_with(&self, prefixes: &[&str]) -> bool {
        prefixes.iter().any(|prefix| self.text.starts_with(prefix))
    }

    fn contains(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.text.contains(phrase))
    }

    fn word(&self, at: usize) -> &'a str {
        self.words.get(at).copied().unwrap_or_default()
    }

    fn has_word(&self, choices: &[&str]) -> bool {
        self.words.iter().any(|word| choices.contains(word))
    }

    /// Returns the text behind the first of some prefixes.
    fn after(&self, prefixes: &[&str]) -> Option<Self> {
        let rest = prefixes
            .iter()
            .find_map(|prefix| self.text.strip_prefix(prefix))?;
        Some(Self::new(rest))
    }

    /// Says whether the sentence reports a state that will change, such as a failure.
    fn has_trouble(&self) -> bool {
        let main = Self::new(main_clause(self.text));
        main.has_word(TROUBLE)
    }
}

/// "We decided to …", "let's go with …", "we switched to …".
fn is_decision(sentence: &Sentence<'_>) -> bool {
    let chosen = sentence.after(&[
        "let's go with ", "lets go with ", "let us go with ", "we decided to ", "we decided on ",
        "we decided that ", "we decided against ", "we've decided to ", "we've decided on ",
        "we've decided against ", "we have decided ", "i decided to ", "i've decided to ",
        "we agreed to ", "we agreed on ", "we agreed that ", "decision: ", "decided: ", "agreed: ",
        "going with ", "we are going with ", "we're going with ", "we will go with ",
        "we'll go with ", "we settled on ", "we are sticking with ", "we're sticking with ",
        "we are sticking to ", "we're sticking to ", "we've chosen ", "we have chosen ",
        "we've settled on ", "we've agreed ", "the plan is to ", "we went with ", "we abandoned ",
        "we gave up on ", "we'll keep ", "we will keep ", "we chose ", "we picked ",
        "we opted for ", "we switched to ", "we switched from ", "we are switching to ",
        "we're switching to ", "we migrated to ", "we are migrating to ", "we're migrating to ",
        "we are moving to ", "we're moving to ", "we dropped support ", "we are dropping ",
        "we're dropping ", "we won't support ", "we will not support ",
        "we are not going to support ", "we're not going to support ", "we will use ",
        "we'll use ",
    ]);
    if let Some(chosen) = chosen {
        let is_vague = matches!(chosen.word(0), "" | "nothing" | "the" | "a" | "an" | "your")
            && !sentence.starts_with(&["decision: ", "decided: ", "we decided", "we've decided"])
            && !chosen.contains(&[" for ", " over ", " instead of "]);
        return !is_vague && chosen.word(0) != "nothing";
    }
    if sentence.starts_with(&["for "]) && sentence.contains(&[" we went with ", " we chose "]) {
        return true;
    }
    sentence
        .after(&["let's use ", "lets use "])
        .is_some_and(|chosen| {
            !matches!(chosen.word(0), "a" | "an" | "the" | "your") && chosen.words.len() > 1
        })
}

/// "From now on …", "as a rule …", "by default …".
fn is_announced_rule(sentence: &Sentence<'_>) -> bool {
    let introduced = sentence.after(&[
        "from now on", "going forward", "in future", "in the future", "as a rule", "in general",
        "generally", "by default", "at all times", "my preference is ",
    ]);
    introduced.is_some_and(|rule| rule.words.len() >= 2 && !rule.has_trouble())
}

/// "Always …", "never …", and the same words inside or at the end of a sentence.
fn is_standing_rule(sentence: &Sentence<'_>) -> bool {
    if ["always", "never"].contains(&sentence.word(0)) {
        let verb = sentence.word(1);
        let is_story = NARRATION.contains(&verb) || verb.is_empty();
        let is_rule = !is_story || verb == "ever";
        return is_rule && sentence.words.len() >= 3;
    }
    if sentence.starts_with(&[
        "let's always ", "let's never ", "lets always ", "lets never ",
    ]) {
        return true;
    }
    if sentence.starts_with(&["only ever ", "don't ever ", "do not ever ", "dont ever "]) {
        return true;
    }
    let ends = sentence.words.last().copied().unwrap_or_default();
    let subject = sentence.word(0);
    if PERSONS.contains(&subject) || NARRATION.contains(&subject) && subject != "we" {
        return is_advice(sentence);
    }
    if matches!(ends, "always" | "never") && subject != "why" {
        return sentence.words.len() >= 3 && !matches!(subject, "i" | "my");
    }
    if sentence.starts_with(&["make sure", "i always want ", "i want you to "]) {
        return sentence.has_word(&["always", "never"]);
    }
    // "Tests never hit the network", "comments always in English": a general subject.
    let adverb = sentence
        .words
        .iter()
        .position(|word| ["always", "never"].contains(word));
    adverb.is_some_and(|at| {
        let before = sentence.word(at.saturating_sub(1));
        let is_short_subject = (1..=4).contains(&at) && is_general_subject(subject);
        let is_general = is_plural(before) || ["is", "are", "must", "should"].contains(&before);
        is_short_subject && is_general && !sentence.has_trouble()
    })
}

/// "You should always …", "you must not …".
fn is_advice(sentence: &Sentence<'_>) -> bool {
    let advised = sentence.after(&["you should ", "you must ", "you have to ", "you may "]);
    if let Some(advice) = advised {
        let starts_as_rule = ["always", "never", "not", "only"].contains(&advice.word(0));
        return starts_as_rule && advice.words.len() >= 3;
    }
    // "You need to be on the VPN to reach the staging database": a precondition.
    sentence
        .after(&[
            "you need to be ", "you need to have ", "you need a ", "you need an ", "you need ",
        ])
        .is_some_and(|need| {
            need.word(0) != "to"
                && need.contains(&[
                    " to reach ", " to run ", " to build ", " to deploy ", " to access ",
                    " to use ", " to connect ", " to test ", " to start ", " to log in",
                ])
        })
}

/// Subjects that stand for all things of their kind: no article, no pronoun, no verb.
fn is_general_subject(word: &str) -> bool {
    let is_article = [
        "the", "a", "an", "my", "your", "his", "her", "their", "i", "we",
    ];
    word.chars().all(|c| c.is_alphabetic() || c == '-')
        && !word.is_empty()
        && !is_article.contains(&word)
        && !PERSONS.contains(&word)
        && !IMPERATIVES.contains(&word)
        && ![
            "if", "when", "because", "only", "just", "after", "before", "no",
        ]
        .contains(&word)
}

/// "When you add a route, also add …", "before every commit, run …", "for dates use UTC".
fn is_conditional_rule(sentence: &Sentence<'_>) -> bool {
    if sentence.starts_with(&[
        "whenever ", "every time you ", "each time you ", "any time you ",
    ]) {
        return sentence.word(1) != "i" && sentence.words.len() >= 5;
    }
    if sentence.starts_with(&[
        "before every ", "before each ", "before any ", "after every ", "after each ",
        "after changing ", "after editing ", "after adding ", "before committing",
        "before pushing", "before merging", "before opening ",
    ]) {
        return sentence.words.len() >= 4;
    }
    if let Some(activity) = sentence.after(&["when "]) {
        let verb = activity.word(0).strip_suffix("ing").unwrap_or_default();
        let is_habit = HABITS.iter().any(|habit| {
            verb == *habit
                || habit.strip_suffix('e') == Some(verb)
                || verb.strip_suffix('t').is_some_and(|verb| verb == *habit)
        });
        if is_habit && !verb.is_empty() {
            let directions = [
                "use", "run", "prefer", "always", "never", "write", "add", "don't",
            ];
            return activity.has_word(&directions) && activity.words.len() >= 4;
        }
    }
    let condition = sentence.after(&["when you ", "if you ", "before you ", "after you "]);
    if let Some(condition) = condition {
        let is_habit = HABITS.contains(&condition.word(0));
        return is_habit && condition.words.len() >= 4 && !condition.contains(&[" the bug"]);
    }
    let is_repeated = sentence.contains(&[
        " before every ", " before each ", " after every ", " after each ", " on every ",
        " for every ",
    ]);
    if is_repeated && IMPERATIVES.contains(&sentence.word(0)) && sentence.word(0) != "let's" {
        return true;
    }
    let Some(purpose) = sentence.after(&["for "]) else {
        return false;
    };
    let is_specific = [
        "the", "a", "an", "my", "your", "example", "instance", "some",
    ]
    .contains(&purpose.word(0));
    let directs = [
        "use", "prefer", "write", "run", "follow", "always", "never", "stick", "keep",
    ];
    !is_specific
        && purpose
            .words
            .iter()
            .take(6)
            .any(|word| directs.contains(word))
}

/// "Don't use mocks …", "stop adding …", "avoid …", "no emojis in …".
fn is_prohibition(sentence: &Sentence<'_>) -> bool {
    if let Some(rest) = sentence.after(&["don't ", "do not ", "dont "]) {
        let verb = rest.word(0);
        if NOT_RULES.contains(&verb) {
            return false;
        }
        if rest.starts_with(&["force push", "force-push"]) {
            return true;
        }
        // "The" points at one thing, unless all of it is meant.
        let article = rest.words.iter().take(4).position(|word| *word == "the");
        let is_one_thing =
            article.is_some_and(|at| !["whole", "entire"].contains(&rest.word(at + 1)));
        let is_place = rest.contains(&[" in the docs", " in the code", " to the ", " from the "]);
        return rest.words.len() >= 3 && (!is_one_thing || is_place && rest.word(1) != "the");
    }
    if let Some(rest) = sentence.after(&["stop "]) {
        let is_activity = rest.word(0).ends_with("ing");
        return is_activity && rest.word(1) != "the" && rest.words.len() >= 2;
    }
    if let Some(rest) = sentence.after(&["avoid "]) {
        return rest.words.len() >= 2 && rest.word(0) != "the";
    }
    let Some(rest) = sentence.after(&["no "]) else {
        return false;
    };
    let is_rule = rest.contains(&[" without ", ", please"]) || has_scope(rest.text);
    let reports = rest.has_word(&[
        "was", "were", "is", "are", "need", "idea", "problem", "longer", "found",
    ]);
    is_rule && !reports && rest.words.len() >= 2
}

/// "Use X, never Y", "use X instead of Y", "use X in the docs".
fn is_choice(sentence: &Sentence<'_>) -> bool {
    let Some(rest) = sentence.after(&["use ", "only use ", "we use "]) else {
        return false;
    };
    if matches!(rest.word(0), "a" | "an" | "your" | "my") {
        return false;
    }
    let rejections = [
        ", never ", ", not ", " not ", " instead of ", " over ", " rather than ",
    ];
    let rejection = rejections
        .iter()
        .filter_map(|word| rest.text.find(word).map(|at| at + word.len()))
        .min();
    if let Some(at) = rejection {
        let rejected = Sentence::new(&rest.text[at..]);
        let is_pointing = matches!(rejected.word(0), "" | "a" | "an" | "the" | "your" | "using");
        // "Use the logger, not print" is a choice, "use the value from …, not …" is a task.
        let chosen = Sentence::new(&rest.text[..at]);
        let is_long_description = rest.word(0) == "the" && chosen.words.len() > 3;
        return !is_pointing && !is_long_description;
    }
    has_scope(rest.text) && rest.word(0) != "the"
}

/// Says whether a text names a part of the project to which conventions apply.
fn has_scope(text: &str) -> bool {
    let text = format!("{text} ");
    SCOPES.iter().any(|scope| {
        [
            "in", "for", "in the", "for the", "in all", "for all", "into",
        ]
        .iter()
        .any(|preposition| {
            text.contains(&format!(" {preposition} {scope} "))
                || text.contains(&format!(" {preposition} {scope},"))
        })
    })
}

/// "I prefer …", "I want small commits", "I don't like …".
fn is_taste(sentence: &Sentence<'_>) -> bool {
    let liked = sentence.after(&[
        "i prefer ", "i'd prefer ", "i would prefer ", "i'd rather have ", "i'd rather use ",
        "i would rather have ", "i would rather use ", "we'd rather ", "we would rather ",
        "i like ", "i love ", "i dislike ", "i hate ", "i don't like ", "i do not like ",
        "i can't stand ", "we like ", "we prefer ", "prefer ",
    ]);
    if let Some(liked) = liked {
        return !["to", "the", "how", "your", ""].contains(&liked.word(0));
    }
    if let Some(habit) = sentence.after(&["i always ", "i usually ", "i normally "]) {
        let verbs = [
            "want", "use", "prefer", "review", "run", "write", "squash", "rebase", "do",
        ];
        return verbs.contains(&habit.word(0)) && habit.words.len() >= 2;
    }
    if let Some(expected) =
        sentence.after(&["i expect you to ", "i expect all ", "i expect every "])
    {
        return expected.words.len() >= 2;
    }
    if let Some(spared) = sentence.after(&["i don't need ", "i do not need "]) {
        return is_plural(spared.word(0)) && spared.words.len() >= 2;
    }
    if let Some(wish) = sentence.after(&["i'd like ", "i would like "]) {
        let is_general = wish
            .words
            .iter()
            .take(3)
            .any(|word| WORK_PRODUCTS.contains(word));
        return is_general && !["a", "an", "to", "you", "the", "your"].contains(&wish.word(0));
    }
    let wanted = sentence.after(&[
        "we want ", "i want ", "i always want ", "i don't want ", "i do not want ",
        "we don't want ",
    ]);
    wanted.is_some_and(|wanted| match wanted.word(0) {
        "to" => sentence.starts_with(&["i always want "]),
        "you" => wanted.has_word(&["always", "never"]),
        "the" | "your" => OUTPUTS.contains(&wanted.word(1)) && !wanted.has_word(&["to"]),
        "a" | "an" | "my" | "some" | "more" | "one" | "" => false,
        _ => wanted.words.len() >= 2,
    })
}

/// "We use …", "in this repo …", "our API is versioned …", "the team prefers …".
fn is_team_practice(sentence: &Sentence<'_>) -> bool {
    if sentence.starts_with(&[
        "in this repo", "in this project", "in this codebase", "in this monorepo",
        "our convention ", "the convention ", "our rule is ", "our policy is ", "the rule is ",
    ]) {
        return sentence.words.len() >= 5 && !sentence.has_trouble();
    }
    if let Some(rest) = sentence.after(&[
        "this project ", "this repo ", "this repository ", "this codebase ", "the project ",
        "the team ", "our team ", "the codebase ", "the repo ",
    ]) {
        let verbs = [
            "uses", "follows", "requires", "targets", "has", "prefers", "needs", "only", "never",
            "always", "supports", "runs", "avoids",
        ];
        return verbs.contains(&rest.word(0)) && !rest.has_trouble();
    }
    if let Some(rest) = sentence.after(&["we're using ", "we are using "]) {
        let points = ["the", "a", "an", "wrong", "your"];
        return !points.contains(&rest.word(0));
    }
    if let Some(rest) = sentence.after(&["we are a ", "we are an ", "we're a ", "we're an "]) {
        return rest.words.len() >= 2 && !rest.has_trouble();
    }
    if let Some(rest) = sentence.after(&["we have "]) {
        return is_number(rest.word(0)) && rest.words.len() >= 2 && !rest.has_trouble();
    }
    if let Some(rest) = sentence.after(&["we "]) {
        return is_practice(&rest);
    }
    let Some(rest) = sentence.after(&["our "]) else {
        return false;
    };
    let verb = rest.words.iter().take(5).any(|word| {
        [
            "is", "are", "runs", "run", "uses", "use", "lives", "live", "needs", "need",
        ]
        .contains(word)
    });
    verb && !rest.has_trouble() && !rest.has_word(&["customer", "since"])
}

/// Says whether the rest of "we …" tells what the team does as a habit.
fn is_practice(rest: &Sentence<'_>) -> bool {
    let verb = rest.word(0);
    if ["don't", "do"].contains(&verb) {
        let denied = if rest.word(1) == "not" {
            rest.word(2)
        } else {
            rest.word(1)
        };
        let is_state = [
            "have", "know", "need", "see", "want", "get", "understand", "care",
        ];
        return !denied.is_empty() && !is_state.contains(&denied) && !rest.has_trouble();
    }
    // The past tense tells what happened, and these verbs tell of the task at hand.
    let is_past = verb.ends_with("ed") && !["need", "embed", "feed"].contains(&verb);
    let is_task = [
        "need", "should", "could", "would", "can", "can't", "must", "may", "might", "have", "had",
        "were", "are", "got", "get", "see", "saw", "will", "won't", "found", "lost", "broke",
        "think", "know", "hope", "still", "also", "did", "didn't", "made", "want", "'re", "went",
    ];
    let object = rest.word(1);
    let is_one_thing = object == "the" && !["follow", "use", "keep", "support"].contains(&verb);
    let is_report = verb == "keep" && object.ends_with("ing") || object == "into";
    if is_one_thing || is_report {
        return false;
    }
    let is_verb =
        verb.chars().all(char::is_alphabetic) && (!verb.ends_with("ly") || verb == "only");
    is_verb && !is_past && !is_task.contains(&verb) && rest.words.len() >= 2 && !rest.has_trouble()
}

fn is_number(word: &str) -> bool {
    let numbers = [
        "one", "two", "three", "four", "five", "six", "several", "separate",
    ];
    numbers.contains(&word) || word.parse::<u32>().is_ok()
}

/// "All dates are stored in UTC", "commits should follow …", "the tests must be run with …".
fn is_general_obligation(sentence: &Sentence<'_>) -> bool {
    let subject = sentence.word(0);
    let verb =
        sentence.words.iter().take(7).position(|word| {
            ["must", "should", "need", "needs", "have", "has", "may"].contains(word)
        });
    let Some(verb) = verb else {
        return false;
    };
    let subject_words = &sentence.words[..verb];
    let is_one_place = subject_words.windows(2).any(|pair| pair == ["in", "the"]);
    if verb == 0 || is_one_place || sentence.has_trouble() {
        return false;
    }
    let rest: Vec<_> = sentence.words[verb + 1..].to_vec();
    let next = rest.first().copied().unwrap_or_default();
    let is_perfect = matches!(sentence.words[verb], "have" | "has") && next != "to";
    if is_perfect || rest.len() < 2 {
        return false;
    }
    let head = sentence.words[verb - 1];
    // "Should" also describes what the program under work is to do; of what developers make it is
    // a convention.
    if sentence.words[verb] == "should" && !WORK_PRODUCTS.contains(&head) {
        return false;
    }
    if ["all", "every", "each", "any"].contains(&subject) {
        return subject != "all" || verb > 1 || rest.len() > 2;
    }
    // A plural without an article stands for all things of its kind ("commits should …").
    if is_general_subject(subject) && WORK_PRODUCTS.contains(&head) && verb <= 3 {
        return !matches!(sentence.words[verb], "need" | "may");
    }
    // Of one thing only how it is run or kept is a rule; what it must do is a task.
    let practice = rest.iter().take(4).any(|word| {
        [
            "run", "built", "started", "executed", "deployed", "formatted", "signed", "generated",
            "compiled", "installed", "committed", "stored", "kept",
        ]
        .contains(word)
    });
    subject == "the" && sentence.words[verb] != "should" && practice
}

/// "Name branches feature/TICKET": a task on all things of a kind, without an article anywhere.
fn is_product_imperative(sentence: &Sentence<'_>) -> bool {
    let articles = ["the", "a", "an", "my", "your", "all"];
    let verbs = [
        "name", "write", "document", "sort", "prefix", "sign", "put", "keep", "pin",
    ];
    verbs.contains(&sentence.word(0))
        && is_plural(sentence.word(1))
        && WORK_PRODUCTS.contains(&sentence.word(1))
        && !sentence.has_word(&articles)
        && sentence.words.len() >= 3
}

fn is_plural(word: &str) -> bool {
    word.len() > 3 && word.ends_with('s') && !word.ends_with("ss")
}

/// "Keep pull requests under 400 lines", "ask before …", "be concise".
fn is_lasting_imperative(sentence: &Sentence<'_>) -> bool {
    if sentence.starts_with(&["stick to ", "stick with "]) {
        return sentence.words.len() >= 3;
    }
    if let Some(rest) = sentence.after(&["follow ", "adhere to ", "conform to "]) {
        return !["the", "up", "my", "your", "a", ""].contains(&rest.word(0));
    }
    if let Some(rest) = sentence.after(&["you can assume ", "you may assume ", "assume "]) {
        return !["the", "a", "an", "i", "we", ""].contains(&rest.word(0));
    }
    if is_product_imperative(sentence) {
        return true;
    }
    let is_for_all = sentence
        .words
        .iter()
        .zip(sentence.words.iter().skip(1))
        .any(|(all, kind)| *all == "all" && WORK_PRODUCTS.contains(kind));
    if is_for_all && ["write", "put", "keep", "name", "document", "use"].contains(&sentence.word(0))
    {
        return !sentence.has_trouble();
    }
    if let Some(rest) = sentence.after(&["ask me before ", "ask before ", "ask me first before "]) {
        return !rest.words.is_empty();
    }
    if let Some(rest) = sentence.after(&["be "]) {
        let manners = [
            "concise", "brief", "terse", "explicit", "direct", "precise", "short",
        ];
        return manners.contains(&rest.word(0)) && rest.words.len() >= 2;
    }
    if let Some(rest) = sentence.after(&["keep "]) {
        let limits = [
            " under ", " below ", " small", " short", " up to date", " stable", " simple",
            " in sync",
        ];
        return rest.contains(&limits) && rest.word(0) != "it";
    }
    if let Some(rest) = sentence.after(&["only "]) {
        let actions = [
            "use", "commit", "deploy", "push", "merge", "run", "edit", "write", "touch",
        ];
        return actions.contains(&rest.word(0)) && rest.word(1) != "the" && rest.words.len() >= 3;
    }
    let starts_task = IMPERATIVES.contains(&sentence.word(0)) || sentence.word(0) == "refer";
    starts_task && sentence.contains(&[", never ", " never as "])
}

/// "The staging database is on port 5433", "CI runs on Node 20", "the docs are built with mkdocs".
fn is_location_or_tool(sentence: &Sentence<'_>) -> bool {
    if sentence.has_trouble() {
        return false;
    }
    if let Some(rest) = sentence.after(&["my "]) {
        let traits = [
            "name", "timezone", "time", "editor", "shell", "os", "role", "team", "username",
        ];
        return traits.contains(&rest.word(0)) && rest.has_word(&["is", "uses"]);
    }
    let is_owner = sentence.contains(&[" is responsible for ", " owns ", " maintains "]);
    let is_recurring = RECURRENCES.iter().any(|day| sentence.text.contains(day));
    let is_restricted = sentence.contains(&[
        " only run in ", " only runs in ", " only run on ", " only runs on ", " only works with ",
        " only supports ",
    ]);
    if is_owner || (is_recurring || is_restricted) && sentence.word(0) != "every" {
        return !PERSONS.contains(&sentence.word(0)) && sentence.word(0) != "i";
    }
    let names_part = sentence
        .after(&[
            "the default ", "the main ", "the production ", "the staging ", "the primary ",
        ])
        .is_some_and(|rest| ["is", "are"].contains(&rest.word(1)) && rest.words.len() <= 5);
    if names_part {
        return true;
    }
    let describes_project = sentence
        .after(&[
            "the repo is ", "the repository is ", "the project is ", "the codebase is ",
        ])
        .is_some_and(|rest| ["a", "an"].contains(&rest.word(0)));
    let has_own = ["every", "each"].contains(&sentence.word(0))
        && sentence.contains(&[" has its own ", " gets its own ", " have their own "]);
    let is_required =
        sentence.contains(&[" is required for ", " is required to ", " are required "]);
    if describes_project || has_own || is_required || is_work_product_convention(sentence) {
        return true;
    }
    let subject = sentence.words.iter().take(4).any(|word| {
        [
            "error", "problem", "bug", "issue", "button", "output", "result", "function", "line",
            "failure", "warning", "diff", "difference", "question", "answer", "user", "customer",
        ]
        .contains(word)
    });
    let first = sentence.word(0);
    let is_subject = first == "the" || is_general_subject(first);
    if subject || !is_subject {
        return false;
    }
    // The subject may have several words ("the integration tests need Docker").
    (1..sentence.words.len().min(5)).any(|at| {
        let is_one_predicate = !["and", "or", "let's", "to"].contains(&sentence.words[at - 1]);
        is_one_predicate && states_place_or_tool(&sentence.words[at..], first)
    })
}

/// "Database columns are snake_case", "logging goes through tracing, not println".
fn is_work_product_convention(sentence: &Sentence<'_>) -> bool {
    let first = sentence.word(0);
    if !is_general_subject(first) {
        return false;
    }
    let head = sentence
        .words
        .iter()
        .take(3)
        .position(|word| WORK_PRODUCTS.contains(word));
    let is_convention = head.is_some_and(|at| {
        let head = sentence.words[at];
        let verb = sentence.word(at + 1);
        is_plural(head) && ["are", "use", "follow", "get", "have"].contains(&verb)
    });
    let rejects = sentence.text.find(", not ").is_some_and(|at| {
        let rejected = Sentence::new(&sentence.text[at + 6..]);
        !["the", "a", "an", ""].contains(&rejected.word(0)) && rejected.words.len() <= 4
    });
    let is_predicate = sentence.words.iter().take(4).any(|word| {
        [
            "goes", "go", "is", "are", "uses", "use", "comes", "come", "runs", "run",
        ]
        .contains(word)
    });
    (is_convention || rejects && is_predicate) && sentence.words.len() >= 4
        || is_convention && sentence.words.len() == 3 && sentence.word(2).contains(['_', '-'])
}

/// Says whether a predicate tells where something is, or with which tool it is made or run.
fn states_place_or_tool(predicate: &[&str], subject: &str) -> bool {
    let Some((verb, rest)) = predicate.split_first() else {
        return false;
    };
    let next = rest.first().copied().unwrap_or_default();
    let object = rest.get(1).copied().unwrap_or_default();
    let prepositions = [
        "in", "on", "at", "with", "from", "to", "by", "under", "into",
    ];
    let has_concrete_object = rest.iter().skip(1).any(|word| is_concrete(word));
    match *verb {
        "is" | "are" if prepositions.contains(&next) => has_concrete_object,
        "is" | "are" => {
            let is_made = MADE.contains(&next);
            is_made && (rest.len() >= 3 || next == "called")
                || subject != "the" && rest.last() == Some(&"everywhere")
                || subject == "all" && rest.len() <= 3 && !next.is_empty() && next != "good"
        }
        "lives" | "live" | "runs" | "resides" | "belongs" | "belong" => {
            prepositions.contains(&next) && !object.is_empty()
        }
        "go" | "goes" => ["in", "under", "into"].contains(&next) && !object.is_empty(),
        "start" => next == "with" && subject != "the" && predicate.len() <= 6,
        "happen" | "happens" => next == "every",
        "uses" | "requires" => is_tool(rest),
        "needs" | "need" => is_tool(rest) && rest.len() <= 4,
        _ => false,
    }
}

/// Says whether a word names a concrete thing: a path, a number, a region, a host.
fn is_concrete(word: &str) -> bool {
    word.contains('/')
        || word.contains("::")
        || word.chars().any(|c| c.is_ascii_digit())
        || word.contains('-')
        || word.trim_end_matches('.').contains('.')
}

fn is_tool(object: &[&str]) -> bool {
    let first = object.first().copied().unwrap_or_default();
    let vague = [
        "", "to", "a", "an", "the", "more", "work", "fixing", "help", "some", "your", "too",
    ];
    !vague.contains(&first)
}
