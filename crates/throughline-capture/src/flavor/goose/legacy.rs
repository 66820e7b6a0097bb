//! Reads `<name>.jsonl`, a session of the releases before the database. The first line describes
//! the session, each other line is a message.

use memory::{Flavor, LogEntry, Origin, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use memory::{Usage, UsageEntry};

use super::conversation::{GooseConversation, GooseMessage, GooseMessageKind};
use super::{database, wire};
use crate::adapter::{load_state, save_state};
use crate::json::Lenient;
use crate::{InputLine, LogReader, ParseOutput, Source, lines};

#[derive(Debug)]
pub(crate) struct GooseLegacyReader {
    session: SessionId,
    talk: GooseConversation,
}

impl GooseLegacyReader {
    pub(crate) fn new(source: &Source, state: Option<&str>) -> Self {
        let name = source
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        Self {
            session: SessionId::of(Flavor::Goose, &name),
            talk: load_state(state),
        }
    }
}

impl LogReader for GooseLegacyReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| {
            let mut entry: wire::Line<'_> = serde_json::from_str(text)?;
            let content = std::mem::take(&mut entry.content).0;
            match (entry.role.text(), content) {
                (Some(role), Some(content)) => {
                    let hidden = entry.metadata.0.unwrap_or_default().user_visible.0 == Some(false);
                    let part = if hidden {
                        GooseMessageKind::Hidden
                    } else {
                        GooseMessageKind::Spoken
                    };
                    let parsed = GooseMessage {
                        role,
                        at: entry.created.0,
                        content,
                        part,
                        prompter: Origin::Human,
                    };
                    let message = self.talk.read_message(&self.session, parsed, out);
                    out.entries.extend(message.map(LogEntry::Message));
                }
                _ if entry.working_dir.text().is_some() => self.emit_session(entry, out),
                _ => out.count_unknown("line"),
            }
            Ok(())
        });
    }

    fn state(&self) -> String {
        save_state(&self.talk)
    }
}

impl GooseLegacyReader {
    fn emit_session(&self, entry: wire::Line<'_>, out: &mut ParseOutput) {
        let title = entry
            .description
            .into_text()
            .filter(|text| !database::is_placeholder(text));
        let scheduled = entry.schedule_id.text().is_some();
        out.push(SessionPatch {
            kind: Some(if scheduled {
                SessionKind::Automated
            } else {
                SessionKind::Main
            }),
            // The database has a later name if the session was migrated.
            title: title.map(|text| Title::new(text, TitleRank::Summary)),
            cwd: entry.working_dir.into_text(),
            ..SessionPatch::new(self.session.clone(), Flavor::Goose)
        });
        let sum = |all: Lenient<f64>, last: Lenient<f64>| {
            if all.0.is_some() {
                all.count()
            } else {
                last.count()
            }
        };
        let usage = Usage {
            input: sum(entry.accumulated_input_tokens, entry.input_tokens),
            output: sum(entry.accumulated_output_tokens, entry.output_tokens),
            ..Usage::default()
        };
        if usage != Usage::default() {
            out.push(UsageEntry {
                session: self.session.clone(),
                key: self.session.to_string(),
                at: None,
                model: None,
                usage,
                cost_usd: None,
            });
        }
    }
}
