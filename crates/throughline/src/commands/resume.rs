//! `throughline resume`

use std::io::{Write, stdout};
use std::path::Path;

use memory::{Session, SessionId, SessionKind};
use serde::Serialize;
use store::Store;

use crate::commands::App;
use crate::commands::show::find_session;
use crate::output::shell::quote;
use crate::output::{self, Exit, error_with_hint};

/// Print the command that resumes a session in its agent
///
/// The command includes the folder in which it must be run. For a subagent's session it resumes the
/// session that started the subagent.
#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// The id of a session, or a prefix of it
    #[arg(value_name = "ID")]
    id: String,

    /// Run the command instead of printing it
    #[arg(long, conflicts_with = "json")]
    exec: bool,

    /// Print the command as JSON
    #[arg(long)]
    json: bool,
}

/// The command that resumes a session, as JSON.
#[derive(Debug, Serialize)]
struct ResumeCommand {
    session: SessionId,
    agent: &'static str,
    folder: Option<String>,
    command: Vec<String>,
    /// Folder and command as one line for a shell.
    shell: String,
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
        resume_command(&session)?
    };
    if args.exec {
        return run_agent(&plan);
    }
    if args.json {
        output::print_json(&plan)?;
    } else {
        writeln!(stdout().lock(), "{}", plan.shell)?;
    }
    Ok(Exit::Done)
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
    let shell = match &session.cwd {
        Some(folder) => {
            let options_end = if folder.starts_with('-') { "-- " } else { "" };
            let folder = quote(folder);
            format!("cd {options_end}{folder} && {}", words.join(" "))
        }
        None => words.join(" "),
    };
    Ok(ResumeCommand {
        session: session.id.clone(),
        agent: session.flavor.name(),
        folder: session.cwd.clone(),
        command,
        shell,
    })
}

/// Runs the agent in place of this process.
#[expect(
    clippy::disallowed_methods,
    reason = "the purpose of the command is to start the agent"
)]
fn run_agent(plan: &ResumeCommand) -> anyhow::Result<Exit> {
    let Some((program, arguments)) = plan.command.split_first() else {
        anyhow::bail!("there is no command to run");
    };
    let mut command = std::process::Command::new(program);
    command.args(arguments);
    if let Some(folder) = &plan.folder {
        if !Path::new(folder).is_dir() {
            return Err(error_with_hint(
                format!("the folder of the session does not exist: {folder:?}"),
                "run without --exec to print the command",
            ));
        }
        command.current_dir(folder);
    }
    replace_process(&mut command).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => error_with_hint(
            format!("cannot find {program} on PATH"),
            format!("install it, or run: {}", plan.shell),
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
    use memory::{Flavor, Usage};

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
