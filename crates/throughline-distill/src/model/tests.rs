//! Tests the clients against a scripted server with the real wire formats, including failures.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use jiff::Timestamp;
use memory::{Prices, Usage};
use serde_json::json;
use store::Store;
use testkit::model_server::{Act, ModelServer};

use super::*;

const TIMEOUT: Duration = Duration::from_secs(20);
const KEY: &str = "not-a-real-key-0123456789";

fn models(server: &ModelServer) -> Vec<HttpModel> {
    let endpoint = |path: &str, key: bool| {
        let key = key.then(|| ApiKey::new(KEY));
        Endpoint::new(&format!("{}{path}", server.url()), key).unwrap()
    };
    [
        (WireFormat::Anthropic, endpoint("", true)),
        (WireFormat::ChatCompletions, endpoint("/v1", true)),
        (WireFormat::Responses, endpoint("/v1", true)),
        (WireFormat::Ollama, endpoint("", false)),
    ]
    .into_iter()
    .map(|(format, endpoint)| HttpModel {
        format,
        endpoint,
        model: "m".to_owned(),
    })
    .collect()
}

fn request() -> CompletionRequest {
    CompletionRequest {
        system: "be brief".into(),
        turns: vec![
            ModelTurn::User("go".into()),
            ModelTurn::Assistant {
                text: String::new(),
                calls: vec![ModelToolCall {
                    id: "c1".into(),
                    tool: "edit".into(),
                    input: json!({"a": 1}),
                }],
            },
            ModelTurn::Results(vec![ToolOutput {
                call: "c1".into(),
                tool: "edit".into(),
                text: "edited".into(),
                is_error: false,
            }]),
        ],
        tool: Some(ModelTool {
            name: "edit".into(),
            description: "edits".into(),
            schema: json!({"type": "object"}),
        }),
        max_tokens: 100,
        parent_request: None,
    }
}

#[test]
fn every_format_tells_text_calls_and_usage() {
    let said = "one word after the other, in pieces — é";
    let input =
        json!({"file_path": "/m/s.md", "old_string": "a \"quoted\" é", "new_string": "b\nc"});
    let script = [
        Act::Say(said),
        Act::Call(vec![("edit", input.clone()), ("Bash", json!({}))]),
    ];
    let server = ModelServer::start(script.iter().cycle().take(8).cloned().collect());
    for model in models(&server) {
        let reply = model.complete(&request(), TIMEOUT).unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.calls.len()),
            (said, 0),
            "{model:?}"
        );
        let reply = model.complete(&request(), TIMEOUT).unwrap();
        let called: Vec<_> = reply
            .calls
            .iter()
            .map(|call| (call.tool.as_str(), &call.input))
            .collect();
        assert_eq!(
            called,
            [("edit", &input), ("Bash", &json!({}))],
            "{model:?}"
        );
        let Usage {
            input,
            output,
            cache_read,
            ..
        } = reply.usage;
        assert_eq!((input + cache_read, output), (1_600, 50), "{model:?}");
    }
    let got = server.got();
    assert_eq!(got[0].header("x-api-key"), Some(KEY));
    assert_eq!(
        got[2].header("authorization"),
        Some(format!("Bearer {KEY}").as_str())
    );
    assert!(got.iter().all(|got| !got.body.to_string().contains(KEY)));
    assert_eq!(
        got[0].body["system"][0]["cache_control"]["type"],
        "ephemeral"
    );
    assert_eq!(got[4].body["store"], false);
}

#[test]
fn bad_days_have_names() {
    let bad = [
        (Act::HalfStream, "dropped"),
        (Act::Drop, "dropped"),
        (Act::Garbage, "garbage"),
        (Act::Status(500, None), "http_500"),
        (Act::Status(529, None), "http_529"),
        (Act::Status(401, None), "http_401"),
        (Act::Huge(200 << 20), "too_large"),
    ];
    for (act, name) in bad {
        let server = ModelServer::start(vec![act.clone(); 4]);
        for model in models(&server) {
            let error = model.complete(&request(), TIMEOUT).unwrap_err();
            let found = error.failure.ledger_name();
            // A connection that closes early is reported in several ways; all are transient.
            let early = ["dropped", "connection", "garbage"];
            let fine = found == name || (name == "dropped" && early.contains(&found.as_str()));
            assert!(fine, "{model:?}: {act:?} is {found}, {error}");
            assert_eq!(
                error.failure.is_transient(),
                !matches!(name, "too_large" | "http_401")
            );
        }
    }
}

#[test]
fn an_error_inside_of_a_stream_is_one() {
    let server = ModelServer::start(vec![Act::ErrorInStream; 4]);
    for model in models(&server) {
        let error = model.complete(&request(), TIMEOUT).unwrap_err();
        assert!(
            matches!(error.failure, ModelFailure::ProviderError { .. }),
            "{model:?}: {error}"
        );
    }
}

#[test]
fn nobody_waits_for_ever() {
    let server = ModelServer::start(vec![Act::Hang; 4]);
    for model in models(&server) {
        let error = model
            .complete(&request(), Duration::from_millis(200))
            .unwrap_err();
        assert_eq!(error.failure, ModelFailure::Timeout, "{model:?}");
    }
}

#[test]
fn a_provider_says_when_to_come_back_and_repeats_no_key() {
    let server = ModelServer::start(vec![Act::Status(429, Some(7))]);
    let error = models(&server)[0]
        .complete(&request(), TIMEOUT)
        .unwrap_err();
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    assert!(!format!("{error:?}").contains(KEY));
    let nobody = Endpoint::new("http://127.0.0.1:1", None).unwrap();
    let model = HttpModel {
        format: WireFormat::Ollama,
        endpoint: nobody,
        model: "m".into(),
    };
    let error = model.complete(&request(), TIMEOUT).unwrap_err();
    assert_eq!(error.failure.ledger_name(), "connection");
}

/// Sends requests through a model session, with a clock that only sleeping advances.
fn ask(
    script: Vec<Act>,
    budget: ModelBudget,
    times: usize,
) -> (Vec<String>, Vec<u64>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let server = ModelServer::start(script);
    let model = models(&server).swap_remove(0);
    let clock = Cell::new(Timestamp::from_second(1_000_000).unwrap());
    let slept = RefCell::new(Vec::new());
    let asker = ModelSession {
        store: &store,
        model: &model,
        budget,
        prices: &Prices::default(),
        clock: ModelClock {
            now: &|| clock.get(),
            sleep: &|time| {
                slept
                    .borrow_mut()
                    .push(u64::try_from(time.as_millis()).unwrap());
                clock.set(clock.get() + time);
            },
            jitter: &|| 1.0,
        },
        purpose: "summary",
        session: None,
        budget_day_start: Timestamp::from_second(999_000).unwrap(),
        attempt_timeout: TIMEOUT,
    };
    let deadline = Timestamp::from_second(1_000_055).unwrap();
    let asked = (0..times)
        .map(|_| match asker.complete(&request(), deadline) {
            Ok(reply) => reply.text,
            Err(refused) => refused.to_string(),
        })
        .collect();
    let ledger = store.model_calls(None, 100).unwrap();
    let ledger = ledger
        .iter()
        .rev()
        .map(|call| format!("{} {}", call.outcome, call.usage.total()));
    (asked, slept.take(), ledger.collect())
}

const FREE: ModelBudget = ModelBudget {
    enabled: true,
    daily_tokens: 10_000,
    daily_usd: 0.0,
    is_free: true,
};

#[test]
fn what_passes_is_asked_again_and_all_of_it_is_on_record() {
    let script = vec![
        Act::Status(429, Some(2)),
        Act::HalfStream,
        Act::Status(529, None),
        Act::Say("yes"),
    ];
    let (asked, slept, ledger) = ask(script, FREE, 1);
    assert_eq!(asked, ["yes"]);
    assert_eq!(slept, [2_500, 1_000, 2_000]);
    assert_eq!(ledger.len(), 4);
    // The start of an incomplete stream is billed.
    assert_eq!(ledger[0], "http_429 0");
    assert!(ledger[1].ends_with(" 1631"), "{ledger:?}");
    assert_eq!(ledger[3], "ok 1680");
}

#[test]
fn what_does_not_pass_is_not() {
    let (asked, slept, ledger) = ask(vec![Act::Status(401, None)], FREE, 1);
    assert_eq!(asked, ["the provider returned HTTP status 401: Overloaded"]);
    assert_eq!((slept.len(), ledger.len()), (0, 1));
}

#[test]
fn a_budget_is_a_wall() {
    let (asked, _, ledger) = ask(vec![], FREE, 7);
    assert_eq!(
        asked.iter().filter(|said| *said == "done").count(),
        6,
        "{asked:?}"
    );
    assert!(
        asked[6].starts_with("daily token budget exceeded:"),
        "{asked:?}"
    );
    assert_eq!(ledger.len(), 6);
    let off = ModelBudget {
        enabled: false,
        ..FREE
    };
    let (asked, _, ledger) = ask(vec![], off, 1);
    assert_eq!(
        (asked[0].as_str(), ledger.len()),
        ("models are disabled", 0)
    );
}

#[test]
fn a_model_that_fails_and_fails_is_left_alone() {
    let (asked, _, ledger) = ask(vec![Act::Status(500, None); 20], FREE, 3);
    assert_eq!(ledger.len(), 5);
    assert!(
        asked[2].contains("the next request is sent after"),
        "{asked:?}"
    );
}
