//! `throughline mcp`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use serve::ServeContext;
use store::{OpenMode, Store};

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::{Exit, error_with_hint};

/// Serve memory to an agent over MCP
///
/// Agents run this command; it speaks the protocol on standard input and output. The agent can
/// search and read the sessions of its folder, and save facts; `write` under `[mcp]` in the
/// configuration allows more.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    /// The folder in which the agent works [default: the current folder]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(app: &App<'_>, args: &McpArgs) -> anyhow::Result<Exit> {
    if app.environment.stdin_is_terminal {
        return Err(error_with_hint(
            "this command speaks MCP to an agent and cannot be used in a terminal",
            "add `throughline mcp` to the MCP configuration of the agent; see docs/MCP.md",
        ));
    }
    let folder = args.folder.as_ref().unwrap_or(&app.environment.cwd);
    let folder = std::path::absolute(folder)
        .with_context(|| format!("invalid folder {}", folder.display()))?;
    let (settings, home) = (app.serve_settings(), app.home.clone());
    let clock = app.environment.clock_handle();
    let given = settings.clone();
    let open = move || {
        let store = open(&home, clock()).map_err(|error| {
            let error = format!("cannot open the store in {}: {error}", home.display());
            tracing::error!("{error}");
            error
        })?;
        Ok(ServeContext::new(Arc::new(store), given, clock))
    };
    serve::mcp::serve_stdio(&settings, folder, open).context("cannot serve MCP")?;
    Ok(Exit::Done)
}

/// Opens the store, read-only where nothing can be written.
fn open(home: &Path, now: Timestamp) -> store::Result<Store> {
    match Store::open_with(home, OpenMode::ReadWrite, &SystemKeychain) {
        Err(error) if error.is_read_only() => {
            Store::open_with(home, OpenMode::ReadOnly, &SystemKeychain)
        }
        opened => {
            let store = opened?;
            if let Err(error) = store.remove_safety_copy(Some(now)) {
                tracing::warn!(%error, "cannot remove the safety copy");
            }
            Ok(store)
        }
    }
}
