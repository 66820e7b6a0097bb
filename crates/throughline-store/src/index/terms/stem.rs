//! Porter's stemmer for English: `migrations`, `migrated` and `migrating` are one term.

use std::borrow::Cow;

/// Returns the stem of a folded word. A word with other than English letters stays as it is.
pub fn stem(word: &str) -> Cow<'_, str> {
    let mut buffer = Vec::new();
    match stem_into(word, &mut buffer) {
        stemmed if stemmed != word => Cow::Owned(stemmed.to_owned()),
        _ => Cow::Borrowed(word),
    }
}

/// [`stem`] for many words: the buffer is used again instead of allocating one for each.
pub(super) fn stem_into<'s>(word: &'s str, buffer: &'s mut Vec<u8>) -> &'s str {
    if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    buffer.clear();
    buffer.extend_from_slice(word.as_bytes());
    let mut stem = Stem(buffer);
    stem.plural();
    stem.past();
    stem.y_to_i();
    stem.rules(LONG_ENDINGS, 0);
    stem.rules(SHORT_ENDINGS, 0);
    stem.last_endings();
    stem.tidy();
    std::str::from_utf8(buffer).unwrap_or(word)
}

const LONG_ENDINGS: &[(&str, &str)] = &[
    ("ational", "ate"),
    ("ization", "ize"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("tional", "tion"),
    ("biliti", "ble"),
    ("entli", "ent"),
    ("ousli", "ous"),
    ("ation", "ate"),
    ("alism", "al"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("abli", "able"),
    ("alli", "al"),
    ("ator", "ate"),
    ("logi", "log"),
    ("bli", "ble"),
    ("eli", "e"),
];

const SHORT_ENDINGS: &[(&str, &str)] = &[
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ness", ""),
    ("ful", ""),
];

const LAST_ENDINGS: &[&str] = &[
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous",
    "ive", "ize", "ion", "al", "er", "ic", "ou",
];

struct Stem<'b>(&'b mut Vec<u8>);

impl Stem<'_> {
    fn plural(&mut self) {
        if self.ends("sses") || self.ends("ies") {
            self.0.truncate(self.0.len() - 2);
        } else if self.ends("s") && !self.ends("ss") {
            self.0.pop();
        }
    }

    fn past(&mut self) {
        if self.ends("eed") {
            if measure(self.before("eed")) > 0 {
                self.0.pop();
            }
            return;
        }
        let Some(ending) = ["ed", "ing"]
            .into_iter()
            .find(|ending| self.ends(ending) && has_vowel(self.before(ending)))
        else {
            return;
        };
        self.0.truncate(self.0.len() - ending.len());
        if self.ends("at") || self.ends("bl") || self.ends("iz") {
            self.0.push(b'e');
        } else if ends_double(self.0) && !matches!(self.0.last(), Some(b'l' | b's' | b'z')) {
            self.0.pop();
        } else if measure(self.0) == 1 && ends_short(self.0) {
            self.0.push(b'e');
        }
    }

    fn y_to_i(&mut self) {
        if self.ends("y")
            && has_vowel(self.before("y"))
            && let Some(last) = self.0.last_mut()
        {
            *last = b'i';
        }
    }

    /// Replaces the first ending that matches, if the measure of the rest is above `above`.
    fn rules(&mut self, rules: &[(&str, &str)], above: usize) {
        if let Some((ending, by)) = rules.iter().find(|(ending, _)| self.ends(ending))
            && measure(self.before(ending)) > above
        {
            self.0.truncate(self.0.len() - ending.len());
            self.0.extend_from_slice(by.as_bytes());
        }
    }

    fn last_endings(&mut self) {
        let Some(ending) = LAST_ENDINGS.iter().find(|ending| self.ends(ending)) else {
            return;
        };
        let before = self.before(ending);
        let fits = *ending != "ion" || matches!(before.last(), Some(b's' | b't'));
        if fits && measure(before) > 1 {
            self.0.truncate(self.0.len() - ending.len());
        }
    }

    fn tidy(&mut self) {
        if self.ends("e") {
            let before = self.before("e");
            if measure(before) > 1 || (measure(before) == 1 && !ends_short(before)) {
                self.0.pop();
            }
        }
        if self.ends("ll") && measure(self.0) > 1 {
            self.0.pop();
        }
    }

    fn ends(&self, ending: &str) -> bool {
        // The last letter rules out nearly all endings.
        self.0.last() == ending.as_bytes().last() && self.0.ends_with(ending.as_bytes())
    }

    fn before(&self, ending: &str) -> &[u8] {
        &self.0[..self.0.len() - ending.len()]
    }
}

fn is_vowel(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => at > 0 && !is_vowel(word, at - 1),
        _ => false,
    }
}

fn has_vowel(word: &[u8]) -> bool {
    (0..word.len()).any(|at| is_vowel(word, at))
}

/// Counts the vowel-consonant pairs, which is Porter's measure of a word.
fn measure(word: &[u8]) -> usize {
    let mut count = 0;
    let mut after_vowel = false;
    for at in 0..word.len() {
        let vowel = is_vowel(word, at);
        if after_vowel && !vowel {
            count += 1;
        }
        after_vowel = vowel;
    }
    count
}

fn ends_double(word: &[u8]) -> bool {
    let len = word.len();
    len >= 2 && word[len - 1] == word[len - 2] && !is_vowel(word, len - 1)
}

/// Says whether a word ends consonant, vowel, consonant, as in `hop`.
fn ends_short(word: &[u8]) -> bool {
    let len = word.len();
    len >= 3
        && !is_vowel(word, len - 3)
        && is_vowel(word, len - 2)
        && !is_vowel(word, len - 1)
        && !matches!(word[len - 1], b'w' | b'x' | b'y')
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn forms_of_one_word_meet() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("cats", "cat"),
            ("agreed", "agre"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("conflated", "conflat"),
            ("hopping", "hop"),
            ("falling", "fall"),
            ("filing", "file"),
            ("happy", "happi"),
            ("relational", "relat"),
            ("digitizer", "digit"),
            ("operator", "oper"),
            ("hopefulness", "hope"),
            ("electricity", "electr"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("probate", "probat"),
            ("controller", "control"),
            ("roll", "roll"),
        ] {
            assert_eq!(stem(word), expected, "{word}");
        }
    }

    #[test]
    fn what_is_no_english_word_stays() {
        for word in ["e0308", "as", "señores", "utf8s", ""] {
            assert_eq!(stem(word), word);
        }
    }
}
