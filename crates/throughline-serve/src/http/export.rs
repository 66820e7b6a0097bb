//! Everything, as JSON Lines, while it is read.

use std::io::{self, Write};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use store::ExportFilter;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::{IntoParams, ToSchema};

use super::Front;
use super::extract::{Params, moment};
use super::problem::Problem;

/// How much is written at once, and how many of those may wait for the reader.
const CHUNK_BYTES: usize = 64 << 10;
const CHUNKS_MAX: usize = 8;
/// How long a reader may rest.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportParams {
    #[param(inline)]
    format: Option<Format>,
    /// Only workspaces with this in their address or folder
    workspace: Option<String>,
    /// Only from this time on: a day, or a time in RFC 3339
    since: Option<String>,
    /// Leave the agents' own logs out
    without_logs: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Jsonl,
}

/// Everything as JSON Lines, as `throughline import` reads it
#[utoipa::path(get, path = "/memory/export", tag = "memory", params(ExportParams),
    responses((status = 200, content_type = "application/jsonl", body = String)))]
pub async fn export(
    State(front): State<Front>,
    Params(params): Params<ExportParams>,
) -> Result<Response, Problem> {
    let Some(Format::Jsonl) = params.format.or(Some(Format::Jsonl)) else {
        return Err(Problem::ours("this format is not known"));
    };
    let filter = ExportFilter {
        since: moment(params.since.as_deref())?,
        workspace: params.workspace.filter(|part| !part.is_empty()),
        session: None,
        without_logs: params.without_logs.unwrap_or(false),
    };
    let Ok(seat) = std::sync::Arc::clone(&front.exports).try_acquire_owned() else {
        return Err(Problem::hinted(
            StatusCode::SERVICE_UNAVAILABLE,
            "others are exporting already",
            "try again when they are done",
        ));
    };
    let (chunks, stream) = mpsc::channel(CHUNKS_MAX);
    tokio::task::spawn_blocking(move || {
        let _seat = seat;
        let mut out = Chunks {
            runtime: Handle::current(),
            chunks,
            waiting: Vec::with_capacity(CHUNK_BYTES),
        };
        let problem = match front.desk.store.export(&filter, &mut out, &|_, _| {}) {
            Ok(exported) if exported.damaged.is_empty() => return,
            Ok(exported) => exported.damaged.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(%problem, "the export is not complete");
        // The reader must not take what came for the whole.
        let _left = out.send(Err(io::Error::other("the export is not complete")));
    });
    let body = Body::from_stream(ReceiverStream::new(stream));
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], body).into_response())
}

/// Hands what is written to a reader, and waits for it.
struct Chunks {
    runtime: Handle,
    chunks: mpsc::Sender<io::Result<Vec<u8>>>,
    waiting: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.waiting, Vec::with_capacity(CHUNK_BYTES));
        self.send(Ok(chunk))
    }
}

impl Chunks {
    /// Waits for the reader, but not for ever: the moment of the store that is read is held meanwhile.
    fn send(&self, chunk: io::Result<Vec<u8>>) -> io::Result<()> {
        let sent = self.chunks.send_timeout(chunk, PATIENCE);
        let sent = self.runtime.block_on(sent);
        sent.map_err(|_| io::Error::new(io::ErrorKind::BrokenPipe, "the reader has left"))
    }
}
