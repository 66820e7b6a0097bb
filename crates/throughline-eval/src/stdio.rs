//! The protocol `retrieval-eval/1`: one JSON object per line in, one JSON object per line out.

use std::io::{BufRead, Write};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::corpus::{CorpusRow, EvalStore};
use crate::prompts;

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum EvalRequest {
    Hello,
    Ingest {
        records: Vec<CorpusRow>,
    },
    Flush,
    Search {
        ns: String,
        query: String,
        k: usize,
        /// Records later than this are hidden.
        asof: Option<String>,
        /// Also return the features of every score, from which weights are fitted.
        #[serde(default)]
        explain: bool,
    },
    /// Returns what would be injected into a prompt.
    Context {
        ns: String,
        prompt: String,
    },
    Bye,
}

#[derive(Debug, Default, Serialize)]
struct EvalReply {
    #[serde(skip_serializing_if = "Option::is_none")]
    ok: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<FeatureNames>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    results: Option<Vec<EvalHit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_features: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    injects: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown: Option<Vec<String>>,
}

/// The names of the features in an explained reply, in their order.
#[derive(Debug, Serialize)]
struct FeatureNames {
    features: &'static [&'static str],
    session_features: &'static [&'static str],
    gate: &'static [&'static str],
}

#[derive(Debug, Serialize)]
struct EvalHit {
    id: String,
    score: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    features: Vec<f64>,
}

/// Answers requests until the input ends or a `bye` arrives.
pub(crate) fn serve(
    eval_store: &mut EvalStore,
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
            Ok(EvalRequest::Bye) => return Ok(()),
            Ok(request) => answer(eval_store, request, now),
            Err(error) => Err(error.into()),
        };
        let reply = reply.unwrap_or_else(|error| EvalReply {
            error: Some(format!("{error:#}")),
            ..EvalReply::default()
        });
        serde_json::to_writer(&mut *output, &reply)?;
        output.write_all(b"\n")?;
        output.flush()?;
    }
}

fn answer(
    eval_store: &mut EvalStore,
    request: EvalRequest,
    now: Timestamp,
) -> anyhow::Result<EvalReply> {
    let done = EvalReply {
        ok: Some(true),
        ..EvalReply::default()
    };
    Ok(match request {
        EvalRequest::Hello => EvalReply {
            name: Some("throughline"),
            names: Some(FeatureNames {
                features: recall::RecordFeatures::NAMES,
                session_features: recall::SessionFeatures::NAMES,
                gate: recall::GateFeatures::NAMES,
            }),
            ..done
        },
        EvalRequest::Ingest { records } => {
            eval_store.ingest(records)?;
            done
        }
        EvalRequest::Flush => {
            eval_store.flush()?;
            done
        }
        EvalRequest::Search {
            ns,
            query,
            k,
            asof,
            explain,
        } => {
            let ranked = eval_store.search(&ns, &query, asof.as_deref(), k, now)?;
            search_reply(eval_store, &ranked, explain)
        }
        EvalRequest::Context { ns, prompt } => {
            let reaction = prompts::send_prompt(eval_store, &ns, &prompt, now)?;
            EvalReply {
                confidence: Some(reaction.confidence),
                gate: Some(reaction.gate.values().to_vec()),
                injects: Some(reaction.injects),
                shown: Some(reaction.shown),
                ..EvalReply::default()
            }
        }
        EvalRequest::Bye => done,
    })
}

fn search_reply(eval_store: &EvalStore, ranked: &recall::RankedHits, explain: bool) -> EvalReply {
    let result = |hit: &recall::RankedHit| {
        Some(EvalHit {
            id: eval_store.corpus_id(hit.hit.id)?.to_owned(),
            score: hit.hit.score,
            features: hit
                .features
                .as_ref()
                .filter(|_| explain)
                .map(|features| features.values().to_vec())
                .unwrap_or_default(),
        })
    };
    let session = |session: &recall::RankedSession| session.id.native().to_owned();
    let features = ranked
        .sessions
        .iter()
        .map(|session| session.features.values().to_vec())
        .collect();
    EvalReply {
        results: Some(ranked.hits.iter().filter_map(result).collect()),
        sessions: Some(ranked.sessions.iter().map(session).collect()),
        session_features: explain.then_some(features),
        confidence: Some(ranked.confidence),
        gate: explain.then(|| ranked.gate.values().to_vec()),
        ..EvalReply::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORPUS: &str = r#"{"op":"ingest","records":[
        {"ns":"a","id":"1","session":"s1","seq":1,"ts":"2026-01-05T09:00:00Z",
         "role":"user","speaker":"user",
         "text":"The reorder threshold of the warehouse is twelve pallets."},
        {"ns":"a","id":"2","session":"s2","seq":1,"ts":"2026-02-05T09:00:00Z",
         "role":"user","speaker":"user",
         "text":"From today the reorder threshold of the warehouse is forty pallets."}]}"#;

    fn answer(request: &str) -> serde_json::Value {
        let dir = tempfile::tempdir().unwrap();
        let mut eval_store = EvalStore::open(dir.path()).unwrap();
        let corpus = CORPUS.replace('\n', " ");
        let input = format!("{corpus}\n{{\"op\":\"flush\"}}\n{request}\n");
        let mut output = Vec::new();
        let now = "2026-03-01T00:00:00Z".parse().unwrap();
        serve(&mut eval_store, &mut input.as_bytes(), &mut output, now).unwrap();
        let last = String::from_utf8(output).unwrap();
        serde_json::from_str(last.lines().last().unwrap()).unwrap()
    }

    #[test]
    fn what_came_later_is_hidden() {
        let all = answer(r#"{"op":"search","ns":"a","query":"reorder threshold","k":5}"#);
        assert_eq!(all["results"].as_array().unwrap().len(), 2, "{all}");
        let then = answer(
            r#"{"op":"search","ns":"a","query":"reorder threshold","k":5,"asof":"2026-01-20"}"#,
        );
        assert_eq!(then["results"].as_array().unwrap().len(), 1, "{then}");
        assert_eq!(then["results"][0]["id"], "1");
    }

    #[test]
    fn everyday_prompts_get_nothing() {
        for prompt in ["continue", "run the tests"] {
            let reply = answer(&format!(
                r#"{{"op":"context","ns":"a","prompt":"{prompt}"}}"#
            ));
            assert_eq!(reply["injects"], false, "{prompt}: {reply}");
        }
    }
}
