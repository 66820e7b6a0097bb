//! Deciding and applying in a real terminal: single keys, the evidence a key away, and a question
//! before a file changes.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{LearningEnv, NOW};

/// A command with a terminal as all three of its streams.
struct TerminalRun {
    master: File,
    child: Child,
    /// What the terminal was sent since the last [`TerminalRun::wait_for`].
    shown: String,
}

impl TerminalRun {
    fn start(env: &LearningEnv, args: &[&str]) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize {
            ws_row: 40,
            ws_col: 200,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let side = File::from(rustix::fs::open(&name, flags, Mode::empty()).unwrap());
        let mut command = env.env.command(args);
        command
            .current_dir(env.shop())
            .env("THROUGHLINE_NOW", NOW)
            .env("TERM", "xterm-256color")
            .stdin(Stdio::from(side.try_clone().unwrap()))
            .stdout(Stdio::from(side.try_clone().unwrap()))
            .stderr(Stdio::from(side));
        Self {
            child: command.spawn().unwrap(),
            master: File::from(master),
            shown: String::new(),
        }
    }

    /// Reads until the terminal shows a text, and returns what came until then.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        let mut chunk = [0; 4096];
        while !self.shown.contains(text) {
            match self.master.read(&mut chunk) {
                Ok(count @ 1..) => self.shown += &String::from_utf8_lossy(&chunk[..count]),
                _ => panic!("the program ended without {text:?}:\n{}", self.shown),
            }
        }
        let end = self.shown.find(text).unwrap() + text.len();
        let rest = self.shown.split_off(end);
        std::mem::replace(&mut self.shown, rest)
    }

    fn send(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    fn finish(mut self) -> Option<i32> {
        let mut chunk = [0; 4096];
        while matches!(self.master.read(&mut chunk), Ok(1..)) {}
        self.child.wait().unwrap().code()
    }
}

fn ingested() -> LearningEnv {
    let env = LearningEnv::new();
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    env
}

#[test]
fn candidates_are_decided_with_single_keys() {
    let env = ingested();
    let mut terminal = TerminalRun::start(&env, &["curate"]);
    terminal.wait_for("[q]uit?");
    terminal.send("e");
    let evidence = terminal.wait_for("[q]uit?");
    assert!(evidence.contains("throughline show "), "{evidence}");
    terminal.send("t");
    terminal.wait_for("Text for the agents");
    terminal.send("Close every file, and check the error.\n");
    terminal.wait_for("[q]uit?");
    terminal.send("a");
    terminal.wait_for("Approved golangci/errcheck; wrote ");
    terminal.wait_for("[q]uit?");
    terminal.send("r");
    terminal.wait_for("Reason");
    terminal.send("that is how work goes\n");
    terminal.wait_for("Rejected mise run lint.");
    assert_eq!(terminal.finish(), Some(0));
    let file = env.shop().join(".throughline/patterns/b0c618ebf6fc.md");
    let text = fs::read_to_string(file).unwrap();
    assert!(
        text.ends_with("Close every file, and check the error.\n"),
        "{text}"
    );
    let left = env.json(&["curate", "--json"], NOW);
    assert_eq!(left["pending"], serde_json::json!([]));
}

#[test]
fn ctrl_c_leaves_the_rest_undecided() {
    let env = ingested();
    let mut terminal = TerminalRun::start(&env, &["curate"]);
    terminal.wait_for("[q]uit?");
    terminal.send("\x03");
    assert_eq!(terminal.finish(), Some(1));
    let left = env.json(&["curate", "--json"], NOW);
    assert_eq!(left["pending"].as_array().unwrap().len(), 2);
}

#[test]
fn files_change_only_after_a_yes() {
    let env = ingested();
    env.run(&["curate", "--approve", "b0c618"], NOW, b"");
    let rules = env.shop().join("CLAUDE.md");
    let before = fs::read_to_string(&rules).unwrap();
    for (answer, is_changed) in [("n\n", false), ("y\n", true)] {
        let mut terminal = TerminalRun::start(&env, &["distribute", "--apply"]);
        terminal.wait_for("Change 2 files? [y/N]");
        terminal.send(answer);
        assert_eq!(terminal.finish(), Some(0));
        let after = fs::read_to_string(&rules).unwrap();
        assert_eq!(after != before, is_changed, "{answer}");
    }
}
