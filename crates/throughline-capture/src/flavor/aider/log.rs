//! Turns the lines of a history file into entries.

use memory::{Block, IdChain, Message, Origin, Role, TitleRank, UsageEntry};
use serde::{Deserialize, Serialize};

use super::line_kind::{AiderLine, AiderSpeaker, LineClassifier};
use super::prompt::{self, AiderPrompt};
use super::run::{AiderRun, RunHeader};
use super::{HISTORY, edits, output};
use crate::adapter::{load_state, save_state};
use crate::calls::OpenCalls;
use crate::{InputLine, LogReader, ParseOutput, ResumePoint, Source};

/// Reads one history file.
#[derive(Debug)]
pub(crate) struct AiderLogReader {
    /// The repository that contains the history file.
    cwd: Option<String>,
    state: AiderReaderState,
    open: Option<OpenPassage>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AiderReaderState {
    run: Option<AiderRun>,
    /// The start time of the last run, and how many runs before it started in the same second.
    started: String,
    nth: u32,
    marks: LineClassifier,
    chain: IdChain,
    /// The changes that the model proposed and Aider has not applied yet.
    calls: OpenCalls,
    /// The hash of a command's words, which Aider logs a second time as a prompt.
    again: Option<String>,
}

/// The passage that may still grow. The next sweep reads it again from its first line.
#[derive(Debug)]
struct OpenPassage {
    line: u64,
    offset: u64,
    before: AiderReaderState,
    kind: PassageKind,
    /// The line of the passage's text. A run's first prompt is below the run's header.
    text_line: u64,
}

#[derive(Debug)]
enum PassageKind {
    Head(Box<RunHeader>),
    Passage(AiderSpeaker, String),
}

impl AiderLogReader {
    pub(crate) fn new(source: &Source, state: Option<&str>) -> Self {
        let folder = source
            .path
            .parent()
            .filter(|_| source.path.ends_with(HISTORY));
        Self {
            cwd: folder.map(|folder| folder.to_string_lossy().into_owned()),
            state: load_state(state),
            open: None,
        }
    }

    fn start_run(
        &mut self,
        line: InputLine<'_>,
        at: &str,
        before: LineClassifier,
        out: &mut ParseOutput,
    ) {
        self.close_passage(out);
        let nth = if self.state.started == at {
            self.state.nth + 1
        } else {
            0
        };
        self.open_passage(
            line,
            before,
            PassageKind::Head(Box::new(RunHeader::new(at, nth))),
        );
        self.state = AiderReaderState {
            started: at.to_owned(),
            nth,
            marks: self.state.marks,
            ..AiderReaderState::default()
        };
    }

    fn add_line(
        &mut self,
        line: InputLine<'_>,
        speaker: AiderSpeaker,
        text: &str,
        before: LineClassifier,
        out: &mut ParseOutput,
    ) {
        match self.open.as_mut().map(|open| &mut open.kind) {
            Some(PassageKind::Head(head)) if speaker != AiderSpeaker::User => {
                return head.add_line(text);
            }
            Some(PassageKind::Head(head)) => {
                let run = head.clone().finish(text);
                // The run's id goes into the chain so that the same words in another run get other
                // ids.
                self.state.chain.link(&[&run.id]);
                self.state.run = Some(run);
                // The next reader starts at the run's header again, so that the run gets the same
                // id.
                if let Some(open) = &mut self.open {
                    open.kind = PassageKind::Passage(speaker, format!("{text}\n"));
                    open.text_line = line.number;
                }
                return;
            }
            Some(PassageKind::Passage(known, passage))
                if *known == speaker && !(speaker == AiderSpeaker::User && before.empty) =>
            {
                passage.push_str(text);
                passage.push('\n');
                return;
            }
            _ => {}
        }
        self.close_passage(out);
        self.open_passage(
            line,
            before,
            PassageKind::Passage(speaker, format!("{text}\n")),
        );
    }

    /// Opens a passage at this line and keeps the state before it.
    fn open_passage(&mut self, line: InputLine<'_>, before: LineClassifier, what: PassageKind) {
        let before = AiderReaderState {
            marks: before,
            ..self.state.clone()
        };
        self.open = Some(OpenPassage {
            line: line.number,
            offset: line.offset,
            before,
            kind: what,
            text_line: line.number,
        });
    }

    /// Emits the open passage. The header of a run has nothing to emit yet.
    fn close_passage(&mut self, out: &mut ParseOutput) {
        let Some(OpenPassage {
            text_line: line,
            kind: PassageKind::Passage(speaker, text),
            ..
        }) = self.open.take()
        else {
            return;
        };
        // Lines before the first run belong to no session.
        let Some(mut run) = self.state.run.clone() else {
            return;
        };
        if !run.introduced {
            run.introduced = true;
            out.push(run.first_patch(self.cwd.clone()));
            self.state.run = Some(run.clone());
        }
        let text = text.trim_matches('\n');
        match speaker {
            AiderSpeaker::User => self.emit_prompt(line, run, text, out),
            AiderSpeaker::Model => self.emit_answer(line, &run, text, out),
            AiderSpeaker::Aider => self.emit_output(line, run, text, out),
        }
    }

    fn emit_prompt(&mut self, line: u64, mut run: AiderRun, text: &str, out: &mut ParseOutput) {
        let text = text.trim();
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
        let expected = self.state.again.take();
        let (origin, block) = match prompt::classify(text) {
            AiderPrompt::Empty => return,
            _ if expected.is_some_and(|expected| expected == hash(text)) => return,
            AiderPrompt::Answer => (Origin::Human, Block::Approval(text.to_owned())),
            AiderPrompt::Harness => (Origin::Harness, Block::Text(text.to_owned())),
            AiderPrompt::Words { again } => {
                self.state.again = again.map(|words| hash(&words));
                if !run.titled {
                    run.titled = true;
                    out.push(run.patch().with_title(text, TitleRank::FirstPrompt));
                }
                (Origin::Human, Block::Text(text.to_owned()))
            }
        };
        let message = self.new_message(line, &run, Role::User, origin, text);
        self.state.run = Some(run);
        out.push(Message {
            blocks: vec![block],
            ..message
        });
    }

    fn emit_answer(&mut self, line: u64, run: &AiderRun, text: &str, out: &mut ParseOutput) {
        for mut call in edits::proposed_edits(text) {
            self.state.calls.open(&mut call);
        }
        let message = self.new_message(line, run, Role::Assistant, Origin::Model, text);
        out.push(Message {
            blocks: vec![Block::Text(text.to_owned())],
            model: run.model.clone(),
            ..message
        });
    }

    fn emit_output(&mut self, line: u64, mut run: AiderRun, text: &str, out: &mut ParseOutput) {
        let known = run.model.clone();
        for line in text.lines() {
            run.read_announcement(line);
        }
        if run.model != known {
            out.push(run.patch().with_model(run.model.clone()));
        }
        let printed = output::parse_output(text, &mut self.state.calls);
        let message = self.new_message(line, &run, Role::User, Origin::Tool, text);
        for (nth, bill) in printed.token_reports.into_iter().enumerate() {
            out.push(UsageEntry {
                session: run.session(),
                key: format!("{}/{}/{nth}", run.session(), message.id),
                at: run.started,
                model: known.clone(),
                usage: bill.usage,
                cost_usd: bill.cost_usd,
            });
        }
        self.state.run = Some(run);
        if !printed.blocks.is_empty() {
            out.push(Message {
                blocks: printed.blocks,
                ..message
            });
        }
    }

    /// Returns a message without blocks. Its time is the run's: Aider logs no other.
    fn new_message(
        &mut self,
        line: u64,
        run: &AiderRun,
        role: Role,
        origin: Origin,
        text: &str,
    ) -> Message {
        let id = self.state.chain.link(&[text]);
        Message {
            at: run.started,
            cwd: self.cwd.clone(),
            line,
            ..Message::new(id, run.session(), role, origin)
        }
    }
}

impl LogReader for AiderLogReader {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
        let before = self.state.marks;
        match self.state.marks.classify(line.text) {
            AiderLine::RunStart(at) => self.start_run(line, at, before, out),
            AiderLine::Text(speaker, text) => self.add_line(line, speaker, text, before, out),
            AiderLine::Empty => {
                if let Some(OpenPassage {
                    kind: PassageKind::Passage(_, text),
                    ..
                }) = &mut self.open
                {
                    text.push('\n');
                }
            }
        }
    }

    fn finish(&mut self, settled: bool, out: &mut ParseOutput) {
        // A run without a prompt stays open however long the file has been unchanged.
        if settled
            && !matches!(
                self.open,
                Some(OpenPassage {
                    kind: PassageKind::Head(_),
                    ..
                })
            )
        {
            self.close_passage(out);
        }
    }

    fn state(&self) -> String {
        save_state(&self.state)
    }

    fn resume_point(&self) -> Option<ResumePoint> {
        self.open.as_ref().map(|open| ResumePoint {
            line: open.line,
            offset: open.offset,
            state: save_state(&open.before),
        })
    }
}
