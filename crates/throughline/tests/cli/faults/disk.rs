//! Full and failing disks.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Machine, in_shell, outcome, soaking, undisturbed};
use crate::crash::keep_whatever_age;

/// A small file system, unmounted on drop.
pub struct Small {
    at: PathBuf,
}

impl Small {
    /// Returns `None` and reports the reason if this process may not mount.
    pub fn mount(at: &Path, megabytes: u32) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let options = format!("size={megabytes}m,mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "throughline-test"]);
        match mount.arg(at).output() {
            Ok(output) if output.status.success() => Some(Self { at: at.to_owned() }),
            Ok(output) => {
                let why = String::from_utf8_lossy(&output.stderr).into_owned();
                testkit::skip::skip("mount", why.trim());
                None
            }
            Err(error) => {
                testkit::skip::skip("mount", &error.to_string());
                None
            }
        }
    }

    fn remount(&self, how: &str) {
        let options = format!("remount,{how}");
        let mut mount = Command::new("mount");
        let status = mount.args(["-o", &options]).arg(&self.at).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _leaked = Command::new("umount").arg(&self.at).status();
    }
}

fn ingest_into(machine: &Machine, home: &Path) -> Command {
    let mut command = machine.ingest();
    command.env("THROUGHLINE_HOME", home);
    command
}

fn ask(machine: &Machine, home: &Path, args: &[&str]) -> Option<i32> {
    let mut command = machine.env.command(args);
    outcome(command.env("THROUGHLINE_HOME", home)).0
}

#[test]
fn a_full_disk_ends_in_a_clear_error_and_a_whole_store() {
    let machine = Machine::new(40);
    let expected = undisturbed(40);
    let home = machine.env.home().join("small");
    let Some(small) = Small::mount(&home, 32) else {
        return;
    };
    fs::copy(
        machine.store().join("redaction.key"),
        home.join("redaction.key"),
    )
    .unwrap();
    keep_whatever_age(&home);
    let ballast = home.join("ballast");
    let rounds = if soaking() { 40 } else { 4 };
    let mut full = 0;
    for round in 0..rounds {
        // Less and less of the disk is taken, so that it is full at ever later points: before there
        // is a store, in the middle of a commit, in the middle of a checkpoint.
        let taken = (32 << 20) - (200 << 10) * (1 + round * 40 / rounds);
        fs::write(&ballast, vec![1; taken]).unwrap();
        let (code, said) = outcome(&mut ingest_into(&machine, &home));
        if code == Some(2) {
            full += 1;
            assert!(
                said.contains("hint: no stored data was lost; free some space"),
                "{said}"
            );
        } else {
            assert_eq!(code, Some(0), "{said}");
        }
        if store::Store::database_path(&home)
            .metadata()
            .is_ok_and(|file| file.len() > 4096)
        {
            // The store can be read although the disk is full.
            assert_eq!(
                ask(&machine, &home, &["sessions", "--json"]).map(|code| code < 2),
                Some(true)
            );
        }
        fs::remove_file(&ballast).unwrap();
        if home.join("throughline.db").exists() {
            assert_eq!(
                ask(&machine, &home, &["doctor", "--deep"]),
                Some(0),
                "round {round}"
            );
        }
    }
    assert!(full > 0, "the disk was never full");
    let (code, said) = outcome(&mut ingest_into(&machine, &home));
    assert_eq!(code, Some(0), "{said}");
    let found = machine.dump_of(&home);
    assert!(
        found == expected,
        "it ends elsewhere than an undisturbed run"
    );
    println!(
        "soak: a full disk | {rounds} sweeps, {full} met it | clear error, store whole, resumed"
    );
    drop(small);
}

#[test]
fn a_disk_that_becomes_read_only_can_be_read() {
    let machine = Machine::new(6);
    let home = machine.env.home().join("small");
    let Some(small) = Small::mount(&home, 32) else {
        return;
    };
    fs::copy(
        machine.store().join("redaction.key"),
        home.join("redaction.key"),
    )
    .unwrap();
    assert_eq!(outcome(&mut ingest_into(&machine, &home)).0, Some(0));
    small.remount("ro");
    assert_eq!(ask(&machine, &home, &["sessions", "--json"]), Some(0));
    assert_eq!(ask(&machine, &home, &["doctor", "--deep"]), Some(0));
    // Without new lines nothing is written; a new log must be written.
    assert_eq!(outcome(&mut ingest_into(&machine, &home)).0, Some(0));
    let another = Machine::new(8);
    let (code, said) = outcome(&mut ingest_into(&another, &home));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("hint: "), "{said}");
    small.remount("rw");
    assert_eq!(outcome(&mut ingest_into(&machine, &home)).0, Some(0));
}

/// Needs no privileges: a limit on the file size makes writes fail, as a quota or a failing disk
/// does.
#[cfg(unix)]
#[test]
fn a_refused_write_is_an_error_and_the_store_is_whole() {
    let machine = Machine::new(40);
    let expected = undisturbed(40);
    let mut refused = 0;
    for kilobytes in [64, 400, 1200, 2500] {
        let limit = format!("trap '' XFSZ; ulimit -f {kilobytes}");
        let (code, said) = outcome(&mut in_shell(&limit, &machine.ingest()));
        if code == Some(2) {
            refused += 1;
            assert!(said.contains("hint: "), "{said}");
        } else {
            assert_eq!(code, Some(0), "{said}");
        }
        // If the signal is not ignored, it kills the program.
        let limit = format!("ulimit -c 0; ulimit -f {kilobytes}");
        outcome(&mut in_shell(&limit, &machine.ingest()));
        if store::Store::database_path(&machine.store()).exists() {
            assert_eq!(machine.env.run(&["doctor", "--deep"]).code, Some(0));
        }
    }
    assert!(refused > 0, "nothing was refused");
    machine.run_ingest();
    assert!(
        machine.dump() == expected,
        "it ends elsewhere than an undisturbed run"
    );
}
