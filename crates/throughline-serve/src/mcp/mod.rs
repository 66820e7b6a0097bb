//! Memory for agents over MCP: tools, resources and prompts.
//!
//! An agent sees the memory of the folder it works in and nothing else, read-only unless the user allows
//! more. Whatever comes out of a session stands inside a fence, as data; [`fenced`] builds it. One
//! process serves one agent over standard streams ([`serve_stdio`]); the daemon serves many over HTTP.

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

/// Where the agent that asks works.
#[derive(Clone, Debug)]
pub enum ClientFolder {
    /// In this folder.
    Fixed(PathBuf),
    /// In the folder that each request's header names.
    FromHeader,
}

/// The header that names the folder in which an agent works.
pub const FOLDER_HEADER: &str = "throughline-folder";

/// Serves one agent over standard streams, until it leaves.
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
            // It left without a word.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(std::io::Error::other(error)),
        };
        service.waiting().await.map_err(std::io::Error::other)?;
        Ok(())
    })
}
