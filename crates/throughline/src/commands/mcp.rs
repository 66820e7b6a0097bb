//! `throughline mcp`

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use serve::Desk;
use store::Store;

use crate::commands::{App, is_read_only};
use crate::keychain::SystemKeychain;
use crate::output::{Outcome, hinted};

/// Serve memory to an agent over MCP, on standard input and output
///
/// For the agent's configuration, not for a terminal. The agent may search and read what memory has of the
/// folder it works in, and keep facts; `write` under `[mcp]` in the configuration says what else it may do.
#[derive(Debug, clap::Args)]
pub struct McpArgs {
    /// The folder the agent works in, instead of the current one
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub fn run(app: &App<'_>, args: &McpArgs) -> anyhow::Result<Outcome> {
    if app.environment.asked {
        return Err(hinted(
            "an agent talks to this command, and nobody can by hand",
            "put `throughline mcp` into the agent's MCP configuration; docs/MCP.md shows how",
        ));
    }
    let folder = args.folder.as_ref().unwrap_or(&app.environment.cwd);
    let folder = std::path::absolute(folder)
        .with_context(|| format!("{} is no folder", folder.display()))?;
    let clock = app.environment.clock_handle();
    let desk = Desk::new(Arc::new(open(app)?), app.settings(), clock);
    serve::mcp::serve_stdio(desk, folder).context("cannot serve")?;
    Ok(Outcome::Done)
}

/// Opens the store, to read where nothing can be written.
fn open(app: &App<'_>) -> anyhow::Result<Store> {
    match app.open() {
        Err(error) if is_read_only(&error) => {
            Ok(Store::open_to_read_with(&app.home, &SystemKeychain)?)
        }
        opened => opened,
    }
}
