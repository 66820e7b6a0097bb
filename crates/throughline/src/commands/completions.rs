//! `throughline completions`, and the hidden command that the scripts call for names in the store.

use std::io::{Write, stdout};

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use memory::Flavor;
use store::{SessionFilter, Store};

use crate::cli::Cli;
use crate::commands::App;
use crate::output::Exit;
use crate::output::text::one_line;
use crate::output::wrap::truncate;

/// Print a shell completion script
///
/// For example: throughline completions bash >
/// ~/.local/share/bash-completion/completions/throughline
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

/// Print the names that begin with a word
#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArgs {
    #[arg(value_enum)]
    kind: CompletedNames,

    #[arg(default_value = "")]
    prefix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum CompletedNames {
    Sessions,
    Workspaces,
    Agents,
    Tags,
}

/// The commands whose argument is a session.
const SESSION_COMMANDS: &[&str] = &[
    "archive", "checkpoint", "compact", "digest", "export", "forget", "handoff", "name",
    "restore-log", "resume", "show", "snapshot", "star", "summarize", "summary", "tag",
];

/// Where the script that clap makes for zsh begins to register its function.
const ZSH_REGISTRATION: &str = "if [ \"$funcstack[1]\"";

/// At most this many names are offered.
const NAMES_MAX: usize = 200;
/// Titles beside ids are truncated to this width.
const TITLE_COLUMNS_MAX: usize = 60;

pub(crate) fn run(_: &App<'_>, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut out = stdout().lock();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "throughline", &mut script);
    let script = String::from_utf8_lossy(&script);
    // The end of the script for zsh would register its own function instead of ours.
    let script = match (args.shell, script.split_once(ZSH_REGISTRATION)) {
        (Shell::Zsh, Some((functions, _))) => functions,
        _ => &script,
    };
    out.write_all(script.as_bytes())?;
    let (dynamic, separator) = match args.shell {
        Shell::Bash => (include_str!("completions/bash.sh"), " | "),
        Shell::Zsh => (include_str!("completions/zsh.sh"), " | "),
        Shell::Fish => (include_str!("completions/fish.fish"), " "),
        _ => return Ok(Exit::Done),
    };
    let dynamic = dynamic.replace("{commands}", &SESSION_COMMANDS.join(separator));
    out.write_all(dynamic.as_bytes())?;
    Ok(Exit::Done)
}

pub(crate) fn run_complete(app: &App<'_>, args: &CompleteArgs) -> anyhow::Result<Exit> {
    let names = match args.kind {
        CompletedNames::Agents => Flavor::ALL
            .iter()
            .map(|flavor| (flavor.name().to_owned(), flavor.title().to_owned()))
            .collect(),
        _ if !app.has_store() => Vec::new(),
        kind => stored_names(&app.open_for_query()?, kind, &args.prefix)?,
    };
    let mut out = stdout().lock();
    for (name, description) in names {
        // A shell would interpret other characters, and names come from logs.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@+".contains(c);
        if name.starts_with(&args.prefix) && name.chars().all(is_plain) {
            let description = truncate(&one_line(&description), TITLE_COLUMNS_MAX);
            writeln!(out, "{name}\t{description}")?;
        }
    }
    Ok(Exit::Done)
}

/// Returns names in the store, each with a description.
fn stored_names(
    store: &Store,
    kind: CompletedNames,
    prefix: &str,
) -> store::Result<Vec<(String, String)>> {
    let mut names = Vec::new();
    match kind {
        CompletedNames::Sessions => {
            let sessions = match prefix.is_empty() {
                true => store.sessions(&SessionFilter {
                    limit: NAMES_MAX,
                    ..SessionFilter::default()
                })?,
                false => store.sessions_by_prefix(prefix, NAMES_MAX)?,
            };
            for session in sessions {
                let title = session.name_or_title().unwrap_or_default().to_owned();
                names.push((store.short_session_id(&session.id)?, title));
            }
        }
        CompletedNames::Workspaces => {
            for workspace in store.workspaces_matching(prefix, NAMES_MAX)? {
                names.push((workspace.short_name().to_owned(), workspace.key.clone()));
                names.push((workspace.key, workspace.root));
            }
        }
        CompletedNames::Tags => {
            let tags = store.session_tags()?;
            names.extend(
                tags.into_iter()
                    .map(|(tag, count)| (tag, count.to_string())),
            );
        }
        CompletedNames::Agents => {}
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_completed_commands_exist() {
        let command = Cli::command();
        for name in SESSION_COMMANDS {
            assert!(command.find_subcommand(name).is_some(), "{name}");
        }
    }
}
