//! Chooses where to cut by size, before the rules of the APIs apply.

use memory::{Block, Message, Role, Tokens};

use super::limits::CompactionLimits;

/// The size of a message, and whether it counts as a message with text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MessageWeight {
    pub tokens: Tokens,
    pub has_text: bool,
}

impl MessageWeight {
    /// Measures the parts of a message that can be kept. Boundaries, old summaries and messages
    /// from the agent program to its user are not kept.
    pub fn of(message: &Message) -> Self {
        let mut weight = Self::default();
        if message.role == Role::System {
            return weight;
        }
        for block in &message.blocks {
            match block {
                Block::Summary(_) => {}
                Block::Text(text) if text.trim().is_empty() => {}
                Block::Text(_) => {
                    weight.tokens += block.tokens();
                    weight.has_text = true;
                }
                block => weight.tokens += block.tokens(),
            }
        }
        weight
    }
}

/// Returns the index of the first message to keep.
///
/// It keeps everything from `start` on. If that is below a minimum, it moves back until both
/// minimums hold or the maximum is reached, but not before `floor`.
pub fn first_kept_index(
    weights: &[MessageWeight],
    start: usize,
    floor: usize,
    limits: &CompactionLimits,
) -> usize {
    let mut from = start.clamp(floor, weights.len().max(floor));
    let mut tokens: Tokens = weights[from.min(weights.len())..]
        .iter()
        .map(|weight| weight.tokens)
        .sum();
    let mut messages = weights[from.min(weights.len())..]
        .iter()
        .filter(|weight| weight.has_text)
        .count();
    let enough = |tokens: Tokens, messages: usize| {
        tokens >= limits.max_tokens
            || (tokens >= limits.min_tokens && messages >= limits.min_messages)
    };
    while from > floor && !enough(tokens, messages) {
        from -= 1;
        tokens += weights[from].tokens;
        messages += usize::from(weights[from].has_text);
    }
    from
}

/// Returns the index after the last boundary. Messages before it are never kept.
pub fn index_after_boundary(messages: &[Message]) -> usize {
    let last = messages.iter().rposition(|m| m.boundary().is_some());
    last.map_or(0, |boundary| boundary + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: bool = true;
    const NO_TEXT: bool = false;

    fn weights(parts: &[(u64, bool)]) -> Vec<MessageWeight> {
        let weight = |(tokens, has_text): &(u64, bool)| MessageWeight {
            tokens: Tokens(*tokens),
            has_text: *has_text,
        };
        parts.iter().map(weight).collect()
    }

    #[track_caller]
    fn check(parts: &[(u64, bool)], start: usize, floor: usize, expected: usize) {
        let from = first_kept_index(&weights(parts), start, floor, &CompactionLimits::default());
        assert_eq!(from, expected, "{parts:?} from {start}, floor {floor}");
    }

    #[test]
    fn the_least_tokens() {
        let before = [(1, TEXT), (1, TEXT)];
        let with = |last: u64| {
            let mut parts = before.to_vec();
            parts.extend([(1, TEXT), (1, TEXT), (1, TEXT), (1, TEXT), (last, TEXT)]);
            parts
        };
        check(&with(9_995), 2, 0, 1); // 9,999 tokens are too few
        check(&with(9_996), 2, 0, 2); // 10,000 are enough
        check(&with(9_997), 2, 0, 2);
    }

    #[test]
    fn the_least_messages() {
        let with = |texts: usize| {
            let mut parts = vec![(1, TEXT), (1, NO_TEXT), (20_000, NO_TEXT)];
            parts.extend(vec![(1, TEXT); texts]);
            parts
        };
        check(&with(4), 2, 0, 0); // the message without text is passed on the way
        check(&with(5), 2, 0, 2);
        check(&with(6), 2, 0, 2);
    }

    #[test]
    fn the_most_tokens() {
        let with = |size: u64| vec![(7, TEXT), (1, NO_TEXT), (1, NO_TEXT), (size, NO_TEXT)];
        check(&with(39_998), 4, 0, 1); // 40,000 are reached with the second message
        check(&with(39_999), 4, 0, 2);
        check(&with(40_000), 4, 0, 3);
        check(&with(40_001), 4, 0, 3);
        // The maximum does not apply to messages that must be kept.
        check(&[(30_000, TEXT), (30_000, TEXT), (1, TEXT)], 0, 0, 0);
        check(&[(1, TEXT), (39_999, NO_TEXT)], 1, 0, 0);
        check(&[(1, TEXT), (40_000, NO_TEXT)], 1, 0, 1);
    }

    #[test]
    fn the_floor_holds() {
        let small = [(10, TEXT); 8];
        check(&small, 7, 0, 0);
        check(&small, 7, 3, 3);
        check(&small, 8, 8, 8);
        check(&small, 2, 5, 5); // what was summarized ends before the boundary
        check(&[], 0, 0, 0);
    }

    #[test]
    fn both_minimums_are_needed_on_the_way_back() {
        let parts = [
            (9_000, TEXT),
            (9_000, TEXT),
            (1, TEXT),
            (1, TEXT),
            (1, TEXT),
            (1, TEXT),
        ];
        check(&parts, 6, 0, 0);
        let parts = [
            (6_000, TEXT),
            (6_000, TEXT),
            (1, TEXT),
            (1, TEXT),
            (6_000, TEXT),
        ];
        check(&parts, 5, 0, 0); // 12,000 tokens at once, five messages only with the first
    }
}
