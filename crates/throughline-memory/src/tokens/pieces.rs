//! Splits a text into pieces where a byte-pair tokenizer does before it merges anything.
//!
//! The splits follow o200k as far as single bytes allow: a word includes one space or mark before
//! it, a capital after a small letter starts a new word, and marks include the line breaks after
//! them. In non-ASCII text only the first byte of each character is examined; it identifies the
//! script.

use super::bytes::{
    ByteClass, CAPITAL, SMALL, VOWEL, WIDE, byte_class, letter_bits, skip_class, width,
};

/// The class of a piece, which selects the row of the weight table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum PieceClass {
    /// Words in small letters: after a space, after one mark (`.`, `_`, `(`, another), after
    /// neither, or directly after a digit or another word, as in identifiers, hashes and encoded
    /// bytes.
    LowerSpaced,
    LowerDotted,
    LowerScored,
    LowerOpened,
    LowerMarked,
    LowerBare,
    LowerGlued,
    /// Words that start with capitals and continue in small letters.
    TitleSpaced,
    TitleMarked,
    TitleBare,
    TitleGlued,
    UpperSpaced,
    UpperMarked,
    UpperBare,
    UpperGlued,
    /// Three or more letters without a vowel: abbreviations, hashes.
    ClippedSpaced,
    Clipped,
    ClippedGlued,
    /// Latin words with letters beyond ASCII.
    Accented,
    /// Greek and Cyrillic.
    Cyrillic,
    /// Any other alphabet with two or three bytes per letter.
    Alphabetic,
    Kana,
    Han,
    Hangul,
    Digits,
    /// Four or more equal marks: rules, borders.
    MarkRun,
    Marks,
    MarksSpaced,
    /// Typographic marks, arrows, box drawing.
    Symbols,
    SymbolRun,
    /// Punctuation of East Asian text.
    WideMarks,
    Emoji,
    Spaces,
    /// White space up to its last line break.
    Breaks,
}

pub(super) const CLASS_COUNT: usize = PieceClass::Breaks as usize + 1;

/// From this length on, equal marks merge into long tokens.
const RUN_MARKS_MIN: usize = 4;

/// What directly precedes a word or mark. It selects the column of [`WORD_CLASSES`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum PiecePrefix {
    Space,
    /// A single mark, which becomes part of the word. These three merge most often.
    Dot,
    Underscore,
    Opening,
    Mark,
    Nothing,
    Glued,
}

impl PiecePrefix {
    const fn mark(mark: u8) -> Self {
        match mark {
            b'.' => Self::Dot,
            b'_' => Self::Underscore,
            b'(' => Self::Opening,
            _ => Self::Mark,
        }
    }
}

/// Calls `piece` with the class of each piece of a text and its length in characters.
#[inline]
pub(super) fn for_each_piece(text: &str, mut piece: impl FnMut(PieceClass, usize)) {
    let bytes = text.as_bytes();
    let mut before = PiecePrefix::Nothing;
    // A single East Asian mark is part of the letters after it.
    let mut wide_mark = false;
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match byte_class(bytes, at) {
            // Most words follow another word; this inner loop avoids the outer dispatch.
            ByteClass::Letter => loop {
                let word;
                (word, at) = LatinWord::at(bytes, at);
                piece(word.class(before), word.chars);
                if bytes.get(at) == Some(&b' ') && letter_bits(bytes, at + 1) != 0 {
                    before = PiecePrefix::Space;
                    at += 1;
                } else {
                    before = PiecePrefix::Glued;
                    break;
                }
            },
            ByteClass::Digit => {
                // Digits do not include the space or mark before them: it is a piece of its own.
                match before {
                    PiecePrefix::Space => piece(PieceClass::Spaces, 1),
                    PiecePrefix::Nothing | PiecePrefix::Glued => {}
                    _ => piece(PieceClass::Marks, 1),
                }
                at = skip_class(bytes, at, ByteClass::Digit);
                piece(PieceClass::Digits, at - start);
                before = PiecePrefix::Glued;
            }
            ByteClass::Space | ByteClass::Break => {
                let mut line = start;
                loop {
                    match byte_class(bytes, at) {
                        ByteClass::Space => at += 1,
                        ByteClass::Break => {
                            at += 1;
                            line = at;
                        }
                        _ => break,
                    }
                }
                if line > start {
                    piece(PieceClass::Breaks, line - start);
                }
                before = PiecePrefix::Nothing;
                if at > line {
                    // The last space is part of the next piece, if there is one.
                    let alone = at - line - usize::from(at < bytes.len());
                    if alone > 0 {
                        piece(PieceClass::Spaces, alone);
                    }
                    before = PiecePrefix::Space;
                }
            }
            ByteClass::Mark => {
                let mut same = true;
                while byte_class(bytes, at) == ByteClass::Mark {
                    same &= bytes[at] == bytes[start];
                    at += 1;
                }
                let marks = at - start;
                if marks == 1 && before != PiecePrefix::Space && byte_class(bytes, at).begins_word()
                {
                    before = PiecePrefix::mark(bytes[start]);
                    continue;
                }
                at = skip_class(bytes, at, ByteClass::Break);
                let class = match before {
                    _ if same && marks >= RUN_MARKS_MIN => PieceClass::MarkRun,
                    PiecePrefix::Space => PieceClass::MarksSpaced,
                    _ => PieceClass::Marks,
                };
                piece(class, marks);
                before = PiecePrefix::Nothing;
            }
            ByteClass::Symbol => {
                let (mut same, mut symbols) = (true, 0);
                while byte_class(bytes, at) == ByteClass::Symbol {
                    let next = at + width(bytes[at]);
                    same &= bytes[at..next] == bytes[start..start + width(bytes[start])];
                    symbols += 1;
                    at = next;
                }
                let run = same && symbols >= RUN_MARKS_MIN;
                let class = if run {
                    PieceClass::SymbolRun
                } else {
                    PieceClass::Symbols
                };
                piece(class, symbols);
                before = PiecePrefix::Nothing;
            }
            ByteClass::Script(class) => {
                let mut chars = usize::from(std::mem::take(&mut wide_mark));
                while byte_class(bytes, at) == ByteClass::Script(class) {
                    at += width(bytes[at]);
                    chars += 1;
                }
                if class == PieceClass::WideMarks
                    && chars == 1
                    && byte_class(bytes, at).is_wide_letter()
                {
                    wide_mark = true;
                    continue;
                }
                piece(class, chars);
                before = PiecePrefix::Glued;
            }
            ByteClass::End => return,
        }
    }
}

/// A word of Latin letters.
struct LatinWord {
    chars: usize,
    capitals: usize,
    vowel: bool,
    accent: bool,
}

impl LatinWord {
    /// Reads the word at `start`: capitals, then small letters. Returns the word and its end.
    #[inline]
    fn at(bytes: &[u8], start: usize) -> (Self, usize) {
        // The bits are collected instead of branched on, because vowels are unpredictable.
        let (mut at, mut seen, mut accents) = (start, 0, 0);
        while let found = letter_bits(bytes, at)
            && found & CAPITAL != 0
        {
            seen |= found;
            at += 1;
        }
        let capitals = at - start;
        while let found = letter_bits(bytes, at)
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
    const fn class(&self, before: PiecePrefix) -> PieceClass {
        let row = if self.accent {
            4
        } else if !self.vowel && self.chars > 2 {
            3
        } else {
            (self.capitals > 0) as usize + (self.capitals == self.chars) as usize
        };
        WORD_CLASSES[row][before as usize]
    }
}

/// The classes of words (small, title, capitals, clipped, accented) by what precedes them.
#[rustfmt::skip]
static WORD_CLASSES: [[PieceClass; 7]; 5] = {
    use PieceClass::{
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
