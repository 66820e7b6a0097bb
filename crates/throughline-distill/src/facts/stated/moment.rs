//! Sure signs that a sentence holds only for the moment: questions, guesses, reports of others.

use super::tokens::{TaggedWord, tokens};
use super::words::FUNCTION_WORDS;

/// Beginnings of questions, guesses, hypotheses and reports.
#[rustfmt::skip]
const OPENINGS: &[&str] = &[
    "why ", "how ", "what ", "which ", "where ", "who ", "do we ", "do you ", "do i ", "does ",
    "did ", "is ", "are ", "can you ", "can we ", "can i ", "could ", "should we ", "should i ",
    "would ", "will ", "have you ", "has ", "maybe ", "perhaps ", "probably ", "apparently ",
    "i think ", "i guess ", "i believe ", "i assume ", "i suppose ", "i wonder ", "i heard ",
    "i read that ", "i remember ", "i see ", "i saw ", "i got ", "i get ", "i tried ", "i just ",
    "suppose ", "imagine ", "assume the ", "assume that ", "let us assume ", "say we ", "if we ",
    "if i ", "if it ", "if that ", "if not ", "if there ", "if nobody ", "looks like ", "it looks ",
    "it seems ", "seems ", "according to ", "as far as ", "back then ", "never mind", "he ", "she ",
    "they ", "somebody ", "someone ", "it would ", "what if ", "let me know", "let me see",
    "let us see", "let us try", "let us also ", "remind me", "tell me", "show me", "thanks",
    "sorry",
    "other projects ", "some people ", "other people ", "you never ", "you always ", "you left ",
    "you skipped ", "you said ", "do not worry", "do not forget to ", "in my last ", "we might ",
    "we could ", "we were ", "we used to ", "i used to ", "not sure", "i thought ", "i meant ",
    "i also ", "i did ", "i have just ", "if so ", "confirm ", "refer to ", "plan ", "for example ",
    "yes please", "there is also ", "there are also ", "there are some ", "there is a comment ",
    "i like the ", "i like how ", "i like that ", "i like this ", "i like it", "that is not the ",
    "there was ", "there were ", "there is just ", "no matching ", "no such ", "more ", "cool ",
    "consider ", "you have ", "you are a ", "as you ", "like for ", "one or more ", "oh ",
    "basically ", "definitely ", "for some reason ", "in addition ", "continue ", "spawn ",
];

/// Phrases that limit a sentence to the task at hand.
#[rustfmt::skip]
const PHRASES: &[&str] = &[
    " for now ", " right now ", " at the moment ", " for the moment ", " this time ", " this once ",
    " so far ", " today ", " tonight ", " tomorrow ", " yesterday ", " this morning ",
    " last night ", " last week ", " the last commit ", " your change ", " changed my mind ",
    " the attached ", " the first one ", " the second one ", " the other one ", " this one ",
    " that one ", " i am not sure ", " not sure if ", " do you think ", " what do you ",
    " can you ", " could you ", " for the time being ", " in the meantime ", " when you are done ",
    " this pr ", " this commit ", " this branch ", " this task ", " this session ", " this step ",
    " this file ", " this function ", " it again ", " that again ", " can we ", " and whether ",
    " temporarily ",
    " the user wants ", " the user said ", " the user asked ",
];

/// Phrases with one of these words that hold for good all the same.
const LASTING: &[&str] = &[" yesterday's ", " from today on ", " as of today "];

/// Says whether a sentence asks, guesses, quotes, or refers to the task at hand.
pub(super) fn is_momentary(sentence: &str) -> bool {
    let is_quoted =
        sentence.starts_with(['"', '“', '\'']) || sentence.matches('"').count() % 2 == 1;
    if sentence.contains('?') || is_quoted {
        return true;
    }
    let tokens = tokens(sentence);
    if is_single_task(&tokens)
        || is_command_line(&tokens)
        || is_complaint(&tokens)
        || describes_code(&tokens)
        || names_commit(&tokens)
        || names_line(&tokens)
    {
        return true;
    }
    let words: Vec<_> = tokens.into_iter().map(|token| token.word).collect();
    let text = format!(" {} ", words.join(" "));
    let opens = OPENINGS.iter().any(|start| text[1..].starts_with(start));
    let limits = PHRASES.iter().any(|phrase| text.contains(phrase));
    opens || limits && !LASTING.iter().any(|phrase| text.contains(phrase))
}

/// Says whether a sentence begins with a task ("add", "move", "fix") and no word of it says that
/// the task recurs.
fn is_single_task(tokens: &[TaggedWord]) -> bool {
    const RECURRING: &[&str] = &[
        "always", "never", "every", "each", "all", "any", "before", "after", "when", "whenever",
        "unless", "only", "everything", "anything", "everywhere", "default", "instead", "first",
    ];
    let is_task = tokens.first().is_some_and(|first| first.form == "TASK");
    is_task
        && !tokens
            .iter()
            .any(|token| RECURRING.contains(&token.word.as_str()))
}

/// Says whether a sentence is a command or a line of a log: options or paths, and no function word.
fn is_command_line(tokens: &[TaggedWord]) -> bool {
    tokens.iter().any(|token| token.form == "THING")
        && !tokens
            .iter()
            .any(|token| FUNCTION_WORDS.contains(&token.form))
}

/// Says whether a sentence speaks of a function or a type and does not begin as a rule does:
/// reviews and reports name parts of the code, rules seldom.
fn describes_code(tokens: &[TaggedWord]) -> bool {
    const RULES: &[&str] = &[
        "always", "never", "use", "prefer", "avoid", "do", "we", "our", "every", "all", "only",
    ];
    let begins_as_rule = tokens
        .first()
        .is_some_and(|first| RULES.contains(&first.word.as_str()));
    let codes = tokens.iter().filter(|token| token.form == "CODE").count();
    codes > 1 || codes == 1 && !begins_as_rule
}

/// Says whether a sentence names a commit by its hash.
fn names_commit(tokens: &[TaggedWord]) -> bool {
    tokens.iter().any(|token| {
        let bytes = token.word.as_bytes();
        (7..=40).contains(&bytes.len())
            && bytes.iter().all(u8::is_ascii_hexdigit)
            && bytes.iter().any(u8::is_ascii_digit)
            && bytes.iter().any(u8::is_ascii_alphabetic)
    })
}

/// "You broke the build": a report of what the agent did.
fn is_complaint(tokens: &[TaggedWord]) -> bool {
    matches!(tokens, [you, verb, ..] if you.word == "you"
        && ["-ED", "TROUBLE", "REPORT"].contains(&verb.form))
}

/// Says whether a sentence names a line of a file: `main.rs:88`, "in line 88". Line numbers change.
fn names_line(tokens: &[TaggedWord]) -> bool {
    let is_line = |word: &str| {
        let number = word.rsplit_once(':');
        number.is_some_and(|(file, line)| {
            file.contains('.')
                && !file.starts_with(|c: char| c.is_ascii_digit())
                && !file.contains("//")
                && file.rsplit('.').next().is_some_and(is_extension)
                && !line.is_empty()
                && line.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    tokens.iter().any(|token| is_line(&token.word))
        || tokens
            .windows(2)
            .any(|pair| pair[0].word == "line" && pair[1].form == "NUMBER")
}

/// Says whether the end of a name is that of a source file, and not of a host.
fn is_extension(end: &str) -> bool {
    const EXTENSIONS: &[&str] = &[
        "c", "cc", "cpp", "cs", "css", "go", "h", "html", "java", "js", "json", "jsx", "kt", "md",
        "php", "py", "rb", "rs", "scss", "sh", "sql", "swift", "toml", "ts", "tsx", "vue", "yaml",
        "yml",
    ];
    EXTENSIONS.contains(&end)
}
