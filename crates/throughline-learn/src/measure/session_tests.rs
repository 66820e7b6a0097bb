//! Measurements of whole sessions: what is compared with what.

use memory::{SessionId, Signal};

use super::*;

const NAME: &str = "golangci/errcheck";

/// A session as a test describes it.
#[derive(Clone)]
struct MeasuredSession {
    id: SessionId,
    day: i64,
    workspace: &'static str,
    flavor: Flavor,
    model: &'static str,
    signals: Vec<Signal>,
}

fn day(number: i64) -> Timestamp {
    Timestamp::from_second(1_767_600_000 + number * 86_400).unwrap()
}

/// Returns a session a day, of which every `every`-th is affected.
fn sessions(days: std::ops::Range<i64>, every: i64) -> Vec<MeasuredSession> {
    let session = |number: i64| {
        let mut signals = vec![Signal::new(SignalKind::Mix, "edit/go")];
        if number % every == 0 {
            signals.push(Signal::new(SignalKind::Diag, NAME));
        }
        MeasuredSession {
            id: SessionId::new(format!("claude:{number}")),
            day: number,
            workspace: "app",
            flavor: Flavor::Claude,
            model: "opus",
            signals,
        }
    };
    days.map(session).collect()
}

fn with(
    mut sessions: Vec<MeasuredSession>,
    change: fn(&mut MeasuredSession),
) -> Vec<MeasuredSession> {
    sessions.iter_mut().for_each(change);
    sessions
}

/// Measures a pattern that was decided on day 100 and is active from day 200 on.
fn measured(sessions: &[MeasuredSession]) -> Measurement {
    let groups: Vec<SessionGroup<'_>> = sessions
        .iter()
        .map(|session| SessionGroup {
            id: &session.id,
            flavor: session.flavor,
            workspace: Some(session.workspace),
            started: Some(day(session.day)),
            agent_version: Some("2.1.0"),
            model: Some(session.model),
            signals: session.signals.iter().collect(),
        })
        .collect();
    let pattern = MeasuredPattern {
        id: "a1",
        kind: SignalKind::Diag,
        name: NAME,
        workspace: Some("app"),
        decided: Some(day(100)),
        active: &[(Flavor::Claude, day(200))],
        ended: None,
        block_tokens: 40,
    };
    measure(&pattern, &groups, &[NAME])
}

#[test]
fn a_strong_effect_helps_and_its_cost_is_told() {
    let all = [sessions(0..200, 2), sessions(200..320, 20)].concat();
    let found = measured(&all);
    assert_eq!(found.effect.state, EffectState::Helps, "{found:?}");
    assert_eq!((found.before.sessions, found.after.sessions), (200, 120));
    assert_eq!(found.baseline, Baseline::RunIn);
    assert_eq!((found.tokens_per_session, found.tokens_spent), (40, 4_800));
    assert_eq!((found.set_aside, found.withdraw), (0, false));
}

#[test]
fn a_new_model_splits_the_time() {
    let later = with(sessions(200..320, 20), |session| {
        session.model = "opus-next";
    });
    let found = measured(&[sessions(0..200, 2), later.clone()].concat());
    assert_eq!(
        found.effect.state,
        EffectState::TooEarly,
        "nothing can be compared"
    );
    assert_eq!(found.set_aside, 320);
    assert_eq!(found.also_changed, ["model: opus → opus-next"]);
    // Sessions of both models before and after are compared within each model.
    let early = with(sessions(150..200, 20), |session| {
        session.model = "opus-next";
    });
    let mixed = [sessions(0..150, 2), early, sessions(200..220, 2), later].concat();
    let found = measured(&mixed);
    assert_eq!(found.set_aside, 0);
    assert_ne!(
        found.effect.state,
        EffectState::Helps,
        "both models are as before"
    );
    assert!((0.5..2.0).contains(&found.effect.ratio), "{found:?}");
}

#[test]
fn names_of_two_versions_are_not_compared() {
    let older = with(sessions(0..200, 2), |session| {
        for signal in &mut session.signals {
            signal.version -= 1;
        }
    });
    let found = measured(&[older, sessions(200..320, 20)].concat());
    assert_eq!(found.effect.state, EffectState::TooEarly);
    assert_eq!(found.set_aside, 320);
}

#[test]
fn a_fall_that_happens_everywhere_is_no_effect() {
    let here = [sessions(0..200, 2), sessions(200..320, 20)].concat();
    let elsewhere = |sessions| with(sessions, |session| session.workspace = "other");
    let same = [
        here.clone(),
        elsewhere(sessions(0..200, 2)),
        elsewhere(sessions(200..320, 20)),
    ];
    let found = measured(&same.concat());
    assert_eq!(found.effect.state, EffectState::Open);
    assert!(found.control.unwrap().contradicts);
    // Another agent of the same repository, which does not read the pattern, is a control too.
    let unchanged = with(sessions(0..320, 2), |session| {
        session.flavor = Flavor::Codex;
    });
    let found = measured(&[here, unchanged].concat());
    assert_eq!(found.effect.state, EffectState::Helps);
    let control = found.control.unwrap();
    assert!(
        !control.contradicts && control.ratio_of_ratios < 0.5,
        "{control:?}"
    );
}

#[test]
fn a_pattern_that_nobody_read_yet_is_too_early() {
    let found = measured(&sessions(0..150, 2));
    assert_eq!(found.effect.state, EffectState::TooEarly);
    assert_eq!((found.before.sessions, found.after.sessions), (150, 0));
    assert_eq!(found.tokens_spent, 0);
}
