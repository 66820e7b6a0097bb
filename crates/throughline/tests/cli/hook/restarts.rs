//! A daemon that is killed and started again, over and over, while hooks keep coming.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::faults::{LIVE, PATIENT, calls, check, idle, told};
use super::live::Live;
use super::{at_once, call_with, machine};
use crate::faults::soaking;
use crate::serve::client::Daemon;
use crate::serve::life::wait_for;

/// The number of hooks between two kills.
const BETWEEN: usize = 40;

#[test]
fn a_daemon_that_is_killed_and_started_again_under_hooks_loses_nothing() {
    let env = machine();
    let live = Live::new(&env);
    let answered = AtomicUsize::new(0);
    let over = AtomicBool::new(false);
    let (mut kills, mut times) = (0, Vec::new());
    let last = std::thread::scope(|scope| {
        let (env, answered, over) = (&env, &answered, &over);
        let killing = scope.spawn(move || {
            let (mut kills, mut next) = (0, BETWEEN);
            loop {
                let mut daemon = Daemon::start(env);
                while answered.load(Ordering::Relaxed) < next && !over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                if over.load(Ordering::Relaxed) {
                    return (daemon, kills);
                }
                daemon.signal("-KILL");
                daemon.child.wait().unwrap();
                kills += 1;
                next = answered.load(Ordering::Relaxed) + BETWEEN;
            }
        });
        let replayed = scope.spawn(|| {
            at_once(&calls(), |(agent, line)| {
                let (ran, took) = super::timed(|| call_with(env, line, &[PATIENT]));
                check(agent, line, &ran);
                answered.fetch_add(1, Ordering::Relaxed);
                took
            })
        });
        let numbers: Vec<_> = (0..*LIVE).collect();
        at_once(&numbers, |number| {
            live.session(*number);
            answered.fetch_add(2, Ordering::Relaxed);
        });
        times = replayed.join().unwrap();
        over.store(true, Ordering::Relaxed);
        let (daemon, killed) = killing.join().unwrap();
        kills = killed;
        daemon
    });
    assert!(kills > 0);
    // The last daemon runs the queued work by itself.
    wait_for("everything is read and recorded", || {
        live.lost() == (Vec::new(), Vec::new())
    });
    assert!(live.shown() > 0);
    drop(last);
    told("daemon killed and started again", &times);
    told("the same, by a hook that does nothing", &idle(&env));
    if soaking() {
        println!(
            "soak: hooks, kills of the daemon | {kills} | {} sessions, all there",
            *LIVE
        );
    }
}
