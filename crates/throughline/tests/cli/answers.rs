//! What the sample sessions are asked: decisions reach the prompts they govern, and answers come
//! before the questions they answer.

use serde_json::Value;

use crate::env::TestEnv;

const DECISION: &str = "the threshold must come from config.toml";

#[test]
fn a_decision_reaches_tasks_on_the_file_that_it_corrected() {
    let env = TestEnv::with_samples();
    for prompt in [
        "Implement the threshold for low stock alerts in inventory.py",
        "implement the reorder threshold feature in inventory.py",
        "add a constant REORDER_AT = 10 to inventory.py",
        "change the threshold to 9",
        "What did we decide about the threshold?",
        "where does the threshold come from?",
    ] {
        let ran = env.run(&["context", prompt, "--workspace", "/home/dev/proj"]);
        assert!(ran.stdout.contains(DECISION), "{prompt}: {}", ran.shown());
    }
    for prompt in [
        "add a docstring to inventory.py",
        "write a haiku about autumn",
        "what is the capital of Norway?",
    ] {
        let ran = env.run(&["context", prompt, "--workspace", "/home/dev/proj"]);
        assert_eq!(ran.stdout, "", "{prompt}: {}", ran.shown());
    }
}

#[test]
fn an_answer_comes_before_every_repetition_of_its_question() {
    let env = TestEnv::with_samples();
    let asked = "what did we decide about the threshold";
    let found: Value = serde_json::from_str(&env.run(&["search", asked, "--json"]).stdout).unwrap();
    let hits = found["hits"].as_array().unwrap();
    let asks = |hit: &Value| {
        hit["snippet"]
            .as_str()
            .unwrap()
            .contains("What did we decide")
    };
    let first_question = hits.iter().position(asks).unwrap();
    let states = |hit: &Value| hit["snippet"].as_str().unwrap().contains("config.toml");
    let first_answer = hits.iter().position(states).unwrap();
    assert!(first_answer < first_question, "{hits:#?}");
    // A person sees each question once, beside its answer.
    let shown = env.run(&["search", asked, "-n", "3"]).stdout;
    let asked = shown
        .lines()
        .filter(|line| line.contains("What did we decide"));
    let mut beside = asked.filter(|line| !line.trim_start().starts_with("asked: "));
    assert_eq!(beside.next(), None, "{shown}");
    assert!(shown.matches("config.toml").count() >= 2, "{shown}");
}
