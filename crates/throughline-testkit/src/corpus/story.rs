//! What happens in a session, whichever agent writes it down.

use super::output;
use super::project::Project;
use super::rng::Rng;
use super::secrets::{self, Secret};
use super::vocabulary::Vocabulary;

/// Longest tool result, in bytes. Real ones reach megabytes; a few of those would decide the size
/// of a small corpus.
const RESULT_BYTES_MAX: usize = 120_000;
const RESULT_BYTES_MEDIAN: f64 = 340.0;

/// One prompt and everything until the answer to it.
#[derive(Debug)]
pub struct Turn {
    pub prompt: String,
    pub steps: Vec<Step>,
    pub answer: String,
    /// What was planted in this turn's texts.
    pub secrets: Vec<Secret>,
}

/// One response of the model: what it thought and said, and the tools it called.
#[derive(Debug)]
pub struct Step {
    pub thinking: Option<String>,
    pub says: Option<String>,
    pub calls: Vec<Call>,
}

/// A tool call and what came back.
#[derive(Debug)]
pub struct Call {
    pub action: Action,
    pub output: String,
    pub failed: bool,
}

#[derive(Debug)]
pub enum Action {
    Read {
        path: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Shell {
        command: String,
    },
    Search {
        pattern: String,
    },
}

/// Returns the next turn of a session.
pub fn turn(rng: &mut Rng, words: &Vocabulary, project: &Project, secret_rate: f64) -> Turn {
    let mut secrets = Vec::new();
    let size = rng.size(110.0, 0.9, 6000);
    let mut prompt = words.prose(rng, size);
    if rng.chance(secret_rate) {
        prompt.push_str(&secrets::plant(rng, &mut secrets));
    }
    let steps = (0..1 + rng.size(3.5, 0.8, 40))
        .map(|_| step(rng, words, project, secret_rate, &mut secrets))
        .collect();
    let size = rng.size(420.0, 0.8, 8000);
    Turn {
        prompt,
        steps,
        answer: words.prose(rng, size),
        secrets,
    }
}

fn step(
    rng: &mut Rng,
    words: &Vocabulary,
    project: &Project,
    secret_rate: f64,
    secrets: &mut Vec<Secret>,
) -> Step {
    let thinking = rng.chance(0.45).then(|| {
        let size = rng.size(260.0, 0.9, 8000);
        words.prose(rng, size)
    });
    let says = rng.chance(0.4).then(|| {
        let size = rng.size(90.0, 0.6, 2000);
        words.prose(rng, size)
    });
    let calls = match rng.between(0, 10) {
        0..=7 => 1,
        8 => 2,
        _ => 3,
    };
    let calls = (0..calls)
        .map(|_| {
            let mut call = call(rng, words, project);
            if rng.chance(secret_rate) {
                call.output.push_str(&secrets::plant(rng, secrets));
            }
            call
        })
        .collect();
    Step {
        thinking,
        says,
        calls,
    }
}

fn call(rng: &mut Rng, words: &Vocabulary, project: &Project) -> Call {
    let size = rng.size(RESULT_BYTES_MEDIAN, 1.15, RESULT_BYTES_MAX);
    let path = project.file(rng);
    match rng.between(0, 10) {
        0..=2 => Call {
            action: Action::Read { path },
            output: output::source(rng, words, size),
            failed: false,
        },
        3 | 4 => {
            let (old, new) = output::change(rng, words);
            Call {
                action: Action::Edit { path, old, new },
                output: String::new(),
                failed: rng.chance(0.04),
            }
        }
        5 | 6 => {
            let (output, failed) = output::test_run(rng, words, size);
            let command = format!("cargo test -p {} {}", project.name, words.snake(rng));
            Call {
                action: Action::Shell { command },
                output,
                failed,
            }
        }
        7 | 8 => {
            let verb = rng.pick(&[
                "git log --oneline", "ls -la", "git status", "journalctl -n 40",
            ]);
            Call {
                action: Action::Shell {
                    command: format!("{verb} # {}", words.word(rng)),
                },
                output: output::shell(rng, words, size),
                failed: rng.chance(0.08),
            }
        }
        _ => Call {
            action: Action::Search {
                pattern: words.snake(rng),
            },
            output: output::hits(rng, words, size),
            failed: false,
        },
    }
}
