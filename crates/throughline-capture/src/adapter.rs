//! The seam between agents' formats and the rest.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use memory::{Flavor, LogEntry};
use store::foreign::ForeignDatabase;

/// Reads one agent's logs.
pub trait Adapter: Sync + fmt::Debug {
    fn flavor(&self) -> Flavor;

    /// Returns the folders where this agent keeps its logs on this machine, there or not.
    fn roots(&self, places: &AgentEnv) -> Vec<PathBuf>;

    /// Returns how to read a file below a root, or `None` when it is not one of the agent's logs.
    /// Looks at the path only.
    fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat>;

    /// Says whether the head of a file of unknown origin is one of this agent's logs.
    fn recognises(&self, head: &str) -> bool;

    /// Returns how to read a file whose name says nothing, when its head shows that it is one of
    /// this agent's logs. Stricter than [`Self::recognises`], which decides between adapters that
    /// know the name. Agents whose logs need their path to be understood identify none.
    fn identify(&self, _head: &str) -> Option<SourceFormat> {
        None
    }

    /// Returns a reader that goes on where `state` left off, or starts afresh.
    fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader>;

    /// Says whether a source holds something of every session, as a history of prompts does.
    fn is_shared(&self, _source: &Source) -> bool {
        false
    }

    /// Returns the folder of a session whose source does not name it itself, from the files beside
    /// the source. `session` is the agent's own id.
    fn session_folder(&self, _source: &Source, _session: &str) -> Option<String> {
        None
    }

    /// Reads what is new in a [`Format::Database`] since `state`, and returns the state for the next
    /// time.
    fn read_rows(
        &self,
        _source: &Source,
        _database: &ForeignDatabase,
        _state: Option<&str>,
        _out: &mut ParseOutput,
    ) -> store::Result<String> {
        Ok(String::new())
    }
}

/// Turns lines into entries. One reader reads one source, front to back.
pub trait LogReader: Send {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput);

    /// Called once when there is no more to read for now. A `settled` source has not changed for
    /// some minutes, so what is still open will not be finished.
    fn finish(&mut self, _settled: bool, _out: &mut ParseOutput) {}

    /// Returns what the next reader of this source must know, as JSON. It is stored (cleaned, as
    /// everything is), so it holds ids, names and open calls, not the conversation.
    fn state(&self) -> String;

    /// Returns where the next reader must start when that is before the last line, because a
    /// message is still being written.
    fn resume_point(&self) -> Option<ResumePoint> {
        None
    }
}

/// Reads a whole log that is at hand as text.
pub fn parse_text(adapter: &dyn Adapter, source: &Source, text: &str) -> ParseOutput {
    let mut out = ParseOutput::default();
    let mut reader = adapter.open_reader(source, None);
    if source.format == SourceFormat::Document {
        reader.read_line(
            InputLine {
                text,
                number: 1,
                offset: 0,
            },
            &mut out,
        );
    } else {
        let mut offset = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            reader.read_line(
                InputLine {
                    text: line,
                    number,
                    offset,
                },
                &mut out,
            );
            offset += line.len() as u64;
        }
    }
    reader.finish(true, &mut out);
    out
}

/// One whole line of a log.
#[derive(Clone, Copy, Debug)]
pub struct InputLine<'a> {
    pub text: &'a str,
    /// Counted from 1.
    pub number: u64,
    /// Where the line starts, in (decompressed) bytes.
    pub offset: u64,
}

/// Where to read on, and what to know there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumePoint {
    /// The number of the first line to read again.
    pub line: u64,
    pub offset: u64,
    pub state: String,
}

/// A file of an agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Source {
    pub flavor: Flavor,
    pub path: PathBuf,
    pub format: SourceFormat,
}

/// How a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SourceFormat {
    /// Lines that are appended; read from where the last sweep stopped.
    Lines,
    /// The same, compressed with zstd; written once.
    LinesZstd,
    /// One document that is rewritten; its whole text reaches the reader as one line.
    Document,
    /// An SQLite file; read by [`Adapter::rows`].
    Database,
}

/// What a reader understood, and what it did not.
#[derive(Debug, Default)]
pub struct ParseOutput {
    pub entries: Vec<LogEntry>,
    pub skipped: Vec<SkippedLine>,
    /// Kinds of entries we do not know, counted: how a format's drift is noticed.
    pub unknown_kinds: BTreeMap<String, u64>,
}

impl ParseOutput {
    pub fn push(&mut self, entry: LogEntry) {
        self.entries.push(entry);
    }

    pub fn skip_line(&mut self, line: InputLine<'_>, why: SkipReason) {
        self.skipped.push(SkippedLine {
            line: line.number,
            reason: why,
        });
    }

    pub fn count_unknown(&mut self, kind: &str) {
        if let Some(count) = self.unknown_kinds.get_mut(kind) {
            *count += 1;
        } else if self.unknown_kinds.len() < UNKNOWN_KINDS_MAX {
            self.unknown_kinds.insert(kind.to_owned(), 1);
        }
    }
}

/// Beyond this a log is not drifting, it is garbage.
const UNKNOWN_KINDS_MAX: usize = 64;

/// A line that was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    pub line: u64,
    pub reason: SkipReason,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// Not JSON, or JSON of another shape than an entry.
    Malformed,
    /// Part of the line was sound and was kept.
    Torn,
    /// Longer than we read.
    TooLong,
    /// Bytes that are not UTF-8 were replaced.
    NotUtf8,
    /// Nested deeper than we read.
    TooDeep,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed",
            Self::Torn => "torn",
            Self::TooLong => "too long",
            Self::NotUtf8 => "not UTF-8",
            Self::TooDeep => "nested too deep",
        })
    }
}

/// What discovery may know of the machine. The binary fills it from the environment.
#[derive(Clone, Debug, Default)]
pub struct AgentEnv {
    pub home: PathBuf,
    /// The variables of [`ENVIRONMENT`] that are set.
    pub variables: BTreeMap<String, String>,
}

/// The environment variables by which agents move their folders.
pub const ENV_VARIABLES: &[&str] = &[
    "AIDER_CHAT_HISTORY_FILE",
    "APPDATA",
    "CLAUDE_CONFIG_DIR",
    "CLINE_DATA_DIR",
    "CODEX_HOME",
    "CONTINUE_GLOBAL_DIR",
    "COPILOT_HOME",
    "GEMINI_CLI_HOME",
    "GOOSE_PATH_ROOT",
    "GROK_HOME",
    "KIMI_CODE_HOME",
    "KIMI_HOME",
    "OPENCODE_DB",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "QWEN_HOME",
    "QWEN_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

impl AgentEnv {
    /// Returns the folder a variable names, if it is set to something.
    pub fn folder_variable(&self, variable: &str) -> Option<PathBuf> {
        self.variables
            .get(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }
}
