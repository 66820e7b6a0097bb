//! Reads what a rollout says about its session: origin, folder, model and title.

use memory::{Flavor, SessionId, SessionKind, SessionPatch, TitleRank};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::log::CodexLogReader;
use super::prompt;
use super::wire;
use crate::ParseOutput;
use crate::json::{self, Text};

impl CodexLogReader {
    pub(super) fn read_session_meta(
        &mut self,
        meta: &wire::SessionMeta<'_>,
        out: &mut ParseOutput,
    ) {
        let Some(id) = meta.id.get() else { return };
        match &self.state.session {
            None => self.state.session = Some(id.to_owned()),
            Some(own) if own == id => return,
            // A resumed rollout begins with the parent's lines, including the parent's metadata.
            Some(_) => {
                if self.state.parent.is_none() {
                    self.state.parent = Some(id.to_owned());
                    let patch = SessionPatch {
                        parent: self.parent(),
                        ..self.patch()
                    };
                    out.push(patch);
                }
                return;
            }
        }
        let source = CodexSessionOrigin::parse(meta.source);
        self.state.subagent = source.kind == Some(SessionKind::Subagent);
        self.state.own_from = json::parse(meta.subagent_history_start_ordinal).unwrap_or(0);
        self.state.parent = source
            .parent
            .or_else(|| meta.parent_thread_id.to_text())
            .or_else(|| meta.forked_from_id.to_text())
            .or_else(|| {
                json::parse::<wire::HistoryBase<'_>>(meta.history_base)?
                    .thread_id
                    .to_text()
            })
            .filter(|parent| parent != id);
        let git = json::parse::<wire::Git<'_>>(meta.git);
        self.state.branch = git.as_ref().and_then(|git| git.branch.to_text());
        self.state.cwd = meta.cwd.to_text();
        let patch = SessionPatch {
            kind: source.kind,
            cwd: self.state.cwd.clone(),
            remote: git.and_then(|git| git.repository_url.to_text()),
            branch: self.state.branch.clone(),
            version: meta.cli_version.to_text(),
            parent: self.parent(),
            started: meta.timestamp.0,
            ..self.patch()
        };
        out.push(patch);
    }

    pub(super) fn read_turn_context(
        &mut self,
        turn: &wire::TurnContext<'_>,
        out: &mut ParseOutput,
    ) {
        if let Some(cwd) = turn.cwd.get() {
            self.set_missing_cwd(cwd, out);
            self.state.cwd = Some(cwd.to_owned());
        }
        if let Some(model) = turn.model.get()
            && self.state.model.as_deref() != Some(model)
        {
            self.state.model = Some(model.to_owned());
            let model = self.state.model.clone();
            out.push(self.patch().with_model(model));
        }
    }

    /// Sets the folder of a session that has none yet.
    pub(super) fn set_missing_cwd(&mut self, cwd: &str, out: &mut ParseOutput) {
        if self.state.cwd.is_none() {
            self.state.cwd = Some(cwd.to_owned());
            let cwd = self.state.cwd.clone();
            out.push(self.patch().with_cwd(cwd));
        }
    }

    /// Emits the first prompt as the session's title.
    pub(super) fn emit_title(&mut self, text: &str, out: &mut ParseOutput) {
        if self.state.titled {
            return;
        }
        if let Some(text) = prompt::title(text) {
            self.state.titled = true;
            out.push(self.patch().with_title(text, TitleRank::FirstPrompt));
        }
    }

    fn parent(&self) -> Option<SessionId> {
        let parent = self.state.parent.as_ref()?;
        Some(SessionId::of(Flavor::Codex, parent))
    }
}

/// The originator of a session, according to `source`.
#[derive(Default)]
struct CodexSessionOrigin {
    kind: Option<SessionKind>,
    parent: Option<String>,
}

impl CodexSessionOrigin {
    fn parse(source: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        struct Subagent<'a> {
            subagent: &'a RawValue,
        }
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        struct Spawned<'a> {
            thread_spawn: Spawn<'a>,
        }
        #[derive(Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        struct Spawn<'a> {
            #[serde(default)]
            parent_thread_id: Text<'a>,
        }
        if let Some(by) = json::parse::<Subagent<'_>>(source) {
            let spawned = json::parse::<Spawned<'_>>(Some(by.subagent));
            return Self {
                kind: Some(SessionKind::Subagent),
                parent: spawned.and_then(|by| by.thread_spawn.parent_thread_id.to_text()),
            };
        }
        let automated = matches!(&*wire::as_text(source), "exec" | "mcp");
        Self {
            kind: automated.then_some(SessionKind::Automated),
            parent: None,
        }
    }
}
