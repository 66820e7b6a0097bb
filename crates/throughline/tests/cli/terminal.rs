//! Every command in a pseudo-terminal with colors, in common sizes.
//!
//! The tests run the program that Cargo built for them. `THROUGHLINE_TEST_PROGRAM` names another
//! one, by which the release build is tested too.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use unicode_width::UnicodeWidthStr;

use crate::env::{TestEnv, samples};

const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);
const COLOURS: (&str, &str) = ("TERM", "xterm-256color");

/// Every command, with one of its common uses or more.
const COMMANDS: &[&str] = &[
    "search threshold",
    "search nosuchword",
    "search threshold --answers --explain",
    "sessions",
    "sessions --gone",
    "sessions --sort tokens --here",
    "sessions --since yesterday --starred",
    "sessions --sort tokens -n 3",
    "search threshold --here",
    "search threshold --since 7d --sort time",
    "show e730ed76 --around 2",
    "show 4c5420d7",
    "show 4c5420d7 --grep threshold",
    "show 4c5420d7 --prompts",
    "show 4c5420d7 --from 18:33:11",
    "name 4c5420d7 A_name",
    "star 4c5420d7",
    "tag 4c5420d7 a_tag",
    "archive 4c5420d7",
    "archive 4c5420d7 --off",
    "digest 4c5420d7",
    "digest --since 7d",
    "handoff 4c5420d7 --to codex --print",
    "restore-log 4c5420d7",
    "man man1",
    "export --format markdown 4c5420d7 -o session.md",
    "export --format html 4c5420d7 -o session.html",
    "blame inventory.py",
    "how pytest",
    "fix AssertionError",
    "facts",
    "facts edit nosuchid A_new_text",
    "facts forget nosuchid",
    "context where_does_the_threshold_come_from --explain",
    "serve --status",
    "injections",
    "injections nosuchid",
    "feedback nosuchid good",
    "summary 4c5420d7",
    "summarize 4c5420d7 --embedded --dry-run",
    "usage --by model",
    "usage --by session",
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
    "detect",
    "curate",
    "distribute",
    "measure",
    "events",
    "stats",
    "checkpoint 4c5420d7",
    "web --print",
    "serve --stop",
    "forget --list",
    "--version",
    "up --sample",
    "ingest",
    "install --dry-run",
    "uninstall",
    "doctor",
    "forget --query threshold",
    "backup memory.backup",
    "redact",
    "mcp",
    "hook",
    "watch",
    "--help",
    "nosuchcommand",
    "prefer Use_tabs",
    "remember The_port_is_8123",
    "pin The_port_is_8123",
];

/// Commands whose output is for programs or screen readers, and is not laid out.
const FOR_PROGRAMS: &[&str] = &[
    "completions bash", "compact 4c5420d7", "export", "redact session.md", "resume 4c5420d7",
    "shell bash", "shell zsh --key t", "snapshot 4c5420d7", "ui --plain",
];

#[test]
fn every_command_has_a_case() {
    let help = TestEnv::new().run(&["--help"]).stdout;
    let lines = help.lines().take_while(|line| *line != "Options:");
    let entries = lines.filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let lines = COMMANDS.iter().chain(FOR_PROGRAMS);
    let tested: BTreeSet<_> = lines.map(|line| line.split(' ').next()).collect();
    let mut count = 0;
    for name in entries.flat_map(|(names, _)| names.split(", ")) {
        assert!(tested.contains(&Some(name)), "no terminal test runs {name}");
        count += 1;
    }
    assert!(count > 30, "the help lists its commands: {help}");
}

#[test]
fn every_help_page_fits_a_small_terminal() {
    let env = TestEnv::new();
    let lines = COMMANDS.iter().chain(FOR_PROGRAMS);
    let names = lines.map(|line| line.split(' ').next().unwrap());
    let is_command = |name: &&str| !name.starts_with('-') && *name != "nosuchcommand";
    let names: BTreeSet<_> = names.filter(is_command).collect();
    for name in names {
        let shown = run_in_terminal(&env, &[name, "--help"], SMALL, ("NO_COLOR", "1"));
        assert!(shown.contains("Usage: "), "{name}: {shown}");
        check_rows(&format!("{name} --help"), &shown, SMALL.0.into());
    }
}

#[test]
fn without_a_command_a_pipe_gets_the_help() {
    let ran = TestEnv::new().run(&[]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.contains("Everyday:"), "{}", ran.shown());
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
    let coloured = run_in_terminal(&env, &arguments, SMALL, COLOURS);
    assert!(coloured.contains('\x1b'), "{coloured}");
    let never = ["search", "threshold", "--color", "never"];
    assert!(!run_in_terminal(&env, &never, SMALL, COLOURS).contains('\x1b'));
    let always = ["search", "threshold", "--color", "always"];
    assert!(env.run(&always).stdout.contains('\x1b'));
    // The other commands show progress bars.
    let is_plain = |line: &&&str| !matches!(**line, "up --sample" | "ingest" | "watch");
    for line in COMMANDS.iter().filter(is_plain) {
        let arguments: Vec<_> = line.split(' ').collect();
        for setting in [("TERM", "dumb"), ("NO_COLOR", "1")] {
            let shown = run_in_terminal(&env, &arguments, SMALL, setting);
            assert!(
                !shown.contains('\x1b'),
                "{line} with {setting:?}: {shown:?}"
            );
        }
    }
}

#[test]
fn long_output_goes_through_the_pager() {
    let env = TestEnv::with_samples();
    let pager = ("PAGER", "echo PAGED; cat; echo END");
    let run = |arguments: &[&str]| run_in_terminal(&env, arguments, SMALL, pager);
    let long = run(&["show", "4c5420d7"]);
    assert!(
        long.starts_with("PAGED\n") && long.ends_with("END\n"),
        "{long}"
    );
    assert!(long.contains("Never hard-code it again."), "{long}");
    assert!(!run(&["show", "4c5420d7", "--no-pager"]).contains("PAGED"));
    assert!(!run(&["sessions"]).contains("PAGED"));
    assert!(!run(&["show", "4c5420d7", "--json"]).contains("PAGED"));
    // Leaving the pager at once is not an error.
    let left = run_in_terminal(&env, &["show", "4c5420d7"], SMALL, ("PAGER", "true"));
    assert_eq!(left, "");
}

#[test]
fn lists_fit_a_small_terminal() {
    let env = TestEnv::with_samples();
    let run = |arguments: &[&str]| run_in_terminal(&env, arguments, SMALL, ("NO_COLOR", "1"));
    assert_snapshot!("terminal_sessions", run(&["sessions"]));
    assert_snapshot!("terminal_search", run(&["search", "threshold", "-n", "3"]));
    assert_snapshot!(
        "terminal_usage",
        run(&["usage", "--by", "session", "-n", "3"])
    );
}

/// Runs all commands in a terminal, one after the other in one home.
fn check_all(size: (u16, u16)) {
    let env = TestEnv::with_samples();
    for line in COMMANDS.iter().chain(FOR_PROGRAMS) {
        let arguments: Vec<_> = line.split(' ').collect();
        let shown = run_in_terminal(&env, &arguments, size, COLOURS);
        for foreign in ["tracing", "crate feature", "panicked", "RUST_BACKTRACE"] {
            assert!(!shown.contains(foreign), "{line}: {shown}");
        }
        if COMMANDS.contains(line) {
            check_rows(line, &without_colours(&shown), size.0.into());
        }
    }
}

/// Fails if a row is wider than the terminal, unless it is one word, such as a path.
#[track_caller]
fn check_rows(command: &str, shown: &str, columns: usize) {
    for row in shown.split(['\n', '\r']).map(str::trim_end) {
        let is_one_word = !row.trim().contains(' ');
        assert!(
            row.width() <= columns || is_one_word,
            "`{command}` prints {} columns: {row:?}",
            row.width()
        );
    }
}

/// Runs the program with a terminal as all three of its streams, and returns what the terminal was
/// sent.
fn run_in_terminal(
    env: &TestEnv,
    arguments: &[&str],
    (columns, rows): (u16, u16),
    setting: (&str, &str),
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
        .env("TERM", "xterm-256color")
        .env("PAGER", "cat")
        .env(setting.0, setting.1)
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

/// Removes color codes and the other control sequences of progress bars.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        plain.push_str(end.map_or(part, |end| &part[end + 1..]));
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
