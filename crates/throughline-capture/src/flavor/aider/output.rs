//! Reads what Aider prints: tool output, token reports, questions with their answers, and much
//! noise.

use memory::{Block, CallId, ToolResult, Usage};

use super::{edits, prompt};
use crate::calls::OpenCalls;

/// The content of a passage of output.
#[derive(Debug, Default)]
pub(crate) struct AiderOutput {
    pub blocks: Vec<Block>,
    pub token_reports: Vec<TokenReport>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct TokenReport {
    pub usage: Usage,
    pub cost_usd: Option<f64>,
}

/// Reads a passage. A report of an applied change is joined to the answer that proposed it.
pub(crate) fn parse_output(text: &str, calls: &mut OpenCalls) -> AiderOutput {
    let mut printed = AiderOutput::default();
    let mut output = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("Tokens: ") {
            // A long token report has its cost on the next line.
            let cost = lines.next_if(|next| next.starts_with("Cost: "));
            let bill = format!("{line} {}", cost.unwrap_or_default());
            printed.token_reports.extend(parse_token_report(&bill));
        } else if prompt::is_answered_question(line) {
            printed.flush_text(&mut output);
            printed.blocks.push(Block::Approval(line.to_owned()));
        } else if let Some(commit) = line.strip_prefix("Removed: ") {
            // The user's `/undo` takes back a commit of the model's changes.
            printed.flush_text(&mut output);
            let refusal = format!("Rejected: the user undid commit {commit}");
            printed.blocks.push(Block::Approval(refusal));
        } else if let Some(path) = line.strip_prefix("Applied edit to ") {
            printed.flush_text(&mut output);
            let mut result = ToolResult {
                call: Some(CallId::new(path)),
                tool: Some(edits::TOOL.to_owned()),
                path: Some(path.to_owned()),
                content: line.to_owned(),
                ..ToolResult::default()
            };
            calls.close(&mut result);
            printed.blocks.push(Block::ToolResult(result));
        } else if !NOISE.iter().any(|head| line.starts_with(head)) {
            output.push_str(line);
            output.push('\n');
        }
    }
    printed.flush_text(&mut output);
    printed
}

impl AiderOutput {
    fn flush_text(&mut self, output: &mut String) {
        let text = std::mem::take(output);
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        self.blocks.push(if prompt::is_rejected_edit(text) {
            Block::Error(text.to_owned())
        } else {
            Block::Text(text.to_owned())
        });
    }
}

/// The beginnings of lines that Aider prints about itself.
const NOISE: &[&str] = &[
    "Aider v", "Git repo: ", "Main model: ", "Models: ", "Repo-map: ", "Use /help <question>",
    "Weak model: ", "You can use /undo to revert", "^C", "https://aider.chat/",
];

/// Reads `Tokens: 12k sent, 3.1k cache hit, 1,024 received. Cost: $0.02 message, $0.10 session.`
/// The tokens sent include those that the cache had.
fn parse_token_report(line: &str) -> Option<TokenReport> {
    let (tokens, cost) = match line.split_once("Cost: ") {
        Some((tokens, cost)) => (tokens, Some(cost)),
        None => (line, None),
    };
    let count = |what: &str| -> Option<u64> {
        let before = &tokens[..tokens.find(what)?];
        parse_count(before.trim_end().rsplit(' ').next()?)
    };
    let sent = count(" sent")?;
    let cache_read = count(" cache hit").unwrap_or_default();
    let cache_write = count(" cache write").unwrap_or_default();
    let usage = Usage {
        input: sent.saturating_sub(cache_read.saturating_add(cache_write)),
        output: count(" received").unwrap_or_default(),
        cache_read,
        cache_write,
        reasoning: 0,
    };
    let cost_usd = cost.and_then(|cost| {
        let (dollars, _) = cost.strip_prefix('$')?.split_once(' ')?;
        dollars.parse().ok()
    });
    Some(TokenReport { usage, cost_usd })
}

/// Reads `5,244`, `1.2k` or `12k`.
fn parse_count(text: &str) -> Option<u64> {
    let text = text.replace(',', "");
    let (digits, unit) = match text.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => match text.strip_suffix('M') {
            Some(digits) => (digits, 1e6),
            None => (&*text, 1.0),
        },
    };
    let number = digits.parse::<f64>().ok()? * unit;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked"
    )]
    (0.0..1e12).contains(&number).then(|| number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, counts: [u64; 4], cost_usd: Option<f64>) {
        let [input, output, cache_read, cache_write] = counts;
        let usage = Usage {
            input,
            output,
            cache_read,
            cache_write,
            reasoning: 0,
        };
        assert_eq!(
            parse_token_report(line),
            Some(TokenReport { usage, cost_usd }),
            "{line}"
        );
    }

    #[test]
    fn rejected_and_undone_edits() {
        let text = "The LLM did not conform to the edit format.\na.py\n\
            Removed: c227fab feat: add b\nHEAD is: 36dadc4 feat: add a";
        let blocks = parse_output(text, &mut OpenCalls::default()).blocks;
        assert_eq!(
            blocks,
            [
                Block::Error("The LLM did not conform to the edit format.\na.py".to_owned()),
                Block::Approval("Rejected: the user undid commit c227fab feat: add b".to_owned()),
                Block::Text("HEAD is: 36dadc4 feat: add a".to_owned()),
            ]
        );
    }

    #[test]
    fn bills_of_all_times() {
        check(
            "Tokens: 5,244 sent, 604 received. Cost: $0.02 request, $0.02 session.",
            [5244, 604, 0, 0],
            Some(0.02),
        );
        check("Tokens: 1.2k sent, 84 received.", [1200, 84, 0, 0], None);
        check(
            "Tokens: 12k sent, 2k cache write, 7.5k cache hit, 1k received. Cost: $0.0019 message, \
                $1 session.",
            [2500, 1000, 7500, 2000],
            Some(0.0019),
        );
        assert_eq!(parse_token_report("Tokens: many"), None);
    }
}
