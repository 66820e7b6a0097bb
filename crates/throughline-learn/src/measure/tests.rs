//! A seeded simulation: patterns that are chosen because they were frequent, rates that drift by
//! themselves, and a look every ten sessions.

use super::drift::variance_of;
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

/// The rate stays for this many sessions, then changes by a lognormal factor.
const BLOCK: usize = 20;
const HISTORY: usize = 120;
const RUN_IN: usize = 60;
const AFTER: usize = 120;

fn rates(dice: &mut Dice, sessions: usize, drift: f64) -> (f64, Vec<f64>) {
    let base = 0.1 + 0.4 * dice.share();
    let offset = (0..BLOCK)
        .rev()
        .find(|at| dice.share() * (*at as f64 + 1.0) < 1.0)
        .unwrap_or(0);
    let mut factor = 1.0;
    let rates = (0..sessions).map(|at| {
        if at == 0 || (at + offset).is_multiple_of(BLOCK) {
            factor = (dice.normal() * drift - drift * drift / 2.0).exp();
        }
        (base * factor).min(0.95)
    });
    (base, rates.collect())
}

fn draw(dice: &mut Dice, rates: &[f64], factor: f64) -> Vec<bool> {
    let hits = rates
        .iter()
        .map(|rate| dice.share() < (rate * factor).min(0.97));
    hits.collect()
}

fn count(sessions: &[bool]) -> AffectedCount {
    AffectedCount {
        sessions: sessions.len() as u64,
        affected: sessions.iter().filter(|hit| **hit).count() as u64,
    }
}

/// Returns the percentages of patterns that were said to help and that were to be withdrawn.
fn simulate(seed: u64, factor: f64, drift: f64, baseline: Baseline) -> (f64, f64) {
    const RUNS: usize = 1_500;
    let dice = &mut Dice(seed);
    let (mut helped, mut withdrawn) = (0, 0);
    for _ in 0..RUNS {
        // The most striking of four signals is chosen.
        let chosen = (0..4)
            .map(|_| {
                let (base, rates) = rates(dice, HISTORY + RUN_IN + AFTER, drift);
                let seen = draw(dice, &rates[..HISTORY], 1.0);
                let recent = count(&seen[HISTORY - RUN_IN..]).affected as f64 / RUN_IN as f64;
                let surprise = (recent - base) / (base * (1.0 - base) / RUN_IN as f64).sqrt();
                (surprise, rates, seen)
            })
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap();
        let (_, rates, seen) = chosen;
        let run_in = draw(dice, &rates[HISTORY..HISTORY + RUN_IN], 1.0);
        let after = draw(dice, &rates[HISTORY + RUN_IN..], factor);
        let placebos = (0..20).map(|_| {
            let (_, rates) = self::rates(dice, HISTORY + RUN_IN + AFTER, drift);
            draw(dice, &rates, 1.0)
        });
        let drift = variance_of(placebos.collect::<Vec<_>>().into_iter());
        let before = match baseline {
            Baseline::RunIn => count(&run_in),
            Baseline::History => count(&seen[HISTORY - RUN_IN..]),
        };
        for looked in (20..=AFTER).step_by(10) {
            match judge(before, count(&after[..looked]), drift, baseline).state {
                EffectState::Helps => helped += 1,
                EffectState::Harms | EffectState::NoEffect => withdrawn += 1,
                _ => continue,
            }
            break;
        }
    }
    let percent = |n: i32| 100.0 * f64::from(n) / RUNS as f64;
    (percent(helped), percent(withdrawn))
}

#[test]
fn useless_patterns_are_rarely_said_to_help() {
    let (still, _) = simulate(1, 1.0, 0.0, Baseline::RunIn);
    let (drifting, _) = simulate(2, 1.0, 0.5, Baseline::RunIn);
    assert!(still <= 5.0 && drifting <= 5.0, "{still} {drifting}");
}

#[test]
fn halvings_are_found_and_rarely_withdrawn() {
    let (helped, withdrawn) = simulate(3, 0.5, 0.5, Baseline::RunIn);
    assert!(helped >= 30.0 && withdrawn <= 2.0, "{helped} {withdrawn}");
}

#[test]
fn doublings_are_flagged() {
    let (helped, withdrawn) = simulate(4, 2.0, 0.5, Baseline::RunIn);
    assert!(helped <= 1.0 && withdrawn >= 88.0, "{helped} {withdrawn}");
}

#[test]
fn a_selected_baseline_needs_more_evidence() {
    let (helped, _) = simulate(5, 1.0, 0.5, Baseline::History);
    assert!(helped <= 5.0, "{helped}");
}
