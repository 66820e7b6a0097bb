//! The records of a session as text for a model that summarizes them.
//!
//! The whole text is data: it is enclosed by a fence that nothing inside can close, and each part
//! names its author.

use std::collections::VecDeque;

use memory::tokens::estimate;
use memory::{RecordKind, Tokens, fence};

use crate::record_view::ExtractorRecord;

/// The maximum size of one part; the middle of a longer one is left out.
const PART_TOKENS_MAX: u64 = 2_000;
/// Tool results are long and less important than messages.
const RESULT_TOKENS_MAX: u64 = 600;

/// Collects the last records of a session within a token limit.
#[derive(Debug)]
pub struct SessionTranscript {
    parts: VecDeque<(u64, String)>,
    tokens: u64,
    limit: u64,
    part_max: u64,
    result_max: u64,
    left_out: u64,
}

impl SessionTranscript {
    pub fn new(limit: Tokens) -> Self {
        Self {
            parts: VecDeque::new(),
            tokens: 0,
            limit: limit.0,
            part_max: PART_TOKENS_MAX,
            result_max: RESULT_TOKENS_MAX,
            left_out: 0,
        }
    }

    /// Returns a transcript of many short parts rather than a few long ones.
    pub fn with_short_parts(limit: Tokens) -> Self {
        Self {
            part_max: limit.0 / 8,
            result_max: limit.0 / 24,
            ..Self::new(limit)
        }
    }

    /// Returns the number of parts.
    pub fn part_count(&self) -> usize {
        self.parts.len()
    }

    pub fn add(&mut self, record: &ExtractorRecord<'_>) {
        let tool = record.tool.unwrap_or("a tool");
        let (who, limit) = match record.kind {
            RecordKind::Prompt => ("the user".to_owned(), self.part_max),
            RecordKind::Assistant => ("the agent".to_owned(), self.part_max),
            RecordKind::ToolUse => (format!("the agent calls {tool}"), self.result_max),
            RecordKind::ToolResult => (format!("{tool} returned"), self.result_max),
            RecordKind::Error => (format!("{tool} failed"), self.result_max),
            RecordKind::Summary => ("an earlier summary".to_owned(), self.part_max),
            RecordKind::Approval => ("the user decided".to_owned(), self.result_max),
            RecordKind::Thinking | RecordKind::Artifact => return,
        };
        // A single part must not use up the whole limit.
        let limit = limit.min(self.limit * 9 / 10);
        let text = format!("[{who}]\n{}\n\n", cut_middle(record.content.trim(), limit));
        let size = estimate(&text).0;
        self.tokens += size;
        self.parts.push_back((size, text));
        while self.tokens > self.limit && self.parts.len() > 1 {
            if let Some((size, _)) = self.parts.pop_front() {
                self.tokens -= size;
                self.left_out += 1;
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the text in its fence.
    pub fn fenced(&self) -> String {
        let mut text = String::new();
        if self.left_out > 0 {
            text += &format!("[{} earlier parts are left out]\n\n", self.left_out);
        }
        text.extend(self.parts.iter().map(|(_, part)| part.as_str()));
        fence::enclose("transcript", &text)
    }
}

/// Leaves out the middle of a text that is too long. The cut is proportional in bytes, which is
/// close enough.
fn cut_middle(text: &str, limit: u64) -> String {
    let tokens = estimate(text).0;
    if tokens <= limit {
        return text.to_owned();
    }
    let kept = usize::try_from(text.len() as u64 * limit / tokens).unwrap_or(text.len());
    let head = &text[..text.floor_char_boundary(kept * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - kept / 3)..];
    format!("{head}\n[… left out …]\n{tail}")
}

#[cfg(test)]
mod tests {
    use memory::{Message, record};
    use testkit::transcript::transcript;

    use super::*;

    fn gathered(messages: &[Message], limit: u64) -> String {
        let mut gathered = SessionTranscript::new(Tokens(limit));
        for record in messages.iter().cloned().flat_map(record::project_records) {
            gathered.add(&ExtractorRecord::from(&record));
        }
        gathered.fenced()
    }

    #[test]
    fn the_end_is_kept_within_the_limit() {
        let text = gathered(&transcript("u first ~900\na second ~900\nu third"), 1_000);
        assert!(text.contains("[1 earlier parts are left out]") && text.contains("third"));
        let long = gathered(&transcript("u all of it ~50000"), 1_000);
        let size = estimate(&long).0;
        assert!((700..=1_000).contains(&size), "{size}");
        assert!(long.contains("[… left out …]"));
    }
}
