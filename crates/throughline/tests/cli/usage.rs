//! `throughline usage`, compared with an independent count.

use std::collections::BTreeMap;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::{TestEnv, samples};

#[test]
fn usage_by_everything() {
    let env = TestEnv::with_samples();
    assert_snapshot!("usage", env.run(&["usage"]).shown());
    for by in ["model", "session", "workspace", "agent"] {
        assert_snapshot!(
            format!("usage_by_{by}"),
            env.run(&["usage", "--by", by]).shown()
        );
    }
    assert_snapshot!(
        "usage_filters",
        env.run(&[
            "usage", "--by", "session", "--agent", "codex", "--since", "2026-11-15", "--until",
            "2026-11-15T18:41", "--workspace", "proj"
        ])
        .shown()
    );
    assert_snapshot!(
        "usage_cut",
        env.run(&["usage", "--by", "session", "-n", "1"]).shown()
    );
}

#[test]
fn usage_with_wrong_input() {
    let env = TestEnv::with_samples();
    assert_snapshot!(
        "usage_nothing",
        env.run(&["usage", "--until", "2020-01-01"]).shown()
    );
    assert_snapshot!(
        "usage_no_such_thing",
        env.run(&["usage", "--by", "moon"]).shown()
    );
    assert_snapshot!(
        "usage_no_such_time",
        env.run(&["usage", "--since", "once"]).shown()
    );
    let ran = TestEnv::new().run(&["usage"]);
    assert_eq!(ran.code, Some(2), "{}", ran.shown());
    assert!(ran.stderr.contains("throughline ingest"), "{}", ran.shown());
}

#[test]
fn the_total_is_what_the_samples_say() {
    let env = TestEnv::with_samples();
    let (input, output) = counted(&samples());
    assert!(input > 100_000 && output > 1_000);
    for by in ["day", "model", "session", "workspace", "agent"] {
        let json = json(&env, &["usage", "--by", by, "--json"]);
        assert_eq!(json["by"], by);
        assert_eq!(json["total"]["input"], input, "{by}");
        assert_eq!(json["total"]["output"], output, "{by}");
        for figure in ["input", "output", "total", "requests", "unpriced_tokens"] {
            let groups = json["groups"].as_array().unwrap();
            let sum: u64 = groups.iter().map(|g| g[figure].as_u64().unwrap()).sum();
            assert_eq!(json["total"][figure], sum, "{figure} by {by}");
        }
    }
    let json = json(&env, &["usage", "--by", "model", "--json", "-n", "2"]);
    assert_eq!(json["groups"].as_array().unwrap().len(), 2);
    assert_eq!(json["groups_left_out"], 1);
    assert_eq!(json["total"]["input"], input);
}

#[test]
fn a_stated_cost_counts_and_an_unknown_one_shows() {
    let env = TestEnv::new();
    let line = |id: &str, model: &str, cost: Option<f64>| {
        serde_json::json!({
            "type": "assistant", "uuid": id, "sessionId": SESSION, "cwd": "/work/p",
            "timestamp": "2026-11-14T10:00:00Z", "requestId": id, "costUSD": cost,
            "message": {
                "id": id, "role": "assistant", "model": model,
                "content": [{"type": "text", "text": "done"}],
                "usage": {"input_tokens": 1_000_000, "output_tokens": 0,
                          "cache_read_input_tokens": 1_000_000},
            },
        })
        .to_string()
    };
    let lines = [
        line("m1", "claude-sonnet-4-5-20250929", None),
        line("m2", "claude-sonnet-4-5-20250929", Some(0.5)),
        line("m3", "unheard-of", None),
    ];
    let folder = env.home().join("logs/projects/-work-p");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join(format!("{SESSION}.jsonl")),
        lines.join("\n") + "\n",
    )
    .unwrap();
    env.run(&[
        "ingest",
        "--root",
        &env.home().join("logs").display().to_string(),
    ]);
    let cost = |args: &[&str], name: &str| {
        let json = json(&env, args);
        let groups = json["groups"].as_array().unwrap();
        let group = groups.iter().find(|group| group["name"] == name).unwrap();
        (
            group["cost_usd"].as_f64(),
            group["unpriced_tokens"].as_u64(),
        )
    };
    let by_model = ["usage", "--by", "model", "--json"];
    assert_eq!(
        cost(&by_model, "claude-sonnet-4-5-20250929"),
        (Some(3.0 + 0.3 + 0.5), Some(0))
    );
    assert_eq!(cost(&by_model, "unheard-of"), (None, Some(2_000_000)));
    let shown = env.run(&["usage"]).stdout;
    assert!(shown.contains("≥$3.80"), "{shown}");
    let shown = env.run(&["show", SESSION]).stdout;
    assert!(shown.contains("≥$3.80"), "{shown}");

    let config = "[prices.models.unheard-of]\ninput = 1.0\noutput = 1.0\n";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    assert_eq!(cost(&by_model, "unheard-of"), (Some(2.0), Some(0)));
    let config = "[prices.models.unheard-of]\ninput = -1.0\noutput = 1.0\n";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    assert_snapshot!("usage_wrong_price", env.run(&["usage"]).shown());
}

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

fn json(env: &TestEnv, args: &[&str]) -> Value {
    serde_json::from_str(&env.run(args).stdout).unwrap()
}

/// Counts the tokens directly in the log files, without our adapters.
fn counted(folder: &Path) -> (u64, u64) {
    let mut sum = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let (input, output) = if path.is_dir() {
            counted(&path)
        } else {
            counted_in(&path)
        };
        sum = (sum.0 + input, sum.1 + output);
    }
    sum
}

fn counted_in(file: &Path) -> (u64, u64) {
    let text = std::fs::read_to_string(file).unwrap();
    let pair = |value: &Value, input: &str, output: &str| {
        Some((value[input].as_u64()?, value[output].as_u64()?))
    };
    if file.ends_with("usage.json") {
        let json: Value = serde_json::from_str(&text).unwrap();
        return pair(&json["session"], "inputTokens", "outputTokens").unwrap();
    }
    // Claude Code repeats the usage of a response on each line, Codex CLI logs running totals.
    let mut told: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    for line in lines.collect::<Vec<Value>>() {
        let message = &line["message"];
        let total = &line["payload"]["info"]["total_token_usage"];
        let usage = pair(&message["usage"], "input_tokens", "output_tokens")
            .or_else(|| pair(total, "input_tokens", "output_tokens"));
        if let Some(usage) = usage {
            let known = told.entry(message["id"].to_string()).or_default();
            *known = (*known).max(usage);
        }
    }
    told.values()
        .fold((0, 0), |sum, told| (sum.0 + told.0, sum.1 + told.1))
}
