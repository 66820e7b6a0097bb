//! Reads messages of users and models.

use memory::{ApiId, Block, Origin, Role, TitleRank};

use super::session::CopilotReaderState;
use super::wire::{AssistantMessage, Event, News, UserMessage};
use crate::ParseOutput;

impl CopilotReaderState {
    pub(crate) fn read_user(&mut self, event: &Event<'_>, line: u64, out: &mut ParseOutput) {
        let message: UserMessage = event.data();
        let origin = origin(&message, event);
        let position = self.position_of(event, line, message.parent_tool_call_id);
        if origin == Origin::Human {
            self.emit_title(&message.content, TitleRank::FirstPrompt, out);
        }
        if !message.content.is_empty() {
            self.emit_message(
                &position,
                (Role::User, origin),
                vec![Block::Text(message.content)],
                out,
            );
        }
    }

    pub(crate) fn read_assistant(&mut self, event: &Event<'_>, line: u64, out: &mut ParseOutput) {
        let message: AssistantMessage = event.data();
        self.emit_message_usage(event, &message, out);
        let mut blocks = Vec::new();
        let thought = message
            .reasoning_text
            .filter(|thought| !thought.trim().is_empty());
        if let Some(thought) = thought
            && self.thought.take() != Some(fingerprint(&thought))
        {
            blocks.push(Block::Thinking(thought));
        }
        if !message.content.is_empty() {
            blocks.push(Block::Text(message.content));
        }
        for request in &message.tool_requests {
            blocks.extend(self.new_tool_use(request).map(Block::ToolUse));
        }
        let position = self.position_of(event, line, message.parent_tool_call_id);
        if let Some(said) =
            self.emit_message(&position, (Role::Assistant, Origin::Model), blocks, out)
        {
            said.api_id = message.api_call_id.map(ApiId::new);
            said.model = message.model.or(said.model.take());
        }
    }

    pub(crate) fn read_reasoning(&mut self, event: &Event<'_>, line: u64, out: &mut ParseOutput) {
        let news: News = event.data();
        let text = news.content.unwrap_or_default();
        if text.trim().is_empty() {
            return;
        }
        self.thought = Some(fingerprint(&text));
        let position = self.position_of(event, line, news.parent_tool_call_id);
        self.emit_message(
            &position,
            (Role::Assistant, Origin::Model),
            vec![Block::Thinking(text)],
            out,
        );
    }
}

fn origin(message: &UserMessage, event: &Event<'_>) -> Origin {
    let by_program = message
        .source
        .as_deref()
        .is_some_and(|source| source != "user");
    let text = message.content.trim_start();
    let envelope = [
        "<skill-context", "<system_notification>", "<system_reminder>",
    ];
    let is_envelope = envelope.iter().any(|begin| text.starts_with(begin));
    let by_model = message.parent_tool_call_id.is_some() || event.agent.is_some();
    if by_program || is_envelope || by_model {
        Origin::Harness
    } else {
        Origin::Human
    }
}

fn fingerprint(text: &str) -> [u8; 16] {
    let mut print = [0; 16];
    print.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    print
}
