//! Makes entries from a record.

use memory::{
    Block, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Title, Usage,
    UsageEntry,
};

use super::wire::{Record, Tokens};
use crate::ParseOutput;

/// A record and the values that all its entries share.
pub(crate) struct RecordContext<'a> {
    pub session: SessionId,
    pub name: MessageId,
    pub record: &'a Record,
    pub line: u64,
}

impl RecordContext<'_> {
    pub(crate) fn emit_message(
        &self,
        (role, origin): (Role, Origin),
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        if blocks.is_empty() {
            return;
        }
        let (name, session) = (self.name.clone(), self.session.clone());
        out.push(Message {
            at: self.record.timestamp.0,
            blocks,
            model: self.record.model.clone(),
            cwd: self.record.cwd.clone(),
            branch: self.record.git_branch.clone(),
            line: self.line,
            ..Message::new(name, session, role, origin)
        });
    }

    pub(crate) fn emit_title(&self, title: Title, out: &mut ParseOutput) {
        let title = Some(title);
        out.push(SessionPatch {
            title,
            ..self.patch()
        });
    }

    pub(crate) fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session.clone(), Flavor::Qwen)
    }

    pub(crate) fn emit_usage(&self, tokens: &Tokens, out: &mut ParseOutput) {
        let (prompt, said) = (tokens.prompt_token_count, tokens.candidates_token_count);
        let thoughts = tokens.thoughts_token_count;
        let includes_thoughts = tokens.total_token_count == prompt.saturating_add(said);
        let usage = Usage {
            input: prompt.saturating_sub(tokens.cached_content_token_count)
                + tokens.tool_use_prompt_token_count,
            output: if includes_thoughts {
                said
            } else {
                said.saturating_add(thoughts)
            },
            cache_read: tokens.cached_content_token_count,
            cache_write: 0,
            reasoning: thoughts,
        };
        if usage.total() == 0 {
            return;
        }
        out.push(UsageEntry {
            session: self.session.clone(),
            key: self.name.to_string(),
            at: self.record.timestamp.0,
            model: self.record.model.clone(),
            usage,
            cost_usd: None,
        });
    }
}
