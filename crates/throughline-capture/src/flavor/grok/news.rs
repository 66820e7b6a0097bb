//! The small updates: compaction, rewinding, models, titles, errors.

use memory::{Block, Boundary, Entry, Flavor, Origin, Role, SessionPatch, Title, TitleRank};

use super::pending::Mark;
use super::session::{Compaction, Session, id_of};
use super::wire::News;
use crate::Parsed;

/// The kinds that [`Session::news`] reads.
pub const READ: &[&str] = &[
    "auto_compact_cancelled",
    "auto_compact_completed",
    "auto_compact_failed",
    "auto_compact_started",
    "auto_recovery_exhausted",
    "compaction_checkpoint",
    "model_auto_switched",
    "model_changed",
    "retry_state",
    "rewind_marker",
    "session_info_update",
    "session_recap",
    "session_summary_generated",
];

/// Kinds that say nothing to remember, or say again what another entry says: a plan repeats the
/// arguments of the tool that made it, a finished subagent its result.
pub const PASSED_OVER: &[&str] = &[
    "auto_continue_completed",
    "auto_recovery_started",
    "available_commands_update",
    "background_tasks",
    "config_option_update",
    "current_mode_update",
    "diff_review",
    "feedback_request",
    "git_branch_update",
    "goal_updated",
    "hook_annotation",
    "hook_execution",
    "hooks_changed",
    "image_compressed",
    "image_dropped",
    "interaction_resolved",
    "last_turn_summary",
    "memory_dream_completed",
    "memory_files",
    "memory_flush_completed",
    "memory_flush_started",
    "memory_session_saved",
    "monitor_event",
    "pending_interaction",
    "plan",
    "plugin_updates_installed",
    "plugins_changed",
    "reasoning_completed",
    "relay_sync_status",
    "response_completed",
    "response_started",
    "scheduled_task_created",
    "scheduled_task_deleted",
    "scheduled_task_fired",
    "session_recap_unavailable",
    "subagent_finished",
    "subagent_progress",
    "suggestedQuestions",
    "task_backgrounded",
    "task_completed",
    "tool_call_delta_chunk",
    "usage_update",
    "workflow_updated",
];

impl Session {
    pub fn news(
        &mut self,
        kind: &str,
        news: &News<'_>,
        title_rank: TitleRank,
        mark: &Mark,
        out: &mut Parsed,
    ) {
        match kind {
            "auto_compact_started" => {
                self.state.compaction = Compaction {
                    tokens_before: news.tokens_used,
                    // Compacting by hand is logged alike, but for another reason.
                    full: news
                        .reason
                        .as_deref()
                        .is_some_and(|reason| reason.contains("full")),
                    told: false,
                };
            }
            "compaction_checkpoint" => {
                self.boundary(None, mark, out);
                self.state.compaction.told = true;
            }
            "auto_compact_completed" => {
                if !self.state.compaction.told {
                    self.boundary(news.tokens_before, mark, out);
                }
                self.state.compaction = Compaction::default();
                self.summary(news.summary_preview.as_deref(), mark, out);
            }
            "auto_compact_cancelled" => self.state.compaction = Compaction::default(),
            "auto_compact_failed" => {
                self.state.compaction = Compaction::default();
                self.error(news.error.as_deref(), mark, out);
            }
            "rewind_marker" => {
                // What was said before stays said; the note tells why the talk starts over.
                let prompt = news.target_prompt_index.unwrap_or_default();
                let note = Block::Text(format!("rewound to prompt {prompt}"));
                self.say(mark, "", (Role::System, Origin::Harness), note, out);
            }
            "model_changed" | "model_auto_switched" => {
                self.introduce(mark, news.model_id.as_deref().map(str::to_owned), out);
            }
            "session_summary_generated" | "session_info_update" => {
                let title = news.session_summary.as_deref().or(news.title.as_deref());
                self.title(title, title_rank, mark, out);
            }
            "session_recap" => self.summary(news.summary.as_deref(), mark, out),
            // While it is still trying, nothing has failed.
            "retry_state" if news.kind.as_deref() == Some("retrying") => {}
            _ => {
                let texts = [&news.error, &news.message, &news.reason];
                let text = texts.into_iter().find_map(Option::as_deref);
                self.error(text, mark, out);
            }
        }
    }

    pub fn error(&mut self, text: Option<&str>, mark: &Mark, out: &mut Parsed) {
        let block = Block::Error(text.unwrap_or("error").to_owned());
        self.say(mark, "/error", (Role::System, Origin::Harness), block, out);
    }

    fn boundary(&mut self, tokens_before: Option<u64>, mark: &Mark, out: &mut Parsed) {
        let compaction = &self.state.compaction;
        let boundary = Block::Boundary(Boundary {
            trigger: compaction.full.then(|| "auto".to_owned()),
            tokens_before: tokens_before.or(compaction.tokens_before),
            ..Boundary::default()
        });
        self.say(mark, "", (Role::System, Origin::Harness), boundary, out);
    }

    fn summary(&mut self, text: Option<&str>, mark: &Mark, out: &mut Parsed) {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            let block = Block::Summary(text.to_owned());
            self.say(mark, "/summary", (Role::System, Origin::Model), block, out);
        }
    }

    fn title(&mut self, text: Option<&str>, rank: TitleRank, mark: &Mark, out: &mut Parsed) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        self.introduce(mark, None, out);
        out.push(Entry::Session(SessionPatch {
            title: Some(Title {
                text: text.to_owned(),
                rank,
            }),
            ..SessionPatch::new(id_of(mark), Flavor::Grok)
        }));
    }
}
