//! Reads bubbles, Cursor's name for the messages of a conversation.

use jiff::Timestamp;
use memory::command::CallFiles;
use memory::{
    Block, CallId, Flavor, Message, MessageId, Origin, Role, SessionId, SessionKind, SessionPatch,
    Title, TitleRank, ToolResult, ToolUse, Usage, UsageEntry,
};

use super::wire;
use crate::{ParseOutput, tools};

/// A conversation while its bubbles are read.
#[derive(Debug)]
pub(crate) struct CursorConversation {
    pub session: SessionId,
    cwd: Option<String>,
    model: Option<String>,
    is_delegated: bool,
    is_titled: bool,
    pub line: u64,
}

impl CursorConversation {
    /// Emits the session of a composer, Cursor's name for a conversation.
    pub(crate) fn begin(
        composer: &wire::Composer<'_>,
        cwd: Option<&str>,
        out: &mut ParseOutput,
    ) -> Option<Self> {
        let session = SessionId::of(Flavor::Cursor, composer.composer_id.text()?);
        let workspace = composer.workspace_identifier.0.as_ref();
        let path = workspace.and_then(|workspace| workspace.uri.0.as_ref()?.fs_path.text());
        let cwd = path.or(cwd).map(str::to_owned);
        let model = composer
            .model_config
            .0
            .as_ref()
            .and_then(|model| model.model_name.text());
        let model = model.filter(|model| *model != "default").map(str::to_owned);
        let subagent = composer.subagent_info.0.as_ref();
        let title = composer
            .name
            .text()
            .map(|text| Title::new(text, TitleRank::Generated));
        let parent = subagent.and_then(|subagent| subagent.parent_composer_id.text());
        let is_delegated = subagent.is_some();
        let is_titled = title.is_some();
        out.push(SessionPatch {
            kind: Some(if is_delegated {
                SessionKind::Subagent
            } else {
                SessionKind::Main
            }),
            title,
            cwd: cwd.clone(),
            model: model.clone(),
            parent: parent.map(|parent| SessionId::of(Flavor::Cursor, parent)),
            started: composer.created_at.0,
            ended: composer.last_updated_at.0.or(composer.created_at.0),
            ..SessionPatch::new(session.clone(), Flavor::Cursor)
        });
        Some(Self {
            session,
            cwd,
            model,
            is_delegated,
            is_titled,
            line: 0,
        })
    }

    pub(crate) fn emit_bubble(&self, bubble: wire::Bubble, out: &mut ParseOutput) {
        let Some(id) = bubble.bubble_id.text().map(str::to_owned) else {
            return out.count_unknown("bubble without id");
        };
        let timing = bubble.timing_info.0.unwrap_or_default();
        let at = bubble.created_at.0.or(timing.client_start_time.0);
        let (role, origin) = match bubble.kind.0.map(|_| bubble.kind.count()) {
            Some(1) if self.is_delegated => (Role::User, Origin::Model),
            Some(1) => (Role::User, Origin::Human),
            Some(2) => (Role::Assistant, Origin::Model),
            _ => return out.count_unknown("bubble/type"),
        };
        let model_name = bubble
            .model_info
            .0
            .and_then(|model| model.model_name.into_text());
        let model = model_name
            .filter(|model| model != "default")
            .or_else(|| self.model.clone());
        let mut blocks = Vec::new();
        let thinking = bubble
            .thinking
            .0
            .and_then(|thinking| thinking.text.into_text());
        blocks.extend(thinking.map(Block::Thinking));
        blocks.extend(bubble.text.into_text().map(Block::Text));
        let mut result = None;
        if let Some(tool) = bubble.tool_former_data.0 {
            let (call, answer) = tool_call(&id, tool);
            blocks.push(Block::ToolUse(call));
            result = answer;
        }
        let error = bubble
            .error_details
            .0
            .and_then(|details| details.message.into_text());
        blocks.extend(error.map(Block::Error));
        self.emit_message(&id, at, (role, origin), model.clone(), blocks, out);
        if let Some(result) = result {
            let id = format!("{id}/result");
            let blocks = vec![Block::ToolResult(result)];
            self.emit_message(
                &id,
                at,
                (Role::User, Origin::Tool),
                model.clone(),
                blocks,
                out,
            );
        }
        let tokens = bubble.token_count.0.unwrap_or_default();
        let usage = Usage {
            input: tokens.input_tokens.count(),
            output: tokens.output_tokens.count(),
            ..Usage::default()
        };
        if usage != Usage::default() {
            let (session, key) = (self.session.clone(), id);
            out.push(UsageEntry {
                session,
                key,
                at,
                model,
                usage,
                cost_usd: None,
            });
        }
    }

    pub(crate) fn emit_message(
        &self,
        id: &str,
        at: Option<Timestamp>,
        (role, origin): (Role, Origin),
        model: Option<String>,
        blocks: Vec<Block>,
        out: &mut ParseOutput,
    ) {
        if let (1, false, Origin::Human, Some(Block::Text(text))) =
            (self.line, self.is_titled, origin, blocks.first())
        {
            out.push(
                SessionPatch::new(self.session.clone(), Flavor::Cursor)
                    .with_title(text.clone(), TitleRank::FirstPrompt),
            );
        }
        if !blocks.is_empty() {
            out.push(Message {
                at,
                blocks,
                model,
                cwd: self.cwd.clone(),
                line: self.line,
                ..Message::new(MessageId::new(id), self.session.clone(), role, origin)
            });
        }
    }
}

/// Says whether a bubble's tool call has ended, so that the bubble will not change.
pub(crate) fn is_finished(bubble: &wire::Bubble) -> bool {
    bubble.tool_former_data.0.as_ref().is_none_or(|tool| {
        !matches!(
            tool.status.text(),
            Some("loading" | "pending" | "running" | "generating")
        )
    })
}

fn tool_call(id: &str, tool: wire::Tool) -> (ToolUse, Option<ToolResult>) {
    let name = tool.name.into_text().unwrap_or_default();
    let input = tool.raw_args.into_text().filter(|args| args != "{}");
    let input = input
        .or_else(|| tool.params.into_text())
        .unwrap_or_else(|| "{}".to_owned());
    let call = CallId::new(
        tool.tool_call_id
            .into_text()
            .unwrap_or_else(|| id.to_owned()),
    );
    let path = tools::target_path(&input);
    let refused = tool.user_decision.is("rejected");
    let failed = tool.status.is("error") || tool.status.is("cancelled") || refused;
    let result = match (tool.result.into_text(), tool.error.into_text()) {
        (_, Some(error)) => Some(error),
        (None, None) if refused => Some("rejected by the user".to_owned()),
        (result, None) => result,
    };
    let result = result.map(|content| ToolResult {
        call: Some(call.clone()),
        tool: Some(name.clone()),
        path: path.clone(),
        content,
        is_error: failed,
        exit_code: None,
        files: CallFiles::default(),
        changes: if failed {
            Vec::new()
        } else {
            tools::file_changes(&name, &input)
        },
    });
    (
        ToolUse {
            call,
            tool: name,
            input,
            path,
        },
        result,
    )
}
