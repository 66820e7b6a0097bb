//! `throughline hook`
//!
//! An agent waits for it, so it keeps a deadline and never fails. The work is done in a thread of its own,
//! which prints the answer and ends the process; the first thread only watches the clock, and at the
//! deadline prints the part of the answer that is there. [`log`] says afterwards why nothing was said.

mod daemon;
mod log;
mod output;
mod tries;
mod work;

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use capture::hook::HookHints;
use memory::Flavor;

use self::log::HookLog;
use self::output::HookOutput;
use self::work::{HookInvocation, save_follow_ups};
use crate::commands::App;
use crate::config::HookConfig;
use crate::environment::HookEnvironment;
use crate::output::Exit;

/// Answer an agent's hook
///
/// Agents call it: it reads what happened from standard input and prints what memory has to say, in that
/// agent's own form, or nothing. It always ends with status 0, within its deadline; `hook.log` in
/// Throughline's folder says what went wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct HookArgs {
    /// The agent, where the payload does not show whose it is
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,

    /// The event, where the payload does not name it
    #[arg(long, value_name = "NAME")]
    event: Option<String>,

    /// The payload, where it does not come on standard input
    #[arg(value_name = "JSON")]
    payload: Option<String>,
}

/// How the command was called.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct HookCommandLine {
    agent: Option<String>,
    event: Option<String>,
    payload: Option<String>,
    home: Option<PathBuf>,
    config: Option<PathBuf>,
}

/// Returns how the command was called, if it was this one and no help is wanted. What it does not know it
/// passes over: an agent must not suffer from a slip in its settings.
pub(crate) fn parse_command_line(arguments: &[OsString]) -> Option<HookCommandLine> {
    let mut called = HookCommandLine::default();
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
            "--home" => called.home = value().map(PathBuf::from),
            "--config" => called.config = value().map(PathBuf::from),
            "--agent" if is_hook => called.agent = value(),
            "--event" if is_hook => called.event = value(),
            "hook" if !is_hook => is_hook = true,
            _ if !is_hook => return None,
            payload if payload.starts_with('{') => called.payload = Some(argument.into_owned()),
            _ => {}
        }
    }
    is_hook.then_some(called)
}

/// Answers a hook whose command line clap parsed. `main` usually recognises the command before that.
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

/// Answers. Whatever happens, nothing went wrong for the agent.
pub(crate) fn answer_hook(called: HookCommandLine) -> Exit {
    let started = Instant::now();
    let HookCommandLine {
        agent,
        event,
        payload,
        home,
        config,
    } = called;
    let environment = HookEnvironment::read(home, config);
    if environment.is_inner_agent {
        return Exit::Done;
    }
    let log = HookLog::new(&environment.home, environment.now);
    exit_zero_on_panic(log.clone());
    let named = agent.as_deref().and_then(Flavor::from_name);
    if agent.is_some() && named.is_none() {
        // The argument itself may be anything, so it is not written down.
        log.write("--agent does not name an agent that is known");
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
                        log.write(&format!("not done within {ms} ms; a part was printed"));
                        save_follow_ups(&home, &part.event, &part.follow_ups, now, &log);
                    }
                    None => log.write(&format!("not done within {ms} ms")),
                }
                return Exit::Done;
            }
        }
    }
}

/// No agent waits for longer, whatever somebody configures.
const DEADLINE_MS_MAX: u64 = 30_000;

fn clamp_deadline(ms: u64) -> Duration {
    Duration::from_millis(ms.min(DEADLINE_MS_MAX))
}

/// Lets even a panic end with status 0.
#[expect(clippy::exit, reason = "a panic must not reach the agent")]
fn exit_zero_on_panic(log: HookLog) {
    std::panic::set_hook(Box::new(move |panic| {
        log.write(&format!("panicked: {panic}"));
        std::process::exit(0);
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
    fn the_command_is_recognised_wherever_the_folder_is_named() {
        let home = |called: Option<HookCommandLine>| called.unwrap().home.unwrap();
        assert_eq!(of("throughline hook"), Some(HookCommandLine::default()));
        assert_eq!(home(of("throughline --home /h hook")), PathBuf::from("/h"));
        assert_eq!(home(of("throughline hook --home=/h")), PathBuf::from("/h"));
        let called = of("throughline hook --agent copilot --event=sessionStart").unwrap();
        assert_eq!(called.agent.as_deref(), Some("copilot"));
        assert_eq!(called.event.as_deref(), Some("sessionStart"));
        for other in [
            "throughline",
            "throughline search hook",
            "throughline hook --help",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn slips_are_passed_over() {
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
