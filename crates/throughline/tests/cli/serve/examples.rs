//! The examples of `docs/HTTP.md`, sent as they are written there.

use serde_json::Value;

use super::client::{Daemon, request};
use crate::env::{TestEnv, repository};

/// A request of the documentation and its answer.
struct Example {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: String,
    /// One value, or one per line.
    answers: Vec<Value>,
}

fn examples() -> Vec<Example> {
    let text = std::fs::read_to_string(repository().join("docs/HTTP.md")).unwrap();
    let requests = text.split("```http\n").skip(1).map(|part| {
        let (request, rest) = part.split_once("\n```\n").unwrap();
        let (_, answer) = rest.split_once("```json\n").unwrap();
        let (answer, _) = answer.split_once("\n```").unwrap();
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let mut lines = head.lines();
        let (method, path) = lines.next().unwrap().split_once(' ').unwrap();
        let header = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        Example {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: lines.map(header).collect(),
            body: body.to_owned(),
            answers: serde_json::Deserializer::from_str(answer)
                .into_iter()
                .collect::<Result<_, _>>()
                .unwrap(),
        }
    });
    requests.collect()
}

#[test]
fn every_documented_request_gets_its_documented_answer() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let examples = examples();
    assert!(examples.len() >= 15, "{}", examples.len());
    for example in examples {
        let name = format!("{} {}", example.method, example.path);
        let headers: Vec<_> = example
            .headers
            .iter()
            .filter(|(name, _)| name != "Content-Type")
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let body = (!example.body.is_empty()).then_some(example.body.as_str());
        let answer = daemon.socket(&request(
            &example.method, &example.path, "localhost", &headers, body,
        ));
        assert!(answer.status < 300, "{name}: {}", answer.body);
        let answers = serde_json::Deserializer::from_str(&answer.body).into_iter::<Value>();
        let answers: Vec<Value> = answers.collect::<Result<_, _>>().unwrap();
        assert_eq!(
            answers.len(),
            example.answers.len(),
            "{name}: {}",
            answer.body
        );
        for (documented, actual) in example.answers.iter().zip(&answers) {
            compare(documented, actual, &name);
        }
    }
}

/// Values that differ from run to run; only their types are compared.
const VOLATILE: &[&str] = &["score", "took_ms", "path", "pid", "uptime_s"];

/// Compares an answer with its documentation: the same fields and values everywhere, and strings
/// that begin as documented.
#[track_caller]
fn compare(documented: &Value, actual: &Value, place: &str) {
    match (documented, actual) {
        (Value::Object(documented), Value::Object(actual)) => {
            let names = |object: &serde_json::Map<String, Value>| -> Vec<String> {
                let mut names: Vec<_> = object.keys().cloned().collect();
                names.sort();
                names
            };
            assert_eq!(names(documented), names(actual), "{place}");
            for (name, value) in documented {
                let place = format!("{place} > {name}");
                if VOLATILE.contains(&name.as_str()) {
                    let type_of = std::mem::discriminant::<Value>;
                    assert_eq!(type_of(value), type_of(&actual[name]), "{place}");
                } else {
                    compare(value, &actual[name], &place);
                }
            }
        }
        (Value::Array(documented), Value::Array(actual)) => {
            assert_eq!(documented.len(), actual.len(), "{place}: {actual:?}");
            for (documented, actual) in documented.iter().zip(actual) {
                compare(documented, actual, place);
            }
        }
        (Value::String(documented), Value::String(actual)) => {
            assert!(actual.starts_with(documented.as_str()), "{place}: {actual}");
        }
        (documented, actual) => assert_eq!(documented, actual, "{place}"),
    }
}

#[test]
fn every_event_is_documented() {
    let text = std::fs::read_to_string(repository().join("docs/HTTP.md")).unwrap();
    for event in store::EventName::ALL {
        let row = format!("| `{}` | {} |", event.as_str(), event.meaning());
        assert!(text.contains(&row), "docs/HTTP.md lacks {row}");
    }
}
