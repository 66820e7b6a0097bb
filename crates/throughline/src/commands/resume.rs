//! `throughline resume`

use std::io::{Write, stdout};
use std::path::Path;

use distill::snapshot::SnapshotSize;
use memory::{Flavor, Session, SessionId, SessionKind};
use serde::Serialize;
use serve::requests::snapshot::session_snapshot;
use store::Store;

use crate::commands::restore_log::restore_log;
use crate::commands::show::{find_session, request_error};
use crate::commands::{App, snapshot};
use crate::output::shell::quote;
use crate::output::{self, Exit, error_with_hint};

/// Print the command that resumes a session in its agent
///
/// The command includes the folder in which it must be run. For a subagent's session it resumes the
/// session that started the subagent. With --at or --in the command starts a new session with a
/// snapshot of this one.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "ID")]
    id: String,

    /// Continue in a new session from this checkpoint; `throughline checkpoint` lists them
    #[arg(long, value_name = "N")]
    at: Option<u32>,

    /// Continue in another agent: claude, codex, gemini or opencode
    #[arg(long = "in", value_name = "AGENT")]
    agent: Option<String>,

    /// Run the command instead of printing it
    #[arg(long, conflicts_with = "json")]
    exec: bool,

    /// If the agent has deleted the log of the session, put the archived one back first
    #[arg(long)]
    restore: bool,

    /// Print the command as JSON
    #[arg(long)]
    json: bool,
}

/// The command that resumes a session, as JSON.
#[derive(Debug, Serialize)]
pub(crate) struct ResumeCommand {
    session: SessionId,
    agent: &'static str,
    folder: Option<String>,
    command: Vec<String>,
    /// Folder and command as one line for a shell.
    pub(crate) shell: String,
}

/// The maximum depth of nested subagents; it also ends a cycle in damaged data.
const PARENTS_MAX: usize = 16;

pub(crate) fn run(app: &App<'_>, args: &ResumeArgs) -> anyhow::Result<Exit> {
    let plan = {
        let store = app.open_existing()?;
        let asked = find_session(&store, &args.id)?;
        let session = root_session(&store, asked.clone())?;
        if session.id != asked.id {
            say!(
                "{} is a session of a subagent; this resumes the session that started it.",
                asked.id
            );
        }
        if args.at.is_some() || args.agent.is_some() {
            continue_command(&store, &session, args)?
        } else {
            let plan = resume_command(&session)?;
            if session.source_gone {
                bring_log_back(app, args, &store, &session)?;
            }
            plan
        }
    };
    if args.exec {
        return run_agent(&plan.agent_command());
    }
    if let Some(folder) = plan
        .folder
        .as_ref()
        .filter(|folder| !Path::new(folder).is_dir())
    {
        say!("warning: the folder of the session does not exist here: {folder}");
    }
    if args.json {
        output::print_json(&plan)?;
    } else {
        writeln!(stdout().lock(), "{}", plan.shell)?;
    }
    Ok(Exit::Done)
}

/// Returns the command that resumes a session, or for a subagent the session that started it.
pub(crate) fn plan_resume(store: &Store, id: &str) -> anyhow::Result<ResumeCommand> {
    resume_command(&root_session(store, find_session(store, id)?)?)
}

/// Puts the log of a session back, or says that the agent needs it.
fn bring_log_back(
    app: &App<'_>,
    args: &ResumeArgs,
    store: &Store,
    session: &Session,
) -> anyhow::Result<()> {
    if args.restore {
        return restore_log(app, store, session);
    }
    let problem = format!("the agent has deleted the log of {}", session.id);
    let way_out = "`--restore` puts the archived log back first";
    if args.exec {
        return Err(error_with_hint(problem, way_out));
    }
    say!("warning: {problem}; {way_out}");
    Ok(())
}

/// Returns the session itself, or for a subagent the session of the user that started it.
fn root_session(store: &Store, mut session: Session) -> anyhow::Result<Session> {
    for _ in 0..PARENTS_MAX {
        if session.kind != SessionKind::Subagent {
            return Ok(session);
        }
        let Some(parent) = session.parent.clone() else {
            break;
        };
        let named = store.sessions_by_prefix(parent.as_str(), 1)?;
        session = match named.into_iter().find(|found| found.id == parent) {
            Some(found) => found,
            // The parent's log was never captured, but its id is known, and subagents share its
            // folder.
            None => Session {
                id: parent,
                kind: SessionKind::Main,
                parent: None,
                ..session
            },
        };
    }
    Err(error_with_hint(
        format!(
            "{} is a session of a subagent whose parent is unknown",
            session.id
        ),
        "`throughline show` shows the session",
    ))
}

fn resume_command(session: &Session) -> anyhow::Result<ResumeCommand> {
    let native = session.id.native();
    if session.id != SessionId::of(session.flavor, native) {
        return Err(error_with_hint(
            format!(
                "{} belongs to an agent that this version does not know",
                session.id
            ),
            "update throughline",
        ));
    }
    // An id from a log must not become an option of the agent.
    let is_safe = !native.is_empty() && !native.starts_with('-');
    let command = session.flavor.resume_command(native).filter(|_| is_safe);
    let Some(command) = command else {
        return Err(error_with_hint(
            format!("{} cannot resume {}", session.flavor.title(), session.id),
            "`throughline show` shows the session",
        ));
    };
    let words: Vec<_> = command.iter().map(|word| quote(word)).collect();
    let shell = in_folder(session.cwd.as_deref(), &words.join(" "));
    Ok(ResumeCommand {
        session: session.id.clone(),
        agent: session.flavor.name(),
        folder: session.cwd.clone(),
        command,
        shell,
    })
}

/// Returns the command that starts a new session with a snapshot of this one. Neither git nor the
/// work tree is touched.
fn continue_command(
    store: &Store,
    session: &Session,
    args: &ResumeArgs,
) -> anyhow::Result<ResumeCommand> {
    let flavor = match args.agent.as_deref() {
        Some(name) => Flavor::from_name(name),
        None => Some(session.flavor),
    };
    let start: &[&str] = match flavor {
        Some(Flavor::Claude) => &["claude"],
        Some(Flavor::Codex) => &["codex"],
        Some(Flavor::Gemini) => &["gemini", "-i"],
        Some(Flavor::Opencode) => &["opencode", "--prompt"],
        _ => {
            let name = args.agent.as_deref().unwrap_or(session.flavor.name());
            return Err(error_with_hint(
                format!("a session cannot be continued in {name}"),
                format!(
                    "use claude, codex, gemini or opencode, or give the agent the output of \
                     `throughline snapshot {} --fence`",
                    session.id.native()
                ),
            ));
        }
    };
    let agent = flavor.map_or("", Flavor::name);
    let size = SnapshotSize::Standard;
    let text = session_snapshot(store, session, args.at, size).map_err(request_error)?;
    let text = snapshot::enclose_snapshot(&text);
    let mut command: Vec<String> = start.iter().map(|word| (*word).to_owned()).collect();
    let words: Vec<_> = command.iter().map(|word| quote(word)).collect();
    let at = args
        .at
        .map_or(String::new(), |number| format!(" --at {number}"));
    let id = quote(session.id.as_str());
    let snapshot = format!("throughline snapshot {id} --fence{at}");
    let shell = in_folder(
        session.cwd.as_deref(),
        &format!("{} \"$({snapshot})\"", words.join(" ")),
    );
    command.push(text);
    Ok(ResumeCommand {
        session: session.id.clone(),
        agent,
        folder: session.cwd.clone(),
        command,
        shell,
    })
}

/// Returns a shell command that is run in a folder.
fn in_folder(folder: Option<&str>, command: &str) -> String {
    let Some(folder) = folder else {
        return command.to_owned();
    };
    let options_end = if folder.starts_with('-') { "-- " } else { "" };
    format!("cd {options_end}{} && {command}", quote(folder))
}

impl ResumeCommand {
    pub(crate) fn agent_command(&self) -> AgentCommand<'_> {
        AgentCommand {
            folder: self.folder.as_deref(),
            words: &self.command,
            instead: &self.shell,
        }
    }
}

/// A command that starts an agent.
pub(crate) struct AgentCommand<'a> {
    pub(crate) folder: Option<&'a str>,
    pub(crate) words: &'a [String],
    /// A command that the user can run instead if the agent is not installed here.
    pub(crate) instead: &'a str,
}

/// Runs the agent in place of this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the purpose of the command is to start the agent"
)]
pub(crate) fn run_agent(agent: &AgentCommand<'_>) -> anyhow::Result<Exit> {
    let Some((program, arguments)) = agent.words.split_first() else {
        anyhow::bail!("there is no command to run");
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    if let Some(folder) = agent.folder {
        if !Path::new(folder).is_dir() {
            return Err(error_with_hint(
                format!("the folder of the session does not exist: {folder:?}"),
                format!("create it, or run: {}", agent.instead),
            ));
        }
        command.current_dir(folder);
    }
    replace_process(&mut command).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => error_with_hint(
            format!("cannot find {program} on PATH"),
            format!("install it, or run: {}", agent.instead),
        ),
        _ => anyhow::Error::new(error).context(format!("cannot start {program}")),
    })
}

/// Replaces this process, so that the agent alone gets the terminal and its signals.
#[cfg(unix)]
fn replace_process(command: &mut std::process::Command) -> std::io::Result<Exit> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace_process(command: &mut std::process::Command) -> std::io::Result<Exit> {
    Ok(if command.status()?.success() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

#[cfg(test)]
mod tests {
    use memory::Usage;

    use super::*;

    #[track_caller]
    fn check(id: &str, cwd: Option<&str>, expected: Result<&str, &str>) {
        let session = Session {
            id: SessionId::new(id),
            flavor: Flavor::Claude,
            kind: SessionKind::Main,
            title: None,
            workspace: None,
            cwd: cwd.map(str::to_owned),
            branch: None,
            model: None,
            version: None,
            parent: None,
            started: None,
            ended: None,
            records: 1,
            prompts: 1,
            tool_calls: 0,
            errors: 0,
            usage: Usage::default(),
            cost_usd: None,
            source: None,
            source_gone: false,
            detached: 0,
            outcome: None,
            evicted: 0,
            marks: memory::SessionMarks::default(),
        };
        let planned = resume_command(&session).map(|plan| plan.shell);
        let planned = planned.map_err(|error| error.to_string());
        assert_eq!(planned.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn text_from_a_log_is_always_quoted() {
        check("claude:s", None, Ok("claude --resume s"));
        check(
            "claude:s",
            Some("/a b"),
            Ok("cd '/a b' && claude --resume s"),
        );
        check(
            "claude:s;id",
            Some("-P"),
            Ok("cd -- -P && claude --resume 's;id'"),
        );
        check(
            "claude:--continue",
            None,
            Err("Claude Code cannot resume claude:--continue"),
        );
        check(
            "later:s",
            None,
            Err("later:s belongs to an agent that this version does not know"),
        );
    }
}
