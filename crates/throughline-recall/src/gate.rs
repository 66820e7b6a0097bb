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
pub type GateFeatures = [f64; COUNT];

/// Fitted by `tools/ranking/fit.py`; the bias makes one half the place where few unrelated prompts pass.
pub const WEIGHTS: GateFeatures = [
    -2.99, -0.95, 0.14, -0.16, 1.56, 1.90, 0.90, -1.33, 0.61, 2.60, -0.37, -5.05, -4.69, 4.73,
    2.60, -6.56, 5.77, 3.00, -2.67, -0.34,
];
pub const BIAS: f64 = -1.14;

/// Returns how sure it is, between 0 and 1, that the hits have to do with the prompt.
pub fn confidence(features: &GateFeatures) -> f64 {
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
