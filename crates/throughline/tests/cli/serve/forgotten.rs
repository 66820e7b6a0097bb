//! Text that was forgotten, or recognised as a secret later, is in no memory layer, whichever way
//! the layers are asked: commands, HTTP, MCP, hooks and the memory of a running daemon.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::client::Daemon;
use super::life::wait_for;
use crate::env::TestEnv;
use crate::hook::{call, claude};

const SESSION: &str = "77777777-aaaa-4aaa-8aaa-777777777777";
const FOLDER: &str = "/work/shop";
/// Looks like a password, but nothing says so at first.
const WORD: &str = "Zq8vTr2mLk9xWp4n";

/// A session that used the word in its prompt, in a skill and in a file, and the daemon that saw
/// it.
struct LiveShop {
    env: TestEnv,
    daemon: Daemon,
}

impl LiveShop {
    fn new() -> Self {
        let env = TestEnv::new();
        let daemon = Daemon::start(&env);
        let shop = Self { env, daemon };
        let filler = "and check the result on the staging server, ".repeat(40);
        let skill = format!("# Deploy with {WORD}\n\n- Never leave out {WORD}.\n{filler}");
        let edit = json!({
            "file_path": format!("{FOLDER}/src/cart.rs"), "old_string": "let a = 1;",
            "new_string": format!("let a = \"{WORD}\";"),
        });
        let skill_file = format!("{FOLDER}/.claude/skills/deploy/SKILL.md");
        shop.append(&[
            entry("user", &json!(format!("deploy the cart with {WORD}"))),
            tool_call("t1", "Read", &json!({ "file_path": skill_file })),
            tool_result("t1", &skill),
            tool_call("t2", "Edit", &edit),
            tool_result("t2", "The file has been updated."),
            tool_call(
                "t3",
                "Bash",
                &json!({ "command": format!("deploy {WORD}") }),
            ),
            tool_result("t3", &format!("error: {WORD} was rejected")),
            entry("assistant", &json!(format!("It failed with {WORD}."))),
        ]);
        shop
    }

    /// Appends to the log, and waits until the daemon has read it.
    fn append(&self, entries: &[Value]) {
        let log = self.log();
        std::fs::create_dir_all(log.parent().unwrap()).unwrap();
        let mut file = std::fs::File::options();
        let mut file = file.create(true).append(true).open(log).unwrap();
        let last = format!("read to the end {}", entries.len());
        for (number, entry) in entries
            .iter()
            .chain([&entry("assistant", &json!(last))])
            .enumerate()
        {
            let mut entry = entry.clone();
            entry["uuid"] = json!(format!("{}-{number}", entries.len()));
            writeln!(file, "{entry}").unwrap();
        }
        self.hook(&json!({ "hook_event_name": "Stop", "stop_hook_active": false }));
        let transcript = format!("/sessions/claude:{SESSION}/timeline");
        wait_for("the log is read", || {
            self.daemon
                .ask("GET", &transcript, None)
                .body
                .contains(&last)
        });
    }

    fn log(&self) -> PathBuf {
        let folder = self.env.home().join(".claude/projects/-work-shop");
        folder.join(format!("{SESSION}.jsonl"))
    }

    fn hook(&self, event: &Value) -> String {
        let mut payload = json!({
            "session_id": SESSION, "transcript_path": self.log(), "cwd": FOLDER,
        });
        let fields = payload.as_object_mut().unwrap();
        fields.extend(event.as_object().unwrap().clone());
        call(&self.env, &claude(payload)).stdout
    }

    /// Asks every route, and returns the answers by name.
    fn ask_all(&self) -> BTreeMap<String, String> {
        let mut answers = BTreeMap::new();
        let workspace = &self.daemon.get("/workspaces")[0]["key"];
        let workspace = workspace.as_str().unwrap();
        let key = workspace.replace('/', "%2F");
        let session = format!("claude:{SESSION}");
        for path in [
            format!("/sessions/{session}"),
            format!("/sessions/{session}/timeline"),
            format!("/sessions/{session}/snapshot?size=comprehensive"),
            format!("/sessions/{session}/turns"),
            format!("/capsules?workspace={key}"),
            format!("/capsules?workspace={key}&id=skill:deploy"),
            format!("/capsules?workspace={key}&near=deploy%20with%20{WORD}"),
            format!("/layers?workspace={key}"),
            format!("/blame?q=src/cart.rs&workspace={key}"),
            format!("/memory/search?q={WORD}&workspace={key}"),
        ] {
            let body = self.daemon.ask("GET", &path, None).body;
            // Some answers repeat what was asked.
            let body = body.replace(&format!("\"query\":\"{WORD}\""), "");
            answers.insert(format!("GET {}", path.replace(WORD, "WORD")), body);
        }
        for args in [
            &["show", SESSION][..],
            &["show", SESSION, "--start"],
            &["checkpoint", SESSION, "--json"],
            &["snapshot", SESSION, "--size", "comprehensive"],
            &["handoff", SESSION, "--to", "codex", "--print"],
            &["digest", SESSION],
            &["digest", "--rollup", "--workspace", workspace],
            &["stats", "--workspace", workspace, "--capsules", "--json"],
            &[
                "stats", "--workspace", workspace, "--capsule", "skill:deploy",
            ],
        ] {
            answers.insert(args.join(" "), self.env.run(args).stdout);
        }
        let start = json!({ "hook_event_name": "SessionStart", "source": "compact" });
        answers.insert("SessionStart".to_owned(), self.hook(&start));
        let resource = |kind: &str| {
            let params = json!({ "uri": format!("throughline://{kind}/{session}") });
            mcp(&self.env, "resources/read", params)
        };
        for kind in ["session", "snapshot"] {
            answers.insert(format!("MCP {kind}"), resource(kind));
        }
        answers
    }

    /// Returns the routes whose answer has the word.
    fn showing(&self) -> Vec<String> {
        let answers = self.ask_all().into_iter();
        let shown = answers.filter(|(_, answer)| answer.contains(WORD));
        shown.map(|(route, _)| route).collect()
    }
}

fn entry(role: &str, content: &Value) -> Value {
    json!({
        "type": role, "parentUuid": null, "sessionId": SESSION, "cwd": FOLDER,
        "timestamp": "2026-11-16T08:59:00.000Z", "version": "2.1.98",
        "message": { "role": role, "content": content },
    })
}

fn tool_call(id: &str, tool: &str, input: &Value) -> Value {
    let call = json!([{ "type": "tool_use", "id": id, "name": tool, "input": input }]);
    entry("assistant", &call)
}

fn tool_result(id: &str, output: &str) -> Value {
    let result = json!([{ "type": "tool_result", "tool_use_id": id, "content": output }]);
    entry("user", &result)
}

/// Sends one request to the MCP server of the folder.
fn mcp(env: &TestEnv, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let ran = env.run_with(
        &["mcp", "--folder", FOLDER],
        format!("{request}\n").as_bytes(),
    );
    assert!(ran.stdout.contains("\"result\""), "{}", ran.shown());
    ran.stdout
}

/// Checks that the routes which must show the word do so, or the test would prove nothing.
#[track_caller]
fn check_shown(shop: &LiveShop) {
    let shown = shop.showing();
    for route in [
        "GET /sessions/claude:77777777-aaaa-4aaa-8aaa-777777777777/snapshot?size=comprehensive",
        "GET /capsules?workspace=%2Fwork%2Fshop&id=skill:deploy",
        "checkpoint 77777777-aaaa-4aaa-8aaa-777777777777 --json",
        "handoff 77777777-aaaa-4aaa-8aaa-777777777777 --to codex --print",
        "SessionStart",
        "MCP session",
        "MCP snapshot",
    ] {
        assert!(
            shown.iter().any(|shown| shown == route),
            "{route}: {shown:#?}"
        );
    }
}

#[test]
fn forgotten_text_is_in_no_layer_by_any_route() {
    let shop = LiveShop::new();
    check_shown(&shop);
    let ran = shop.env.run(&["forget", "--query", WORD, "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_eq!(shop.showing(), Vec::<String>::new());
    // A restarted daemon reads what was stored.
    let LiveShop { env, daemon } = shop;
    drop(daemon);
    let daemon = Daemon::start(&env);
    let shop = LiveShop { env, daemon };
    assert_eq!(shop.showing(), Vec::<String>::new());
}

#[test]
fn a_secret_that_is_recognised_later_is_in_no_layer_by_any_route() {
    let shop = LiveShop::new();
    check_shown(&shop);
    shop.append(&[entry(
        "user",
        &json!(format!("the password={WORD} is wrong")),
    )]);
    assert_eq!(shop.showing(), Vec::<String>::new());
}
