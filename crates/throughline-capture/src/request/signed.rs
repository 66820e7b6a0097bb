//! The thinking blocks of a log with their signatures.
//!
//! A [`memory::Message`] holds the text of a thought but not the signature by which the provider
//! recognises its own. Claude Code logs both, for some models with an empty text.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use memory::{ApiId, Flavor};
use serde::Deserialize;
use serde_json::Value;

/// The signed thinking blocks of each response of a log.
#[derive(Clone, Debug, Default)]
pub struct SignedThinking(pub(super) HashMap<ApiId, Vec<SignedBlock>>);

impl SignedThinking {
    /// Adds the blocks of a later log, whose lines are counted from `base` on. A log that repeats a
    /// response repeats its thinking too, so the earlier blocks of a response stay.
    pub(crate) fn append(&mut self, later: Self, base: u64) {
        let shift = |block: SignedBlock| SignedBlock {
            line: base + block.line,
            ..block
        };
        let responses = later.0.into_iter().map(|(response, blocks)| {
            let blocks: Vec<_> = blocks.into_iter().map(shift).collect();
            (response, blocks)
        });
        let earlier = std::mem::replace(&mut self.0, responses.collect());
        self.0.extend(earlier);
    }
}

#[derive(Clone, Debug)]
pub(super) struct SignedBlock {
    /// The line of the log, as in [`memory::Message::line`].
    pub(super) line: u64,
    pub(super) json: Value,
}

#[derive(Deserialize)]
struct ResponseLine {
    message: LoggedResponse,
}

#[derive(Deserialize)]
struct LoggedResponse {
    id: String,
    content: Vec<Value>,
}

/// Reads the signed thinking blocks of a log. Logs of other agents hold none that can be sent.
pub fn read_signed_thinking(path: &Path, flavor: Option<Flavor>) -> io::Result<SignedThinking> {
    if flavor != Some(Flavor::Claude) {
        return Ok(SignedThinking::default());
    }
    let mut responses: HashMap<ApiId, Vec<SignedBlock>> = HashMap::new();
    for (line, text) in (1..).zip(BufReader::new(std::fs::File::open(path)?).split(b'\n')) {
        let text = text?;
        // Most lines hold no thinking and are not parsed.
        if !text
            .windows(10)
            .any(|part| part == b"\"thinking\"" || part == b"d_thinking")
        {
            continue;
        }
        let Ok(ResponseLine { message }) = serde_json::from_slice(&text) else {
            continue;
        };
        let signed = message.content.into_iter().filter(is_signed);
        let blocks = responses.entry(ApiId::new(message.id)).or_default();
        blocks.extend(signed.map(|json| SignedBlock { line, json }));
    }
    Ok(SignedThinking(responses))
}

fn is_signed(block: &Value) -> bool {
    let has = |name: &str| block[name].as_str().is_some_and(|text| !text.is_empty());
    match block["type"].as_str() {
        Some("thinking") => has("signature"),
        Some("redacted_thinking") => has("data"),
        _ => false,
    }
}
