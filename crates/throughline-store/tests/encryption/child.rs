//! A process that dies after a given step.

use std::path::Path;
use std::process::Command;

use throughline_store::encryption::{self, KeyLocation, NoKeychain};
use throughline_store::{RestoreSource, SwapStep};

use crate::home::{Home, restore_into};

const TASK: &str = "THROUGHLINE_TEST_DIES";

/// Runs a task on a home in another process, which dies after the step. Returns whether it did.
pub fn dies(home: &Home, task: &str, step: SwapStep) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::runs_the_task", "--nocapture"])
        .env(TASK, format!("{task} {step:?}"))
        .current_dir(home.outside("."))
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("running 1 test"), "{printed}");
    assert!(!printed.contains("FAILED"), "{printed}");
    !output.status.success()
}

#[test]
fn runs_the_task() {
    let Ok(task) = std::env::var(TASK) else {
        return;
    };
    let (task, step) = task.split_once(' ').unwrap();
    let mut on_step = |reached: SwapStep| {
        if format!("{reached:?}") == step {
            std::process::abort();
        }
        Ok(())
    };
    let on_step = &mut on_step;
    let folder = Path::new("memory");
    let key = |name: &str| KeyLocation::File(name.into());
    match task {
        "encrypt" => {
            drop(encryption::encrypt(folder, &key("a.key"), &NoKeychain, on_step).unwrap());
        }
        "rekey" => drop(encryption::rekey(folder, &key("b.key"), &NoKeychain, on_step).unwrap()),
        "decrypt" => drop(encryption::decrypt(folder, &NoKeychain, on_step).unwrap()),
        "restore" => {
            let from = RestoreSource {
                file: Path::new("copy.db"),
                key_file: None,
                keychain: &NoKeychain,
            };
            drop(restore_into(folder, &from, on_step).unwrap());
        }
        task => panic!("{task}"),
    }
}
