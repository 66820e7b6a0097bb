//! Words before a statement that are not part of it: "no, …", "remember that …", "also, please …".

/// Words that introduce a correction. The rest of the sentence must state a fact by itself.
#[rustfmt::skip]
const CORRECTIONS: &[&str] = &[
    "no, ", "no - ", "no – ", "no. ", "no! ", "no; ", "no: ", "hm no, ", "nope, ", "nope - ",
    "actually, ", "actually ", "wrong, ", "wrong: ", "that's wrong, ", "that's wrong: ",
    "that is wrong, ", "not like that, ", "that's not right, ", "that is not right, ",
    "that's not true, ", "that's incorrect, ", "that is incorrect, ", "you got that wrong: ",
    "you got that wrong, ", "that's not how we do it, ", "that is not how we do it, ",
];

/// Words that introduce a note.
#[rustfmt::skip]
const NOTES: &[&str] = &[
    "remember that ", "remember: ", "remember, ", "please remember that ", "please remember: ",
    "please remember ", "note for later: ", "for future reference, ", "for future reference: ",
    "for reference, ", "for reference: ", "for your information, ", "for your information: ",
    "keep in mind that ", "keep in mind: ", "please keep in mind that ", "bear in mind that ",
    "for the record, ", "for the record: ", "note that ", "please note that ", "please note: ",
    "don't forget that ", "do not forget that ", "never forget that ", "fyi, ", "fyi: ", "fyi - ",
    "fyi ", "just so you know, ", "just so you know: ", "one thing to know: ",
    "important to know: ", "good to know: ", "context for later: ", "be aware that ",
    "you should know that ", "so you know, ", "in case you wonder, ",
];

/// Words without meaning of their own at the beginning of a sentence.
#[rustfmt::skip]
const FILLERS: &[&str] = &[
    "please, ", "please ", "pls ", "also, ", "also ", "and ", "but ", "so, ", "so ", "ok, ", "ok ",
    "okay, ", "okay ", "hey, ", "hi, ", "hm, ", "well, ", "right, ", "yes, ", "yeah, ", "btw, ",
    "btw ", "by the way, ", "important: ", "rule: ", "reminder: ", "note: ", "one more thing: ",
    "it would be great if you ", "it would be nice if you ", "it's important to ",
    "it is important to ", "it's important that ", "it is important that ", "make sure that you ",
    "make sure you ", "make sure to ", "make sure that ", "make sure ", "be sure to ",
    "remember to ", "remember: ", "oh, ", "and please ",
];

/// A sentence without the words that introduce it.
pub(super) struct StatementLead<'a> {
    /// The statement itself, in the spelling of the user.
    pub statement: &'a str,
    pub is_correction: bool,
    pub is_note: bool,
    /// "Make sure", "important": the words that introduce orders of any duration.
    pub is_order: bool,
}

/// Splits the words that introduce a sentence from the statement in it.
pub(super) fn split_lead(sentence: &str) -> StatementLead<'_> {
    let (is_correction, rest) = strip_any(sentence.trim(), CORRECTIONS);
    let (mut is_note, mut rest) = strip_any(rest, NOTES);
    let mut is_order = false;
    while let (true, stripped) = strip_any(rest, FILLERS) {
        is_order |= starts_with_any(rest, &["make sure", "be sure", "remember to", "important"]);
        rest = stripped;
        let (is_late_note, stripped) = strip_any(rest, NOTES);
        is_note |= is_late_note;
        rest = stripped;
    }
    StatementLead {
        statement: rest,
        is_correction,
        is_note,
        is_order,
    }
}

fn strip_any<'a>(text: &'a str, prefixes: &[&str]) -> (bool, &'a str) {
    let found = prefixes.iter().find(|prefix| starts_with(text, prefix));
    let rest = found.map_or(text, |prefix| {
        // An apostrophe may be the typographic one, so the words are counted and not the bytes.
        let chars = prefix.chars().count();
        let end = text
            .char_indices()
            .nth(chars)
            .map_or(text.len(), |(at, _)| at);
        &text[end..]
    });
    (found.is_some(), rest.trim_start())
}

fn starts_with_any(text: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| starts_with(text, prefix))
}

/// Compares without regard to case and to the kind of apostrophe.
fn starts_with(text: &str, prefix: &str) -> bool {
    let mut chars = text.chars().map(|c| {
        if c == '’' {
            '\''
        } else {
            c.to_ascii_lowercase()
        }
    });
    prefix.chars().all(|c| chars.next() == Some(c))
}
