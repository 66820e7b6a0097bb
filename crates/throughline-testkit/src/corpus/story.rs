//! What happens in a session, whichever agent writes it down.

use super::Plan;
use super::output;
use super::project::Project;
use super::rng::Rng;
use super::secrets::{self, Secret};
use super::vocabulary::Vocabulary;

/// The lengths of one kind of text, in bytes: lognormal, cut off at both ends.
struct Lengths {
    median: f64,
    sigma: f64,
    min: usize,
    max: usize,
}

// The lengths follow those of real logs, where half of the prompts are shorter than 105 characters
// and half of the tool results shorter than 611, and one result in ten is longer than 9,000.
const PROMPT: Lengths = Lengths::new(150.0, 0.9, 50, 500);
const PASTED_PROMPT: Lengths = Lengths::new(2500.0, 0.9, 500, 24_000);
const ANSWER: Lengths = Lengths::new(600.0, 0.8, 200, 3000);
const THINKING: Lengths = Lengths::new(270.0, 1.2, 20, 8000);
const COMMENTARY: Lengths = Lengths::new(160.0, 0.7, 30, 2000);
const RESULT: Lengths = Lengths::new(650.0, 1.6, 20, 20_000);
const LONG_RESULT: Lengths = Lengths::new(40_000.0, 0.5, 20_000, 300_000);

/// How many prompts hold a pasted text, and how many tool results are longer than 20,000.
const PASTED_PROMPTS: f64 = 0.03;
const LONG_RESULTS: f64 = 0.005;

impl Lengths {
    const fn new(median: f64, sigma: f64, min: usize, max: usize) -> Self {
        Self {
            median,
            sigma,
            min,
            max,
        }
    }

    fn draw(&self, rng: &mut Rng) -> usize {
        rng.size(self.median, self.sigma, self.max).max(self.min)
    }

    /// Draws from one distribution, or now and then from the one of the long tail.
    fn draw_or(&self, tail: &Self, chance: f64, rng: &mut Rng) -> usize {
        if rng.chance(chance) {
            tail.draw(rng)
        } else {
            self.draw(rng)
        }
    }
}

/// One prompt and everything until the answer to it.
#[derive(Debug)]
pub struct Turn {
    pub prompt: String,
    pub steps: Vec<Step>,
    pub answer: String,
    /// The secrets that this turn's texts contain.
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

/// Returns a turn of a session; `number` says how many came before it.
pub fn turn(rng: &mut Rng, words: &Vocabulary, plan: &Plan<'_>, number: u64) -> Turn {
    let (project, secret_rate) = (plan.project, plan.secret_rate);
    let mut secrets = Vec::new();
    let size = PROMPT.draw_or(&PASTED_PROMPT, PASTED_PROMPTS, rng);
    let mut prompt = words.prose_up_to(rng, size);
    if rng.chance(secret_rate) {
        prompt.push_str(&secrets::plant(rng, &mut secrets));
    }
    if plan.prompts_per_secret > 0 && number.is_multiple_of(plan.prompts_per_secret) {
        // Its own generator, so that the rest of the session is the same without these secrets.
        let mut rng = Rng::fork(plan.start_ms.unsigned_abs(), number);
        prompt.push_str(&secrets::plant(&mut rng, &mut secrets));
    }
    let steps = (0..1 + rng.size(3.5, 0.8, 40))
        .map(|_| step(rng, words, project, secret_rate, &mut secrets))
        .collect();
    let size = ANSWER.draw(rng);
    Turn {
        prompt,
        steps,
        answer: words.prose_up_to(rng, size),
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
        let size = THINKING.draw(rng);
        words.prose(rng, size)
    });
    let says = rng.chance(0.4).then(|| {
        let size = COMMENTARY.draw(rng);
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
    let size = RESULT.draw_or(&LONG_RESULT, LONG_RESULTS, rng);
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
