//! Where a byte-pair tokenizer cuts a text before it merges anything.
//!
//! The cuts are those of o200k as far as bytes tell: a word takes one space or mark before it
//! along, a capital behind a small letter starts a new word, marks take the line breaks behind
//! them along. Of non-ASCII text only the lead bytes are looked at, which name the script.

use super::bytes::{Byte, byte, skip, width};

/// What a piece is made of: the row of the weight table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Words in small letters: behind a space, behind one mark (`.`, `_` and `(` make the most
    /// merges), behind neither, or glued to a digit or another word as in identifiers, hashes and
    /// encoded bytes.
    LowerSpaced,
    LowerDotted,
    LowerScored,
    LowerOpened,
    LowerMarked,
    LowerBare,
    LowerGlued,
    /// Words that begin with capitals and go on in small letters.
    TitleSpaced,
    TitleMarked,
    TitleBare,
    TitleGlued,
    UpperSpaced,
    UpperMarked,
    UpperBare,
    UpperGlued,
    /// Three letters and more without a vowel: abbreviations, hashes.
    ClippedSpaced,
    Clipped,
    ClippedGlued,
    /// Latin words with letters beyond ASCII.
    Accented,
    /// Greek and Cyrillic.
    Cyrillic,
    /// Any other alphabet of two or three bytes a letter.
    Alphabetic,
    Kana,
    Han,
    Hangul,
    Digits,
    /// Four marks and more of one kind: rules, borders.
    MarkRun,
    Marks,
    MarksSpaced,
    /// Typographic marks, arrows, box drawing.
    Symbols,
    SymbolRun,
    /// Marks of East Asian text.
    WideMarks,
    Emoji,
    Spaces,
    /// White space up to its last line break.
    Breaks,
}

pub const CLASSES: usize = Class::Breaks as usize + 1;

/// Marks of one kind merge into long tokens from this many on.
const RUN_MARKS_MIN: usize = 4;

/// What a word or mark finds directly before it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Space,
    /// A single mark, which the word takes along.
    Mark(u8),
    Nothing,
    Glue,
}

/// Calls `piece` with the class of each piece of a text and its length in characters.
#[inline]
pub fn pieces(text: &str, mut piece: impl FnMut(Class, usize)) {
    let bytes = text.as_bytes();
    let mut before = Before::Nothing;
    // A single mark of East Asian text goes with the letters behind it.
    let mut wide_mark = false;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match byte(bytes, at) {
            Byte::Lower | Byte::Vowel | Byte::Upper | Byte::UpperVowel | Byte::Latin => {
                let word;
                (word, at) = Word::at(bytes, start);
                piece(word.class(before), word.chars);
                before = Before::Glue;
            }
            Byte::Digit => {
                // Digits take nothing along: the space or mark before them stands alone.
                match before {
                    Before::Space => piece(Class::Spaces, 1),
                    Before::Mark(_) => piece(Class::Marks, 1),
                    Before::Nothing | Before::Glue => {}
                }
                at = skip(bytes, at, Byte::Digit);
                piece(Class::Digits, at - start);
                before = Before::Glue;
            }
            Byte::Space | Byte::Break => {
                let mut line = start;
                loop {
                    match byte(bytes, at) {
                        Byte::Space => at += 1,
                        Byte::Break => {
                            at += 1;
                            line = at;
                        }
                        _ => break,
                    }
                }
                if line > start {
                    piece(Class::Breaks, line - start);
                }
                before = Before::Nothing;
                if at > line {
                    // The last space belongs to what follows, if anything does.
                    let alone = at - line - usize::from(at < bytes.len());
                    if alone > 0 {
                        piece(Class::Spaces, alone);
                    }
                    before = Before::Space;
                }
            }
            Byte::Mark => {
                let mut same = true;
                while byte(bytes, at) == Byte::Mark {
                    same &= bytes[at] == bytes[start];
                    at += 1;
                }
                let marks = at - start;
                if marks == 1 && before != Before::Space && byte(bytes, at).begins_word() {
                    before = Before::Mark(bytes[start]);
                    continue;
                }
                at = skip(bytes, at, Byte::Break);
                let class = match before {
                    _ if same && marks >= RUN_MARKS_MIN => Class::MarkRun,
                    Before::Space => Class::MarksSpaced,
                    _ => Class::Marks,
                };
                piece(class, marks);
                before = Before::Nothing;
            }
            Byte::Symbol => {
                let (mut same, mut symbols) = (true, 0);
                while byte(bytes, at) == Byte::Symbol {
                    let next = at + width(bytes[at]);
                    same &= bytes[at..next] == bytes[start..start + width(bytes[start])];
                    symbols += 1;
                    at = next;
                }
                let run = same && symbols >= RUN_MARKS_MIN;
                let class = if run {
                    Class::SymbolRun
                } else {
                    Class::Symbols
                };
                piece(class, symbols);
                before = Before::Nothing;
            }
            Byte::Script(class) => {
                let mut chars = usize::from(std::mem::take(&mut wide_mark));
                while byte(bytes, at) == Byte::Script(class) {
                    at += width(bytes[at]);
                    chars += 1;
                }
                if class == Class::WideMarks && chars == 1 && byte(bytes, at).is_wide_letter() {
                    wide_mark = true;
                    continue;
                }
                piece(class, chars);
                before = Before::Glue;
            }
            Byte::End => return,
        }
    }
}

/// A word of Latin letters.
struct Word {
    chars: usize,
    capitals: usize,
    vowel: bool,
    accent: bool,
}

impl Word {
    /// Reads the word that starts here: capitals, then small letters. Returns where it ends.
    #[inline]
    fn at(bytes: &[u8], start: usize) -> (Self, usize) {
        let mut at = start;
        let (mut vowel, mut accents) = (false, 0);
        loop {
            match byte(bytes, at) {
                Byte::UpperVowel => vowel = true,
                Byte::Upper => {}
                _ => break,
            }
            at += 1;
        }
        let capitals = at - start;
        loop {
            match byte(bytes, at) {
                Byte::Vowel => vowel = true,
                Byte::Lower => {}
                Byte::Latin => {
                    accents += 1;
                    at += 1;
                }
                _ => break,
            }
            at += 1;
        }
        let word = Self {
            chars: at - start - accents,
            capitals,
            vowel,
            accent: accents > 0,
        };
        (word, at)
    }

    #[inline]
    fn class(&self, before: Before) -> Class {
        if self.accent {
            return Class::Accented;
        }
        if !self.vowel && self.chars > 2 {
            return match before {
                Before::Space => Class::ClippedSpaced,
                Before::Glue => Class::ClippedGlued,
                Before::Mark(_) | Before::Nothing => Class::Clipped,
            };
        }
        if self.capitals == 0 {
            return match before {
                Before::Space => Class::LowerSpaced,
                Before::Mark(b'.') => Class::LowerDotted,
                Before::Mark(b'_') => Class::LowerScored,
                Before::Mark(b'(') => Class::LowerOpened,
                Before::Mark(_) => Class::LowerMarked,
                Before::Nothing => Class::LowerBare,
                Before::Glue => Class::LowerGlued,
            };
        }
        let all = self.capitals == self.chars;
        match before {
            Before::Space if all => Class::UpperSpaced,
            Before::Mark(_) if all => Class::UpperMarked,
            Before::Nothing if all => Class::UpperBare,
            Before::Glue if all => Class::UpperGlued,
            Before::Space => Class::TitleSpaced,
            Before::Mark(_) => Class::TitleMarked,
            Before::Nothing => Class::TitleBare,
            Before::Glue => Class::TitleGlued,
        }
    }
}
