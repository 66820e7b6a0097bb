//! `<name>.jsonl`: a session of the releases before the database. The first line tells of the
//! session, each other is a message.

use memory::{Entry, Flavor, Origin, SessionId, SessionKind, SessionPatch, Title, TitleRank};
use memory::{Usage, UsageEntry};

use super::talk::{Part, Said, Talk};
use super::{database, wire};
use crate::lenient::Lenient;
use crate::{Line, Parsed, Reader, Source, lines};

#[derive(Debug)]
pub struct Log {
    session: SessionId,
    talk: Talk,
}

impl Log {
    pub fn new(source: &Source, state: Option<&str>) -> Self {
        let name = source
            .path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        Self {
            session: SessionId::of(Flavor::Goose, &name),
            talk: state
                .and_then(|state| serde_json::from_str(state).ok())
                .unwrap_or_default(),
        }
    }
}

impl Reader for Log {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        lines::objects(line, out, |text, out| {
            let mut entry: wire::Line<'_> = serde_json::from_str(text)?;
            let content = std::mem::take(&mut entry.content).0;
            match (entry.role.text(), content) {
                (Some(role), Some(content)) => {
                    let hidden = entry.metadata.0.unwrap_or_default().user_visible.0 == Some(false);
                    let part = if hidden { Part::Hidden } else { Part::Spoken };
                    let said = Said {
                        role,
                        at: entry.created.0,
                        content,
                        part,
                        prompter: Origin::Human,
                    };
                    let message = self.talk.message(&self.session, said, out);
                    out.entries.extend(message.map(Entry::Message));
                }
                _ if entry.working_dir.text().is_some() => self.about(entry, out),
                _ => out.unknown("line"),
            }
            Ok(())
        });
    }

    fn state(&self) -> String {
        serde_json::to_string(&self.talk).unwrap_or_default()
    }
}

impl Log {
    fn about(&self, entry: wire::Line<'_>, out: &mut Parsed) {
        let title = entry
            .description
            .into_text()
            .filter(|text| !database::is_placeholder(text));
        let scheduled = entry.schedule_id.text().is_some();
        out.push(Entry::Session(SessionPatch {
            kind: Some(if scheduled {
                SessionKind::Automated
            } else {
                SessionKind::Main
            }),
            // The database has the later name of a session that was taken over.
            title: title.map(|text| Title {
                text,
                rank: TitleRank::Summary,
            }),
            cwd: entry.working_dir.into_text(),
            ..SessionPatch::new(self.session.clone(), Flavor::Goose)
        }));
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
            out.push(Entry::Usage(UsageEntry {
                session: self.session.clone(),
                key: self.session.to_string(),
                at: None,
                model: None,
                usage,
                cost_usd: None,
            }));
        }
    }
}
