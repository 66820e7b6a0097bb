//! Memory for agents over MCP: tools, resources and prompts.
//!
//! An agent sees the memory of the folder that it works in and nothing else. It may only read
//! unless the user allows writes. All text from sessions stands inside a fence that marks it as
//! data; [`fenced`] builds it. One process serves one agent over standard input and output
//! ([`serve_stdio`]); the daemon serves many agents over HTTP.

mod fenced;
mod prompts;
mod resources;
mod schema;
mod server;
mod tools;

use std::path::PathBuf;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::io::stdio_pipes;

pub use self::server::McpServer;
use crate::{ServeContext, ServeSettings};

/// How the folder that a client works in is determined.
#[derive(Clone, Debug)]
pub enum ClientFolder {
    /// This folder, for a process that serves one agent.
    Fixed(PathBuf),
    /// The folder that each request names in its [`FOLDER_HEADER`].
    FromHeader,
}

/// The header that names the folder in which an agent works.
pub const FOLDER_HEADER: &str = "throughline-folder";

/// Serves one agent over standard input and output until it disconnects. `open` opens the store.
pub fn serve_stdio(
    settings: &ServeSettings,
    folder: PathBuf,
    open: impl FnOnce() -> Result<ServeContext, String> + Send + 'static,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let server = McpServer::new_while_opening(settings, ClientFolder::Fixed(folder), open);
        let service = match server.serve(stdio_pipes()).await {
            Ok(service) => service,
            // The client disconnected before it initialized.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(std::io::Error::other(error)),
        };
        service.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    })
}
