//! Where a byte-pair tokenizer cuts a text before it merges anything.
//!
//! The cuts are those of o200k as far as bytes tell: a word takes one space or mark before it
//! along, a capital behind a small letter starts a new word, marks take the line breaks behind
//! them along. Of non-ASCII text only the lead bytes are looked at, which name the script.

use super::bytes::{Byte, CAPITAL, SMALL, VOWEL, WIDE, byte, letter, skip, width};

/// What a piece is made of: the row of the weight table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Class {
    /// Words in small letters: behind a space, behind one mark (`.`, `_`, `(`, another), behind
    /// neither, or glued to a digit or another word as in identifiers, hashes and
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

/// What a word or mark finds directly before it: the column of [`WORDS`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Before {
    Space,
    /// A single mark, which the word takes along; these three make the most merges.
    Dot,
    Score,
    Opening,
    Mark,
    Nothing,
    Glue,
}

impl Before {
    const fn mark(mark: u8) -> Self {
        match mark {
            b'.' => Self::Dot,
            b'_' => Self::Score,
            b'(' => Self::Opening,
            _ => Self::Mark,
        }
    }
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
            // Most words follow another one; staying here for them spares the dispatch.
            Byte::Letter => loop {
                let word;
                (word, at) = Word::at(bytes, at);
                piece(word.class(before), word.chars);
                if bytes.get(at) == Some(&b' ') && letter(bytes, at + 1) != 0 {
                    before = Before::Space;
                    at += 1;
                } else {
                    before = Before::Glue;
                    break;
                }
            },
            Byte::Digit => {
                // Digits take nothing along: the space or mark before them stands alone.
                match before {
                    Before::Space => piece(Class::Spaces, 1),
                    Before::Nothing | Before::Glue => {}
                    _ => piece(Class::Marks, 1),
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
                    before = Before::mark(bytes[start]);
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
        // What was seen is gathered rather than branched on: vowels come and go as they like.
        let (mut at, mut seen, mut accents) = (start, 0, 0);
        while let found = letter(bytes, at)
            && found & CAPITAL != 0
        {
            seen |= found;
            at += 1;
        }
        let capitals = at - start;
        while let found = letter(bytes, at)
            && found & SMALL != 0
        {
            seen |= found;
            let wide = usize::from(found & WIDE != 0);
            accents += wide;
            at += 1 + wide;
        }
        let word = Self {
            chars: at - start - accents,
            capitals,
            vowel: seen & VOWEL != 0,
            accent: accents > 0,
        };
        (word, at)
    }

    #[inline]
    const fn class(&self, before: Before) -> Class {
        let row = if self.accent {
            4
        } else if !self.vowel && self.chars > 2 {
            3
        } else {
            (self.capitals > 0) as usize + (self.capitals == self.chars) as usize
        };
        WORDS[row][before as usize]
    }
}

/// The classes of words: small, title, capitals, clipped, accented, each by what is before them.
#[rustfmt::skip]
static WORDS: [[Class; 7]; 5] = {
    use Class::{
        Accented, Clipped, ClippedGlued, ClippedSpaced, LowerBare, LowerDotted, LowerGlued,
        LowerMarked, LowerOpened, LowerScored, LowerSpaced, TitleBare, TitleGlued, TitleMarked,
        TitleSpaced, UpperBare, UpperGlued, UpperMarked, UpperSpaced,
    };
    [
        [LowerSpaced, LowerDotted, LowerScored, LowerOpened, LowerMarked, LowerBare, LowerGlued],
        [TitleSpaced, TitleMarked, TitleMarked, TitleMarked, TitleMarked, TitleBare, TitleGlued],
        [UpperSpaced, UpperMarked, UpperMarked, UpperMarked, UpperMarked, UpperBare, UpperGlued],
        [ClippedSpaced, Clipped, Clipped, Clipped, Clipped, Clipped, ClippedGlued],
        [Accented; 7],
    ]
};
