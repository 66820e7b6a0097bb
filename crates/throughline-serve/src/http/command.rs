//! The route that runs our own commands.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};

use super::HttpState;
use super::guard::Transport;
use super::problem::Problem;
use crate::command::{CommandReply, CommandRequest};

/// Runs a command. Accepted over the socket only, from `throughline` of the same version.
pub(super) async fn command(
    State(state): State<HttpState>,
    Extension(transport): Extension<Transport>,
    body: Bytes,
) -> Result<Json<CommandReply>, Problem> {
    let declined = || {
        Problem::with_hint(
            StatusCode::CONFLICT,
            "this daemon does not run that command",
            "run `throughline` with the same arguments",
        )
    };
    let runner = state.command_runner.clone();
    let Some(runner) = runner.filter(|_| transport == Transport::Socket) else {
        return Err(declined());
    };
    let request: CommandRequest = serde_json::from_slice(&body).map_err(|_| declined())?;
    let is_same_version = request.version == env!("CARGO_PKG_VERSION");
    if !is_same_version || state.startup_files.has_changed() {
        return Err(declined());
    }
    let reply = state.run_blocking(move |context| Ok(runner.run(&context.store, &request)));
    reply.await?.map(Json).ok_or_else(declined)
}
