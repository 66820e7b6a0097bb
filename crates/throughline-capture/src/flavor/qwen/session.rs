//! The state of a session while its records are read.

use memory::{Flavor, IdChain, MessageId, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use serde::{Deserialize, Serialize};

use super::wire::Record;
use crate::ParseOutput;
use crate::calls::OpenCalls;

/// The state that the next reader of the log needs.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct QwenReaderState {
    /// The last emitted values of the session.
    #[serde(rename = "told")]
    reported: ReportedSession,
    pub titled: bool,
    chain: IdChain,
    pub calls: OpenCalls,
    /// The last record and how many of its lines were read; a record may span several.
    last: Option<(String, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct ReportedSession {
    session: String,
    cwd: Option<String>,
    branch: Option<String>,
    version: Option<String>,
    model: Option<String>,
}

impl QwenReaderState {
    /// Emits the values of the session that changed.
    pub(crate) fn emit_session_changes(
        &mut self,
        id: &SessionId,
        record: &Record,
        out: &mut ParseOutput,
    ) {
        let known = &self.reported;
        let is_new = known.session != id.as_str();
        let last = |news: &Option<String>, known: &Option<String>| {
            news.clone().or_else(|| known.clone().filter(|_| !is_new))
        };
        let reported = ReportedSession {
            session: id.to_string(),
            cwd: last(&record.cwd, &known.cwd),
            branch: last(&record.git_branch, &known.branch),
            version: last(&record.version, &known.version),
            model: last(&record.model, &known.model),
        };
        if reported == *known {
            return;
        }
        let parent = subagent_of(record).and(record.session_id.as_deref());
        let name = record
            .agent_name
            .clone()
            .filter(|_| is_new && parent.is_some());
        out.push(SessionPatch {
            kind: parent.map(|_| SessionKind::Subagent),
            parent: parent.map(|parent| SessionId::of(Flavor::Qwen, parent)),
            title: name.map(|text| Title::new(text, TitleRank::Generated)),
            cwd: reported.cwd.clone(),
            branch: reported.branch.clone(),
            version: reported.version.clone(),
            model: reported.model.clone(),
            ..SessionPatch::new(id.clone(), Flavor::Qwen)
        });
        self.reported = reported;
    }

    pub(crate) fn message_id(&mut self, record: &Record) -> MessageId {
        let Some(uuid) = &record.uuid else {
            return self
                .chain
                .link(&[&record.kind, &record.message.parts.spoken_text()]);
        };
        let lines = match &self.last {
            Some((last, lines)) if last == uuid => lines + 1,
            _ => 1,
        };
        self.last = Some((uuid.clone(), lines));
        match lines {
            1 => MessageId::new(uuid.as_str()),
            lines => MessageId::new(format!("{uuid}/{lines}")),
        }
    }
}

/// Returns the session of a record; `file` is the session in the file's name, for records that do
/// not name one.
pub(crate) fn session_id(record: &Record, file: &str) -> SessionId {
    let session = record.session_id.as_deref().unwrap_or(file);
    match subagent_of(record) {
        Some(agent) => SessionId::of(Flavor::Qwen, &format!("{session}/{agent}")),
        None => SessionId::of(Flavor::Qwen, session),
    }
}

/// Returns the subagent of a record.
pub(crate) fn subagent_of(record: &Record) -> Option<&str> {
    record
        .agent_id
        .as_deref()
        .filter(|agent| record.is_sidechain && !agent.is_empty())
}
