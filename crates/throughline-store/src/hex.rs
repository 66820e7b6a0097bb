//! Bytes as lower-case hexadecimal digits.

/// Writes two digits per byte. The string never grows, because the bytes may be a key and a
/// reallocation would leave a copy of its first digits in memory.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    text
}

/// Reads an even number of digits; `None` for any other text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = vec![0; text.len() / 2];
    decode_into(text, &mut bytes)?;
    Some(bytes)
}

/// Reads exactly as many digits as fill `bytes`.
pub(crate) fn decode_into(text: &str, bytes: &mut [u8]) -> Option<()> {
    if text.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *byte = u8::try_from(digit(0)? * 16 + digit(1)?).ok()?;
    }
    Some(())
}
