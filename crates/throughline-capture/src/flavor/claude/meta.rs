//! `agent-<id>.meta.json`: what a subagent was started for.

use memory::{Entry, Flavor, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use serde::Deserialize;

use super::discover::Whose;
use super::log;
use super::scalar::Text;
use crate::{Line, Parsed, Reader, lines};

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Document<'a> {
    #[serde(borrow)]
    agent_type: Text<'a>,
    #[serde(borrow)]
    description: Text<'a>,
    #[serde(borrow)]
    worktree_path: Text<'a>,
}

#[derive(Debug)]
pub struct Meta(pub Whose);

impl Reader for Meta {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        let Some(agent) = &self.0.agent else { return };
        lines::objects(line, out, |object, out| {
            let document: Document<'_> = serde_json::from_str(object)?;
            let id = SessionId::of(Flavor::Claude, &log::subagent(&self.0.session, agent));
            let mut patch = SessionPatch::new(id, Flavor::Claude);
            patch.kind = Some(SessionKind::Subagent);
            patch.parent = Some(SessionId::of(Flavor::Claude, &self.0.session));
            patch.cwd = document.worktree_path.get().map(str::to_owned);
            let title = document.description.get().or(document.agent_type.get());
            patch.title = title.map(|text| Title {
                text: text.to_owned(),
                rank: TitleRank::Generated,
            });
            out.push(Entry::Session(patch));
            Ok(())
        });
    }

    fn state(&self) -> String {
        "{}".to_owned()
    }
}
