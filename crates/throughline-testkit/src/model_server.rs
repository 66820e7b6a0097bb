//! A server on loopback that speaks the model APIs' own wire formats, with a script instead of a
//! model.
//!
//! Anthropic's Messages, OpenAI's chat completions and responses, and Ollama's chat, all streamed
//! and chunked as the real ones do; and what they do on bad days. A request that the real API would
//! turn down is turned down here too.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rules::wire::{anthropic_problem, chat_problem};

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Act {
    Say(&'static str),
    /// Calls tools: name and arguments.
    Call(Vec<(&'static str, Value)>),
    /// Takes the request and never answers.
    Hang,
    /// Ends the connection in the middle of the stream.
    HalfStream,
    /// Ends the connection without a word.
    Drop,
    Garbage,
    /// Answers with an error status, and says when to come back.
    Status(u16, Option<u32>),
    /// Reports an error inside of a stream that began well.
    ErrorInStream,
    /// Sends this many bytes.
    Huge(usize),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Got {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
struct Shared {
    script: VecDeque<Act>,
    got: Vec<Got>,
    stopped: bool,
}

/// The running server; it stops when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<(Mutex<Shared>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

/// Longer than any test runs.
const PATIENCE: Duration = Duration::from_secs(60);

#[expect(clippy::expect_used, reason = "a test that cannot go on should fail")]
impl ModelServer {
    /// Starts a server that does one act for each request, and says "done" when the script is over.
    ///
    /// # Panics
    ///
    /// When there is no port to listen on.
    pub fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new((
            Mutex::new(Shared {
                script: script.into(),
                ..Shared::default()
            }),
            Condvar::new(),
        ));
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if lock(&serving.0).stopped {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || {
                    // A client that leaves early is part of what is tested.
                    let _gone = serve(stream, &serving);
                });
            }
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// Returns the address, without a path.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far.
    pub fn got(&self) -> Vec<Got> {
        lock(&self.shared.0).got.clone()
    }

    /// Waits until so many requests have come.
    ///
    /// # Panics
    ///
    /// When they do not come within a minute.
    pub fn wait_for(&self, requests: usize) {
        let (state, changed) = &*self.shared;
        let (_state, waited) = changed
            .wait_timeout_while(lock(state), PATIENCE, |state| state.got.len() < requests)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "the requests did not come");
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        lock(&self.shared.0).stopped = true;
        self.shared.1.notify_all();
        // Wakes the listener, which then sees that it is over.
        let _woken = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

fn lock(state: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: TcpStream, shared: &(Mutex<Shared>, Condvar)) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let got = read(&mut reader)?;
    let act = {
        let mut state = lock(&shared.0);
        state.got.push(got.clone());
        let act = state.script.pop_front().unwrap_or(Act::Say("done"));
        shared.1.notify_all();
        act
    };
    let mut out = Out { stream };
    if let Some(wrong) = complaint(&got) {
        return out.status(400, None, &wrong);
    }
    match act {
        Act::Hang => {
            let waiting = shared.1.wait_while(lock(&shared.0), |state| !state.stopped);
            drop(waiting);
            Ok(())
        }
        Act::Drop => Ok(()),
        Act::Garbage => {
            out.head("text/event-stream")?;
            out.chunk("<html>It works!</html>\n")?;
            out.end()
        }
        Act::Status(status, after) => out.status(status, after, "Overloaded"),
        Act::Huge(bytes) => {
            out.head("text/event-stream")?;
            let much = "x".repeat(64 << 10);
            let line = match got.path.as_str() {
                "/api/chat" => format!("{}\n", json!({"message": {"content": much}})),
                _ => format!(": {much}\n"),
            };
            for _ in 0..bytes.div_ceil(line.len()) {
                out.chunk(&line)?;
            }
            out.end()
        }
        Act::Say(text) => answer(&mut out, &got, text, &[], usize::MAX),
        Act::Call(calls) => answer(&mut out, &got, "", &calls, usize::MAX),
        Act::HalfStream => answer(&mut out, &got, "a word and then no more of it", &[], 2),
        Act::ErrorInStream => {
            out.head("text/event-stream")?;
            let event = match got.path.as_str() {
                "/v1/messages" => json!({"type": "error", "error":
                    {"type": "overloaded_error", "message": "Overloaded"}}),
                path if path.ends_with("/responses") => {
                    json!({"type": "response.failed", "response":
                    {"error": {"code": "server_error", "message": "Overloaded"}}})
                }
                path if path.ends_with("/api/chat") => {
                    out.chunk("{\"error\":\"Overloaded\"}\n")?;
                    return out.end();
                }
                _ => json!({"error": {"type": "server_error", "message": "Overloaded"}}),
            };
            out.chunk(&format!("data: {event}\n\n"))?;
            out.end()
        }
    }
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Got> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut headers, mut length) = (Vec::new(), 0);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            let (name, value) = (name.to_lowercase(), value.trim().to_owned());
            if name == "content-length" {
                length = value.parse().unwrap_or_default();
            }
            headers.push((name, value));
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Got {
        path,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// Says what the real API would find wrong with a request.
fn complaint(got: &Got) -> Option<String> {
    let body = &got.body;
    let turns = body.get("messages").or(body.get("input"))?.as_array()?;
    if body["stream"] != true {
        return Some("stream: this server only streams".to_owned());
    }
    let problem = match got.path.as_str() {
        "/v1/messages" => anthropic_problem(body),
        path if path.ends_with("/chat/completions") => chat_problem(body),
        _ => None,
    };
    if problem.is_some() {
        return problem;
    }
    let mut open: Vec<String> = Vec::new();
    for turn in turns {
        let blocks = turn["content"].as_array().cloned().unwrap_or_default();
        if got.path == "/v1/messages" && blocks.is_empty() && !turn["content"].is_string() {
            return Some("messages: all messages must have non-empty content".to_owned());
        }
        let ids = |kind: &str, name: &str| -> Vec<String> {
            let own = std::iter::once(turn).chain(&blocks);
            let own = own.filter(|block| block["type"] == kind);
            own.filter_map(|block| block[name].as_str().map(str::to_owned))
                .collect()
        };
        let mut answered = ids("tool_result", "tool_use_id");
        answered.extend(ids("function_call_output", "call_id"));
        answered.extend(turn["tool_call_id"].as_str().map(str::to_owned));
        for id in &answered {
            let Some(place) = open.iter().position(|known| known == id) else {
                return Some(format!("unexpected tool result {id}"));
            };
            open.remove(place);
        }
        if turn["role"] == "user" && answered.is_empty() && !open.is_empty() {
            return Some(format!("tool calls without results: {}", open.join(", ")));
        }
        open.extend(ids("tool_use", "id"));
        open.extend(ids("function_call", "call_id"));
        let calls = turn["tool_calls"].as_array().into_iter().flatten();
        open.extend(calls.filter_map(|call| call["id"].as_str().map(str::to_owned)));
    }
    if got.path == "/v1/messages" {
        let marks = body.to_string().matches("\"cache_control\"").count();
        let missing = ["x-api-key", "anthropic-version"];
        let missing = missing.iter().find(|name| got.header(name).is_none());
        match missing {
            Some(missing) => return Some(format!("{missing}: header is required")),
            None if marks > 4 => {
                return Some(format!(
                    "A maximum of 4 blocks with cache_control may be provided. Found {marks}."
                ));
            }
            None => {}
        }
    }
    (!open.is_empty()).then(|| format!("tool calls without results: {}", open.join(", ")))
}

/// Streams an answer in the format of the request's path, but no more than so many of its events.
fn answer(
    out: &mut Out,
    got: &Got,
    text: &str,
    calls: &[(&'static str, Value)],
    events_max: usize,
) -> std::io::Result<()> {
    let calls: Vec<_> = (calls.iter().enumerate())
        .map(|(place, (name, input))| {
            (
                format!("call_{}_{place}", got.body.to_string().len()),
                *name,
                input,
            )
        })
        .collect();
    let events = match got.path.as_str() {
        "/v1/messages" => anthropic(text, &calls),
        path if path.ends_with("/chat/completions") => chat(text, &calls),
        path if path.ends_with("/responses") => responses(text, &calls),
        _ => ollama(text, &calls),
    };
    let lines = got.path == "/api/chat";
    out.head(if lines {
        "application/x-ndjson"
    } else {
        "text/event-stream"
    })?;
    for event in events.iter().take(events_max) {
        let name = event["type"]
            .as_str()
            .map(|name| format!("event: {name}\n"));
        match lines {
            true => out.chunk(&format!("{event}\n"))?,
            false => out.chunk(&format!("{}data: {event}\n\n", name.unwrap_or_default()))?,
        }
    }
    if events.len() > events_max {
        return Ok(());
    }
    if got.path.ends_with("/chat/completions") {
        out.chunk("data: [DONE]\n\n")?;
    }
    out.end()
}

type Calls<'a> = [(String, &'static str, &'a Value)];

/// Splits a text as a model's pieces come.
fn pieces(text: &str) -> Vec<&str> {
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(24.min(rest.len())));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

fn anthropic(text: &str, calls: &Calls<'_>) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant",
            "content": [], "usage": {"input_tokens": 1200, "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 400, "output_tokens": 1}}}),
        json!({"type": "ping"}),
    ];
    let mut block = |start: Value, deltas: Vec<Value>, index: usize| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    let said = usize::from(!text.is_empty());
    if said > 0 {
        let deltas = pieces(text)
            .iter()
            .map(|piece| json!({"type": "text_delta", "text": piece}))
            .collect();
        block(json!({"type": "text", "text": ""}), deltas, 0);
    }
    for (place, (id, name, input)) in calls.iter().enumerate() {
        let input = input.to_string();
        let deltas = pieces(&input)
            .iter()
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect();
        block(
            json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            deltas,
            place + said,
        );
    }
    let reason = if calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": reason},
        "usage": {
            "input_tokens": 1200, "cache_creation_input_tokens": 30,
            "cache_read_input_tokens": 400, "output_tokens": 50,
        }}),
    );
    events.push(json!({"type": "message_stop"}));
    events
}

fn chat(text: &str, calls: &Calls<'_>) -> Vec<Value> {
    let chunk = |delta: Value, end: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": end}]})
    };
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    events.extend(
        pieces(text)
            .iter()
            .map(|piece| chunk(json!({"content": piece}), Value::Null)),
    );
    for (index, (id, name, input)) in calls.iter().enumerate() {
        let call = json!({
            "index": index, "id": id, "type": "function",
            "function": {"name": name, "arguments": ""},
        });
        events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        for piece in pieces(&input.to_string()) {
            let call = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [call]}), Value::Null));
        }
    }
    let reason = if calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    events.push(chunk(json!({}), json!(reason)));
    events.push(
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [],
        "usage": {
            "prompt_tokens": 1600, "completion_tokens": 50,
            "prompt_tokens_details": {"cached_tokens": 400},
        }}),
    );
    events
}

fn responses(text: &str, calls: &Calls<'_>) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}}),
    ];
    let mut items = Vec::new();
    if !text.is_empty() {
        events.extend(pieces(text).iter().map(|piece| {
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": piece})
        }));
        items.push(
            json!({"type": "message", "id": "msg_1", "role": "assistant",
            "content": [{"type": "output_text", "text": text}]}),
        );
    }
    items.extend(calls.iter().map(|(id, name, input)| {
        json!({
            "type": "function_call", "id": "fc_1", "call_id": id, "name": name,
            "arguments": input.to_string(),
        })
    }));
    for (index, item) in items.iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": {
        "id": "resp_1", "status": "completed", "output": items,
        "usage": {"input_tokens": 1600, "input_tokens_details": {"cached_tokens": 400},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 7}}}}));
    events
}

fn ollama(text: &str, calls: &Calls<'_>) -> Vec<Value> {
    let line = |content: &str| {
        let message = json!({"role": "assistant", "content": content});
        json!({"model": "m", "message": message, "done": false})
    };
    let mut events: Vec<_> = pieces(text).into_iter().map(line).collect();
    if !calls.is_empty() {
        let mut called = line("");
        let calls: Vec<_> = calls
            .iter()
            .map(|(_, name, input)| json!({"function": {"name": name, "arguments": input}}))
            .collect();
        called["message"]["tool_calls"] = json!(calls);
        events.push(called);
    }
    let mut last = line("");
    last["done"] = json!(true);
    last["done_reason"] = json!("stop");
    last["prompt_eval_count"] = json!(1600);
    last["eval_count"] = json!(50);
    events.push(last);
    events
}

struct Out {
    stream: TcpStream,
}

impl Out {
    fn head(&mut self, kind: &str) -> std::io::Result<()> {
        write!(
            self.stream,
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\
             connection: close\r\n\r\n"
        )
    }

    fn chunk(&mut self, text: &str) -> std::io::Result<()> {
        write!(self.stream, "{:x}\r\n{text}\r\n", text.len())?;
        self.stream.flush()
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }

    fn status(&mut self, status: u16, after: Option<u32>, message: &str) -> std::io::Result<()> {
        let body = json!({"type": "error", "error": {"type": "api_error", "message": message}})
            .to_string();
        let after = after.map_or_else(String::new, |after| format!("retry-after: {after}\r\n"));
        write!(
            self.stream,
            "HTTP/1.1 {status} Trouble\r\ncontent-type: application/json\r\n{after}\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}
