//! Reads events, Codex's own account of a turn. Most repeat content for the screen and are ignored.

use memory::{Block, CallId, Origin, Role, UsageEntry};

use super::index;
use super::log::{CodexLogReader, CodexPosition};
use super::state::CallSignal;
use super::usage::TokenTotals;
use super::wire::{self, Event};
use crate::ParseOutput;
use crate::json;

impl CodexLogReader {
    pub(super) fn read_event(
        &mut self,
        at: CodexPosition<'_>,
        event: &Event<'_>,
        out: &mut ParseOutput,
    ) {
        match event.kind.as_str() {
            "token_count" => self.emit_usage(at, event, out),
            "patch_apply_end" => self.note_patch(at, event.call_id.as_str(), event),
            "exec_command_end" => self.note_signal(event.call_id.as_str(), event, false),
            "mcp_tool_call_end" => {
                self.note_signal(event.call_id.as_str(), event, mcp_failed(event));
            }
            "item_completed" => {
                if let Some(item) = json::parse::<Event<'_>>(event.item) {
                    self.read_completed_item(at, &item, out);
                }
            }
            "agent_reasoning_raw_content" => self.emit_raw_reasoning(at, event, out),
            "agent_message" => self.note_spoken_event(at, event.message.as_str()),
            "turn_aborted" => self.emit_abort(at, event, out),
            "error" | "stream_error" => self.emit_error(at, event, "error", out),
            "task_complete" | "turn_complete" => {
                self.drop_unwritten();
                self.emit_error(at, event, "turn", out);
            }
            "thread_name_updated" => self.emit_name(event, out),
            known if IGNORED_EVENTS.contains(&known) => {}
            other => out.count_unknown(&format!("event_msg/{other}")),
        }
    }

    /// Reads the event that replaced most others in 0.149. Only the outcome of a call is not in the
    /// response items already.
    fn read_completed_item(
        &mut self,
        at: CodexPosition<'_>,
        item: &Event<'_>,
        out: &mut ParseOutput,
    ) {
        match item.kind.as_str() {
            "FileChange" => self.note_patch(at, item.id.as_str(), item),
            "CommandExecution" => self.note_signal(item.id.as_str(), item, false),
            "McpToolCall" => self.note_signal(item.id.as_str(), item, mcp_failed(item)),
            known if IGNORED_ITEMS.contains(&known) => {}
            other => out.count_unknown(&format!("event_msg/item_completed/{other}")),
        }
    }

    fn emit_name(&self, event: &Event<'_>, out: &mut ParseOutput) {
        let session = self.session();
        // A replayed log contains the parent's name too.
        let is_own = event
            .thread_id
            .get()
            .is_none_or(|thread| thread == session.native());
        if let Some(name) = event.thread_name.get().filter(|_| is_own) {
            out.push(index::name_patch(session, name));
        }
    }

    fn emit_usage(&mut self, at: CodexPosition<'_>, event: &Event<'_>, out: &mut ParseOutput) {
        let Some(info) = json::parse::<wire::TokenInfo>(event.info) else {
            return;
        };
        let last = info
            .last_token_usage
            .map(|last| last.input_tokens.saturating_add(last.output_tokens));
        self.state.context = last.filter(|&tokens| tokens > 0).or(self.state.context);
        let inherited = self.state.parent.is_some();
        let used = TokenTotals::advance(&mut self.state.totals, &info, inherited);
        let (Some(usage), Some(totals)) = (used, self.state.totals) else {
            return;
        };
        let mut chain = self.state.chain;
        out.push(UsageEntry {
            session: self.session(),
            key: chain.link(&["usage", &totals.key()]).to_string(),
            at: at.time,
            model: self.state.model.clone(),
            usage,
            cost_usd: None,
        });
    }

    pub(super) fn note_signal(&mut self, call: &str, event: &Event<'_>, failed: bool) {
        let exit_code = json::parse::<i64>(event.exit_code);
        if !call.is_empty() && (failed || exit_code.is_some()) {
            self.state.signals.note(CallSignal {
                call: CallId::new(call),
                exit_code,
                failed,
            });
        }
    }

    /// Emits the unencrypted reasoning of some models, which some versions repeat in the item.
    fn emit_raw_reasoning(
        &mut self,
        at: CodexPosition<'_>,
        event: &Event<'_>,
        out: &mut ParseOutput,
    ) {
        let Some(text) = event.text.get() else {
            return;
        };
        if self
            .state
            .recent_texts
            .is_repeat(text, "raw reasoning", "reasoning")
        {
            return;
        }
        let id = self.state.side_id(&["reasoning", text]);
        let blocks = vec![Block::Thinking(text.to_owned())];
        self.emit_message(at, id, (Role::Assistant, Origin::Model), blocks, out);
    }

    fn emit_abort(&mut self, at: CodexPosition<'_>, event: &Event<'_>, out: &mut ParseOutput) {
        self.emit_unwritten(at, out);
        let reason = event.reason.as_str();
        let (origin, block) = match reason {
            "" | "interrupted" => (
                Origin::Human,
                Block::Approval("interrupted the turn".into()),
            ),
            // The next prompt replaced the turn, or the turn was a review that has ended.
            "replaced" | "review_ended" => return,
            other => (
                Origin::Harness,
                Block::Error(format!("turn aborted: {other}")),
            ),
        };
        self.state.response = None;
        let id = self.state.side_id(&["aborted", reason]);
        self.emit_message(at, id, (Role::User, origin), vec![block], out);
    }

    /// Emits an error, which the end of the turn may repeat.
    fn emit_error(
        &mut self,
        at: CodexPosition<'_>,
        event: &Event<'_>,
        by: &str,
        out: &mut ParseOutput,
    ) {
        let body = json::parse::<wire::ErrorBody<'_>>(event.error);
        let text = match (by, &body) {
            ("error", None) => event.message.as_str(),
            (_, Some(body)) => body.message.get().unwrap_or(event.message.as_str()),
            _ => "",
        };
        let other = if by == "error" { "turn" } else { "error" };
        if text.is_empty() || self.state.recent_texts.is_repeat(text, by, other) {
            return;
        }
        self.state.response = None;
        let id = self.state.side_id(&["error", text]);
        let blocks = vec![Block::Error(text.to_owned())];
        self.emit_message(at, id, (Role::System, Origin::Harness), blocks, out);
    }
}

fn mcp_failed(event: &Event<'_>) -> bool {
    fn failed(result: &wire::McpResult<'_>) -> bool {
        result.is_error == Some(true)
            || result.err.is_some()
            || result.ok.as_deref().is_some_and(failed)
    }
    event.status.as_str() == "failed"
        || json::parse::<wire::McpResult<'_>>(event.result).is_some_and(|result| failed(&result))
}

/// Events that repeat content or have none.
const IGNORED_EVENTS: &[&str] = &[
    "account/rateLimits/updated",
    "agent_reasoning",
    "agent_reasoning_section_break",
    "apply_patch_approval_request",
    "background_event",
    "collab_agent_interaction_end",
    "collab_agent_spawn_end",
    "collab_close_end",
    "collab_resume_end",
    "collab_waiting_end",
    "context_compacted",
    "deprecation_notice",
    "dynamic_tool_call_request",
    "dynamic_tool_call_response",
    "entered_review_mode",
    "exec_approval_request",
    "exec_command_begin",
    "exited_review_mode",
    "guardian_assessment",
    "guardian_warning",
    "hook_completed",
    "hook_started",
    "image_generation_begin",
    "image_generation_end",
    "item_started",
    "mcp_startup_complete",
    "mcp_startup_update",
    "mcp_tool_call_begin",
    "model_reroute",
    "patch_apply_begin",
    "plan_update",
    "raw_response_item",
    "request_permissions",
    "request_user_input",
    "session_configured",
    "shutdown_complete",
    "sub_agent_activity",
    "task_started",
    "thread_goal_updated",
    "thread_rolled_back",
    "thread_settings_applied",
    "turn_diff",
    "turn_started",
    "undo_completed",
    "user_message",
    "view_image_tool_call",
    "warning",
    "web_search_begin",
    "web_search_end",
];

/// Completed items that repeat response items.
const IGNORED_ITEMS: &[&str] = &[
    "AgentMessage", "CollabAgentToolCall", "ContextCompaction", "DynamicToolCall",
    "EnteredReviewMode", "ExitedReviewMode", "Extension", "HookPrompt", "ImageGeneration",
    "ImageView", "Plan", "Reasoning", "Sleep", "SubAgentActivity", "UserMessage", "WebSearch",
];
