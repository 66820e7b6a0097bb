//! Every command in a pseudo-terminal with colors, in common sizes.
//!
//! The tests run the program that Cargo built for them. `THROUGHLINE_TEST_PROGRAM` names another
//! one, by which the release build is tested too.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use crate::env::{CommandOutput, TestEnv, samples};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

/// A command line, and whether its output in a terminal has the same lines as in a pipe.
struct Case {
    line: &'static str,
    has_same_lines: bool,
}

/// Commands that print the same lines in a terminal as in a pipe, apart from colors.
const SAME_LINES: &[&str] = &[
    "search threshold",
    "search nosuchword",
    "sessions",
    "sessions --gone",
    "show 4c5420d7",
    "digest 4c5420d7",
    "resume 4c5420d7",
    "blame inventory.py",
    "how pytest",
    "fix AssertionError",
    "facts",
    "context where_does_the_threshold_come_from --explain",
    "serve --status",
    "injections",
    "feedback nosuchid good",
    "summary 4c5420d7",
    "summarize 4c5420d7 --embedded --dry-run",
    "usage --by model",
    "compact 4c5420d7",
    "retain --dry-run",
    "unpin nosuchid",
    "import nosuchfile",
    "restore nosuchfile",
    "encrypt",
    "decrypt",
    "rekey",
    "key",
    "config",
    "config --default",
    "completions bash",
    "forget --list",
    "--version",
];

/// Commands that show progress, ask a question or name temporary files in a terminal.
const OTHER_LINES: &[&str] = &[
    "up --sample", "ingest", "install --dry-run", "uninstall", "doctor",
    "forget --query threshold", "export", "backup memory.backup", "redact", "mcp", "hook", "watch",
    // The help of commands is wrapped at the width of the terminal.
    "--help", "nosuchcommand",
    // The id of a fact depends on its workspace, which differs between the homes.
    "prefer Use_tabs", "remember The_port_is_8123", "pin The_port_is_8123",
];

fn cases() -> impl Iterator<Item = Case> {
    let same = SAME_LINES.iter().map(|line| (line, true));
    let other = OTHER_LINES.iter().map(|line| (line, false));
    same.chain(other).map(|(line, has_same_lines)| Case {
        line,
        has_same_lines,
    })
}

#[test]
fn every_command_has_a_case() {
    let help = TestEnv::new().run(&["--help"]).stdout;
    let lines = help.lines().take_while(|line| *line != "Options:");
    let entries = lines.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let tested: BTreeSet<_> = cases().map(|case| case.line.split(' ').next()).collect();
    let mut count = 0;
    for name in entries.flat_map(|(names, _)| names.split(", ")) {
        assert!(tested.contains(&Some(name)), "no terminal test runs {name}");
        count += 1;
    }
    assert!(count > 30, "the help lists its commands: {help}");
}

#[test]
fn every_command_is_clean_in_a_small_terminal() {
    check_all(SMALL);
}

#[test]
fn every_command_is_clean_in_a_large_terminal() {
    check_all(LARGE);
}

#[test]
fn a_terminal_without_colours_gets_none() {
    let env = TestEnv::with_samples();
    let arguments = ["search", "threshold"];
    let coloured = run_in_terminal(&env, &arguments, SMALL, "xterm-256color");
    assert!(coloured.contains('\x1b'), "{coloured}");
    let plain = run_in_terminal(&env, &arguments, SMALL, "dumb");
    assert!(!plain.contains('\x1b'), "{plain}");
}

/// Runs all cases in one home with a terminal, and in a second one with pipes: both homes pass
/// through the same states.
fn check_all(size: (u16, u16)) {
    let (seen, piped) = (TestEnv::with_samples(), TestEnv::with_samples());
    for case in cases() {
        let arguments: Vec<_> = case.line.split(' ').collect();
        let shown = run_in_terminal(&seen, &arguments, size, "xterm-256color");
        for foreign in ["tracing", "crate feature", "panicked", "RUST_BACKTRACE"] {
            assert!(!shown.contains(foreign), "{}: {shown}", case.line);
        }
        if case.has_same_lines {
            let shown = seen.mask_paths(without_colours(&shown).as_bytes());
            check_lines(&shown, &piped.run(&arguments), case.line);
        }
    }
}

#[track_caller]
fn check_lines(shown: &str, piped: &CommandOutput, command: &str) {
    let known: BTreeSet<_> = piped.stdout.lines().chain(piped.stderr.lines()).collect();
    for line in shown.lines() {
        assert!(
            known.contains(line),
            "`{command}` prints {line:?} in a terminal alone; in a pipe:\n{known:#?}",
        );
    }
}

/// Runs the program with a terminal as all three of its streams, and returns what the terminal was
/// sent.
fn run_in_terminal(
    env: &TestEnv,
    arguments: &[&str],
    (columns, rows): (u16, u16),
    term: &str,
) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let side = File::from(rustix::fs::open(&name, flags, Mode::empty()).unwrap());
    let mut modes = tcgetattr(&side).unwrap();
    modes.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&side, OptionalActions::Now, &modes).unwrap();
    let mut command = env.command(arguments);
    command
        .current_dir(env.home())
        .env("TERM", term)
        .stdin(Stdio::from(side.try_clone().unwrap()))
        .stdout(Stdio::from(side.try_clone().unwrap()))
        .stderr(Stdio::from(side));
    let mut child = command.spawn().unwrap();
    // The terminal closes when no process holds its other side.
    drop(command);
    let mut master = File::from(master);
    // Answers every question with no, then closes the input.
    master.write_all(b"n\n\x04\x04").unwrap();
    let shown = read_until_closed(&mut master, &mut child, arguments.first() == Some(&"watch"));
    let status = child.wait().unwrap();
    assert!(
        status.code().is_some_and(|code| code < 100 || code == 130),
        "{arguments:?}: {status}\n{shown}"
    );
    shown
}

/// Reads the output. A program that does not exit is interrupted once it has printed something.
fn read_until_closed(master: &mut File, child: &mut Child, is_endless: bool) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    let mut is_interrupted = false;
    // Linux answers with an error when the other side is closed; other systems with the end.
    while let Ok(count @ 1..) = master.read(&mut chunk) {
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if is_endless && !is_interrupted && text.contains("watching") {
            let pid = Pid::from_child(child);
            kill_process(pid, Signal::INT).unwrap();
            is_interrupted = true;
        }
    }
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

/// Removes color codes, and no other control sequences.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';');
        match end.map(|end| part.split_at(end)) {
            Some((_, rest)) if rest.starts_with('m') => plain.push_str(&rest[1..]),
            _ => plain.push_str(part),
        }
    }
    plain
}

/// Control characters in names must not reach the terminal, whichever command prints them.
#[test]
fn hostile_names_are_printed_harmlessly() {
    let env = TestEnv::new();
    let folder = env.home().join("work/evil\x1b[2Jname\u{202e}");
    std::fs::create_dir_all(&folder).unwrap();
    let sample = std::fs::read_dir(samples().join("claude/projects/-home-dev-proj"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .unwrap();
    let log = std::fs::read_to_string(sample).unwrap();
    let quoted = serde_json::to_string(&folder).unwrap();
    let log = log.replace("\"/home/dev/proj\"", &quoted);
    assert!(log.contains(&quoted));
    let odd = r#"{"type":"kind\u001b[2J\u0007","sessionId":"x","uuid":"y"}"#;
    let project = env.home().join(".claude/projects/evil");
    std::fs::create_dir_all(&project).unwrap();
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(project.join("4c5420d7-0000-4000-8000-000000000001.jsonl"))
        .unwrap();
    writeln!(file, "{log}\n{odd}").unwrap();
    let commands = [
        &["ingest"][..],
        &["sessions"],
        &["search", "threshold"],
        &["search", "the"],
        &["usage", "--by", "workspace"],
        &["blame", "inventory.py"],
        &["doctor"],
        &["digest", "4c5420d7"],
        &[
            "context",
            "where does the threshold come from?",
            "--explain",
        ],
        &["facts"],
        &["show", "\x1b[2Jnosuch"],
        &["sessions", "--workspace", "nosuch\x1b[2J"],
        &["search", "--agent", "\x1b[2J"],
        &["import", "nosuch\x1b[2J"],
    ];
    for arguments in commands {
        let ran = env.run(arguments);
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        let is_harmful = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
        assert!(!shown.contains(is_harmful), "{arguments:?}: {shown:?}");
    }
}
