//! `throughline hook`
//!
//! An agent waits for its hook, so the hook has a deadline and never fails. A second thread
//! computes and prints the answer and ends the process ([`invocation`]). The main thread only
//! watches the clock; at the deadline it prints the part of the answer that is ready ([`output`]).
//! [`log`] records why nothing was printed. [`daemon`] lets the daemon answer if there is one, and
//! [`start_backoff`] limits how often one is started.

mod daemon;
mod invocation;
mod log;
mod output;
mod start_backoff;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use capture::hook::HookHints;
use memory::Flavor;

use self::invocation::{HookInvocation, save_follow_ups};
use self::log::HookLog;
use self::output::HookOutput;
use crate::commands::App;
use crate::config::HookConfig;
use crate::environment::HookEnvironment;
use crate::output::{Exit, panic_position};

/// Answer a hook of an agent
///
/// Agents run this command. It reads an event from standard input and prints what memory has for
/// it, in the format of that agent, or nothing. It always exits with status 0 within its deadline;
/// errors are written to `hook.log` in the data folder.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// The agent, if the payload does not identify it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The event, if the payload does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,

    /// The payload, if it is not on standard input
    #[arg(value_name = "JSON")]
    payload: Option<String>,
}

/// The parsed command line of a hook.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HookCommandLine {
    agent: Option<String>,
    event: Option<String>,
    payload: Option<String>,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

/// Parses the command line of a hook without clap, which would take too long. Returns `None` for
/// other commands and for `--help`. Unknown arguments are ignored: a mistake in an agent's settings
/// must not break the agent.
pub(crate) fn parse_command_line(arguments: &[OsString]) -> Option<HookCommandLine> {
    let mut parsed = HookCommandLine::default();
    let mut is_hook = false;
    let mut rest = arguments
        .iter()
        .skip(1)
        .map(|argument| argument.to_string_lossy());
    while let Some(argument) = rest.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (&*argument, None),
        };
        let mut value = || value.clone().or_else(|| rest.next().map(Cow::into_owned));
        match name {
            "-h" | "--help" => return None,
            "--home" => parsed.home = value().map(PathBuf::from),
            "--config" => parsed.config = value().map(PathBuf::from),
            "--agent" if is_hook => parsed.agent = value(),
            "--event" if is_hook => parsed.event = value(),
            "hook" if !is_hook => is_hook = true,
            _ if !is_hook => return None,
            payload if payload.starts_with('{') => parsed.payload = Some(argument.into_owned()),
            _ => {}
        }
    }
    is_hook.then_some(parsed)
}

/// Answers a hook whose command line clap parsed. `main` usually recognises the command before
/// that.
#[expect(
    clippy::unnecessary_wraps,
    reason = "every command has the same signature"
)]
pub(crate) fn run(app: &App<'_>, args: &HookArgs) -> anyhow::Result<Exit> {
    Ok(answer_hook(HookCommandLine {
        agent: args.agent.clone(),
        event: args.event.clone(),
        payload: args.payload.clone(),
        home: Some(app.home.clone()),
        config: app.config_path.exists().then(|| app.config_path.clone()),
    }))
}

/// Answers a hook. The exit status is always 0, so that no error here breaks the agent.
pub(crate) fn answer_hook(command_line: HookCommandLine) -> Exit {
    let started = Instant::now();
    let HookCommandLine {
        agent,
        event,
        payload,
        home,
        config,
    } = command_line;
    let environment = HookEnvironment::read(home, config);
    if environment.is_inner_agent {
        return Exit::Done;
    }
    let log = HookLog::new(&environment.home, environment.now);
    exit_zero_on_panic(log.clone());
    let named = agent.as_deref().and_then(Flavor::from_name);
    if agent.is_some() && named.is_none() {
        // The argument may be anything, so it is not written to the log.
        log.write("--agent does not name a known agent");
    }
    let fixed_ms = environment.deadline_ms;
    let output = Arc::new(HookOutput::new(log.clone()));
    let (home, now) = (environment.home.clone(), environment.now);
    let (deadlines, configured) = channel();
    let work = HookInvocation {
        hints: HookHints {
            agent: named,
            event,
            environment_agent: environment.agent,
            cwd: environment.cwd.clone(),
        },
        started,
        deadline: clamp_deadline(fixed_ms.unwrap_or(HookConfig::default().deadline_ms)),
        environment,
        log: log.clone(),
        output: Arc::clone(&output),
    };
    let mut deadline = work.deadline;
    std::thread::spawn(move || work.run(payload, &deadlines));
    loop {
        match configured.recv_timeout(deadline.saturating_sub(started.elapsed())) {
            Ok(ms) => deadline = clamp_deadline(fixed_ms.unwrap_or(ms)),
            Err(RecvTimeoutError::Disconnected) => return Exit::Done,
            Err(RecvTimeoutError::Timeout) => {
                let ms = deadline.as_millis();
                match output.print_fallback() {
                    Some(part) => {
                        log.write(&format!(
                            "not done within {ms} ms; printed a partial answer"
                        ));
                        save_follow_ups(&home, &part.event, &part.follow_ups, now, &log);
                    }
                    None => log.write(&format!("not done within {ms} ms")),
                }
                return Exit::Done;
            }
        }
    }
}

/// The longest deadline that can be configured; agents do not wait any longer.
const DEADLINE_MS_MAX: u64 = 30_000;

fn clamp_deadline(ms: u64) -> Duration {
    Duration::from_millis(ms.min(DEADLINE_MS_MAX))
}

/// Makes even a panic exit with status 0.
#[expect(clippy::exit, reason = "a panic must not reach the agent")]
fn exit_zero_on_panic(log: HookLog) {
    std::panic::set_hook(Box::new(move |panic| {
        log.write(&format!("internal error at {}", panic_position(panic)));
        if !redact::is_detecting() {
            std::process::exit(0);
        }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<HookCommandLine> {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        parse_command_line(&words)
    }

    #[test]
    fn a_hook_is_recognised_with_the_folder_before_or_after_it() {
        let home = |called: Option<HookCommandLine>| called.unwrap().home.unwrap();
        assert_eq!(of("throughline hook"), Some(HookCommandLine::default()));
        assert_eq!(home(of("throughline --home /h hook")), PathBuf::from("/h"));
        assert_eq!(home(of("throughline hook --home=/h")), PathBuf::from("/h"));
        let called = of("throughline hook --agent copilot --event=sessionStart").unwrap();
        assert_eq!(called.agent.as_deref(), Some("copilot"));
        assert_eq!(called.event.as_deref(), Some("sessionStart"));
        for other in [
            "throughline", "throughline search hook", "throughline hook --help",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn unknown_arguments_are_ignored() {
        assert_eq!(
            of("throughline hook --bogus more -x"),
            Some(HookCommandLine::default())
        );
        assert_eq!(
            of("throughline hook --agent"),
            Some(HookCommandLine::default())
        );
    }

    #[test]
    fn a_payload_may_be_an_argument() {
        let called = of("codex hook {\"type\":\"agent-turn-complete\"}").unwrap();
        assert!(called.payload.unwrap().starts_with('{'));
    }
}
