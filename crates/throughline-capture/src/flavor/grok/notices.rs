//! Reads the small updates: compaction, rewinding, models, titles, errors.

use memory::{Block, Boundary, Flavor, Origin, Role, SessionPatch, TitleRank};

use super::pending_message::GrokPosition;
use super::session::{CompactionProgress, GrokSession, session_id};
use super::wire::News;
use crate::ParseOutput;

/// The kinds that [`GrokSession::read_notice`] reads.
pub(crate) const NOTICE_KINDS: &[&str] = &[
    "auto_compact_cancelled", "auto_compact_completed", "auto_compact_failed",
    "auto_compact_started", "auto_recovery_exhausted", "compaction_checkpoint",
    "model_auto_switched", "model_changed", "retry_state", "rewind_marker", "session_info_update",
    "session_recap", "session_summary_generated",
];

/// Kinds without content, or with content that another entry repeats: a plan repeats the arguments
/// of the tool that made it, a finished subagent its result.
pub(crate) const IGNORED_KINDS: &[&str] = &[
    "auto_continue_completed", "auto_recovery_started", "available_commands_update",
    "background_tasks", "config_option_update", "current_mode_update", "diff_review",
    "feedback_request", "git_branch_update", "goal_updated", "hook_annotation", "hook_execution",
    "hooks_changed", "image_compressed", "image_dropped", "interaction_resolved",
    "last_turn_summary", "memory_dream_completed", "memory_files", "memory_flush_completed",
    "memory_flush_started", "memory_session_saved", "monitor_event", "pending_interaction", "plan",
    "plugin_updates_installed", "plugins_changed", "reasoning_completed", "relay_sync_status",
    "response_completed", "response_started", "scheduled_task_created", "scheduled_task_deleted",
    "scheduled_task_fired", "session_recap_unavailable", "subagent_finished", "subagent_progress",
    "suggestedQuestions", "task_backgrounded", "task_completed", "tool_call_delta_chunk",
    "usage_update", "workflow_updated",
];

impl GrokSession {
    pub(crate) fn read_notice(
        &mut self,
        kind: &str,
        news: &News<'_>,
        title_rank: TitleRank,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        match kind {
            "auto_compact_started" => {
                self.state.compaction = CompactionProgress {
                    tokens_before: news.tokens_used,
                    // A manual compaction is logged in the same way, with another reason.
                    full: news
                        .reason
                        .as_deref()
                        .is_some_and(|reason| reason.contains("full")),
                    told: false,
                };
            }
            "compaction_checkpoint" => {
                self.emit_boundary(None, position, out);
                self.state.compaction.told = true;
            }
            "auto_compact_completed" => {
                if !self.state.compaction.told {
                    self.emit_boundary(news.tokens_before, position, out);
                }
                self.state.compaction = CompactionProgress::default();
                self.emit_summary(news.summary_preview.as_deref(), position, out);
            }
            "auto_compact_cancelled" => self.state.compaction = CompactionProgress::default(),
            "auto_compact_failed" => {
                self.state.compaction = CompactionProgress::default();
                self.emit_error(news.error.as_deref(), position, out);
            }
            "rewind_marker" => {
                // The messages before the rewind stay; the note explains why the conversation
                // starts over.
                let prompt = news.target_prompt_index.unwrap_or_default();
                let note = Block::Text(format!("rewound to prompt {prompt}"));
                self.emit_block(position, "", (Role::System, Origin::Harness), note, out);
            }
            "model_changed" | "model_auto_switched" => {
                self.emit_session_changes(
                    position,
                    news.model_id.as_deref().map(str::to_owned),
                    out,
                );
            }
            "session_summary_generated" | "session_info_update" => {
                let title = news.session_summary.as_deref().or(news.title.as_deref());
                self.emit_title(title, title_rank, position, out);
            }
            "session_recap" => self.emit_summary(news.summary.as_deref(), position, out),
            // Nothing has failed while Grok still retries.
            "retry_state" if news.kind.as_deref() == Some("retrying") => {}
            _ => {
                let texts = [&news.error, &news.message, &news.reason];
                let text = texts.into_iter().find_map(Option::as_deref);
                self.emit_error(text, position, out);
            }
        }
    }

    pub(crate) fn emit_error(
        &mut self,
        text: Option<&str>,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        let block = Block::Error(text.unwrap_or("error").to_owned());
        self.emit_block(
            position,
            "/error",
            (Role::System, Origin::Harness),
            block,
            out,
        );
    }

    fn emit_boundary(
        &mut self,
        tokens_before: Option<u64>,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        let compaction = &self.state.compaction;
        let boundary = Block::Boundary(Boundary {
            trigger: compaction.full.then(|| "auto".to_owned()),
            tokens_before: tokens_before.or(compaction.tokens_before),
            ..Boundary::default()
        });
        self.emit_block(position, "", (Role::System, Origin::Harness), boundary, out);
    }

    fn emit_summary(&mut self, text: Option<&str>, position: &GrokPosition, out: &mut ParseOutput) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let block = Block::Summary(text.to_owned());
            self.emit_block(
                position,
                "/summary",
                (Role::System, Origin::Model),
                block,
                out,
            );
        }
    }

    fn emit_title(
        &mut self,
        text: Option<&str>,
        rank: TitleRank,
        position: &GrokPosition,
        out: &mut ParseOutput,
    ) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        self.emit_session_changes(position, None, out);
        out.push(SessionPatch::new(session_id(position), Flavor::Grok).with_title(text, rank));
    }
}
