//! Classifies the bytes of a text as far as a tokenizer's splits depend on them.

use super::pieces::PieceClass;

/// The class of a byte, or of the character whose first byte it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteClass {
    /// A Latin letter, or the first byte of one.
    Letter,
    Digit,
    Space,
    Break,
    Mark,
    Symbol,
    Script(PieceClass),
    End,
}

impl ByteClass {
    /// Says whether a punctuation mark before this byte joins its word.
    pub(super) const fn begins_word(self) -> bool {
        matches!(
            self,
            Self::Letter | Self::Script(PieceClass::Cyrillic | PieceClass::Alphabetic)
        )
    }

    pub(super) const fn is_wide_letter(self) -> bool {
        matches!(
            self,
            Self::Script(PieceClass::Han | PieceClass::Kana | PieceClass::Hangul)
        )
    }
}

/// Returns the class of the byte at an index, or [`ByteClass::End`] after the text.
#[inline]
pub(super) fn byte_class(bytes: &[u8], at: usize) -> ByteClass {
    match bytes.get(at).map(|&byte| BYTES[usize::from(byte)]) {
        // 0xE3 is the only first byte whose script depends on the second byte.
        Some(ByteClass::Script(PieceClass::Kana)) if bytes.get(at + 1) == Some(&0x80) => {
            ByteClass::Script(PieceClass::WideMarks)
        }
        Some(byte) => byte,
        None => ByteClass::End,
    }
}

/// The properties of a Latin letter as bits. Other bytes have none of them.
pub(super) const CAPITAL: u8 = 1;
pub(super) const SMALL: u8 = 2;
pub(super) const VOWEL: u8 = 4;
/// The first of two bytes: a letter of the Latin supplements.
pub(super) const WIDE: u8 = 8;

#[inline]
pub(super) fn letter_bits(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |&byte| LETTERS[usize::from(byte)])
}

static LETTERS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = classify_letter(byte);
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

const fn classify_letter(byte: u8) -> u8 {
    let case = match byte {
        b'A'..=b'Z' => CAPITAL,
        b'a'..=b'z' => SMALL,
        0xC3..=0xC9 => SMALL | WIDE,
        _ => 0,
    };
    match byte.to_ascii_lowercase() {
        b'a' | b'e' | b'i' | b'o' | b'u' | b'y' => case | VOWEL,
        _ => case,
    }
}

/// Returns the end of a run of bytes of one class.
#[inline]
pub(super) fn skip_class(bytes: &[u8], mut at: usize, what: ByteClass) -> usize {
    while byte_class(bytes, at) == what {
        at += 1;
    }
    at
}

/// Returns the length in bytes of the character that starts with this byte.
#[inline]
pub(super) const fn width(lead: u8) -> usize {
    match lead {
        0x00..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

static BYTES: [ByteClass; 256] = {
    let mut table = [ByteClass::Mark; 256];
    let mut byte = 0_u8;
    loop {
        table[byte as usize] = classify_byte(byte);
        if byte == u8::MAX {
            break table;
        }
        byte += 1;
    }
};

const fn classify_byte(byte: u8) -> ByteClass {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | 0xC3..=0xC9 => ByteClass::Letter,
        b'0'..=b'9' => ByteClass::Digit,
        b' ' | b'\t' | 0x0B | 0x0C => ByteClass::Space,
        b'\n' | b'\r' => ByteClass::Break,
        0xC2 | 0xE2 => ByteClass::Symbol,
        0xCA..=0xD4 => ByteClass::Script(PieceClass::Cyrillic),
        0xD5..=0xE1 => ByteClass::Script(PieceClass::Alphabetic),
        0xE3 => ByteClass::Script(PieceClass::Kana),
        0xE4..=0xE9 => ByteClass::Script(PieceClass::Han),
        0xEA..=0xED => ByteClass::Script(PieceClass::Hangul),
        0xEE | 0xEF => ByteClass::Script(PieceClass::WideMarks),
        0xF0..=0xFF => ByteClass::Script(PieceClass::Emoji),
        _ => ByteClass::Mark,
    }
}
