use serde_json::{Value, json};

use super::*;

#[track_caller]
fn parse(body: Value) -> ApiRequest {
    ApiRequest::parse(body, None, &SessionId::new("test")).unwrap()
}

/// Parses a request and writes all its messages.
#[track_caller]
fn round_trip(body: &Value) {
    let request = parse(body.clone());
    assert_eq!(request.write(&request.messages, &[]), *body);
}

#[test]
fn anthropic_requests_come_back_verbatim() {
    round_trip(&json!({
        "model": "m", "max_tokens": 100, "system": [{"type": "text", "text": "be brief"}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "ZW5j"},
                {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.rs"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                    {"type": "text", "text": "fn a() {}"}], "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {
                    "type": "base64", "media_type": "image/png", "data": "aGVsbG8="}},
                {"type": "text", "text": "and this?"},
            ]},
        ],
    }));
}

#[test]
fn chat_requests_come_back_verbatim() {
    round_trip(&json!({
        "model": "m", "temperature": 0.5,
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "name": "ann", "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}},
                {"type": "text", "text": "what is it?"}]},
            {"role": "assistant", "content": null, "reasoning_content": "hm", "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "read", "arguments": "{\"path\":\"a.rs\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "fn a() {}"},
            {"role": "developer", "content": "hurry"},
        ],
    }));
}

#[test]
fn calls_and_results_are_understood() {
    let request = parse(json!([
        {"role": "user", "content": "read it"},
        {"role": "assistant", "uuid": "u-2", "id": "msg_1", "content": [
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/p/a.rs"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "text", "is_error": true}]},
    ]));
    let [_, called, answered] = request.messages.as_slice() else {
        panic!("{:?}", request.messages);
    };
    assert_eq!(called.id.as_str(), "u-2");
    assert_eq!(called.api_id.as_ref().unwrap().as_str(), "msg_1");
    let Block::ToolResult(result) = &answered.blocks[0] else {
        panic!("{answered:?}");
    };
    assert_eq!(result.path.as_deref(), Some("/p/a.rs"));
    assert_eq!(result.tool.as_deref(), Some("Read"));
    assert!(result.is_error);
    // Ids are not part of a request.
    let written = request.write(&request.messages, &[]);
    assert_eq!(written["messages"][1].as_object().unwrap().len(), 2);
}

#[test]
fn a_request_ends_with_the_user_and_without_open_calls() {
    let request = parse(json!([
        {"role": "user", "content": "run it"},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
    ]));
    let written = request.write(&request.messages, &[CallId::new("t1")]);
    assert_eq!(written["messages"][2]["content"][0]["tool_use_id"], "t1");
    let written = request.write(&request.messages[..1], &[]);
    assert_eq!(written["messages"].as_array().unwrap().len(), 1);
    let spoken = parse(json!([
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]));
    let written = spoken.write(&spoken.messages, &[]);
    assert_eq!(written["messages"][2]["content"][0]["text"], CONTINUE_TEXT);
}

#[test]
fn a_repaired_message_keeps_its_signatures() {
    let request = parse(json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]},
    ]));
    let mut messages = request.messages.clone();
    if let Block::ToolUse(call) = &mut messages[1].blocks[1] {
        call.call = CallId::new("t1-2");
    }
    let written = request.write(&messages, &[]);
    let blocks = &written["messages"][1]["content"];
    assert_eq!(blocks[0]["signature"], "c2ln");
    assert_eq!(blocks[1]["id"], "t1-2");
}

#[test]
fn names_of_other_agents_are_accepted() {
    let mut called = Message::new(
        MessageId::new("1"),
        SessionId::new("s"),
        Role::Assistant,
        Origin::Model,
    );
    let call = CallId::new("x/1#".repeat(20));
    called.blocks = vec![Block::ToolUse(memory::ToolUse {
        call: call.clone(),
        tool: "mcp server/tool".to_owned(),
        input: "*** Begin Patch".to_owned(),
        path: None,
    })];
    for format in [RequestFormat::Anthropic, RequestFormat::Openai] {
        let messages = std::slice::from_ref(&called);
        let log = SignedThinking::default();
        let request = ApiRequest::for_log(format, Map::new(), messages, log);
        let written = request
            .write(messages, std::slice::from_ref(&call))
            .to_string();
        assert_eq!(written.matches("compacted_call_1").count(), 2, "{written}");
        assert!(written.matches("mcp_server_tool").count() == 2, "{written}");
        assert!(written.contains("*** Begin Patch"), "{written}");
    }
}

#[test]
fn what_is_no_conversation_is_rejected() {
    let parse = |body: Value| ApiRequest::parse(body, None, &SessionId::new("test")).unwrap_err();
    for body in [
        json!({}),
        json!([]),
        json!("text"),
        json!({"messages": "text"}),
    ] {
        assert_eq!(parse(body), InvalidRequest::NoMessages);
    }
    let odd = parse(json!([{"role": "user", "content": "a"}, {"role": "robot", "content": "b"}]));
    assert_eq!(
        odd.to_string(),
        "messages[1] is not a message of the Anthropic format: the role is Some(\"robot\"), not \
         \"user\" or \"assistant\""
    );
}

#[test]
fn signatures_of_a_log_are_written_back() {
    let now = jiff::Timestamp::from_second(2_000_000_000).unwrap();
    let mut signatures = 0;
    for path in testkit::files_below(&testkit::fixture("claude")) {
        let log = crate::conversation::read_conversation(&path, None, now).unwrap();
        let Some(log) = log else { continue };
        let raw = std::fs::read_to_string(&path).unwrap();
        let format = RequestFormat::Anthropic;
        let request = ApiRequest::for_log(format, Map::new(), &log.messages, log.signed);
        let written = request.write(&log.messages, &[]);
        let messages = written["messages"].as_array().unwrap();
        let blocks = messages
            .iter()
            .flat_map(|message| message["content"].as_array().unwrap());
        for block in blocks.filter(|block| block["type"] == "thinking") {
            let signature = block["signature"].as_str().unwrap();
            assert!(raw.contains(&json!(signature).to_string()), "{signature}");
            signatures += 1;
        }
    }
    assert!(signatures > 20, "{signatures}");
}
