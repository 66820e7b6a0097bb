//! Reads `summary.json` and `subagents/<child>/meta.json`: what Grok records about a session as a
//! whole.

use std::borrow::Cow;

use memory::{Flavor, LogEntry, SessionId, SessionKind, SessionPatch, Title, TitleRank};

use super::discover::GrokLocation;
use super::wire;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct GrokSummaryReader {
    location: GrokLocation,
}

impl GrokSummaryReader {
    pub(crate) fn new(location: GrokLocation) -> Self {
        Self { location }
    }

    fn patch(&self, summary: &wire::Summary<'_>) -> SessionPatch {
        let info = summary.info.as_ref();
        let native = info
            .and_then(|info| info.id.as_deref())
            .unwrap_or(&self.location.session);
        let session = SessionId::of(Flavor::Grok, native);
        let cwd = info
            .and_then(|info| info.cwd.as_deref())
            .filter(|cwd| !cwd.is_empty());
        let parent = summary.parent_session_id.as_deref();
        SessionPatch {
            kind: summary.session_kind.as_deref().map(kind),
            title: title(summary),
            cwd: cwd.map(str::to_owned).or_else(|| self.location.cwd.clone()),
            remote: summary
                .git_remotes
                .as_ref()
                .and_then(|remotes| Some(remotes.first()?.to_string())),
            branch: summary.head_branch.as_deref().map(str::to_owned),
            model: summary.current_model_id.as_deref().map(str::to_owned),
            parent: parent.map(|parent| SessionId::of(Flavor::Grok, parent)),
            started: summary.created_at.0,
            ended: summary.last_active_at.0.or(summary.updated_at.0),
            ..SessionPatch::new(session, Flavor::Grok)
        }
    }
}

impl LogReader for GrokSummaryReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| {
            let patch = self.patch(&serde_json::from_str(text)?);
            out.push(patch);
            Ok(())
        });
    }
}

/// Says whether a `summary.json` is a subagent's.
pub(crate) fn is_subagent(summary: &str) -> bool {
    serde_json::from_str::<wire::Summary<'_>>(summary).is_ok_and(|summary| {
        summary.session_kind.as_deref().map(kind) == Some(SessionKind::Subagent)
    })
}

fn kind(name: &str) -> SessionKind {
    match name {
        "subagent" | "subagent_fork" => SessionKind::Subagent,
        "headless" => SessionKind::Automated,
        _ => SessionKind::Main,
    }
}

fn title(summary: &wire::Summary<'_>) -> Option<Title> {
    let given = |text: &Option<Cow<'_, str>>, rank| {
        let text = text.as_deref().filter(|text| !text.trim().is_empty())?;
        Some(Title::new(text, rank))
    };
    let rank = if summary.title_is_manual == Some(true) {
        TitleRank::Custom
    } else {
        TitleRank::Generated
    };
    given(&summary.generated_title, rank)
        .or_else(|| given(&summary.session_summary, TitleRank::Summary))
}

/// Reads a session's record of a subagent, the only link between the two.
#[derive(Debug)]
pub(crate) struct GrokSubagentReader;

impl LogReader for GrokSubagentReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| {
            let patch = subagent_patch(&serde_json::from_str(text)?);
            out.entries.extend(patch.map(LogEntry::Session));
            Ok(())
        });
    }
}

/// Returns the patch for a subagent's session, whose id is also the subagent's.
pub(crate) fn subagent_patch(subagent: &wire::Subagent<'_>) -> Option<SessionPatch> {
    let child = subagent
        .child_session_id
        .as_deref()
        .or(subagent.subagent_id.as_deref())?;
    let owned = |text: &Option<Cow<'_, str>>| text.as_deref().map(str::to_owned);
    Some(SessionPatch {
        kind: Some(SessionKind::Subagent),
        title: owned(&subagent.description).map(|text| Title::new(text, TitleRank::Summary)),
        cwd: owned(&subagent.child_cwd),
        model: owned(&subagent.model),
        parent: subagent
            .parent_session_id
            .as_deref()
            .map(|parent| SessionId::of(Flavor::Grok, parent)),
        started: subagent.started_at.0,
        ..SessionPatch::new(SessionId::of(Flavor::Grok, child), Flavor::Grok)
    })
}
