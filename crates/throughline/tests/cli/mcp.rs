//! `throughline mcp`: raw JSON-RPC in each revision of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::env::TestEnv;

/// Revisions that agents speak: two with a handshake, one without.
const HANDSHAKE: [&str; 2] = ["2025-06-18", "2025-11-25"];
const INLINE: &str = "2026-07-28";

/// An MCP client.
struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    revision: &'static str,
    last: u64,
}

impl Agent {
    fn start(env: &TestEnv, folder: &str, revision: &'static str) -> Self {
        let mut child = env
            .command(&["mcp", "--folder", folder])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut agent = Self {
            stdin: child.stdin.take(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
            revision,
            last: 0,
        };
        if HANDSHAKE.contains(&revision) {
            let hello = json!({
                "protocolVersion": revision, "capabilities": {},
                "clientInfo": { "name": "test", "version": "0" },
            });
            let answer = agent.ask("initialize", hello);
            assert_eq!(answer["result"]["protocolVersion"], revision);
            agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.last += 1;
        if self.revision == INLINE {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": INLINE,
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{line}");
        answer
    }

    /// Calls a tool, and checks that the text and the JSON of its answer agree.
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask("tools/call", params);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let said: Value = serde_json::from_str(text).unwrap();
        assert_eq!(said, result["structuredContent"]);
        said
    }

    /// Calls a tool that fails, and returns the error.
    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let params = json!({ "name": tool, "arguments": arguments });
        let answer = self.ask("tools/call", params);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = &answer["result"]["content"][0]["text"];
        text.as_str().unwrap().to_owned()
    }

    /// Closes the input, as agents do on exit.
    fn leave(mut self) {
        self.stdin = None;
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // The process has exited unless the test failed.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The folder in which the samples speak about thresholds.
fn folder(env: &TestEnv) -> String {
    let json = |args: &[&str]| -> Value { serde_json::from_str(&env.run(args).stdout).unwrap() };
    let found = json(&["search", "threshold", "--json"]);
    let id = &found["hits"][0]["session"];
    let sessions = json(&["sessions", "--json", "-n", "100"]);
    let mut sessions = sessions.as_array().unwrap().iter();
    let session = sessions.find(|session| session["id"] == *id).unwrap();
    session["cwd"].as_str().unwrap().to_owned()
}

#[test]
fn each_revision_is_spoken_and_tells_the_same() {
    let env = TestEnv::with_samples();
    let folder = folder(&env);
    let mut told = Vec::new();
    for revision in [HANDSHAKE[0], HANDSHAKE[1], INLINE] {
        let mut agent = Agent::start(&env, &folder, revision);
        let tools = agent.ask("tools/list", json!({}));
        let found = agent.call(
            "memory_search",
            &json!({ "query": "threshold", "top_k": 3 }),
        );
        assert!(!found["hits"].as_array().unwrap().is_empty(), "{found}");
        let read = agent.ask("resources/list", json!({}));
        let uri = &read["result"]["resources"][0]["uri"];
        let read = agent.ask("resources/read", json!({ "uri": uri }));
        let text = read["result"]["contents"][0]["text"].clone();
        assert!(text.as_str().unwrap().contains("<throughline-memory"));
        told.push((tools["result"]["tools"].clone(), found, text));
        agent.leave();
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(told[1], told[2]);
}

#[test]
fn the_newest_revision_needs_no_handshake_and_tells_what_it_is() {
    let env = TestEnv::with_samples();
    let mut agent = Agent::start(&env, &folder(&env), INLINE);
    let told = agent.ask("server/discover", json!({}));
    let told = &told["result"];
    assert_eq!(told["resultType"], "complete", "{told}");
    let supported = told["supportedVersions"].as_array().unwrap();
    for revision in [HANDSHAKE[0], HANDSHAKE[1], INLINE] {
        assert!(supported.contains(&json!(revision)), "{told}");
    }
    let tools = agent.ask("tools/list", json!({}));
    assert!(tools["result"]["ttlMs"].is_number() && tools["result"]["cacheScope"].is_string());
    agent.leave();
}

#[test]
fn tools_say_what_they_are_for() {
    let env = TestEnv::new();
    let mut agent = Agent::start(&env, "/nowhere", HANDSHAKE[1]);
    let tools = agent.ask("tools/list", json!({}));
    let tools = tools["result"]["tools"].as_array().unwrap().clone();
    let line = |tool: &Value| {
        let hint = |name: &str| tool["annotations"][name].as_bool().unwrap();
        assert!(tool["description"].as_str().unwrap().contains("Use it "));
        assert_eq!(tool["outputSchema"]["type"], "object");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false);
        format!(
            "{} reads only: {}, destroys: {}, {}",
            tool["name"].as_str().unwrap(),
            hint("readOnlyHint"),
            hint("destructiveHint"),
            tool["inputSchema"]["required"],
        )
    };
    let lines: Vec<_> = tools.iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    memory_search reads only: true, destroys: false, ["query"]
    memory_get reads only: true, destroys: false, ["id"]
    memory_context reads only: true, destroys: false, ["prompt"]
    memory_remember reads only: false, destroys: false, ["text"]
    memory_stats reads only: true, destroys: false, null
    "#);
    let all = json!(tools).to_string();
    assert!(!all.contains("\"uint") && !all.contains("\"int64\"") && !all.contains("$ref"));
    agent.leave();
}

#[test]
fn an_agent_sees_the_memory_of_its_own_folder_only() {
    let env = TestEnv::with_samples();
    let mut here = Agent::start(&env, &folder(&env), INLINE);
    let found = here.call("memory_search", &json!({ "query": "threshold" }));
    let record = found["hits"][0]["id"].clone();
    let session = found["hits"][0]["session"].clone();
    let read = here.call("memory_get", &json!({ "id": record }));
    assert_eq!(read["kind"], "record");
    here.leave();

    let mut elsewhere = Agent::start(&env, "/somewhere/else", INLINE);
    let found = elsewhere.call("memory_search", &json!({ "query": "threshold" }));
    assert_eq!(found["hits"], json!([]));
    assert_eq!(found["note"], "nothing found in this workspace");
    for id in [record, session] {
        let why = elsewhere.refused("memory_get", &json!({ "id": id }));
        assert!(why.contains("no record, fact or session"), "{why}");
        assert!(why.contains("hint: memory_search returns the ids"), "{why}");
    }
    let stats = elsewhere.call("memory_stats", &json!({}));
    assert_eq!(
        (&stats["sessions"], &stats["records"]),
        (&json!(0), &json!(0))
    );
    elsewhere.leave();
}

#[test]
fn an_answer_is_short_and_leaves_out_what_was_just_typed() {
    let env = TestEnv::with_samples();
    let folder = folder(&env);
    let line = json!({
        "type": "user", "uuid": "u1", "sessionId": "asking", "cwd": folder,
        "timestamp": "2026-11-16T08:59:30Z",
        "message": {"role": "user", "content": "search the memory for the threshold"},
    });
    let log = env.home().join("asking/projects/p/asking.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    std::fs::write(&log, format!("{line}\n")).unwrap();
    let read = env.run(&["ingest", "--root", log.to_str().unwrap()]);
    assert_eq!(read.code, Some(0), "{}", read.shown());
    let mut agent = Agent::start(&env, &folder, INLINE);
    for query in [
        "threshold",
        "search the memory for the threshold",
        "error in the file",
    ] {
        let found = agent.call("memory_search", &json!({ "query": query }));
        let tokens = memory::tokens::estimate(&found.to_string());
        assert!(tokens <= memory::Tokens(400), "{query}: {tokens:?}");
        assert!(!found["hits"].as_array().unwrap().is_empty(), "{query}");
        assert!(
            !found["text"].as_str().unwrap().contains("just now"),
            "{found}"
        );
    }
    let facts = agent.call(
        "memory_search",
        &json!({ "query": "threshold", "type": "facts" }),
    );
    let types = facts["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| &hit["type"]);
    assert!(types.into_iter().all(|kind| kind == "fact"), "{facts}");
    let tagged = agent.call(
        "memory_search",
        &json!({ "query": "threshold", "tag": "none" }),
    );
    assert_eq!(tagged["hits"], json!([]));
    agent.leave();
}

#[test]
fn what_was_said_comes_before_tool_output() {
    let env = TestEnv::with_samples();
    let mut agent = Agent::start(&env, &folder(&env), INLINE);
    for query in [
        "threshold",
        "REORDER_AT",
        "where does the threshold come from?",
    ] {
        let found = agent.call("memory_search", &json!({ "query": query }));
        let hits = found["hits"].as_array().unwrap();
        let types: Vec<&str> = hits
            .iter()
            .map(|hit| hit["type"].as_str().unwrap())
            .collect();
        let is_said = ["fact", "prompt", "assistant", "summary"].contains(&types[0]);
        assert!(is_said, "{query}: {types:?}");
        let passes_by = |kind: &&str| ["tool_use", "thinking"].contains(kind);
        let first = types.iter().position(passes_by).unwrap_or(types.len());
        assert!(types[first..].iter().all(passes_by), "{query}: {types:?}");
        let labels = found["text"]
            .as_str()
            .unwrap()
            .matches("[tool output")
            .count();
        let is_output = |kind: &&&str| ["tool_result", "error"].contains(*kind);
        assert_eq!(labels, types.iter().filter(is_output).count(), "{found}");
    }
    agent.leave();
}

#[test]
fn a_session_is_read_page_by_page_without_a_gap() {
    let env = TestEnv::with_samples();
    let mut agent = Agent::start(&env, &folder(&env), HANDSHAKE[0]);
    let stats = agent.call("memory_stats", &json!({}));
    let session = stats["latest"][0]["id"].clone();
    let whole = env.run(&["show", session.as_str().unwrap(), "--json"]);
    let whole: Value = serde_json::from_str(&whole.stdout).unwrap();
    let records = whole["records"].as_array().unwrap();
    let mut text = String::new();
    let mut from = json!(0);
    while !from.is_null() {
        let page = agent.call("memory_get", &json!({ "id": session, "from": from }));
        text += page["text"].as_str().unwrap();
        from = page["next"].clone();
    }
    for record in records {
        assert!(text.contains(record["id"].as_str().unwrap()), "{record}");
    }
    agent.leave();
}

#[test]
fn what_an_agent_remembers_is_its_own_word_and_found_again() {
    let env = TestEnv::new();
    let mut agent = Agent::start(&env, "/work/widgets", INLINE);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let text = format!("The nightly job runs with {token} on host bluebird");
    let kept = agent.call("memory_remember", &json!({ "text": text, "kind": "note" }));
    let again = agent.call("memory_remember", &json!({ "text": text }));
    assert_eq!(
        (&kept["repeated"], &again["repeated"]),
        (&json!(false), &json!(true))
    );
    let found = agent.call(
        "memory_search",
        &json!({ "query": "bluebird nightly job host" }),
    );
    let text = found["text"].as_str().unwrap();
    assert!(
        text.contains("note of an agent") && text.contains("bluebird"),
        "{text}"
    );
    assert!(!text.contains(&token), "{text}");
    agent.leave();

    let mut elsewhere = Agent::start(&env, "/work/gadgets", INLINE);
    let found = elsewhere.call(
        "memory_search",
        &json!({ "query": "bluebird nightly job host" }),
    );
    assert_eq!(found["hits"], json!([]));
    elsewhere.leave();
}

#[test]
fn pinning_and_forgetting_is_offered_only_where_the_user_allows_it() {
    let env = TestEnv::new();
    let config = env.home().join("memory/config.toml");
    std::fs::write(&config, "[mcp]\nwrite = []").unwrap();
    let mut agent = Agent::start(&env, "/work/widgets", INLINE);
    let tools = agent.ask("tools/list", json!({}));
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 4);
    let params = json!({ "name": "memory_remember", "arguments": { "text": "a b c" } });
    assert_eq!(agent.ask("tools/call", params)["error"]["code"], -32602);
    agent.leave();

    std::fs::write(&config, "[mcp]\nwrite = [\"remember\", \"pin\"]").unwrap();
    let mut agent = Agent::start(&env, "/work/widgets", INLINE);
    let kept = agent.call(
        "memory_remember",
        &json!({ "text": "Deploys go through staging" }),
    );
    let id = &kept["id"];
    agent.call("memory_pin", &json!({ "id": id, "action": "pin" }));
    assert_eq!(agent.call("memory_stats", &json!({}))["pins"], 1);
    let why = agent.refused("memory_pin", &json!({ "id": id, "action": "forget" }));
    assert!(
        why.contains("the user has not allowed agents to do this"),
        "{why}"
    );
    agent.leave();

    std::fs::write(&config, "[mcp]\nwrite = [\"pin\", \"forget\"]").unwrap();
    let mut agent = Agent::start(&env, "/work/widgets", INLINE);
    agent.call("memory_pin", &json!({ "id": id, "action": "forget" }));
    assert_eq!(agent.call("memory_stats", &json!({}))["facts"], 0);
    agent.leave();
}

#[test]
fn bad_calls_get_a_clear_answer() {
    let env = TestEnv::new();
    let mut agent = Agent::start(&env, "/work/widgets", HANDSHAKE[1]);
    let why = agent.refused("memory_search", &json!({ "question": "x" }));
    assert!(
        why.contains("unknown field `question`") && why.contains("hint: "),
        "{why}"
    );
    let why = agent.refused("memory_remember", &json!({ "text": "word ".repeat(41) }));
    assert!(why.contains("at most 40 words"), "{why}");
    let missing = json!({ "uri": "throughline://session/nope" });
    assert_eq!(
        agent.ask("resources/read", missing)["error"]["code"],
        -32002
    );
    let params = json!({ "name": "memory_drop", "arguments": {} });
    assert_eq!(agent.ask("tools/call", params)["error"]["code"], -32602);
    let hostile = [
        "\"", "* OR (", "-", "\u{0}", "NEAR(a b)", "𝕏'; DROP TABLE records;--",
    ];
    for query in hostile {
        let found = agent.call("memory_search", &json!({ "query": query }));
        assert_eq!(found["hits"], json!([]));
    }
    agent.leave();
}

#[test]
fn prompts_bring_the_last_session_and_the_decisions() {
    let env = TestEnv::with_samples();
    let folder = folder(&env);
    let mut agent = Agent::start(&env, &folder, INLINE);
    let text = |answer: &Value| {
        let text = answer["result"]["messages"][0]["content"]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let resumed = agent.ask("prompts/get", json!({ "name": "resume-session" }));
    assert!(text(&resumed).contains("<throughline-memory"), "{resumed}");
    agent.call(
        "memory_remember",
        &json!({ "text": "We decided to keep the parser in one file", "kind": "decision" }),
    );
    let arguments = json!({ "topic": "parser in one file" });
    let asked = json!({ "name": "what-did-we-decide", "arguments": arguments });
    let decided = text(&agent.ask("prompts/get", asked));
    assert!(decided.contains("keep the parser in one file"), "{decided}");
    let unknown = agent.ask("prompts/get", json!({ "name": "nope" }));
    assert_eq!(unknown["error"]["code"], -32602);
    agent.leave();
}

#[test]
fn what_was_shown_over_mcp_does_not_come_back_as_memory() {
    let env = TestEnv::with_samples();
    let mut agent = Agent::start(&env, &folder(&env), INLINE);
    let found = agent.call("memory_search", &json!({ "query": "threshold" }));
    let left = memory::fence::strip(&found.to_string()).into_owned();
    let quoted = found["text"].as_str().unwrap();
    let line = quoted.lines().find(|line| line.contains("> ")).unwrap();
    assert!(
        !left.contains(line.trim_start_matches([' ', '>'])),
        "{left}"
    );
    agent.leave();
}
