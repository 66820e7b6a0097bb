//! What the bytes of a text are, as far as a tokenizer's cuts care.

use super::pieces::PieceClass;

/// What a byte is, or what the character is that it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteClass {
    /// A Latin letter, or the lead byte of one.
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
    /// Tells if a mark before this goes with it.
    pub const fn begins_word(self) -> bool {
        matches!(
            self,
            Self::Letter | Self::Script(PieceClass::Cyrillic | PieceClass::Alphabetic)
        )
    }

    pub const fn is_wide_letter(self) -> bool {
        matches!(
            self,
            Self::Script(PieceClass::Han | PieceClass::Kana | PieceClass::Hangul)
        )
    }
}

/// Returns what stands here.
#[inline]
pub fn byte_class(bytes: &[u8], at: usize) -> ByteClass {
    match bytes.get(at).map(|&byte| BYTES[usize::from(byte)]) {
        // The one lead byte whose script hangs on the byte behind it.
        Some(ByteClass::Script(PieceClass::Kana)) if bytes.get(at + 1) == Some(&0x80) => {
            ByteClass::Script(PieceClass::WideMarks)
        }
        Some(byte) => byte,
        None => ByteClass::End,
    }
}

/// What a Latin letter is, as bits; no bit for anything else.
pub const CAPITAL: u8 = 1;
pub const SMALL: u8 = 2;
pub const VOWEL: u8 = 4;
/// Two bytes: a letter of the Latin supplements.
pub const WIDE: u8 = 8;

#[inline]
pub fn letter_bits(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(0, |&byte| LETTERS[usize::from(byte)])
}

static LETTERS: [u8; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < table.len() {
        let byte = at as u8;
        table[at] = match byte {
            b'A'..=b'Z' => CAPITAL,
            b'a'..=b'z' => SMALL,
            0xC3..=0xC9 => SMALL | WIDE,
            _ => 0,
        };
        if matches!(
            byte.to_ascii_lowercase(),
            b'a' | b'e' | b'i' | b'o' | b'u' | b'y'
        ) {
            table[at] |= VOWEL;
        }
        at += 1;
    }
    table
};

/// Returns where a run of bytes of one kind ends.
#[inline]
pub fn skip_class(bytes: &[u8], mut at: usize, what: ByteClass) -> usize {
    while byte_class(bytes, at) == what {
        at += 1;
    }
    at
}

/// Returns the bytes of the character that this byte leads.
#[inline]
pub const fn width(lead: u8) -> usize {
    match lead {
        0x00..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        _ => 4,
    }
}

static BYTES: [ByteClass; 256] = {
    let mut table = [ByteClass::Mark; 256];
    let mut at = 0;
    while at < table.len() {
        table[at] = of_byte(at as u8);
        at += 1;
    }
    table
};

const fn of_byte(byte: u8) -> ByteClass {
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
