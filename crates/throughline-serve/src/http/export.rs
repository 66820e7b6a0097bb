//! The export of memory as JSON Lines, streamed while it is read from the store.

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

use super::HttpState;
use super::extract::{QueryParams, parse_time};
use super::problem::Problem;

/// The size of a chunk, and how many chunks may wait for the client.
const CHUNK_BYTES: usize = 64 << 10;
const CHUNKS_MAX: usize = 8;
/// How long a client may take to read one chunk.
const CHUNK_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long the export may wait for its client in total once the write-ahead log has outgrown its
/// limit: the snapshot that the export reads keeps the log from being truncated.
const SNAPSHOT_WAIT_MAX: Duration = Duration::from_secs(2);
/// How often the size of the log is checked while waiting for the client.
const LOG_CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    #[param(inline)]
    format: Option<ExportFormat>,
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: a date, or a time in RFC 3339
    since: Option<String>,
    /// Leave out the agents' archived logs
    without_logs: Option<bool>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = Format)]
pub(super) enum ExportFormat {
    Jsonl,
}

/// Export memory as JSON Lines, in the format that `throughline import` reads
#[utoipa::path(get, path = "/memory/export", tag = "memory", params(ExportParams),
    responses((status = 200, content_type = "application/jsonl", body = String)))]
pub(super) async fn export(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<ExportParams>,
) -> Result<Response, Problem> {
    let Some(ExportFormat::Jsonl) = params.format.or(Some(ExportFormat::Jsonl)) else {
        return Err(Problem::internal("unknown export format"));
    };
    let filter = ExportFilter {
        since: parse_time(params.since.as_deref())?,
        workspace: params.workspace.filter(|part| !part.is_empty()),
        session: None,
        without_logs: params.without_logs.unwrap_or(false),
    };
    let Ok(seat) = std::sync::Arc::clone(&state.exports).try_acquire_owned() else {
        return Err(Problem::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many exports are running",
            "try again when one has finished",
        ));
    };
    let (chunks, stream) = mpsc::channel(CHUNKS_MAX);
    tokio::task::spawn_blocking(move || {
        let _seat = seat;
        let store = &state.context.store;
        let mut out = ChunkWriter::new(chunks, || store.is_wal_over_limit());
        let problem = match store.export(&filter, &mut out, &|_, _| {}) {
            Ok(exported) if exported.damaged.is_empty() => None,
            Ok(exported) => Some(exported.damaged.to_string()),
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            tracing::warn!(%problem, "the export is incomplete");
            // An aborted response tells the client that the export is incomplete.
            out.abort();
        }
        // The snapshot is released, so the log can be truncated now.
        if store.is_wal_over_limit()
            && let Err(error) = store.truncate_wal()
        {
            tracing::warn!(%error, "cannot truncate the write-ahead log after an export");
        }
    });
    let body = Body::from_stream(ReceiverStream::new(stream));
    Ok(([(header::CONTENT_TYPE, "application/jsonl")], body).into_response())
}

/// Sends what is written to the client in chunks, and waits for the client within the limits.
struct ChunkWriter<F> {
    runtime: Handle,
    chunks: mpsc::Sender<io::Result<Vec<u8>>>,
    buffer: Vec<u8>,
    /// The total time spent waiting for the client.
    waited: Duration,
    is_log_over_limit: F,
}

impl<F: Fn() -> bool> Write for ChunkWriter<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.buffer, Vec::with_capacity(CHUNK_BYTES));
        let runtime = self.runtime.clone();
        runtime.block_on(self.send(chunk))
    }
}

impl<F: Fn() -> bool> ChunkWriter<F> {
    fn new(chunks: mpsc::Sender<io::Result<Vec<u8>>>, is_log_over_limit: F) -> Self {
        Self {
            runtime: Handle::current(),
            chunks,
            buffer: Vec::with_capacity(CHUNK_BYTES),
            waited: Duration::ZERO,
            is_log_over_limit,
        }
    }

    async fn send(&mut self, chunk: Vec<u8>) -> io::Result<()> {
        let mut waited = Duration::ZERO;
        loop {
            match tokio::time::timeout(LOG_CHECK_INTERVAL, self.chunks.reserve()).await {
                Ok(Ok(place)) => {
                    place.send(Ok(chunk));
                    return Ok(());
                }
                Ok(Err(_)) => {
                    let left = io::ErrorKind::BrokenPipe;
                    return Err(io::Error::new(left, "the client disconnected"));
                }
                Err(_) => waited += LOG_CHECK_INTERVAL,
            }
            self.waited += LOG_CHECK_INTERVAL;
            if let Some(why) = abort_reason(waited, self.waited, &self.is_log_over_limit) {
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
    }

    /// Ends the response with an error, so that the client does not mistake it for a complete
    /// export.
    fn abort(self) {
        let chunks = self.chunks;
        let cut = io::Error::other("the export was aborted");
        if chunks.try_send(Err(cut)).is_err() {
            // The queue is full, so the error follows once the client has read what is in it.
            self.runtime.spawn(async move {
                let cut = io::Error::other("the export was aborted");
                let _left = chunks.send_timeout(Err(cut), CHUNK_WAIT_MAX).await;
            });
        }
    }
}

/// Returns why an export has to be aborted, given how long it has waited for the current chunk and
/// in total.
fn abort_reason(
    chunk_wait: Duration,
    wait: Duration,
    is_log_over_limit: &dyn Fn() -> bool,
) -> Option<&'static str> {
    if chunk_wait >= CHUNK_WAIT_MAX {
        Some("the client does not read")
    } else if wait >= SNAPSHOT_WAIT_MAX && is_log_over_limit() {
        Some("the client reads so slowly that the write-ahead log has outgrown its limit")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_client_keeps_its_snapshot_only_while_the_log_is_short() {
        let (short, long) = (|| false, || true);
        let (moment, chunk, total) = (LOG_CHECK_INTERVAL, CHUNK_WAIT_MAX, SNAPSHOT_WAIT_MAX);
        assert!(abort_reason(moment, 100 * total, &short).is_none());
        assert!(abort_reason(moment, moment, &long).is_none());
        assert!(abort_reason(moment, total, &long).is_some());
        assert!(abort_reason(chunk, chunk, &short).is_some());
    }

    #[test]
    fn an_export_ends_when_its_client_reads_nothing_while_the_log_grows() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().build().unwrap();
        runtime.block_on(async {
            let (chunks, mut stream) = mpsc::channel(1);
            let mut out = ChunkWriter::new(chunks, || true);
            // It has waited for as long as it may already.
            out.waited = SNAPSHOT_WAIT_MAX;
            out.send(vec![0]).await.unwrap();
            let error = out.send(vec![0]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            out.abort();
            assert!(stream.recv().await.unwrap().is_ok());
            assert!(stream.recv().await.unwrap().is_err());
        });
    }
}
