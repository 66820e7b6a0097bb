//! A seeded simulation: patterns that are chosen because they were frequent, rates that drift by
//! themselves, slowly or fast, and a look every ten sessions.

use super::*;

/// SplitMix64, so that the simulation is the same everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (self.share().max(1e-12), self.share());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// How the rate of a signal moves by itself.
#[derive(Clone, Copy, Debug)]
enum DriftModel {
    Still,
    /// The rate changes every so many sessions, by a lognormal factor.
    Blocks(u32),
    /// The rate returns to its mean within about so many sessions.
    Returning(f64),
}

const DRIFTS: [DriftModel; 6] = [
    DriftModel::Still,
    DriftModel::Blocks(10),
    DriftModel::Blocks(20),
    DriftModel::Blocks(40),
    DriftModel::Returning(10.0),
    DriftModel::Returning(20.0),
];
/// The deviation of the logarithm of a rate.
const DEVIATION: f64 = 0.5;
const HISTORY: usize = 120;
const SELECTION: usize = 60;
const RUN_IN: usize = 60;
const AFTER: usize = 120;
const SESSIONS: usize = HISTORY + RUN_IN + AFTER;
/// The patterns of one repository share its placebos.
const REPOSITORIES: usize = 40;
const PATTERNS: usize = 25;

fn rates(dice: &mut Dice, drift: DriftModel) -> (f64, Vec<f64>) {
    let base = 0.1 + 0.4 * dice.share();
    let factor = |level: f64| (level * DEVIATION - DEVIATION * DEVIATION / 2.0).exp();
    let mut level = dice.normal();
    let mut left = match drift {
        DriftModel::Blocks(size) => dice.share() * f64::from(size),
        _ => 0.0,
    };
    let rates = (0..SESSIONS).map(|_| {
        match drift {
            DriftModel::Still => return base,
            DriftModel::Blocks(size) => {
                left -= 1.0;
                if left < 0.0 {
                    left += f64::from(size);
                    level = dice.normal();
                }
            }
            DriftModel::Returning(sessions) => {
                let kept = (-1.0 / sessions).exp();
                level = kept * level + (1.0 - kept * kept).sqrt() * dice.normal();
            }
        }
        (base * factor(level)).min(0.95)
    });
    let rates = rates.collect();
    (base, rates)
}

fn draw(dice: &mut Dice, rates: &[f64], factor: f64) -> Vec<bool> {
    let hits = rates
        .iter()
        .map(|rate| dice.share() < (rate * factor).min(0.97));
    hits.collect()
}

fn sample_of(sessions: &[bool]) -> RateSample {
    let affected = sessions.iter().filter(|hit| **hit).count();
    RateSample {
        sessions: sessions.len() as f64,
        affected: affected as f64,
    }
}

/// Draws the sessions of the most striking of four signals.
fn chosen_signal(dice: &mut Dice, drift: DriftModel) -> (Vec<f64>, Vec<bool>) {
    let drawn = (0..4).map(|_| {
        let (base, rates) = rates(dice, drift);
        let seen = draw(dice, &rates[..HISTORY], 1.0);
        let recent = sample_of(&seen[HISTORY - SELECTION..]);
        let expected = base * recent.sessions;
        let surprise = (recent.affected - expected) / (expected * (1.0 - base)).sqrt();
        (surprise, rates, seen)
    });
    let most = drawn.max_by(|a, b| a.0.total_cmp(&b.0));
    most.map(|(_, rates, seen)| (rates, seen)).unwrap()
}

/// The percentages of patterns that were said to help and that were to be withdrawn.
#[derive(Debug)]
struct SimulatedVerdicts {
    helped: f64,
    withdrawn: f64,
}

/// Simulates a thousand patterns that multiply the rate of their signal by `factor`.
fn simulate(seed: u64, factor: f64, drift: DriftModel, baseline: Baseline) -> SimulatedVerdicts {
    let dice = &mut Dice(seed);
    let (mut helped, mut withdrawn) = (0, 0);
    for _ in 0..REPOSITORIES {
        let signals: Vec<_> = (0..20)
            .map(|_| {
                let (_, rates) = rates(dice, drift);
                draw(dice, &rates, 1.0)
            })
            .collect();
        let looks = || (20..=AFTER).step_by(10);
        let drifts: Vec<f64> = looks()
            .map(|looked| {
                let seen = |signal: &Vec<bool>| signal[..HISTORY + RUN_IN + looked].to_vec();
                let before = sample_of(&[false; HISTORY]);
                let after = sample_of(&vec![false; looked]);
                drift_between(
                    before,
                    after,
                    &PlaceboSignals::new(signals.iter().map(seen)),
                )
            })
            .collect();
        for _ in 0..PATTERNS {
            let (rates, seen) = chosen_signal(dice, drift);
            let run_in = draw(dice, &rates[HISTORY..HISTORY + RUN_IN], 1.0);
            let after = draw(dice, &rates[HISTORY + RUN_IN..], factor);
            let (history, weight) = (sample_of(&seen), baseline.history_weight());
            let history = RateSample {
                sessions: weight * history.sessions,
                affected: weight * history.affected,
            };
            let before = match baseline {
                Baseline::RunIn => history.joined(sample_of(&run_in)),
                Baseline::History => history,
            };
            for (looked, drift) in looks().zip(&drifts) {
                let effect = judge(before, sample_of(&after[..looked]), *drift, baseline);
                match effect.state {
                    EffectState::Helps => helped += 1,
                    EffectState::Harms | EffectState::NoEffect => withdrawn += 1,
                    _ => continue,
                }
                break;
            }
        }
    }
    let percent = |n: i32| 100.0 * f64::from(n) / (REPOSITORIES * PATTERNS) as f64;
    let verdicts = SimulatedVerdicts {
        helped: percent(helped),
        withdrawn: percent(withdrawn),
    };
    println!("rate x {factor}, {drift:?}, {baseline:?}: {verdicts:?}");
    verdicts
}

#[test]
fn useless_patterns_are_rarely_said_to_help() {
    for drift in DRIFTS {
        let verdicts = simulate(1, 1.0, drift, Baseline::RunIn);
        assert!(verdicts.helped <= 5.0, "{drift:?} {verdicts:?}");
    }
}

#[test]
fn halvings_are_found_and_rarely_withdrawn() {
    for drift in DRIFTS {
        let verdicts = simulate(2, 0.5, drift, Baseline::RunIn);
        let right = verdicts.helped >= 30.0 && verdicts.withdrawn <= 2.0;
        assert!(right, "{drift:?} {verdicts:?}");
    }
}

#[test]
fn doublings_are_flagged() {
    for drift in DRIFTS {
        let verdicts = simulate(3, 2.0, drift, Baseline::RunIn);
        let right = verdicts.helped <= 1.0 && verdicts.withdrawn >= 88.0;
        assert!(right, "{drift:?} {verdicts:?}");
    }
}

#[test]
fn a_selected_baseline_needs_more_evidence() {
    for drift in DRIFTS {
        let verdicts = simulate(4, 1.0, drift, Baseline::History);
        assert!(verdicts.helped <= 5.0, "{drift:?} {verdicts:?}");
    }
}
