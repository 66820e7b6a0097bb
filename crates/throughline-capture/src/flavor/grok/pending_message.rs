//! A message that is being written: its chunks are joined until another message begins.

use jiff::Timestamp;
use memory::{ApiId, Block};

use super::wire::{Chunk, Content};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrokSpeaker {
    User,
    Thought,
    Assistant,
}

impl GrokSpeaker {
    /// Says whether the chunk is a model's, whose reasoning and answer form one message.
    fn is_model(self) -> bool {
        self != Self::User
    }
}

/// The session, ids, time and line of an update.
#[derive(Clone, Debug)]
pub(crate) struct GrokPosition {
    pub session: String,
    /// The log's own id of the entry, if there is one.
    pub id: Option<String>,
    pub api_id: Option<ApiId>,
    pub at: Option<Timestamp>,
    pub line: u64,
    pub offset: u64,
}

#[derive(Debug)]
pub(crate) struct PendingMessage {
    pub speaker: GrokSpeaker,
    /// The position of the first chunk.
    pub position: GrokPosition,
    pub blocks: Vec<Block>,
    pub model: Option<String>,
    pub synthetic_reason: Option<String>,
    prompt_index: Option<u64>,
    message_id: Option<String>,
}

impl PendingMessage {
    pub(crate) fn new(speaker: GrokSpeaker, chunk: &Chunk<'_>, position: GrokPosition) -> Self {
        let meta = chunk.meta.as_ref();
        let mut pending = Self {
            speaker,
            position,
            blocks: Vec::new(),
            model: meta.and_then(|meta| Some(meta.model_id.as_deref()?.to_owned())),
            synthetic_reason: meta
                .and_then(|meta| Some(meta.synthetic_reason.as_deref()?.to_owned())),
            prompt_index: meta.and_then(|meta| meta.prompt_index),
            message_id: chunk.message_id.as_deref().map(str::to_owned),
        };
        pending.add(speaker, chunk);
        pending
    }

    /// Says whether a chunk continues this message.
    pub(crate) fn accepts(
        &self,
        speaker: GrokSpeaker,
        chunk: &Chunk<'_>,
        position: &GrokPosition,
    ) -> bool {
        let prompt_index = chunk.meta.as_ref().and_then(|meta| meta.prompt_index);
        self.speaker.is_model() == speaker.is_model()
            && self.position.session == position.session
            && may_be_equal(&self.position.api_id, &position.api_id)
            && may_be_equal(&self.prompt_index, &prompt_index)
            && may_be_equal(&self.message_id.as_deref(), &chunk.message_id.as_deref())
    }

    pub(crate) fn add(&mut self, speaker: GrokSpeaker, chunk: &Chunk<'_>) {
        let Some(block) = chunk.content.as_ref().and_then(block) else {
            return;
        };
        match (speaker, self.blocks.last_mut(), block) {
            (GrokSpeaker::Thought, Some(Block::Thinking(known)), Block::Text(text))
            | (
                GrokSpeaker::User | GrokSpeaker::Assistant,
                Some(Block::Text(known)),
                Block::Text(text),
            ) => {
                known.push_str(&text);
            }
            (GrokSpeaker::Thought, _, Block::Text(text)) => self.blocks.push(Block::Thinking(text)),
            (_, _, block) => self.blocks.push(block),
        }
    }
}

/// Says whether two ids may be equal; later chunks may leave theirs out.
fn may_be_equal<T: PartialEq>(known: &Option<T>, told: &Option<T>) -> bool {
    known.is_none() || told.is_none() || known == told
}

/// Returns a content block. Attached files are named, not copied.
pub(crate) fn block(content: &Content<'_>) -> Option<Block> {
    let text = |text: &str| (!text.is_empty()).then(|| Block::Text(text.to_owned()));
    // The name gets a line of its own to separate it from the text around it.
    let name = |uri: &str| text(&format!("\n{uri}\n"));
    match &*content.kind {
        "image" | "audio" => Some(image(content)),
        "resource" => name(content.resource.as_ref()?.uri.as_deref()?),
        "resource_link" => name(content.uri.as_deref()?),
        _ => text(content.text.as_deref()?),
    }
}

/// Returns an image, which is given as base64 text or as an address that contains it:
/// `data:image/png;base64,…`.
fn image(content: &Content<'_>) -> Block {
    let uri = content.uri.as_deref().unwrap_or_default();
    let (media_type, inline) = uri
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .unwrap_or(("image", ""));
    let data = content.data.as_deref().unwrap_or(inline);
    Block::Image {
        media_type: content
            .mime_type
            .as_deref()
            .unwrap_or(media_type)
            .to_owned(),
        size_bytes: data.len() as u64 / 4 * 3,
    }
}
