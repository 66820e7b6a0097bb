//! Lines of a history to entries.

use memory::{
    Block, Chain, Entry, Message, Origin, Role, SessionPatch, Title, TitleRank, UsageEntry,
};
use serde::{Deserialize, Serialize};

use super::mark::{Mark, Marks, Speaker};
use super::prompt::{self, Said};
use super::run::{Head, Run};
use super::{HISTORY, edits, printed};
use crate::calls::OpenCalls;
use crate::{Line, Parsed, Reader, Resume, Source};

/// Reads one history.
#[derive(Debug)]
pub struct Log {
    /// The repository that the history lies in.
    cwd: Option<String>,
    state: State,
    open: Option<Open>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct State {
    run: Option<Run>,
    /// When the last run started, and how many before it started then.
    started: String,
    nth: u32,
    marks: Marks,
    chain: Chain,
    /// Changes that the model proposed.
    calls: OpenCalls,
    /// The hash of the words that will be logged again.
    again: Option<String>,
}

/// What is still being said: a next reader comes back to its first line.
#[derive(Debug)]
struct Open {
    line: u64,
    offset: u64,
    before: State,
    what: What,
    /// Where the words begin: a run's first prompt stands below its head.
    said_at: u64,
}

#[derive(Debug)]
enum What {
    Head(Box<Head>),
    Passage(Speaker, String),
}

impl Log {
    pub fn new(source: &Source, state: Option<&str>) -> Self {
        let folder = source
            .path
            .parent()
            .filter(|_| source.path.ends_with(HISTORY));
        Self {
            cwd: folder.map(|folder| folder.to_string_lossy().into_owned()),
            state: state
                .and_then(|state| serde_json::from_str(state).ok())
                .unwrap_or_default(),
            open: None,
        }
    }

    fn start(&mut self, line: Line<'_>, at: &str, before: Marks, out: &mut Parsed) {
        self.close(out);
        let nth = if self.state.started == at {
            self.state.nth + 1
        } else {
            0
        };
        self.open(line, before, What::Head(Box::new(Head::new(at, nth))));
        self.state = State {
            started: at.to_owned(),
            nth,
            marks: self.state.marks,
            ..State::default()
        };
    }

    fn said(
        &mut self,
        line: Line<'_>,
        speaker: Speaker,
        text: &str,
        before: Marks,
        out: &mut Parsed,
    ) {
        match self.open.as_mut().map(|open| &mut open.what) {
            Some(What::Head(head)) if speaker != Speaker::User => return head.line(text),
            Some(What::Head(head)) => {
                let run = head.clone().finish(text);
                // The same words in another run are not a copy of this one's.
                self.state.chain.link(&[&run.id]);
                self.state.run = Some(run);
                // A next reader comes back to the head, so that the run gets its name again.
                if let Some(open) = &mut self.open {
                    open.what = What::Passage(speaker, format!("{text}\n"));
                    open.said_at = line.number;
                }
                return;
            }
            Some(What::Passage(known, passage))
                if *known == speaker && !(speaker == Speaker::User && before.empty) =>
            {
                passage.push_str(text);
                passage.push('\n');
                return;
            }
            _ => {}
        }
        self.close(out);
        self.open(line, before, What::Passage(speaker, format!("{text}\n")));
    }

    /// Notes what begins on this line, with the state before it.
    fn open(&mut self, line: Line<'_>, before: Marks, what: What) {
        let before = State {
            marks: before,
            ..self.state.clone()
        };
        self.open = Some(Open {
            line: line.number,
            offset: line.offset,
            before,
            what,
            said_at: line.number,
        });
    }

    /// Emits what was said. The head of a run says nothing yet.
    fn close(&mut self, out: &mut Parsed) {
        let Some(Open {
            said_at: line,
            what: What::Passage(speaker, text),
            ..
        }) = self.open.take()
        else {
            return;
        };
        // What stands before the first run belongs to none.
        let Some(mut run) = self.state.run.clone() else {
            return;
        };
        if !run.introduced {
            run.introduced = true;
            out.push(Entry::Session(run.introduction(self.cwd.clone())));
            self.state.run = Some(run.clone());
        }
        let text = text.trim_matches('\n');
        match speaker {
            Speaker::User => self.prompt(line, run, text, out),
            Speaker::Model => self.answer(line, &run, text, out),
            Speaker::Aider => self.printed(line, run, text, out),
        }
    }

    fn prompt(&mut self, line: u64, mut run: Run, text: &str, out: &mut Parsed) {
        let text = text.trim();
        let hash = |text: &str| blake3::hash(text.as_bytes()).to_hex()[..16].to_owned();
        let expected = self.state.again.take();
        let (origin, block) = match prompt::said(text) {
            Said::Nothing => return,
            _ if expected.is_some_and(|expected| expected == hash(text)) => return,
            Said::Answer => (Origin::Human, Block::Approval(text.to_owned())),
            Said::Harness => (Origin::Harness, Block::Text(text.to_owned())),
            Said::Words { again } => {
                self.state.again = again.map(|words| hash(&words));
                if !run.titled {
                    run.titled = true;
                    let title = Title {
                        text: text.to_owned(),
                        rank: TitleRank::FirstPrompt,
                    };
                    out.push(Entry::Session(SessionPatch {
                        title: Some(title),
                        ..run.patch()
                    }));
                }
                (Origin::Human, Block::Text(text.to_owned()))
            }
        };
        let message = self.message(line, &run, Role::User, origin, text);
        self.state.run = Some(run);
        out.push(Entry::Message(Message {
            blocks: vec![block],
            ..message
        }));
    }

    fn answer(&mut self, line: u64, run: &Run, text: &str, out: &mut Parsed) {
        for mut call in edits::proposed(text) {
            self.state.calls.open(&mut call);
        }
        let message = self.message(line, run, Role::Assistant, Origin::Model, text);
        out.push(Entry::Message(Message {
            blocks: vec![Block::Text(text.to_owned())],
            model: run.model.clone(),
            ..message
        }));
    }

    fn printed(&mut self, line: u64, mut run: Run, text: &str, out: &mut Parsed) {
        let known = run.model.clone();
        for line in text.lines() {
            run.learn(line);
        }
        if run.model != known {
            out.push(Entry::Session(SessionPatch {
                model: run.model.clone(),
                ..run.patch()
            }));
        }
        let printed = printed::read(text, &mut self.state.calls);
        let message = self.message(line, &run, Role::User, Origin::Tool, text);
        for (nth, bill) in printed.bills.into_iter().enumerate() {
            out.push(Entry::Usage(UsageEntry {
                session: run.session(),
                key: format!("{}/{}/{nth}", run.session(), message.id),
                at: run.started,
                model: known.clone(),
                usage: bill.usage,
                cost_usd: bill.cost_usd,
            }));
        }
        self.state.run = Some(run);
        if !printed.blocks.is_empty() {
            out.push(Entry::Message(Message {
                blocks: printed.blocks,
                ..message
            }));
        }
    }

    /// The only time there is, is the run's.
    fn message(&mut self, line: u64, run: &Run, role: Role, origin: Origin, text: &str) -> Message {
        let id = self.state.chain.link(&[text]);
        Message {
            at: run.started,
            cwd: self.cwd.clone(),
            line,
            ..Message::new(id, run.session(), role, origin)
        }
    }
}

impl Reader for Log {
    fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
        let before = self.state.marks;
        match self.state.marks.read(line.text) {
            Mark::Start(at) => self.start(line, at, before, out),
            Mark::Said(speaker, text) => self.said(line, speaker, text, before, out),
            Mark::Empty => {
                if let Some(Open {
                    what: What::Passage(_, text),
                    ..
                }) = &mut self.open
                {
                    text.push('\n');
                }
            }
        }
    }

    fn end(&mut self, settled: bool, out: &mut Parsed) {
        // A run that still waits for its first prompt may wait for long.
        if settled
            && !matches!(
                self.open,
                Some(Open {
                    what: What::Head(_),
                    ..
                })
            )
        {
            self.close(out);
        }
    }

    fn state(&self) -> String {
        to_json(&self.state)
    }

    fn resume(&self) -> Option<Resume> {
        self.open.as_ref().map(|open| Resume {
            line: open.line,
            offset: open.offset,
            state: to_json(&open.before),
        })
    }
}

fn to_json(state: &State) -> String {
    serde_json::to_string(state).unwrap_or_default()
}
