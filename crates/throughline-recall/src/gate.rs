//! The gate: is what was found worth showing to somebody who did not ask?

use serde::Serialize;

/// Above this, what was found is shown.
pub const CONFIDENCE_MIN: f64 = 0.5;

/// What to do with what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Worth showing.
    Inject,
    /// The best that was found has too little to do with the prompt.
    Abstain,
}

/// Features of the best hits and the prompt.
pub const COUNT: usize = 20;
pub const NAMES: [&str; COUNT] = [
    "words_share",
    "coverage",
    "coverage_near",
    "exact",
    "together",
    "meaning_raw",
    "alike",
    "coverage_of_best",
    "margin",
    "agreement",
    "terms",
    "rarity",
    "rarity_of_best",
    "weight_of_best",
    "telling",
    "unknown",
    "speaker",
    "meaning_of_best",
    "talk",
    "together_of_best",
];
pub type Features = [f64; COUNT];

/// Fitted by `tools/ranking/fit.py`; the bias makes one half the place where few unrelated prompts pass.
pub const WEIGHTS: Features = [
    -1.72, -1.55, 0.39, 0.53, 1.13, 1.82, 4.23, -0.67, 0.99, 3.38, -0.09, -3.36, -3.92, 2.65, 3.28,
    -6.88, 6.38, 2.31, 0.02, 0.09,
];
pub const BIAS: f64 = -8.49;

/// Returns how sure it is, between 0 and 1, that the hits have to do with the prompt.
pub fn confidence(features: &Features) -> f64 {
    let sum: f64 = features.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
    1.0 / (1.0 + (-(sum + BIAS)).exp())
}

pub fn verdict(confidence: f64) -> Verdict {
    if confidence >= CONFIDENCE_MIN {
        Verdict::Inject
    } else {
        Verdict::Abstain
    }
}
