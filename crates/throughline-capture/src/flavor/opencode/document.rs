//! Reads the formats besides the database: one file per session, message and part, and the document
//! that `opencode export` prints.

use std::fs;
use std::path::{Path, PathBuf};

use memory::LogEntry;
use serde_json::value::RawValue;

use super::discover::OpencodeFile;
use super::part::OpencodeTurn;
use super::{session, wire};
use crate::{InputLine, LogReader, ParseOutput, lines};

#[derive(Debug)]
pub(crate) struct OpencodeDocumentReader {
    file: OpencodeFile,
    path: PathBuf,
}

impl OpencodeDocumentReader {
    pub(crate) fn new(path: &Path) -> Self {
        let file = OpencodeFile::at(path).unwrap_or(OpencodeFile::Export);
        Self {
            file,
            path: path.to_owned(),
        }
    }
}

impl LogReader for OpencodeDocumentReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        lines::for_each_object(line, out, |text, out| match self.file {
            OpencodeFile::Export | OpencodeFile::Database => read_export(text, out),
            OpencodeFile::Session => {
                let session: wire::Session = serde_json::from_str(text)?;
                out.entries
                    .extend(session::patch(session).map(LogEntry::Session));
                Ok(())
            }
            OpencodeFile::Message => self.read_message(text, out),
            OpencodeFile::Part => self.read_part(text, out),
        });
    }

    fn state(&self) -> String {
        String::new()
    }
}

impl OpencodeDocumentReader {
    fn read_message(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let message: wire::Message<'_> = serde_json::from_str(text)?;
        let Some(mut turn) = OpencodeTurn::of(&message) else {
            out.count_unknown("message without id, session or role");
            return Ok(());
        };
        turn.is_closed = true;
        turn.is_delegated = turn.is_user() && self.is_delegated(&turn);
        let inside = message.parts.0.as_deref().unwrap_or_default();
        emit_message_parts(&turn, &message, inside, self.has_steps(&turn), out);
        Ok(())
    }

    fn read_part(&self, text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
        let part: wire::Part<'_> = serde_json::from_str(text)?;
        let about = self.message_of(&part);
        let message: Option<wire::Message<'_>> = about
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        let Some(mut turn) = message.as_ref().and_then(OpencodeTurn::of) else {
            out.count_unknown("part without its message");
            return Ok(());
        };
        turn.is_closed = true;
        turn.is_delegated = turn.is_user() && self.is_delegated(&turn);
        turn.emit_part(part, out);
        Ok(())
    }

    /// Returns the folder that contains `message`, `part` and `session` (or `info`).
    fn storage_base(&self) -> Option<&Path> {
        self.path.ancestors().find_map(|folder| {
            let name = folder.file_name()?;
            (name == "part" || name == "message").then(|| folder.parent())?
        })
    }

    fn message_of(&self, part: &wire::Part<'_>) -> Option<String> {
        let (session, message) = (part.session.text()?, part.message.text()?);
        let path = self
            .storage_base()?
            .join("message")
            .join(session)
            .join(format!("{message}.json"));
        fs::read_to_string(path).ok()
    }

    fn is_delegated(&self, turn: &OpencodeTurn) -> bool {
        let Some(base) = self.storage_base() else {
            return false;
        };
        let name = format!("{}.json", turn.session.native());
        let projects = fs::read_dir(base.join("session"))
            .into_iter()
            .flatten()
            .flatten();
        let mut places: Vec<_> = projects.map(|project| project.path().join(&name)).collect();
        places.push(base.join("info").join(&name));
        places.iter().any(|path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            let session = serde_json::from_str::<wire::Session>(&text);
            session.is_ok_and(|session| session.parent.text().is_some())
        })
    }

    /// Says whether the parts of a message contain its usage.
    fn has_steps(&self, turn: &OpencodeTurn) -> bool {
        let Some(base) = self.storage_base() else {
            return false;
        };
        let part = base.join("part");
        let folders = [
            part.join(&turn.id),
            part.join(turn.session.native()).join(&turn.id),
        ];
        let mut files = folders
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok())
            .flatten();
        files.any(|file| {
            let text = file.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
            text.is_ok_and(|text| is_step_usage(&text))
        })
    }
}

fn read_export(text: &str, out: &mut ParseOutput) -> serde_json::Result<()> {
    let export: wire::Export<'_> = serde_json::from_str(text)?;
    let Some(patch) = session::patch(export.info) else {
        out.count_unknown("session without id");
        return Ok(());
    };
    let is_delegated = patch.parent.is_some();
    let native = patch.id.native().to_owned();
    out.push(patch);
    for exported in export.messages {
        let Ok(mut message) = serde_json::from_str::<wire::Message<'_>>(exported.info.get()) else {
            out.count_unknown("message");
            continue;
        };
        message.session.0.get_or_insert_with(|| native.clone());
        let Some(mut turn) = OpencodeTurn::of(&message) else {
            out.count_unknown("message without id, session or role");
            continue;
        };
        (turn.is_closed, turn.is_delegated) = (true, is_delegated);
        emit_message_parts(&turn, &message, &exported.parts, false, out);
    }
    Ok(())
}

/// Emits a message with its parts.
fn emit_message_parts(
    turn: &OpencodeTurn,
    message: &wire::Message<'_>,
    parts: &[&RawValue],
    steps_told: bool,
    out: &mut ParseOutput,
) {
    for raw in parts {
        match serde_json::from_str::<wire::Part<'_>>(raw.get()) {
            Ok(part) => turn.emit_part(part, out),
            Err(_) => out.count_unknown("part"),
        }
    }
    let steps_told = steps_told || parts.iter().any(|part| is_step_usage(part.get()));
    turn.emit_summary(message, steps_told, out);
}

fn is_step_usage(part: &str) -> bool {
    part.contains("\"step-finish\"")
        && serde_json::from_str::<wire::Part<'_>>(part)
            .is_ok_and(|part| part.kind.is("step-finish") && part.tokens.0.is_some())
}
