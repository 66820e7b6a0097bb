//! The repositories that the sessions are about.

use super::rng::Rng;
use super::vocabulary::Vocabulary;

const NAMES: [&str; 12] = [
    "ledger", "storefront", "parcel-tracker", "mailroom", "atlas_tiles", "nightwatch",
    "quill.editor", "gatekeeper", "harbor-cli", "weather-desk", "payroll", "dotfiles",
];
const FILES: usize = 120;

#[derive(Debug)]
pub struct Project {
    pub name: &'static str,
    pub cwd: String,
    pub remote: String,
    branches: Vec<String>,
    files: Vec<String>,
}

/// Returns the repositories of a corpus.
pub fn projects(seed: u64, words: &Vocabulary) -> Vec<Project> {
    let mut rng = Rng::fork(seed, u64::MAX);
    NAMES
        .iter()
        .map(|name| {
            let cwd = format!("/home/dev/work/{name}");
            Project {
                name,
                remote: format!("https://git.example.com/dev/{name}.git"),
                branches: (0..6)
                    .map(|_| words.snake(&mut rng).replace('_', "-"))
                    .collect(),
                files: (0..FILES)
                    .map(|_| format!("{cwd}/{}", words.path(&mut rng)))
                    .collect(),
                cwd,
            }
        })
        .collect()
}

/// Returns a repository; the first ones see most of the work.
pub fn pick<'a>(rng: &mut Rng, projects: &'a [Project]) -> &'a Project {
    let skewed = rng.unit() * rng.unit();
    &projects[(skewed * projects.len() as f64) as usize]
}

impl Project {
    /// Returns a file of the repository; some are touched again and again.
    pub fn file(&self, rng: &mut Rng) -> String {
        let skewed = rng.unit() * rng.unit();
        self.files[(skewed * self.files.len() as f64) as usize].clone()
    }

    pub fn branch(&self, rng: &mut Rng) -> String {
        if rng.chance(0.5) {
            return "main".to_owned();
        }
        self.branches[rng.between(0, self.branches.len())].clone()
    }
}
