//! Everything that comes from outside: the environment, the home folder, the clock.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment and the clock"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Context;
use capture::AgentEnv;
use capture::adapter::ENV_VARIABLES;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::output::error_with_hint;

/// Variables of our own, with what they do; `throughline config` lists them.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    (
        "THROUGHLINE_HOME",
        "keep everything Throughline writes in this folder",
    ),
    ("THROUGHLINE_CONFIG", "read this configuration file"),
    (
        "THROUGHLINE_LOG",
        "what to log on standard error, such as `debug` or `capture=trace`",
    ),
    (
        "THROUGHLINE_NOW",
        "take this time for now (for tests and demonstrations)",
    ),
    (
        "THROUGHLINE_COMPACTION",
        "`off` or `on`: whether compaction is done, whatever the configuration says",
    ),
    (
        "THROUGHLINE_INJECTION",
        "`off` puts nothing of memory before agents",
    ),
    (
        "THROUGHLINE_MODEL",
        "`off` asks no model, whatever the configuration says",
    ),
    (
        "THROUGHLINE_HOOK_DEADLINE_MS",
        "a hook ends after so many milliseconds, whatever the configuration says",
    ),
    (
        "THROUGHLINE_DAEMON",
        "`off` lets no hook start the daemon; so does `CI`",
    ),
    (
        "THROUGHLINE_INSIDE",
        "hooks do nothing: the agent works for Throughline itself",
    ),
    ("NO_COLOR", "print without colour"),
    ("TZ", "show times in this zone"),
];

/// What the program was started with.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) places: AgentEnv,
    /// Where this platform keeps programs' data.
    pub(crate) data_dir: PathBuf,
    pub(crate) config_dir: PathBuf,
    /// The current folder.
    pub(crate) cwd: PathBuf,
    /// Where programs are looked for.
    pub(crate) path: Vec<PathBuf>,
    /// Where this program lies.
    pub(crate) program: Option<PathBuf>,
    /// Nothing of memory goes before agents.
    pub(crate) injection_off: bool,
    pub(crate) now: Timestamp,
    /// Found when a time is shown: it is looked for in many folders.
    pub(crate) zone: LazyLock<TimeZone>,
    pub(crate) color: bool,
    /// Somebody watches standard error.
    pub(crate) stderr_is_terminal: bool,
    /// Somebody can answer on standard input.
    pub(crate) stdin_is_terminal: bool,
    /// Whether compaction is switched on or off for this run.
    pub(crate) compaction: Option<bool>,
    /// Models are switched off.
    pub(crate) model_off: bool,
    log: Option<String>,
    /// The clock stands still.
    clock_is_fixed: bool,
}

/// Returns what the program was called with.
pub(crate) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// Returns a variable that the configuration names.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Returns a socket that whoever started us has opened and handed over, as service managers do.
pub(crate) fn inherited_socket() -> Option<std::os::unix::net::UnixListener> {
    let mut given = listenfd::ListenFd::from_env();
    given.take_unix_listener(0).ok().flatten()
}

/// Asks the system's keychain for a key, through the system's own program.
pub(crate) fn keychain_secret(name: &str) -> anyhow::Result<String> {
    let (program, arguments): (_, &[&str]) = if cfg!(target_os = "macos") {
        (
            "security",
            &[
                "find-generic-password",
                "-w",
                "-s",
                "throughline",
                "-a",
                name,
            ],
        )
    } else {
        (
            "secret-tool",
            &["lookup", "service", "throughline", "account", name],
        )
    };
    let asked = std::process::Command::new(program).args(arguments).output();
    let asked = asked.with_context(|| format!("cannot run {program}"))?;
    let key = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    if !asked.status.success() || key.is_empty() {
        anyhow::bail!("the keychain has no key of that name: service throughline, account {name}");
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
        Ok(Self {
            places: AgentEnv { home, variables },
            data_dir,
            config_dir,
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            path: std::env::var_os("PATH")
                .map(|path| std::env::split_paths(&path).collect())
                .unwrap_or_default(),
            program: std::env::current_exe().ok(),
            injection_off: variable("THROUGHLINE_INJECTION").as_deref() == Some("off"),
            now: fixed.unwrap_or_else(Timestamp::now),
            clock_is_fixed: fixed.is_some(),
            zone: LazyLock::new(TimeZone::system),
            color: std::io::stdout().is_terminal() && wants_color(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
            stdin_is_terminal: std::io::stdin().is_terminal(),
            compaction: variable("THROUGHLINE_COMPACTION").and_then(|text| parse_switch(&text)),
            model_off: variable("THROUGHLINE_MODEL").is_some_and(|value| value == "off"),
            log: variable("THROUGHLINE_LOG"),
        })
    }

    /// Returns the time, for commands that outlast the moment they were started in.
    pub(crate) fn clock(&self) -> Timestamp {
        if self.clock_is_fixed {
            self.now
        } else {
            Timestamp::now()
        }
    }

    /// Returns the clock itself, for what outlives this.
    pub(crate) fn clock_handle(&self) -> serve::ClockFn {
        let fixed = self.clock_is_fixed.then_some(self.now);
        std::sync::Arc::new(move || fixed.unwrap_or_else(Timestamp::now))
    }

    /// Sends what the crates log to standard error; warnings only, unless asked for more.
    pub(crate) fn start_logging(&self) {
        let filter = self.log.as_deref().unwrap_or("warn");
        tracing_subscriber::fmt()
            .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
            .with_writer(std::io::stderr)
            // Colours would need another feature of the crate; asking for them without it makes it
            // print an error before the output of every command.
            .with_ansi(false)
            .without_time()
            .init();
    }
}

/// What a hook is started with: less than a command, for every microsecond counts.
#[derive(Clone, Debug)]
pub(crate) struct HookEnvironment {
    /// The folder of everything we write, unless the command line names another.
    pub(crate) home: PathBuf,
    /// The configuration file that is asked for, and the usual one.
    pub(crate) config: Option<PathBuf>,
    pub(crate) default_config: PathBuf,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) now: Timestamp,
    pub(crate) injection_off: bool,
    /// The agent works for us.
    pub(crate) is_inner_agent: bool,
    pub(crate) deadline_ms: Option<u64>,
    /// No daemon is started from here.
    pub(crate) daemon_off: bool,
    /// The agent that the variables of this process tell of.
    pub(crate) agent: Option<memory::Flavor>,
}

impl HookEnvironment {
    /// Reads it, with the folder and the file that the command line names.
    pub(crate) fn read(home: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        let user = std::env::home_dir().unwrap_or_else(|| PathBuf::from("."));
        let (data_dir, config_dir) = platform_folders(&user);
        let home = home.or_else(|| variable("THROUGHLINE_HOME").map(PathBuf::from));
        let config_dir = home.as_ref().unwrap_or(&config_dir);
        // A hook never fails: with a time that cannot be read, the clock counts.
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

/// Returns where this platform keeps our data and our configuration.
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

/// Returns the time that THROUGHLINE_NOW states in place of the clock.
fn fixed_time() -> anyhow::Result<Option<Timestamp>> {
    let stated = variable("THROUGHLINE_NOW");
    let parsed = stated.map(|text| {
        let time = text.parse();
        time.map_err(|_| {
            error_with_hint(
                format!("THROUGHLINE_NOW={text} is not a time"),
                "write it like 2026-11-16T09:00:00Z, or unset the variable",
            )
        })
    });
    parsed.transpose()
}

/// Says whether the terminal understands colour codes and the user has not declined them.
fn wants_color() -> bool {
    variable("NO_COLOR").is_none() && variable("TERM").as_deref() != Some("dumb")
}

/// Reads a switch as people write it. What is neither leaves it to the configuration.
fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "true" | "yes" => Some(true),
        "off" | "0" | "false" | "no" => Some(false),
        _ => None,
    }
}
