//! The interface between the agents' log formats and the rest of the crate.
//!
//! An [`Adapter`] answers, for one agent, where its logs are, which files are logs and how a log
//! becomes [`memory::LogEntry`]s. Each agent defines its adapter as a constant in its own folder
//! under [`crate::flavor`]. A [`LogReader`] reads one source; [`ParseOutput`] collects what it
//! understood and what it skipped. Nothing here knows a concrete format.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use memory::{Flavor, LogEntry};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::foreign::ForeignDatabase;

/// Reads one agent's logs. The fields are functions; an optional one is `None` where the agent has
/// no use for it.
#[derive(Debug)]
pub struct Adapter {
    pub(crate) flavor: Flavor,
    pub(crate) roots: fn(&AgentEnv) -> Vec<PathBuf>,
    pub(crate) claim: fn(&Path, &Path) -> Option<SourceFormat>,
    pub(crate) recognises: fn(&str) -> bool,
    pub(crate) identify: Option<fn(&str) -> Option<SourceFormat>>,
    pub(crate) open_reader: fn(&Source, Option<&str>) -> Box<dyn LogReader>,
    pub(crate) is_shared: Option<fn(&Source) -> bool>,
    pub(crate) session_folder: Option<fn(&Source, &str) -> Option<String>>,
    pub(crate) read_rows: Option<ReadRows>,
}

/// Reads the new rows of an agent's database and returns the state for the next call.
pub(crate) type ReadRows =
    fn(&Source, &ForeignDatabase, Option<&str>, &mut ParseOutput) -> store::Result<String>;

impl Adapter {
    pub const fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// Returns the folders and files where this agent keeps its logs, whether they exist or not.
    pub fn roots(&self, env: &AgentEnv) -> Vec<PathBuf> {
        (self.roots)(env)
    }

    /// Returns how to read a file below a root, or `None` when it is not one of the agent's logs.
    /// Decides by the path and does not read the file.
    pub fn claim(&self, root: &Path, relative: &Path) -> Option<SourceFormat> {
        (self.claim)(root, relative)
    }

    /// Says whether the head of a file of unknown origin looks like one of this agent's logs.
    pub fn recognises(&self, head: &str) -> bool {
        (self.recognises)(head)
    }

    /// Returns how to read a file whose name says nothing, when its head shows that it is one of
    /// this agent's logs. Stricter than [`Self::recognises`], which only decides between adapters
    /// that have claimed the file by its name. Agents whose logs cannot be understood without their
    /// path identify none.
    pub fn identify(&self, head: &str) -> Option<SourceFormat> {
        self.identify.and_then(|identify| identify(head))
    }

    /// Returns a reader that continues from `state`, or starts afresh without one.
    pub fn open_reader(&self, source: &Source, state: Option<&str>) -> Box<dyn LogReader> {
        (self.open_reader)(source, state)
    }

    /// Says whether a source holds something of every session, as a history of prompts does.
    pub fn is_shared(&self, source: &Source) -> bool {
        self.is_shared.is_some_and(|is_shared| is_shared(source))
    }

    /// Returns the folder of a session whose source does not name it, from the files beside the
    /// source. `session` is the agent's own id.
    pub fn session_folder(&self, source: &Source, session: &str) -> Option<String> {
        self.session_folder
            .and_then(|session_folder| session_folder(source, session))
    }

    /// Reads the rows of a [`SourceFormat::Database`] that are new since `state`, and returns the
    /// state for the next call.
    pub fn read_rows(
        &self,
        source: &Source,
        database: &ForeignDatabase,
        state: Option<&str>,
        out: &mut ParseOutput,
    ) -> store::Result<String> {
        match self.read_rows {
            Some(read_rows) => read_rows(source, database, state, out),
            None => Ok(String::new()),
        }
    }
}

/// Turns lines into entries. One reader reads one source, front to back.
pub trait LogReader: Send {
    fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput);

    /// Called once when there is no more to read for now. A `settled` source has not changed for
    /// some minutes, so a message that is still incomplete will stay so.
    fn finish(&mut self, _settled: bool, _out: &mut ParseOutput) {}

    /// Returns what the next reader of this source must know, as JSON. The store keeps it, redacted
    /// like everything else, so it holds ids, names and open calls but no conversation.
    fn state(&self) -> String {
        "{}".to_owned()
    }

    /// Returns where the next reader must start when that is before the end of the input, because a
    /// message is still being written.
    fn resume_point(&self) -> Option<ResumePoint> {
        None
    }
}

/// Reads the state that an earlier reader left. A state that cannot be parsed was written by
/// another version; reading then starts over, and ids stay the same because they are derived from
/// content.
pub(crate) fn load_state<T: DeserializeOwned + Default>(state: Option<&str>) -> T {
    state
        .and_then(|state| serde_json::from_str(state).ok())
        .unwrap_or_default()
}

/// Writes a reader's state. States are plain structs of strings and numbers, which always
/// serialise.
pub(crate) fn save_state<T: Serialize>(state: &T) -> String {
    serde_json::to_string(state).unwrap_or_default()
}

/// Reads a whole log from memory.
pub fn parse_text(adapter: &Adapter, source: &Source, text: &str) -> ParseOutput {
    let mut out = ParseOutput::default();
    let mut reader = adapter.open_reader(source, None);
    if source.format == SourceFormat::Document {
        reader.read_line(InputLine::document(text), &mut out);
    } else {
        let mut offset = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let line = InputLine {
                text: line,
                number,
                offset,
            };
            reader.read_line(line, &mut out);
            offset += line.text.len() as u64;
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
    /// The offset of the line's first byte, after decompression.
    pub offset: u64,
}

impl<'a> InputLine<'a> {
    /// Returns a whole document as the single line of its source.
    pub const fn document(text: &'a str) -> Self {
        Self::row(text, 1)
    }

    /// Returns the JSON of a database row, which is numbered by its row id.
    pub const fn row(text: &'a str, number: u64) -> Self {
        Self {
            text,
            number,
            offset: 0,
        }
    }
}

/// A line to read again first, and the reader's state before that line.
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
    /// Lines are appended; a sweep continues where the last one stopped.
    Lines,
    /// The same, compressed with zstd; written once.
    LinesZstd,
    /// A document that is rewritten as a whole; the reader gets its text as one line.
    Document,
    /// An SQLite file, read by [`Adapter::read_rows`].
    Database,
}

/// The result of reading: the entries that were understood, and what was skipped.
#[derive(Debug, Default)]
pub struct ParseOutput {
    pub entries: Vec<LogEntry>,
    pub skipped: Vec<SkippedLine>,
    /// Counts per kind of entry that the reader does not know: a sign that the format has changed.
    pub unknown_kinds: BTreeMap<String, u64>,
}

impl ParseOutput {
    pub fn push(&mut self, entry: impl Into<LogEntry>) {
        self.entries.push(entry.into());
    }

    pub fn skip_line(&mut self, line: InputLine<'_>, reason: SkipReason) {
        self.skipped.push(SkippedLine {
            line: line.number,
            reason,
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

/// A source with more unknown kinds than this is not a newer format but garbage.
const UNKNOWN_KINDS_MAX: usize = 64;

/// A line that was skipped, whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedLine {
    pub line: u64,
    pub reason: SkipReason,
}

memory::named_enum! {
    /// Why a line was skipped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum SkipReason {
        /// The line is not JSON, or JSON of another shape than an entry.
        Malformed = "malformed",
        /// The line is damaged; the intact part of it was kept.
        Torn = "torn",
        /// The line exceeds the size limit.
        TooLong = "too long",
        /// The line was read with its invalid UTF-8 replaced.
        NotUtf8 = "not UTF-8",
        /// The JSON is nested deeper than the parser's limit.
        TooDeep = "nested too deep",
    }
}

/// The part of the process environment that decides where agents keep their logs. The binary fills
/// it in; this crate never reads the environment itself.
#[derive(Clone, Debug, Default)]
pub struct AgentEnv {
    pub home: PathBuf,
    /// Those of [`ENV_VARIABLES`] that are set.
    pub variables: BTreeMap<String, String>,
}

/// The environment variables with which users move agents' folders.
pub const ENV_VARIABLES: &[&str] = &[
    "AIDER_CHAT_HISTORY_FILE", "APPDATA", "CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CODEX_HOME",
    "CONTINUE_GLOBAL_DIR", "COPILOT_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT", "GROK_HOME",
    "KIMI_CODE_HOME", "KIMI_HOME", "OPENCODE_DB", "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR", "QWEN_HOME", "QWEN_RUNTIME_DIR", "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

impl AgentEnv {
    /// Returns the folder that a variable names, if it is set and not empty.
    pub fn folder_variable(&self, variable: &str) -> Option<PathBuf> {
        self.variables
            .get(variable)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    }

    /// Returns the folder that a variable names, or else the one at `default` below the home
    /// folder.
    pub fn folder_or_home(&self, variable: &str, default: &str) -> PathBuf {
        self.folder_variable(variable)
            .unwrap_or_else(|| self.home.join(default))
    }

    /// Returns the folders where desktop programs keep their configuration on Linux, macOS and
    /// Windows.
    pub fn config_folders(&self) -> Vec<PathBuf> {
        let mut folders = vec![
            self.folder_or_home("XDG_CONFIG_HOME", ".config"),
            self.home.join("Library/Application Support"),
        ];
        folders.extend(self.folder_variable("APPDATA"));
        folders
    }
}
