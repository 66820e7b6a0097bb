//! Entries between the messages: modes, hooks, attachments, progress, titles, compactions.

use std::io;

use super::Log;
use crate::corpus::json::Object;

const SUMMARY_BYTES: usize = 5000;

impl Log<'_> {
    pub fn preamble(&mut self) -> io::Result<()> {
        let mode = Object::new()
            .text("type", "permission-mode")
            .text("permissionMode", "acceptEdits")
            .text("sessionId", &self.session);
        self.sink.line(&mode.to_string())?;
        if self.rng.chance(0.3) {
            let size = self.rng.size(2200.0, 0.5, 9000);
            let listing = self.words.prose(&mut self.rng, size);
            self.attachment(
                Object::new()
                    .text("type", "skill_listing")
                    .text("content", &listing),
            )?;
        }
        self.attachment(
            Object::new()
                .text("type", "hook_success")
                .text("hookName", "SessionStart:startup")
                .text("hookEvent", "SessionStart")
                .text("content", "")
                .raw("exitCode", 0)
                .raw("durationMs", 212),
        )
    }

    pub fn progress(&mut self, id: &str) -> io::Result<()> {
        let data = Object::new()
            .text("type", "bash_progress")
            .text("output", "")
            .text("fullOutput", "")
            .raw("elapsedTimeSeconds", 3)
            .raw("totalLines", 0);
        let record = self
            .opening()
            .text("type", "progress")
            .object("data", data)
            .text(
                "toolUseID",
                &format!("bash-progress-{}", self.rng.between(0, 90)),
            )
            .text("parentToolUseID", id);
        self.record(record, &Object::new()).map(drop)
    }

    pub fn turn_end(&mut self, prompt: &str) -> io::Result<()> {
        let duration = self.rng.size(60_000.0, 1.0, 3_600_000);
        let record = self
            .opening()
            .text("type", "system")
            .text("subtype", "turn_duration")
            .raw("durationMs", duration);
        let leaf = self.record(record, &Object::new().raw("isMeta", false))?;
        let shown: String = prompt.chars().take(200).collect();
        let last = Object::new()
            .text("type", "last-prompt")
            .text("lastPrompt", &shown)
            .text("leafUuid", &leaf)
            .text("sessionId", &self.session);
        self.sink.line(&last.to_string())?;
        if self.rng.chance(0.3) {
            let title: String = shown.split(' ').take(6).collect::<Vec<_>>().join(" ");
            let line = Object::new()
                .text("type", "ai-title")
                .text("aiTitle", &title)
                .text("sessionId", &self.session);
            self.sink.line(&line.to_string())?;
        }
        Ok(())
    }

    pub fn attachment(&mut self, attachment: Object) -> io::Result<()> {
        let record = self
            .opening()
            .object("attachment", attachment)
            .text("type", "attachment");
        self.record(record, &Object::new()).map(drop)
    }

    /// Cuts the conversation off and goes on from a summary of it.
    pub fn compaction(&mut self) -> io::Result<()> {
        let metadata = Object::new()
            .text("trigger", "auto")
            .raw("preTokens", self.context_tokens);
        let logical = self.parent.take().unwrap_or_default();
        let record = self
            .opening()
            .text("logicalParentUuid", &logical)
            .text("type", "system")
            .text("subtype", "compact_boundary")
            .text("content", "Conversation compacted")
            .object("compactMetadata", metadata);
        self.record(record, &Object::new())?;
        let summary = self.words.prose(&mut self.rng, SUMMARY_BYTES);
        let text = format!(
            "This session is being continued from a previous conversation that ran out of \
             context.\n\n{summary}"
        );
        let message = Object::new().text("role", "user").text("content", &text);
        let record = self
            .opening()
            .text("type", "user")
            .object("message", message)
            .raw("isVisibleInTranscriptOnly", true)
            .raw("isCompactSummary", true);
        self.record(record, &Object::new())?;
        self.context_tokens = 30_000;
        Ok(())
    }
}
