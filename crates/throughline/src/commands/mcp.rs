//! `throughline mcp`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use serve::ServeContext;
use store::Store;

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::{Exit, error_with_hint};

/// Serve memory to an agent over MCP, on standard input and output
///
/// For the agent's configuration, not for a terminal. The agent may search and read what memory has of the
/// folder it works in, and keep facts; `write` under `[mcp]` in the configuration says what else it may do.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    /// The folder the agent works in, instead of the current one
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(app: &App<'_>, args: &McpArgs) -> anyhow::Result<Exit> {
    if app.environment.stdin_is_terminal {
        return Err(error_with_hint(
            "an agent talks to this command, and nobody can by hand",
            "put `throughline mcp` into the agent's MCP configuration; docs/MCP.md shows how",
        ));
    }
    let folder = args.folder.as_ref().unwrap_or(&app.environment.cwd);
    let folder = std::path::absolute(folder)
        .with_context(|| format!("{} is no folder", folder.display()))?;
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
    serve::mcp::serve_stdio(&settings, folder, open).context("cannot serve")?;
    Ok(Exit::Done)
}

/// Opens the store, to read where nothing can be written.
fn open(home: &Path, now: Timestamp) -> store::Result<Store> {
    match Store::open_with(home, &SystemKeychain) {
        Err(error) if error.is_read_only() => Store::open_to_read_with(home, &SystemKeychain),
        opened => {
            let store = opened?;
            if let Err(error) = store.remove_safety_copy(Some(now)) {
                tracing::warn!(%error, "the safety copy is not removed");
            }
            Ok(store)
        }
    }
}
