//! Reads the files of a task or session, each of which is rewritten as a whole.

use std::path::{Path, PathBuf};

use memory::{Flavor, LogEntry, SessionId, SessionKind, SessionPatch, Title, TitleRank};

use super::conversation::ClineConversation;
use super::discover::ClineFile;
use super::{ui_messages, wire};
use crate::json::Lenient;
use crate::{InputLine, LogReader, ParseOutput, SkipReason};

#[derive(Debug)]
pub(crate) struct ClineDocumentReader {
    flavor: Flavor,
    file: ClineFile,
    path: PathBuf,
}

impl ClineDocumentReader {
    pub(crate) fn new(flavor: Flavor, path: &Path) -> Self {
        Self {
            flavor,
            file: ClineFile::at(path).unwrap_or(ClineFile::History),
            path: path.to_owned(),
        }
    }
}

impl LogReader for ClineDocumentReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        let text = line
            .text
            .trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}');
        if text.is_empty() {
            return;
        }
        let read = match self.file {
            ClineFile::History => self.read_history(text, out),
            ClineFile::UiMessages => {
                let history = self.path.with_file_name("api_conversation_history.json");
                ui_messages::read_ui_messages(
                    self.flavor,
                    &self.task_session(),
                    text,
                    !history.exists(),
                    out,
                )
            }
            ClineFile::TaskMetadata => self.read_task_metadata(text, out),
            ClineFile::Tasks => self.read_tasks(text, out),
            ClineFile::Task => serde_json::from_str(text).map(|task| self.emit_task(task, out)),
            ClineFile::Messages => self.read_messages_file(text, out),
            ClineFile::Session => {
                serde_json::from_str(text).map(|session| self.emit_session(session, out))
            }
        };
        if read.is_err() {
            out.skip_line(line, SkipReason::Malformed);
        }
    }

    fn state(&self) -> String {
        String::new()
    }
}

impl ClineDocumentReader {
    /// Returns the session of a task, whose id is the name of its folder.
    fn task_session(&self) -> SessionId {
        let folder = self
            .path
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default();
        SessionId::of(self.flavor, &folder.to_string_lossy())
    }

    fn read_history(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let messages: Vec<Lenient<wire::Message<'_>>> = serde_json::from_str(text)?;
        let task = std::fs::read_to_string(self.path.with_file_name("history_item.json"));
        let task = task
            .ok()
            .and_then(|text| serde_json::from_str::<wire::Task>(&text).ok());
        let is_delegated = task.is_some_and(|task| task.parent_task_id.text().is_some());
        self.read_conversation(self.task_session(), is_delegated, messages, out);
        Ok(())
    }

    fn read_messages_file(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let stored: wire::Messages<'_> = serde_json::from_str(text)?;
        let session = match stored.session.text() {
            Some(id) => SessionId::of(self.flavor, id),
            None => self.task_session(),
        };
        self.read_conversation(session, false, stored.messages.0.unwrap_or_default(), out);
        Ok(())
    }

    fn read_conversation(
        &self,
        session: SessionId,
        is_delegated: bool,
        messages: Vec<Lenient<wire::Message<'_>>>,
        out: &mut ParseOutput,
    ) {
        let mut conversation = ClineConversation::new(self.flavor, session, is_delegated);
        for message in messages {
            match message.0 {
                Some(message) => conversation.read_message(message, out),
                None => out.count_unknown("message"),
            }
        }
    }

    fn read_task_metadata(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let metadata: wire::TaskMetadata = serde_json::from_str(text)?;
        let last = metadata.model_usage.0.unwrap_or_default().pop();
        if let Some(model) = last.and_then(|usage| usage.model_id.into_text()) {
            out.push(SessionPatch::new(self.task_session(), self.flavor).with_model(Some(model)));
        }
        Ok(())
    }

    fn read_tasks(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let tasks: Vec<Lenient<wire::Task>> = serde_json::from_str(text)?;
        for task in tasks.into_iter().filter_map(|task| task.0) {
            self.emit_task(task, out);
        }
        Ok(())
    }

    fn emit_task(&self, task: wire::Task, out: &mut ParseOutput) {
        let Some(id) = task.id.text() else {
            return out.count_unknown("task without id");
        };
        let parent = task.parent_task_id.text();
        let kind = if parent.is_some() {
            SessionKind::Subagent
        } else {
            SessionKind::Main
        };
        let parent = parent.map(|parent| SessionId::of(self.flavor, parent));
        // The id of a task is its start time.
        let started = id.parse().ok().and_then(crate::time::from_number);
        out.push(SessionPatch {
            kind: Some(kind),
            parent,
            started,
            ended: task.ts.0,
            ..SessionPatch::new(SessionId::of(self.flavor, id), self.flavor)
        });
        let Some(LogEntry::Session(patch)) = out.entries.last_mut() else {
            return;
        };
        patch.cwd = task.cwd_on_task_initialization.into_text();
        patch.model = task.model_id.into_text();
        patch.title = task
            .task
            .into_text()
            .map(|text| Title::new(text, TitleRank::FirstPrompt));
    }

    fn emit_session(&self, session: wire::Session, out: &mut ParseOutput) {
        let Some(id) = session.session_id.text() else {
            return out.count_unknown("session without id");
        };
        let parent = session.parent_session_id.text();
        let kind = match (parent, session.interactive.0) {
            (Some(_), _) => SessionKind::Subagent,
            (None, Some(false)) => SessionKind::Automated,
            (None, _) => SessionKind::Main,
        };
        let title = session
            .metadata
            .0
            .and_then(|metadata| metadata.title.into_text());
        out.push(SessionPatch {
            kind: Some(kind),
            title: title.map(|text| Title::new(text, TitleRank::Summary)),
            cwd: session
                .cwd
                .text()
                .or(session.workspace_root.text())
                .map(str::to_owned),
            model: session.model.text().map(str::to_owned),
            parent: parent.map(|parent| SessionId::of(self.flavor, parent)),
            started: session.started_at.0,
            ended: session.ended_at.0,
            ..SessionPatch::new(SessionId::of(self.flavor, id), self.flavor)
        });
    }
}
