//! Folders and files that cannot be written.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{Machine, outcome};

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs a command as a user to whom permissions apply: as `nobody` if the test runs as root.
pub fn bound(command: &Command) -> Option<Command> {
    let is_root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
    if !is_root {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args()).env_clear();
        same.envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        return Some(same);
    }
    let mut nobody = Command::new("setpriv");
    nobody
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("PATH", "/usr/bin:/bin");
    Some(nobody)
}

/// Makes `nobody` the owner of everything in a folder, so that `bound` owns it.
pub fn give_away(folder: &Path) {
    let _not_root = Command::new("chown")
        .args(["-R", "65534:65534"])
        .arg(folder)
        .status();
}

/// Reverts [`give_away`], because a folder of another user is not opened.
fn take_back(folder: &Path) {
    let _not_root = Command::new("chown")
        .args(["-R", "0:0"])
        .arg(folder)
        .status();
}

#[test]
fn where_nothing_can_be_written_it_is_read() {
    let machine = Machine::new(6);
    machine.run_ingest();
    let memory = machine.store();
    // If these files exist and belong to the user, SQLite does not write to the folder.
    for part in ["throughline.db-wal", "throughline.db-shm"] {
        let _absent = fs::remove_file(memory.join(part));
    }
    give_away(machine.env.home());
    // A new line, which has to be written.
    let another = Machine::new(8);
    give_away(another.env.home());
    let asks = [
        machine.env.command(&["sessions", "--json"]),
        machine.env.command(&["search", "cargo", "--json"]),
    ];
    // Read before permissions are removed.
    let able = bound(&machine.env.command(&["--version"])).and_then(|mut ask| ask.output().ok());
    if !able.is_some_and(|output| output.status.success()) {
        return testkit::skip::skip("setpriv", "no way to run as a user whom permissions bind");
    }
    let cases: [(&str, &dyn Fn(u32)); 2] = [
        ("the folder", &|bits| mode(&memory, 0o500 | bits)),
        ("the file", &|bits| {
            mode(&memory.join("throughline.db"), 0o400 | bits);
        }),
    ];
    for (what, set) in cases {
        set(0);
        for ask in &asks {
            let (code, said) = outcome(&mut bound(ask).unwrap());
            assert_eq!(code, Some(0), "{what}: {said}");
        }
        let mut ingest = another.ingest();
        ingest.env("THROUGHLINE_HOME", &memory);
        let (code, said) = outcome(&mut bound(&ingest).unwrap());
        assert_eq!(code, Some(2), "{what}: {said}");
        assert!(said.contains("hint: "), "{what}: {said}");
        set(0o200);
    }
    take_back(machine.env.home());
    machine.dump();
}

#[test]
fn a_home_that_vanishes_is_made_again() {
    let machine = Machine::new(3);
    machine.run_ingest();
    fs::remove_dir_all(machine.store()).unwrap();
    let ran = machine.env.run(&["sessions"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr
            .contains("hint: run `throughline up` to set it up"),
        "{}",
        ran.stderr
    );
    machine.run_ingest();
    machine.dump();
}
