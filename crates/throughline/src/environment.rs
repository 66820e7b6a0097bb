//! What the program reads from its surroundings: environment variables, folders, terminals, the
//! clock.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment and the clock"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::Context;
use capture::AgentEnv;
use capture::adapter::ENV_VARIABLES;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use terminal_size::terminal_size_of;

use crate::output::error_with_hint;
use crate::output::paged::Terminal;

/// Our environment variables and their effect, as `throughline config` lists them.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("THROUGHLINE_HOME", "keep all data in this folder"),
    ("THROUGHLINE_CONFIG", "read this configuration file"),
    (
        "THROUGHLINE_LOG",
        "the log filter for standard error, such as `debug` or `capture=trace`",
    ),
    (
        "THROUGHLINE_NOW",
        "use this time instead of the current one, for tests and demos",
    ),
    (
        "THROUGHLINE_COMPACTION",
        "`on` or `off`: whether compactions use the running summary, whatever is configured",
    ),
    (
        "THROUGHLINE_SUMMARY",
        "`on` or `off` overrides `enabled` under [summary]",
    ),
    ("THROUGHLINE_INJECTION", "`off` disables injection"),
    ("THROUGHLINE_MODEL", "`off` disables the configured model"),
    (
        "THROUGHLINE_HOOK_DEADLINE_MS",
        "overrides `deadline_ms` under [hook]",
    ),
    (
        "THROUGHLINE_DAEMON",
        "`off` keeps hooks from starting the daemon, and so does `CI`",
    ),
    (
        "THROUGHLINE_INSIDE",
        "set for an agent that Throughline runs as a model; disables hooks",
    ),
    ("NO_COLOR", "disable colored output"),
    (
        "PAGER",
        "show output that is longer than the screen with this; empty for none, `less` if unset",
    ),
    ("TZ", "the time zone of the output"),
];

/// The surroundings of one run, read once at the start.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) places: AgentEnv,
    /// The default data folder of this platform.
    pub(crate) data_dir: PathBuf,
    pub(crate) config_dir: PathBuf,
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// The folders of PATH.
    pub(crate) path: Vec<PathBuf>,
    /// The path of this program.
    pub(crate) program: Option<PathBuf>,
    /// Injection is disabled for this process.
    pub(crate) injection_off: bool,
    pub(crate) now: Timestamp,
    /// Computed on first use, because finding the zone reads many files.
    pub(crate) zone: LazyLock<TimeZone>,
    pub(crate) color: bool,
    /// Colors are not disabled, wherever they go.
    pub(crate) wants_color: bool,
    /// The terminal cannot move its cursor.
    pub(crate) terminal_is_dumb: bool,
    /// The terminal that standard output is connected to, if it is one.
    pub(crate) terminal: Option<Terminal>,
    pub(crate) stderr_is_terminal: bool,
    pub(crate) stdin_is_terminal: bool,
    /// Overrides whether compactions use the running summary.
    pub(crate) compaction: Option<bool>,
    /// Overrides whether running summaries are written.
    pub(crate) summary: Option<bool>,
    /// The configured model is disabled.
    pub(crate) model_off: bool,
    log: Option<String>,
    /// `THROUGHLINE_NOW` replaces the clock.
    clock_is_fixed: bool,
}

/// Returns the command line.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Returns whether a person is at the terminal: they type, and see what is printed.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::io::stderr().is_terminal()
}

/// Returns an environment variable, or `None` if it is unset or empty.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns the socket that a service manager opened and passed to this process, if there is one.
pub(crate) fn inherited_socket() -> Option<std::os::unix::net::UnixListener> {
    let mut inherited = listenfd::ListenFd::from_env();
    inherited.take_unix_listener(0).ok().flatten()
}

/// Reads a secret from the system keychain, through the command line program of the system.
pub(crate) fn keychain_secret(name: &str) -> anyhow::Result<String> {
    let (program, arguments): (_, &[&str]) = if cfg!(target_os = "macos") {
        (
            "security",
            &[
                "find-generic-password", "-w", "-s", "throughline", "-a", name,
            ],
        )
    } else {
        (
            "secret-tool",
            &["lookup", "service", "throughline", "account", name],
        )
    };
    let output = std::process::Command::new(program).args(arguments).output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !output.status.success() || key.is_empty() {
        anyhow::bail!("the keychain has no entry with service `throughline` and account `{name}`");
    }
    Ok(key)
}

impl Environment {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("."));
        let variables: BTreeMap<_, _> = ENV_VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), variable(name)?)))
            .collect();
        let (data_dir, config_dir) = platform_folders(&home);
        let fixed = fixed_time()?;
        let path: Vec<PathBuf> = std::env::var_os("PATH")
            .map(|path| std::env::split_paths(&path).collect())
            .unwrap_or_default();
        Ok(Self {
            terminal: stdout_terminal(&path),
            places: AgentEnv { home, variables },
            data_dir,
            config_dir,
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            path,
            program: std::env::current_exe().ok(),
            injection_off: variable("THROUGHLINE_INJECTION").as_deref() == Some("off"),
            now: fixed.unwrap_or_else(Timestamp::now),
            clock_is_fixed: fixed.is_some(),
            zone: LazyLock::new(TimeZone::system),
            color: std::io::stdout().is_terminal() && wants_color(),
            wants_color: wants_color(),
            terminal_is_dumb: variable("TERM").as_deref() == Some("dumb"),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            compaction: variable("THROUGHLINE_COMPACTION").and_then(|text| parse_switch(&text)),
            summary: variable("THROUGHLINE_SUMMARY").and_then(|text| parse_switch(&text)),
            model_off: variable("THROUGHLINE_MODEL").is_some_and(|value| value == "off"),
            log: variable("THROUGHLINE_LOG"),
        })
    }

    /// Returns the surroundings of a unit test: a folder, and a time that does not pass.
    #[cfg(test)]
    pub(crate) fn for_test(cwd: &Path, now: Timestamp) -> Self {
        let mut environment = Self::read().unwrap();
        environment.places.home = cwd.to_owned();
        environment.cwd = cwd.to_owned();
        environment.now = now;
        environment.clock_is_fixed = true;
        environment.zone = LazyLock::new(|| TimeZone::UTC);
        environment
    }

    /// Applies the options of the command line that override the environment.
    pub(crate) fn apply_output_options(&mut self, color: clap::ColorChoice, pager_off: bool) {
        match color {
            clap::ColorChoice::Auto => {}
            clap::ColorChoice::Always => {
                (self.color, self.wants_color) = (true, true);
                MESSAGE_COLOR.store(COLOR_ALWAYS, Ordering::Relaxed);
            }
            clap::ColorChoice::Never => {
                (self.color, self.wants_color) = (false, false);
                MESSAGE_COLOR.store(COLOR_NEVER, Ordering::Relaxed);
            }
        }
        if let Some(terminal) = self.terminal.as_mut().filter(|_| pager_off) {
            terminal.pager = None;
        }
    }

    /// Returns the current time, for commands that run for a long time.
    pub(crate) fn clock(&self) -> Timestamp {
        if self.clock_is_fixed {
            self.now
        } else {
            Timestamp::now()
        }
    }

    /// Returns the clock as a function that outlives this value.
    pub(crate) fn clock_handle(&self) -> serve::ClockFn {
        let fixed = self.clock_is_fixed.then_some(self.now);
        std::sync::Arc::new(move || fixed.unwrap_or_else(Timestamp::now))
    }

    /// Sends log events to standard error; only warnings unless `THROUGHLINE_LOG` asks for more.
    pub(crate) fn start_logging(&self) {
        let filter = self.log.as_deref().unwrap_or("warn");
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_writer(std::io::stderr)
            // Colors need the crate feature `ansi`. Without it, asking for them prints an error
            // before the output of every command.
            .with_ansi(false)
            .without_time()
            .init();
    }
}

/// The surroundings of a hook. A hook reads less than a command, because an agent waits for it.
#[derive(Clone, Debug)]
pub(crate) struct HookEnvironment {
    /// The data folder.
    pub(crate) home: PathBuf,
    /// The configuration file that was asked for, if any.
    pub(crate) config: Option<PathBuf>,
    pub(crate) default_config: PathBuf,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) now: Timestamp,
    pub(crate) injection_off: bool,
    /// Throughline itself runs the agent, as a model.
    pub(crate) is_inner_agent: bool,
    pub(crate) deadline_ms: Option<u64>,
    /// Hooks must not start the daemon.
    pub(crate) daemon_off: bool,
    /// The agent that the environment variables identify.
    pub(crate) agent: Option<memory::Flavor>,
}

impl HookEnvironment {
    /// Reads the environment. The arguments are the folder and the file of the command line.
    pub(crate) fn read(home: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        let user = std::env::home_dir().unwrap_or_else(|| PathBuf::from("."));
        let (data_dir, config_dir) = platform_folders(&user);
        let home = home.or_else(|| variable("THROUGHLINE_HOME").map(PathBuf::from));
        let config_dir = home.as_ref().unwrap_or(&config_dir);
        // A hook never fails: an invalid `THROUGHLINE_NOW` is ignored.
        let fixed = fixed_time().unwrap_or_default();
        let is_copilot = variable("COPILOT_CLI").is_some() && variable("CLAUDECODE").is_none();
        Self {
            config: config.or_else(|| variable("THROUGHLINE_CONFIG").map(PathBuf::from)),
            default_config: config_dir.join("config.toml"),
            home: home.unwrap_or(data_dir),
            cwd: std::env::current_dir().ok(),
            now: fixed.unwrap_or_else(Timestamp::now),
            injection_off: variable("THROUGHLINE_INJECTION").as_deref() == Some("off"),
            is_inner_agent: variable("THROUGHLINE_INSIDE").is_some(),
            deadline_ms: variable("THROUGHLINE_HOOK_DEADLINE_MS")
                .and_then(|text| text.parse().ok()),
            daemon_off: variable("THROUGHLINE_DAEMON").and_then(|text| parse_switch(&text))
                == Some(false)
                || variable("CI").is_some_and(|text| parse_switch(&text) != Some(false)),
            agent: is_copilot.then_some(memory::Flavor::Copilot),
        }
    }
}

/// Returns the default folders of this platform for data and for configuration.
fn platform_folders(home: &Path) -> (PathBuf, PathBuf) {
    let under = |name: &str, fallback: &str| {
        let base = variable(name).map_or_else(|| home.join(fallback), PathBuf::from);
        base.join("throughline")
    };
    if cfg!(target_os = "macos") {
        let support = home.join("Library/Application Support/throughline");
        (support.clone(), support)
    } else if cfg!(windows) {
        (
            under("LOCALAPPDATA", "AppData/Local"),
            under("APPDATA", "AppData/Roaming"),
        )
    } else {
        (
            under("XDG_DATA_HOME", ".local/share"),
            under("XDG_CONFIG_HOME", ".config"),
        )
    }
}

/// Returns the time in `THROUGHLINE_NOW`, which replaces the clock.
fn fixed_time() -> anyhow::Result<Option<Timestamp>> {
    let fixed = variable("THROUGHLINE_NOW");
    let parsed = fixed.map(|text| {
        let time = text.parse();
        time.map_err(|_| {
            error_with_hint(
                format!("invalid time in THROUGHLINE_NOW: {text:?}"),
                "use a time such as 2026-11-16T09:00:00Z, or unset the variable",
            )
        })
    });
    parsed.transpose()
}

/// Returns the terminal that standard output is connected to, with the user's pager. Without the
/// variable, `less` is the pager where it is installed.
fn stdout_terminal(path: &[PathBuf]) -> Option<Terminal> {
    let (columns, rows) = terminal_size_of(std::io::stdout())?;
    let less = || path.iter().any(|folder| folder.join("less").exists());
    let pager = match std::env::var("PAGER") {
        Ok(command) => Some(command).filter(|command| !command.trim().is_empty()),
        Err(_) => less().then(|| "less".to_owned()),
    };
    let is_dumb = variable("TERM").as_deref() == Some("dumb");
    Some(Terminal {
        columns: columns.0.into(),
        rows: rows.0.into(),
        pager: pager.filter(|_| !is_dumb),
    })
    // Some programs that open a terminal never set its size.
    .filter(|terminal| terminal.columns > 0 && terminal.rows > 0)
}

/// What `--color` says about messages. It is global because messages are also printed where no
/// environment is at hand, such as for an error in `main`.
static MESSAGE_COLOR: AtomicU8 = AtomicU8::new(COLOR_AUTO);
const COLOR_AUTO: u8 = 0;
const COLOR_ALWAYS: u8 = 1;
const COLOR_NEVER: u8 = 2;

/// Returns whether messages have colors.
pub(crate) fn message_color() -> bool {
    match MESSAGE_COLOR.load(Ordering::Relaxed) {
        COLOR_ALWAYS => true,
        COLOR_NEVER => false,
        _ => std::io::stderr().is_terminal() && wants_color(),
    }
}

/// Returns the width of the terminal that shows our messages.
pub(crate) fn message_columns() -> Option<usize> {
    let (columns, _) = terminal_size_of(std::io::stderr())?;
    Some(columns.0.into()).filter(|columns| *columns > 0)
}

/// Returns whether the terminal supports colors and the user has not disabled them.
fn wants_color() -> bool {
    variable("NO_COLOR").is_none() && variable("TERM").as_deref() != Some("dumb")
}

/// Parses the common spellings of on and off. Anything else is ignored.
fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}
