//! A question that was asked before is answered every time it is asked again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should fail")]

mod support;

use support::{Said, Sessions, now};
use throughline_recall::{RecallQuery, search};

const DECISION: &str = "We decided that the metrics endpoint listens on port 8123: 9090 is the \
    default of Prometheus and taken on the hosts.";
const QUESTION: &str = "What port does the metrics endpoint listen on?";

const PROMPTS: &[&str] = &[
    QUESTION,
    "which port is the metrics endpoint on",
    "tell me the port that metrics are served on",
    "Add a section to the README on how to reach the metrics endpoint with curl",
    "write a docker-compose file that exposes the metrics endpoint",
    "which port should prometheus scrape for this service, why not the default one?",
    "why aren't we on 9090?",
];

/// Other work in the workspace, so that words are not rare only because there is nothing else.
fn other_work(test: &Sessions) {
    for (at, (task, done)) in [
        (
            "The login page flickers on reload.",
            "The session cookie was read twice; fixed.",
        ),
        (
            "Add a retry to the mail worker.",
            "The mail worker now retries three times.",
        ),
        (
            "The CSV export loses umlauts.",
            "It wrote Latin-1; it writes UTF-8 now.",
        ),
        (
            "Bump the docker image to bookworm.",
            "Done, the image builds.",
        ),
        (
            "Write a test for the cart total.",
            "Added a test of rounding in cart_test.py.",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let events = [
            Said::User(task),
            Said::Agent("Let me look at the code."),
            Said::Tool(
                "Bash", "{\"command\":\"ls src\"}", "cart.py mail.py login.py",
            ),
            Said::Agent(done),
        ];
        test.session(&format!("other-{at}"), "shop", 20, &events);
    }
}

fn decided() -> Sessions {
    let test = Sessions::new();
    other_work(&test);
    let events = [
        Said::User(DECISION),
        Said::Edit("/src/shop/metrics.py", "-PORT = 9090\n+PORT = 8123"),
        Said::Agent("Done: metrics.py serves on 8123 now."),
    ];
    test.session("decision", "shop", 12, &events);
    test
}

fn asked_again(test: &Sessions, at: usize, prompt: &str) {
    let shell = format!("{{\"command\":\"throughline search '{prompt}'\"}}");
    let query = format!("{{\"query\":\"{prompt}\"}}");
    let asked: &[Said<'_>] = match at % 4 {
        0 => &[
            Said::User(prompt),
            Said::Agent("The metrics endpoint listens on port 8123."),
        ],
        1 => &[
            Said::User(prompt),
            Said::Thinking("The user asks for the port of the metrics endpoint. Let me check."),
            Said::Agent("Let me check the metrics endpoint."),
            Said::Tool("mcp__throughline__memory_search", &query, ""),
            Said::Agent("It is 8123, as decided."),
        ],
        2 => &[
            Said::User(prompt),
            Said::Tool(
                "Bash",
                &shell,
                "shop  Metrics\n  2026-11-04 prompt\n    port of metrics",
            ),
            Said::Agent("Port 8123."),
        ],
        _ => &[Said::User(prompt)],
    };
    test.session(&format!("again-{at}"), "shop", 6, asked);
}

#[test]
fn every_session_that_asks_is_answered() {
    for asked in [
        QUESTION,
        PROMPTS[2],
        PROMPTS[5],
        "where do I find the metrics endpoint?",
    ] {
        let test = decided();
        let mut silent = Vec::new();
        for at in 0..9 {
            for prompt in PROMPTS {
                let given = test.given("shop", prompt);
                if !given.contains("8123") {
                    silent.push(format!("after {at} x {asked:?}: {prompt:?}"));
                }
                let echoes = given
                    .lines()
                    .filter(|line| line.contains(&format!("> {asked}")));
                assert_eq!(echoes.count(), 0, "{given}");
            }
            asked_again(&test, at, asked);
        }
        assert!(silent.is_empty(), "{silent:#?}");
    }
}

#[test]
fn asking_for_what_nobody_answered_stays_silent() {
    let test = Sessions::new();
    other_work(&test);
    for at in 0..4 {
        test.session(&format!("asked-{at}"), "shop", 6, &[Said::User(QUESTION)]);
        assert_eq!(test.given("shop", QUESTION), "", "after {at}");
    }
}

#[test]
fn an_answer_comes_before_the_echo_of_its_question() {
    for asked in [QUESTION, "tell me the port that metrics are served on"] {
        let test = decided();
        for at in 0..6 {
            asked_again(&test, at, asked);
        }
        let ranked = search(&test.store, &RecallQuery::from(asked), now()).unwrap();
        // A question is shown beside its answer, not as a hit of its own.
        let shown = ranked.hits.iter().filter(|hit| hit.answered_by.is_none());
        let texts: Vec<&str> = shown.map(|hit| hit.text.as_str()).collect();
        let place = |part: &str| texts.iter().position(|text| text.contains(part));
        assert!(place("8123").unwrap() == 0, "{texts:#?}");
        assert!(place(DECISION).unwrap() <= 5, "{texts:#?}");
        let first_echo = texts.iter().position(|text| *text == asked);
        assert!(first_echo.is_none_or(|echo| echo > 0), "{texts:#?}");
        assert!(place("Let me check").is_none_or(|at| at > 1), "{texts:#?}");
        let best = &ranked.hits[0];
        let beside = best.asked.as_ref().map(|asked| asked.text.as_str());
        assert!(beside.is_none_or(|text| text == asked), "{beside:?}");
        assert!(ranked.hits.iter().any(|hit| hit.asked.is_some()));
    }
}

#[test]
fn fenced_memory_in_a_prompt_is_not_searched_for() {
    let test = decided();
    let prompt = "rename the customer struct\n<throughline-memory id=\"7\">\nmetrics endpoint port \
        8123 9090 prometheus\n</throughline-memory>";
    assert_eq!(test.given("shop", prompt), "");
}

#[test]
fn the_end_of_a_turn_answers_what_its_prompt_is_about() {
    let test = Sessions::new();
    test.session(
        "cause",
        "shop",
        3,
        &[
            Said::User("The receipt printer prints every receipt twice since the update."),
            Said::Agent("I am reading the print queue and its configuration to see where it goes."),
            Said::Tool(
                "Bash",
                "command: rg -n 'receipt printer' src",
                "src/printer.rs:12: // prints a receipt on the receipt printer, never twice",
            ),
            Said::Agent(
                "The retry timer fired although the spooler had confirmed the job. It is reset \
                 on confirmation now, and the regression test passes.",
            ),
        ],
    );
    let asked = "why did the receipt printer print twice?";
    let ranked = search(&test.store, &RecallQuery::from(asked), now()).unwrap();
    let first = &ranked.hits[0].text;
    assert!(first.starts_with("The retry timer fired"), "{first}");
}
