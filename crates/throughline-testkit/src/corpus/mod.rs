//! Makes session logs of coding agents, as many as wanted and the same ones for the same seed.
//!
//! [`write()`] is the way in. A session is told as turns (`story`) about a repository
//! (`project`); `claude`, `codex` and `grok` each write a turn down the way that agent
//! does, into a `sink` that counts and notes planted secrets. What they say is made of
//! `vocabulary` and `output`.
//!
//! The lines have the shapes, the noise and the repetitions of real logs and hold nothing of any
//! real session. Only a turn is in memory at a time. A session hangs on the seed and its number
//! alone, so a larger corpus begins with the smaller one.

mod claude;
mod codex;
mod grok;
mod json;
mod output;
mod project;
mod rng;
mod secrets;
mod sink;
mod story;
mod vocabulary;

use std::io;
use std::path::Path;

use self::project::Project;
use self::rng::Rng;
use self::sink::Sink;
use self::vocabulary::Vocabulary;

pub use self::sink::MANIFEST;

/// Sessions grow until they have about this many lines: half of them fewer, some many more.
const LINES_MEDIAN: f64 = 48.0;
const LINES_SIGMA: f64 = 1.15;
const LINES_MIN: u64 = 8;
const LINES_MAX: usize = 50_000;

/// The first session starts after this; they spread over a year.
const EPOCH_MS: i64 = 1_756_684_800_000;
const SPREAD_HOURS: usize = 24 * 365;

/// What to make.
#[derive(Clone, Debug)]
pub struct Options {
    pub sessions: usize,
    pub seed: u64,
    /// The agents to take turns, each as often as it is named.
    pub agents: Vec<Agent>,
    /// The chance that a prompt or a tool result holds an invented secret.
    pub secret_rate: f64,
    /// Plants a new secret in every n-th prompt besides; 0 plants none. The rest of the corpus does
    /// not depend on it.
    pub prompts_per_secret: u64,
    /// The number of lines that every session gets at least, instead of a drawn one.
    pub lines: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        use Agent::{Claude, Codex, Grok};
        Self {
            sessions: 1000,
            seed: 1,
            agents: vec![Claude, Codex, Claude, Grok, Claude, Codex, Claude],
            secret_rate: 0.0,
            prompts_per_secret: 0,
            lines: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    Claude,
    Codex,
    Grok,
}

impl Agent {
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "grok" => Some(Self::Grok),
            _ => None,
        }
    }
}

/// The size of a generated corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stats {
    pub sessions: u64,
    pub files: u64,
    /// Lines of logs.
    pub lines: u64,
    pub bytes: u64,
    /// Lines of the manifest of planted secrets.
    pub planted: u64,
}

/// Writes a corpus below a directory, in the layouts that the agents use below a home.
pub fn write(options: &Options, out: &Path) -> io::Result<Stats> {
    let words = Vocabulary::default();
    let projects = project::projects(options.seed, &words);
    let mut sink = Sink::new(out)?;
    for index in 0..options.sessions {
        let Some(agent) = options.agents.get(index % options.agents.len().max(1)) else {
            break;
        };
        let mut rng = Rng::fork(options.seed, index as u64);
        let plan = Plan::draw(&mut rng, &projects, options);
        match agent {
            Agent::Claude => claude::write(&plan, rng, &words, &mut sink)?,
            Agent::Codex => codex::write(&plan, rng, &words, &mut sink)?,
            Agent::Grok => grok::write(&plan, rng, &words, &mut sink)?,
        }
    }
    sink.finish()
}

/// What a session is about and how long it goes on.
struct Plan<'a> {
    project: &'a Project,
    branch: String,
    start_ms: i64,
    lines_min: u64,
    secret_rate: f64,
    prompts_per_secret: u64,
}

impl<'a> Plan<'a> {
    fn draw(rng: &mut Rng, projects: &'a [Project], options: &Options) -> Self {
        let project = project::pick(rng, projects);
        let drawn = rng.size(LINES_MEDIAN, LINES_SIGMA, LINES_MAX) as u64;
        Self {
            project,
            branch: project.branch(rng),
            start_ms: EPOCH_MS + rng.between(0, SPREAD_HOURS * 3_600_000) as i64,
            lines_min: options.lines.unwrap_or(drawn).max(LINES_MIN),
            secret_rate: options.secret_rate,
            prompts_per_secret: options.prompts_per_secret,
        }
    }
}

/// The time of a session, which only goes on.
struct Clock(i64);

impl Clock {
    fn tick(&mut self, rng: &mut Rng, median_ms: f64) -> i64 {
        self.0 += rng.size(median_ms, 1.0, 3_600_000) as i64;
        self.0
    }

    /// Returns the time as the agents write it, in milliseconds.
    fn iso(&self) -> String {
        iso(self.0)
    }
}

fn iso(at_ms: i64) -> String {
    let at = jiff::Timestamp::from_millisecond(at_ms).unwrap_or_default();
    format!("{at:.3}")
}

#[cfg(test)]
mod tests;
