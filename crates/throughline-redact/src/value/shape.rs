//! Measures a value: its kinds of characters, and how much its letters resemble words.

/// Letter pairs that are common in English and in identifiers. Of the pairs in random letters a
/// fifth is among them, of those in words nearly all.
const COMMON_PAIRS: &str = "\
    th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se \
    le sa si ar ve ra ld ur ro ri io me ma co li ne ce el ta la ec no il ch us em ot ad pe ac ho \
    ge ut be ly so wa ke tr ss ai pr fo un ul am ns ol id om ic po ow rs do ca ee rt su pa di fi \
    lo mo ie ts ay op wh bl ir mi ag os tu gh im ap up vi ab tt pl cl cr ck sp ev ey ry ty ni iv \
    ex na ig if ba da bo go dr fr sh bu fa gr gi qu ug ue ef oo od ui br je av uc ob ok by my ls \
    wo ff ub rc rd rm rn ru mp nc nf nk ct ft au ci cu gu hu ju lu mu nu pu sc sk sl sm sn sw tl \
    tw uf um va vo we wi xt ye yo ys ze op pt rk ws ep eb eg";

/// The measurements of a value.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ValueShape {
    pub(crate) len: usize,
    pub(crate) lower: usize,
    pub(crate) upper: usize,
    pub(crate) digits: usize,
    pub(crate) symbols: usize,
    pub(crate) distinct: usize,
    /// Share of neighbouring bytes that are of different kinds (small letter, capital, digit).
    pub(crate) kind_change_share: f32,
    /// Share of neighbouring bytes that form a common letter pair.
    pub(crate) common_pair_share: f32,
    /// Share of neighbouring letters that form a common letter pair.
    pub(super) letter_pair_share: f32,
    /// Mean length of the runs of letters.
    pub(super) letter_run_mean: f32,
    pub(crate) hex: bool,
}

pub(crate) fn shape(value: &str) -> ValueShape {
    let mut shape = ValueShape {
        len: value.len(),
        hex: !value.is_empty(),
        ..ValueShape::default()
    };
    let mut seen = [false; 256];
    let mut pairs = 0;
    let mut turns = 0;
    let (mut letter_pairs, mut runs) = (0, 0);
    let mut previous = 0_u8;
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' => shape.lower += 1,
            b'A'..=b'Z' => shape.upper += 1,
            b'0'..=b'9' => shape.digits += 1,
            _ => shape.symbols += 1,
        }
        shape.hex &= byte.is_ascii_hexdigit();
        if !std::mem::replace(&mut seen[usize::from(byte)], true) {
            shape.distinct += 1;
        }
        // A capital after a small letter starts a new word; the two are not a pair.
        let same_word = !(previous.is_ascii_lowercase() && byte.is_ascii_uppercase());
        if byte.is_ascii_alphabetic() {
            let goes_on = same_word && previous.is_ascii_alphabetic();
            letter_pairs += usize::from(goes_on);
            runs += usize::from(!goes_on);
        }
        if same_word && is_common_pair(previous, byte) {
            pairs += 1;
        }
        let (before, now) = (byte_kind(previous), byte_kind(byte));
        turns += usize::from(before != now && before != 0 && now != 0);
        previous = byte;
    }
    if value.len() > 1 {
        shape.common_pair_share = pairs as f32 / (value.len() - 1) as f32;
        shape.kind_change_share = turns as f32 / (value.len() - 1) as f32;
        shape.letter_pair_share = pairs as f32 / letter_pairs.max(1) as f32;
        shape.letter_run_mean = (shape.lower + shape.upper) as f32 / runs.max(1) as f32;
    }
    shape
}

fn byte_kind(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    }
}

fn is_common_pair(a: u8, b: u8) -> bool {
    use std::sync::LazyLock;
    static PAIRS: LazyLock<[u32; 26]> = LazyLock::new(|| {
        let mut table = [0; 26];
        for pair in COMMON_PAIRS.split_whitespace() {
            let pair = pair.as_bytes();
            table[usize::from(pair[0] - b'a')] |= 1 << (pair[1] - b'a');
        }
        table
    });
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    a.is_ascii_lowercase()
        && b.is_ascii_lowercase()
        && PAIRS[usize::from(a - b'a')] >> (b - b'a') & 1 == 1
}

/// Shannon entropy in bits per byte.
pub(crate) fn entropy(value: &str) -> f32 {
    let mut counts = [0_u32; 256];
    for byte in value.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let len = value.len() as f32;
    counts
        .iter()
        .filter(|&&n| n > 0)
        .map(|&n| n as f32 / len)
        .map(|p| -p * p.log2())
        .sum()
}
