//! The interactive UI in a real terminal, tmux: what a person sees, and what is left behind.

#![expect(clippy::disallowed_methods, reason = "tests start tmux")]

use std::cell::Cell;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testkit::skip::skip;

use crate::env::{TestEnv, samples};

/// How long a screen may take. The tests fail after it, and never wait for it otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// A shell that the tests start: its program, and how it shows `ready>` and reads no settings.
#[derive(Clone, Copy)]
struct Shell {
    program: &'static str,
    command: &'static str,
}

const BASH: Shell = Shell {
    program: "bash",
    command: "PS1='ready> ' bash --norc --noprofile",
};
const ZSH: Shell = Shell {
    program: "zsh",
    command: "PS1='ready> ' zsh --no-rcs",
};
const FISH: Shell = Shell {
    program: "fish",
    command: "fish --no-config --init-command \
              'function fish_prompt; printf \"ready> \"; end; set -g fish_greeting'",
};

/// A tmux server of its own with one window, in which a shell runs.
struct Tmux {
    env: TestEnv,
    socket: PathBuf,
    /// How often the terminal was checked.
    checks: Cell<u32>,
}

impl Tmux {
    /// Starts bash in a window, or returns `None` where there is no tmux.
    fn start() -> Option<Self> {
        Self::start_shell(BASH)
    }

    /// Starts a shell in a window, or returns `None` where it or tmux is missing.
    fn start_shell(shell: Shell) -> Option<Self> {
        for (program, option) in [("tmux", "-V"), (shell.program, "--version")] {
            if Command::new(program).arg(option).output().is_err() {
                skip(
                    program,
                    &format!("{program} is not installed; ./test installs it"),
                );
                return None;
            }
        }
        let env = TestEnv::new();
        let project = env.home().join("proj");
        let log = env.home().join(".claude/projects/proj");
        let bin = env.home().join("bin");
        for folder in [&project, &log, &bin] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let from = samples().join("claude/projects/-home-dev-proj");
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                let text = std::fs::read_to_string(&path).unwrap();
                let folder = project.display().to_string();
                let text = text.replace("/home/dev/proj", &folder);
                std::fs::write(log.join(path.file_name().unwrap()), text).unwrap();
            }
        }
        let agent = "#!/bin/sh\necho \"agent got $* in $(basename \"$PWD\")\"\n";
        write_program(&bin.join("claude"), agent);
        let program = env.command(&[]).get_program().to_owned();
        std::os::unix::fs::symlink(program, bin.join("throughline")).unwrap();
        let ingested = env.run(&["ingest"]);
        assert_eq!(ingested.code, Some(0), "{}", ingested.shown());
        let socket = env.home().join("tmux");
        let tmux = Self {
            env,
            socket,
            checks: Cell::new(0),
        };
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let command = format!(
            "env -i HOME='{home}' PATH='{path}' TERM=screen THROUGHLINE_HOME='{home}/memory' \
             THROUGHLINE_NOW=2026-11-16T09:00:00Z TZ=UTC LANG=C.UTF-8 {shell}",
            home = tmux.env.home().display(),
            shell = shell.command,
        );
        tmux.run(&[
            "-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", &command,
        ]);
        tmux.wait_for("ready>");
        Some(tmux)
    }

    fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(&self.socket)
            .args(arguments)
            .env("LC_ALL", "C.UTF-8");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Presses keys by their names in tmux.
    fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys"], keys].concat());
    }

    fn type_text(&self, text: &str) {
        self.run(&["send-keys", "-l", text]);
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    /// Waits until the screen contains a text, and returns it.
    #[track_caller]
    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    #[track_caller]
    fn wait_until(&self, what: &str, is_reached: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_reached(&screen) {
                return screen;
            }
            assert!(
                start.elapsed() < PATIENCE,
                "no {what:?} on the screen:\n{screen}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Checks that the shell has the terminal as it was: echo on, the usual screen, a cursor.
    #[track_caller]
    fn check_sane(&self) {
        // The number tells the answer from those to earlier checks on the screen.
        let check = self.checks.get() + 1;
        self.checks.set(check);
        self.press(&["C-u"]);
        self.type_text(&format!(
            "echo check {check}: $(stty -a | grep -c ' icanon.* echo ')"
        ));
        self.press(&["Enter"]);
        let answers = [format!("check {check}: 0"), format!("check {check}: 1")];
        let screen = self.wait_until("an answer of stty", |screen| {
            let is_answer = |line: &str| answers.iter().any(|answer| answer == line);
            screen.lines().any(is_answer)
        });
        assert!(screen.contains(&answers[1]), "{screen}");
        assert_eq!(self.flags(), "0 1 0");
    }

    /// Returns whether the terminal shows the alternate screen, the cursor, and reports the mouse.
    fn flags(&self) -> String {
        let flags = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
        let flags = self.run(&["display-message", "-p", flags]);
        flags.trim().to_owned()
    }

    /// Waits for a process and returns its id.
    #[track_caller]
    fn wait_for_process(&self, what: &str, is_meant: impl Fn(&Process) -> bool) -> i32 {
        let find = || processes().into_iter().find(|process| is_meant(process));
        self.wait_until(what, |_| find().is_some());
        find().unwrap().id
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).arg("kill-server");
        command.output().ok();
    }
}

/// A process of the system.
struct Process {
    id: i32,
    parent: i32,
    tty: String,
    name: String,
}

fn processes() -> Vec<Process> {
    let mut command = Command::new("ps");
    let output = command.args(["-eo", "pid=,ppid=,tty=,comm="]).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let process = |line: &str| {
        let mut words = line.split_whitespace();
        Some(Process {
            id: words.next()?.parse().ok()?,
            parent: words.next()?.parse().ok()?,
            tty: words.next()?.to_owned(),
            name: words.next()?.to_owned(),
        })
    };
    output.lines().filter_map(process).collect()
}

fn write_program(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_session_is_found_read_and_resumed() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.type_text("throughline");
    tmux.press(&["Enter"]);
    tmux.wait_for("1 search");
    tmux.type_text("reorder thresho");
    let screen = tmux.wait_for(" hits · ");
    assert!(
        screen.contains("│"),
        "a preview stands beside the list:\n{screen}"
    );
    tmux.press(&["Enter"]);
    tmux.wait_for("· all");
    tmux.press(&["Escape"]);
    // Until then, the next key would make another one together with the escape character.
    tmux.wait_for("enter open");
    tmux.press(&["C-r"]);
    let screen = tmux.wait_for("agent got --resume");
    assert!(screen.contains("in proj"), "{screen}");
    tmux.check_sane();
}

#[test]
fn the_screen_follows_its_size_and_survives_a_stop() {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.type_text("throughline ui threshold");
    tmux.press(&["Enter"]);
    tmux.wait_for(" hits · ");
    tmux.run(&["resize-window", "-x", "60", "-y", "14"]);
    // The screen is empty for a moment while it is redrawn.
    tmux.wait_until("a list alone", |screen| {
        screen.contains("threshold") && !screen.contains('│')
    });
    tmux.run(&["resize-window", "-x", "120", "-y", "40"]);
    tmux.wait_for("│");
    tmux.press(&["C-z"]);
    tmux.wait_for("Stopped");
    tmux.check_sane();
    tmux.type_text("fg");
    tmux.press(&["Enter"]);
    tmux.wait_for("1 search");
    tmux.press(&["C-c"]);
    tmux.wait_until("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    tmux.check_sane();
}

#[test]
fn a_terminated_ui_gives_the_terminal_back() {
    check_killed_ui(Signal::TERM);
}

/// No program can catch this signal; another process gives the terminal back.
#[test]
fn a_killed_ui_leaves_a_sane_terminal() {
    check_killed_ui(Signal::KILL);
}

fn check_killed_ui(signal: Signal) {
    let Some(tmux) = Tmux::start() else {
        return;
    };
    tmux.type_text("throughline ui --mouse");
    tmux.press(&["Enter"]);
    tmux.wait_for("1 search");
    let tty = tmux.run(&["display-message", "-p", "#{pane_tty}"]);
    let ui = tmux.wait_for_process("the UI", |process| {
        process.tty == tty.trim().trim_start_matches("/dev/") && process.name == "throughline"
    });
    // The process that restores the terminal renames itself when it is ready.
    let guard = tmux.wait_for_process("its guard", |process| {
        process.parent == ui && process.name == "tl-restore-tty"
    });
    kill_process(Pid::from_raw(ui).unwrap(), signal).unwrap();
    tmux.wait_until("the usual screen", |_| tmux.flags() == "0 1 0");
    tmux.press(&["C-l"]);
    tmux.wait_until("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    tmux.check_sane();
    tmux.wait_until("the end of the guard", |_| {
        processes().iter().all(|process| process.id != guard)
    });
}

#[test]
fn the_shell_widget_puts_the_command_on_the_command_line() {
    check_widget(BASH, "eval \"$(throughline shell bash)\"");
}

#[test]
fn the_widget_works_in_zsh() {
    check_widget(ZSH, "eval \"$(throughline shell zsh)\"");
}

#[test]
fn the_widget_works_in_fish() {
    check_widget(FISH, "throughline shell fish | source");
}

/// Opens the UI by a key of the shell, and resumes a session from it.
fn check_widget(shell: Shell, load: &str) {
    let Some(tmux) = Tmux::start_shell(shell) else {
        return;
    };
    tmux.type_text(&format!("{load}; echo bound"));
    tmux.press(&["Enter"]);
    tmux.wait_for("\nbound");
    tmux.press(&["C-g"]);
    tmux.wait_for("enter open");
    tmux.type_text("threshold");
    tmux.wait_for(" hits · ");
    tmux.press(&["Down", "C-r"]);
    let screen = tmux.wait_for("&& claude --resume");
    // The rows above the prompt are still there.
    assert!(screen.contains("echo bound"), "{screen}");
    tmux.press(&["C-c"]);
    tmux.wait_until("the prompt", |screen| screen.trim_end().ends_with("ready>"));
    // The typed text is searched for, and it stays if nothing is chosen.
    tmux.type_text("reorder");
    tmux.press(&["C-g"]);
    let screen = tmux.wait_for(" hits · ");
    // Nothing of the typed line is left beside the tabs.
    assert!(screen.contains("\n  1 search"), "{screen}");
    tmux.press(&["Escape"]);
    tmux.wait_for("enter open");
    tmux.press(&["Escape"]);
    tmux.wait_until("the line", |screen| {
        screen.trim_end().ends_with("ready> reorder")
    });
    tmux.press(&["C-u"]);
    tmux.check_sane();
}

#[test]
fn zsh_completes_names_from_the_store() {
    check_completion(
        ZSH,
        "autoload -U compinit; compinit -u; eval \"$(throughline completions zsh)\"",
    );
}

/// A script in a folder of `$fpath` runs at the first Tab, and completes it too.
#[test]
fn zsh_completes_names_at_the_first_tab() {
    check_completion(
        ZSH,
        "mkdir ~/functions; throughline completions zsh > ~/functions/_throughline; \
         fpath=(~/functions $fpath); autoload -U compinit; compinit -u -D",
    );
}

#[test]
fn fish_completes_names_from_the_store() {
    check_completion(FISH, "throughline completions fish | source");
}

/// Completes a session, an agent, a workspace and a command by Tab.
fn check_completion(shell: Shell, load: &str) {
    let Some(tmux) = Tmux::start_shell(shell) else {
        return;
    };
    tmux.type_text(&format!("{load}; echo loaded"));
    tmux.press(&["Enter"]);
    tmux.wait_for("\nloaded");
    for (typed, completed) in [
        ("throughline show 4c", "show 4c5420d7"),
        ("throughline --no-pager show 4c", "show 4c5420d7"),
        ("throughline sessions --agent gr", "--agent grok"),
        ("throughline search x --workspace pr", "--workspace proj"),
        ("throughline sessi", "throughline sessions"),
    ] {
        tmux.type_text(typed);
        tmux.press(&["Tab"]);
        tmux.wait_for(completed);
        tmux.press(&["C-u"]);
        tmux.wait_until("an empty line", |screen| {
            screen.trim_end().ends_with("ready>")
        });
        tmux.press(&["C-l"]);
        tmux.wait_until("a clear screen", |screen| !screen.contains(completed));
    }
}

#[test]
fn without_a_terminal_the_ui_says_so_and_plain_answers_in_lines() {
    let env = TestEnv::with_samples();
    let refused = env.run(&["ui"]);
    assert_eq!(refused.code, Some(2), "{}", refused.shown());
    assert!(
        refused.stderr.contains("needs a terminal"),
        "{}",
        refused.stderr
    );
    let input = b"threshold\n1\nhere\nquit\n";
    let plain = env.run_with(&["ui", "--plain"], input);
    assert_eq!(plain.code, Some(0), "{}", plain.shown());
    assert!(plain.stdout.contains("\n1. "), "{}", plain.stdout);
    assert!(
        plain.stdout.to_lowercase().contains("threshold"),
        "{}",
        plain.stdout
    );
    assert!(!plain.stdout.contains('\x1b'), "{}", plain.stdout);
}
