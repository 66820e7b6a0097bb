//! The protocol `retrieval-eval/1`: one JSON object per line in, one out.

use std::io::{BufRead, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evaluation::corpus::{Library, Row};

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Request {
    Hello,
    Ingest {
        records: Vec<Row>,
    },
    Flush,
    Search {
        ns: String,
        query: String,
        k: usize,
        /// Also say what the scores are made of, for fitting.
        #[serde(default)]
        explain: bool,
    },
    Bye,
}

#[derive(Debug, Default, Serialize)]
struct Reply {
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<Found>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_parts: Option<Vec<[f64; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Vec<f64>>,
}

#[derive(Debug, Serialize)]
struct Found {
    id: String,
    score: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    features: Vec<f64>,
}

/// Answers until the input ends or says goodbye.
pub fn serve(
    library: &mut Library,
    input: &mut impl BufRead,
    output: &mut impl Write,
    now: Timestamp,
) -> anyhow::Result<()> {
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        let reply = match serde_json::from_str(&line) {
            Ok(Request::Bye) => return Ok(()),
            Ok(request) => answer(library, request, now),
            Err(error) => Err(error.into()),
        };
        let reply = reply.unwrap_or_else(|error| Reply {
            error: Some(format!("{error:#}")),
            ..Reply::default()
        });
        serde_json::to_writer(&mut *output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

fn answer(library: &mut Library, request: Request, now: Timestamp) -> anyhow::Result<Reply> {
    let done = Reply {
        ok: Some(true),
        ..Reply::default()
    };
    Ok(match request {
        Request::Hello => Reply {
            name: Some("throughline"),
            ..done
        },
        Request::Ingest { records } => {
            library.add(records)?;
            done
        }
        Request::Flush => {
            library.flush()?;
            done
        }
        Request::Search {
            ns,
            query,
            k,
            explain,
        } => found(library, &library.ask(&ns, &query, k, now)?, explain),
        Request::Bye => done,
    })
}

fn found(library: &Library, ranked: &recall::Ranked, explain: bool) -> Reply {
    let result = |hit: &recall::RankedHit| {
        Some(Found {
            id: library.name(hit.hit.id)?.to_owned(),
            score: hit.hit.score,
            features: if explain {
                hit.features.to_vec()
            } else {
                Vec::new()
            },
        })
    };
    let session = |session: &recall::RankedSession| session.id.native().to_owned();
    let parts = ranked
        .sessions
        .iter()
        .map(|session| session.parts)
        .collect();
    Reply {
        results: Some(ranked.hits.iter().filter_map(result).collect()),
        sessions: Some(ranked.sessions.iter().map(session).collect()),
        session_parts: explain.then_some(parts),
        confidence: Some(ranked.confidence),
        gate: explain.then(|| ranked.gate.to_vec()),
        ..Reply::default()
    }
}
