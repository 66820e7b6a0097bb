//! Small logs made for one question each.

use std::path::Path;

use memory::{LogEntry, SessionPatch};
use testkit::shape::shape;

use super::super::CLAUDE;
use super::source;
use crate::adapter;

/// Shows a log's messages, and its session's title at the end.
#[track_caller]
fn check(log: &str, expected: &str) {
    let parsed = adapter::parse_text(&CLAUDE, &source(Path::new("/p/s.jsonl")), log);
    assert!(parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty());
    let mut shown = String::new();
    let mut session: Option<SessionPatch> = None;
    for entry in parsed.entries {
        match &entry {
            LogEntry::Message(message) => {
                let blocks = shape(std::slice::from_ref(&entry));
                let blocks: Vec<_> = blocks.lines().skip(1).map(str::trim).collect();
                shown.push_str(&format!("{:?}: {}\n", message.origin, blocks.join(", ")));
            }
            LogEntry::Usage(_) => shown.push_str(shape(&[entry]).trim_start()),
            LogEntry::Session(patch) => match &mut session {
                Some(known) => known.merge(patch.clone()),
                None => session = Some(patch.clone()),
            },
        }
    }
    if let Some(title) = session.and_then(|session| session.title) {
        shown.push_str(&format!("{:?} {}\n", title.rank, title.text));
    }
    let expected: String = expected
        .lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect();
    assert_eq!(shown.trim(), expected.trim());
}

fn user(text: &str) -> String {
    let uuid = text.len();
    let message = serde_json::json!({ "role": "user", "content": text });
    let uuid = format!("u{uuid}");
    serde_json::json!({ "type": "user", "uuid": uuid, "sessionId": "s", "message": message })
        .to_string()
}

fn queue(operation: &str, text: Option<&str>) -> String {
    serde_json::json!({
        "type": "queue-operation", "operation": operation, "sessionId": "s", "content": text
    })
    .to_string()
}

fn queued_command(text: &str) -> String {
    let attachment =
        serde_json::json!({ "type": "queued_command", "prompt": text, "commandMode": "prompt" });
    serde_json::json!({
        "type": "attachment", "uuid": "a", "sessionId": "s", "attachment": attachment
    })
    .to_string()
}

#[test]
fn a_queued_prompt_is_one_prompt() {
    let enqueue = queue("enqueue", Some("also the docs"));
    let (dequeue, remove) = (queue("dequeue", None), queue("remove", None));
    let go = user("go");
    let once = "Human: text \"go\"\nHuman: text \"also the docs\"\nFirstPrompt go";
    // It waited until the turn ended.
    check(
        &[&*go, &enqueue, &dequeue, &user("also the docs")].join("\n"),
        once,
    );
    // It was delivered inside the turn, and nothing else mentions it.
    check(&[&*go, &enqueue, &remove].join("\n"), once);
    // It was delivered inside the turn as an attachment.
    check(
        &[&*go, &enqueue, &queued_command("also the docs"), &remove].join("\n"),
        once,
    );
    check(
        &[
            &*go,
            &queued_command("x"),
            &enqueue,
            &remove,
            &queued_command("also the docs"),
        ]
        .join("\n"),
        "Human: text \"go\"\nHuman: text \"x\"\nHuman: text \"also the docs\"\nFirstPrompt go",
    );
    // It was taken back.
    let all = queue("popAll", None);
    check(
        &[&*go, &enqueue, &all, &remove].join("\n"),
        "Human: text \"go\"\nFirstPrompt go",
    );
}

#[test]
fn a_queued_notification_is_no_prompt() {
    let note = queue(
        "enqueue",
        Some("<task-notification>done</task-notification>"),
    );
    let prompt = queue("enqueue", Some("also the docs"));
    let remove = queue("remove", None);
    check(
        &[
            &*note,
            &queue("enqueue", Some("/model")),
            &prompt,
            &remove,
            &remove,
            &remove,
        ]
        .join("\n"),
        "Human: text \"also the docs\"",
    );
}

#[test]
fn the_best_title_wins() {
    let last = r#"{"type":"last-prompt","lastPrompt":"push it","sessionId":"s"}"#;
    let foreign = r#"{"type":"summary","summary":"Another day","leafUuid":"elsewhere"}"#;
    let summary = r#"{"type":"summary","summary":"Tidy the parser","leafUuid":"u4"}"#;
    let generated = r#"{"type":"ai-title","aiTitle":"Parser tidied","sessionId":"s"}"#;
    let custom = r#"{"type":"custom-title","customTitle":"my parser","sessionId":"s"}"#;
    let said = user("tidy").replace("tidy", "tidy it\\nplease");
    let prompt = "Human: text \"tidy it\\nplease\"";
    for (log, title) in [
        (vec![foreign], "FirstPrompt tidy it"),
        (vec![last], "FirstPrompt tidy it"),
        (vec![summary, last], "Summary Tidy the parser"),
        (vec![generated, summary], "Generated Parser tidied"),
        (vec![custom, generated, last], "Custom my parser"),
    ] {
        check(
            &format!("{said}\n{}", log.join("\n")),
            &format!("{prompt}\n{title}"),
        );
    }
}

#[test]
fn a_split_message_counts_its_largest_usage() {
    let line = |uuid: u32, output: u32, text: &str| {
        format!(
            concat!(
                r#"{{"type":"assistant","uuid":"a{uuid}","sessionId":"s","requestId":"r","#,
                r#""message":{{"id":"m","model":"opus","content":[{{"type":"text","#,
                r#""text":"{text}"}}],"usage":{{"input_tokens":5,"output_tokens":{output}}}}}}}"#,
            ),
            uuid = uuid,
            text = text,
            output = output,
        )
    };
    check(
        &[line(1, 2, "one"), line(2, 2, "two"), line(3, 9, "three")].join("\n"),
        r#"Model: text "one"
        usage key=m:r model=opus session=claude:s in=5 out=2 read=0 write=0 reasoning=0
        Model: text "two"
        Model: text "three"
        usage key=m:r model=opus session=claude:s in=5 out=9 read=0 write=0 reasoning=0"#,
    );
}

#[test]
fn content_of_any_shape() {
    let content = |content: &str| {
        format!(
            concat!(
                r#"{{"type":"user","uuid":"u","sessionId":"s","#,
                r#""message":{{"role":"user","content":{content}}}}}"#,
            ),
            content = content,
        )
    };
    check(&content("null"), "");
    check(
        &content(r#"["bare",{"type":"text","text":"block"}]"#),
        "Human: text \"bare\", text \"block\"\nFirstPrompt bare",
    );
    let image =
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGVsbG8="}}"#;
    check(&content(&format!("[{image}]")), "Human: image image/png 5");
    check(
        &content(&format!(
            concat!(
                r#"[{{"type":"tool_result","tool_use_id":"t","#,
                r#""content":[{{"type":"text","text":"ok"}},{image}]}}]"#,
            ),
            image = image,
        )),
        r#"Tool: result t - - "ok\n[image: image/png, 5 bytes]""#,
    );
}

#[test]
fn an_api_error_is_its_message() {
    check(
        concat!(
            r#"{"type":"system","subtype":"api_error","uuid":"e","sessionId":"s","error":{"statu"#,
            r#"s":401,"headers":{"x-secret":"k"},"error":{"type":"error","error":{"type":"authen"#,
            r#"tication_error","message":"invalid key"}}}}"#,
        ),
        "Harness: error \"invalid key\"",
    );
    check(
        concat!(
            r#"{"type":"assistant","uuid":"e","sessionId":"s","isApiErrorMessage":true,"message""#,
            r#":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"#,
            r#""}],"usage":{"input_tokens":0,"output_tokens":0}}}"#,
        ),
        "Harness: error \"API Error: 529\"",
    );
}

#[test]
fn the_last_of_two_equal_keys_counts() {
    let log =
        r#"{"type":"user","uuid":"u","sessionId":"s","message":{"content":"no","content":"yes"}}"#;
    check(log, "Human: text \"yes\"\nFirstPrompt yes");
}

#[test]
fn a_record_glued_to_noise_is_read() {
    let progress =
        r#"{"parentUuid":null,"sessionId":"s","type":"progress","data":{"type":"bash_progress"}}"#;
    check(
        &format!("{progress}\n{progress}{}", user("hi")),
        "Human: text \"hi\"\nFirstPrompt hi",
    );
}
