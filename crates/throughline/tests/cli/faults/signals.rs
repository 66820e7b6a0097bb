//! Signals in the middle of a write, and clocks that jump.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Machine, soaking, undisturbed};

fn send(pid: u32, signal: &str) {
    // The process may have exited already.
    let _gone = Command::new("kill")
        .args([signal, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

#[test]
fn asked_to_stop_it_stops_soon_and_loses_nothing() {
    let expected = undisturbed(40);
    let rounds = if soaking() { 25 } else { 2 };
    let mut stopped = 0;
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let machine = Machine::new(40);
        for signals in [&["-TERM"][..], &["-INT"], &["-HUP"], &["-TERM", "-TERM"]] {
            let mut command = machine.ingest();
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(10 + 31 * round % 150));
            let sent = Instant::now();
            for signal in signals {
                send(child.id(), signal);
            }
            let status = child.wait().unwrap();
            longest = longest.max(sent.elapsed());
            // Before the handler is set, a signal kills the program.
            assert!(
                matches!(status.code(), Some(130 | 0) | None),
                "{signals:?}: {status}"
            );
            stopped += usize::from(status.code() != Some(0));
        }
        machine.run_ingest();
        assert!(machine.dump() == expected, "round {round}");
    }
    println!(
        "soak: SIGTERM, SIGINT, SIGHUP | {} signals, {stopped} in time | nothing lost, \
         longest stop {} ms",
        rounds * 4,
        longest.as_millis()
    );
}

#[test]
fn killed_in_any_command_it_stays_whole() {
    // Every command that writes belongs here.
    let phases: &[&[&str]] = &[
        &["ingest"],
        &["doctor", "--deep"],
        &["sessions"],
        &["search", "cargo"],
    ];
    let machine = Machine::new(20);
    machine.run_ingest();
    let expected = machine.dump();
    let rounds = if soaking() { 250 } else { 3 };
    for phase in phases {
        for round in 0..rounds {
            let mut command = machine.env.command(phase);
            if phase[0] == "ingest" {
                command.arg("--root").arg(&machine.logs);
            }
            let command = command.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            std::thread::sleep(Duration::from_millis(2 + round * 13 % 60));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(machine.dump() == expected, "after {phase:?}");
    }
    println!(
        "soak: kill -9 of other commands | {} kills | the store is unchanged",
        rounds * 4
    );
}

#[test]
fn a_clock_that_jumps_changes_nothing() {
    let expected = undisturbed(10);
    let machine = Machine::new(10);
    for now in [
        "2027-11-16T09:00:00Z", "1971-01-01T00:00:00Z", "2026-11-16T09:00:00Z",
        "2025-10-26T01:30:00Z", "9998-12-31T00:00:00Z",
    ] {
        let status = machine
            .ingest()
            .env("THROUGHLINE_NOW", now)
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "{now}");
        let deep = machine
            .env
            .command(&["doctor", "--deep"])
            .env("THROUGHLINE_NOW", now)
            .output();
        assert_eq!(deep.unwrap().status.code(), Some(0), "{now}");
    }
    machine.run_ingest();
    let records = |dump: &str| dump.split_once("# records").unwrap().1.to_owned();
    assert!(records(&machine.dump()) == records(&expected));
}
