//! Signatures of exported lines.
//!
//! An export carries claims that only the user may make: that the user said something, prefers it
//! or pinned it. A store signs each such line with its own key, and an import believes a claim
//! where the signature is its own. The signature is the last member of the line's object and covers
//! every byte before it, so no two readings of the JSON can differ.

use redact::Redactor;

/// The text between the signed part and the signature.
const MEMBER: &[u8] = b",\"signature\":\"";
/// The text after the signature.
const END: &[u8] = b"\"}";
/// Separates signatures from every other use of the key.
const PURPOSE: &str = "export line";

/// Adds a signature to the JSON object of a line.
pub(super) fn append(redactor: &Redactor, line: &mut Vec<u8>) {
    if line.pop() != Some(b'}') {
        return;
    }
    let signature = redactor.keyed_hash_for(PURPOSE, &[line]);
    line.extend_from_slice(MEMBER);
    line.extend_from_slice(super::line::encode_hex(&signature).as_bytes());
    line.extend_from_slice(END);
}

/// Returns whether a line was signed with this store's key.
pub(super) fn is_signed_by(redactor: &Redactor, line: &[u8]) -> bool {
    let signed = || {
        let rest = line.trim_ascii_end().strip_suffix(END)?;
        let (rest, signature) = rest.split_at_checked(rest.len().checked_sub(32)?)?;
        let text = rest.strip_suffix(MEMBER)?;
        let signature = super::line::decode_hex(std::str::from_utf8(signature).ok()?)?;
        Some((text, signature))
    };
    signed().is_some_and(|(text, signature)| {
        let expected = redactor.keyed_hash_for(PURPOSE, &[text]);
        // Comparing hashes of both takes the same time wherever the two differ.
        blake3::hash(&expected) == blake3::hash(&signature)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_covers_every_byte_of_its_line() {
        let (own, other) = (Redactor::new([7; 32]), Redactor::new([8; 32]));
        let mut line = br#"{"memory":"fact","text":"a","trust":"user"}"#.to_vec();
        assert!(!is_signed_by(&own, &line), "an unsigned line");
        append(&own, &mut line);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        assert!(is_signed_by(&own, &line) && !is_signed_by(&other, &line));
        line.push(b'\n');
        assert!(is_signed_by(&own, &line));
        for at in 0..line.len() - 1 {
            let mut changed = line.clone();
            changed[at] ^= 1;
            assert!(!is_signed_by(&own, &changed), "byte {at}");
        }
        assert!(!is_signed_by(&own, b"") && !is_signed_by(&own, b"\"}"));
    }
}
