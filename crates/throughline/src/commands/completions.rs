//! `throughline completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::commands::App;
use crate::output::Exit;

/// Print a shell completion script
///
/// For example: throughline completions bash >
/// ~/.local/share/bash-completion/completions/throughline
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    shell: Shell,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every command has the same signature"
)]
pub(crate) fn run(_: &App<'_>, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut command = Cli::command();
    clap_complete::generate(
        args.shell,
        &mut command,
        "throughline",
        &mut std::io::stdout(),
    );
    Ok(Exit::Done)
}
