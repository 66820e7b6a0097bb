//! Generates text from the templates of the rules' examples.

/// Replaces `{w36}` by 36 pseudo-random characters of the alphabet `w`. The same template always
/// gives the same text.
pub(crate) fn expand(template: &str) -> String {
    let mut seed = template.bytes().fold(0x2545_f491_u64, |seed, b| {
        seed.wrapping_mul(31) + u64::from(b)
    });
    let mut out = String::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        match slot(rest) {
            Some((alphabet, count, len)) => {
                for _ in 0..count {
                    seed = seed
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1_442_695_040_888_963_407);
                    let index = (seed >> 33) as usize % alphabet.len();
                    out.push(char::from(alphabet.as_bytes()[index]));
                }
                rest = &rest[len..];
            }
            None => {
                out.push('{');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn slot(text: &str) -> Option<(&'static str, usize, usize)> {
    let close = text.find('}')?;
    let alphabet = match text.as_bytes().get(1)? {
        b'w' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
        b'b' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
        b'a' => "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        b'u' => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
        b'l' => "abcdefghijklmnopqrstuvwxyz0123456789",
        b'h' => "0123456789abcdef",
        b'H' => "0123456789ABCDEF",
        b'd' => "123456789",
        _ => return None,
    };
    let count = text.get(2..close)?.parse().ok()?;
    Some((alphabet, count, close + 1))
}
