//! Reads `agent-<id>.meta.json`: the task that a subagent was started for.

use memory::{Flavor, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use serde::Deserialize;

use super::discover::LogOwner;
use super::log;
use crate::json::Text;
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct SubagentMeta<'a> {
    agent_type: Text<'a>,
    description: Text<'a>,
    worktree_path: Text<'a>,
}

#[derive(Debug)]
pub(crate) struct SubagentMetaReader(pub LogOwner);

impl LogReader for SubagentMetaReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        let Some(agent) = &self.0.agent else { return };
        lines::for_each_object(line, out, |object, out| {
            let document: SubagentMeta<'_> = serde_json::from_str(object)?;
            let id = SessionId::of(
                Flavor::Claude,
                &log::subagent_session(&self.0.session, agent),
            );
            let mut patch = SessionPatch::new(id, Flavor::Claude);
            patch.kind = Some(SessionKind::Subagent);
            patch.parent = Some(SessionId::of(Flavor::Claude, &self.0.session));
            patch.cwd = document.worktree_path.get().map(str::to_owned);
            let title = document.description.get().or(document.agent_type.get());
            patch.title = title.map(|text| Title::new(text, TitleRank::Generated));
            out.push(patch);
            Ok(())
        });
    }
}
