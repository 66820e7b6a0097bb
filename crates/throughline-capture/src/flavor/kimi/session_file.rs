//! Reads `state.json`: the title, folder and agents of a session.

use std::path::PathBuf;

use memory::{Flavor, SessionKind, SessionPatch, Title, TitleRank};

use super::discover::session_id;
use super::wire;
use crate::flavor::names::file_name;
use crate::{InputLine, LogReader, ParseOutput, Source, lines};

#[derive(Debug)]
pub(crate) struct KimiSessionFileReader {
    path: PathBuf,
}

impl KimiSessionFileReader {
    pub(crate) fn new(source: &Source) -> Self {
        Self {
            path: source.path.clone(),
        }
    }

    fn read(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let state: wire::State<'_> = serde_json::from_str(text)?;
        let directory = self.path.parent().map(file_name).unwrap_or_default();
        let title = state.title.to_text().map(|text| Title {
            text,
            rank: if state.is_custom_title {
                TitleRank::Custom
            } else {
                TitleRank::Summary
            },
        });
        out.push(SessionPatch {
            title,
            cwd: state.work_dir.to_text(),
            started: state.created_at.0,
            ended: state.updated_at.0,
            ..SessionPatch::new(session_id(directory, "main"), Flavor::Kimi)
        });
        for (agent, about) in state.agents.iter().filter(|(agent, _)| *agent != "main") {
            let parent = about.parent_agent_id.get().unwrap_or("main");
            out.push(SessionPatch {
                kind: Some(SessionKind::Subagent),
                cwd: state.work_dir.to_text(),
                parent: Some(session_id(directory, parent)),
                ..SessionPatch::new(session_id(directory, agent), Flavor::Kimi)
            });
        }
        Ok(())
    }
}

impl LogReader for KimiSessionFileReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| self.read(text, out));
    }
}
