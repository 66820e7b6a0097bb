//! Facts, what a prompt gets, and the questions people ask, from the command line.

use insta::assert_snapshot;

use crate::env::TestEnv;

const PROJ: &str = "/home/dev/proj";

/// Returns the id that a command printed.
fn id_in(text: &str) -> String {
    let is_id = |word: &&str| word.len() >= 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.find(is_id).unwrap().to_owned()
}

#[test]
fn rules_and_paths_are_preferences() {
    let env = TestEnv::with_samples();
    let ok = |args: &[&str]| {
        let ran = env.run(&[&["prefer", "--workspace", PROJ], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    };
    ok(&["--allow", "cargo test"]);
    ok(&["--path", "web=apps/web"]);
    ok(&["--path", "web=packages/web"]);
    let json = env.run(&["facts", "--json", "--kind", "preference"]).stdout;
    let facts: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
    let mut texts: Vec<_> = facts
        .iter()
        .map(|fact| fact["text"].as_str().unwrap())
        .collect();
    texts.sort_unstable();
    // The second path superseded the first one.
    let expected = [
        "Always allow `cargo test` without asking",
        "web lives in packages/web",
    ];
    assert_eq!(texts, expected);
    let wrong = env.run(&["prefer", "--path", "web"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.shown());
}

#[test]
fn a_decision_of_a_headless_session_answers_a_question() {
    let env = TestEnv::with_samples();
    let question = "What did we decide about the threshold?";
    let ran = env.run(&["context", question, "--workspace", PROJ]);
    let decision = "The user decided: We decided that the threshold must come from config.toml";
    assert!(ran.stdout.contains(decision), "{}", ran.shown());
}

#[test]
fn facts_from_the_command_line() {
    let env = TestEnv::with_samples();
    let shown = |args: &[&str]| env.run(args).shown();
    assert_snapshot!(
        "remember",
        [
            shown(&[
                "remember",
                "the staging server is rebuilt on Mondays",
                "--workspace",
                PROJ,
                "--tag",
                "ops"
            ]),
            shown(&["prefer", "use npm", "--workspace", PROJ]),
            shown(&["prefer", "use pnpm, not npm", "--workspace", PROJ]),
            shown(&["prefer", "Use pnpm, not npm!", "--workspace", PROJ]),
            shown(&["prefer", "answer briefly", "--everywhere"]),
            shown(&["remember", "--workspace", "nowhere", "x"]),
            shown(&["remember", &"word ".repeat(50)]),
            shown(&["remember", " "]),
        ]
        .join("\n")
    );
    assert_snapshot!("facts", shown(&["facts"]));
    assert_snapshot!(
        "facts_history",
        shown(&["facts", "--history", "--kind", "preference"])
    );
    assert_eq!(env.run(&["facts", "--workspace", "zeppelin"]).code, Some(2));
    let found = env.run(&["facts", "PNPM", "not"]);
    assert_eq!(found.stdout.lines().count(), 2, "{}", found.shown());
    let nothing = env.run(&["facts", "zeppelin"]);
    assert_eq!(nothing.code, Some(1), "{}", nothing.shown());
    // What applies everywhere also applies here.
    let here = env.run(&["facts", "--here"]);
    assert!(here.stdout.contains("answer briefly"), "{}", here.shown());
    assert!(!here.stdout.contains("pnpm"), "{}", here.shown());
    let json = env.run(&["facts", "--json"]).stdout;
    let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(facts[0]["kind"], "preference");
    let id = facts[0]["id"].as_str().unwrap();
    let forgotten = env.run(&["facts", "forget", &id[..8]]);
    assert_eq!(forgotten.code, Some(0), "{}", forgotten.shown());
    assert!(
        !env.run(&["facts", "--json", "--history"])
            .stdout
            .contains(id)
    );
}

#[test]
fn the_workspace_is_that_of_the_current_folder() {
    let env = TestEnv::new();
    let folder = env.home().join("code/shop");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(
        folder.join(".git/config"),
        "[remote \"origin\"]\n\turl = git@example.com:acme/shop.git\n",
    )
    .unwrap();
    let mut command = env.command(&["remember", "orders are never deleted"]);
    assert!(
        command
            .current_dir(folder.join("src"))
            .status()
            .unwrap()
            .success()
    );
    let json = env.run(&["facts", "--json"]).stdout;
    let facts: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(facts[0]["workspace"], "example.com/acme/shop");
}

#[test]
fn a_mistyped_id_is_not_pinned() {
    let env = TestEnv::new();
    let refused = env.run(&["pin", "nosuchid"]);
    assert_eq!(refused.code, Some(2), "{}", refused.shown());
    assert!(
        refused.stderr.contains("no fact or record has the id"),
        "{}",
        refused.stderr
    );
}

#[test]
fn pins_come_and_go() {
    let env = TestEnv::with_samples();
    let found = env
        .run(&["search", "REORDER_AT", "--type", "assistant", "--json"])
        .stdout;
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    let record = found["hits"][0]["id"].as_str().unwrap();
    // Search prints the beginning of an id.
    let pinned = env.run(&["pin", &record[..8]]);
    assert_eq!(pinned.code, Some(0), "{}", pinned.shown());
    env.run(&["pin", "releases go out on Tuesdays", "--workspace", PROJ]);
    let listed = env.run(&["facts", "--kind", "note"]);
    assert_snapshot!("pins", listed.shown());
    // A pin is shown once to every session, whatever its prompts are.
    let asked = ["context", "rename the customer struct", "--workspace", PROJ];
    assert_snapshot!("pins_context", env.run(&asked).shown());
    let id = id_in(&pinned.stderr);
    assert_eq!(env.run(&["unpin", &id]).code, Some(0));
    assert_eq!(env.run(&["unpin", &id]).code, Some(1));
    assert_eq!(env.run(&["pin", &id]).code, Some(0));
    assert_eq!(env.run(&["unpin", "ffffffff"]).code, Some(2));
}

#[test]
fn what_a_prompt_gets() {
    let env = TestEnv::with_samples();
    let asked = "Where does the reorder threshold come from, config.toml or code?";
    let context = |more: &[&str]| {
        let mut args = vec!["context", asked, "--workspace", PROJ];
        args.extend(more);
        env.run(&args)
    };
    assert_snapshot!("context", context(&[]).shown());
    assert_snapshot!("context_explain", context(&["--explain"]).shown());
    let json: serde_json::Value = serde_json::from_str(&context(&["--json"]).stdout).unwrap();
    assert!(json["answer"]["inject"]["tokens"].as_u64().unwrap() <= 800);
    // It is not shown to the same session again.
    assert_eq!(context(&["--session", "young", "--record"]).code, Some(0));
    let again = context(&["--session", "young"]);
    assert!(
        !again.stdout.contains("config.toml, not from code"),
        "{}",
        again.shown()
    );
    for silent in [
        "continue",
        "/compact",
        "<task-notification>x</task-notification>",
        "weather in Paris?",
    ] {
        let ran = env.run(&["context", silent, "--workspace", PROJ]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{silent}");
    }
    let mut off = env.command(&["context", asked, "--workspace", PROJ]);
    let off = off.env("THROUGHLINE_INJECTION", "off").output().unwrap();
    assert_eq!((off.status.code(), off.stdout.is_empty()), (Some(1), true));
    std::fs::write(
        env.home().join("memory/config.toml"),
        "[injection]\noff = [\"dev/proj\"]\n",
    )
    .unwrap();
    assert_snapshot!("context_off", context(&[]).shown());
}

#[test]
fn a_silent_prompt_names_the_workspace_that_knows() {
    let env = TestEnv::with_samples();
    let asked = "Where does the reorder threshold come from, config.toml or code?";
    let ran = env.run(&["context", asked]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr.contains("Nothing in this workspace; "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains(&format!("(--workspace {PROJ})")),
        "{}",
        ran.stderr
    );
    let ran = env.run(&["context", "which tram goes to the zoo in Antwerp?"]);
    assert!(!ran.stderr.contains("elsewhere"), "{}", ran.stderr);
}

#[test]
fn any_prompt_is_answered() {
    let env = TestEnv::with_samples();
    let long = "threshold ".repeat(110_000);
    let hostile: [&[u8]; 6] = [
        br#"threshold " OR NEAR( * : ^ -"#,
        b"'); DROP TABLE facts; -- threshold",
        b"threshold\0\xff\xfe inventory",
        "\u{202e}threshold \u{5e9}\u{5dc}\u{5d5}\u{5dd} 🧪".as_bytes(),
        long.as_bytes(),
        b"",
    ];
    for prompt in hostile {
        let ran = env.run_with(&["context", "-", "--workspace", PROJ], prompt);
        assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.shown());
    }
}

#[test]
fn injections_are_listed_and_judged() {
    let env = TestEnv::with_samples();
    assert_eq!(env.run(&["injections"]).code, Some(1));
    let asked = "Where does the reorder threshold come from, config.toml or code?";
    let ran = env.run(&[
        "context", asked, "--workspace", PROJ, "--session", "young", "--record",
    ]);
    let id = id_in(&ran.stderr);
    assert_snapshot!("feedback", env.run(&["feedback", &id[..6], "good"]).shown());
    assert_snapshot!(
        "injections",
        env.run(&["injections", "--session", "young"]).shown()
    );
    assert_eq!(env.run(&["feedback", "nope", "bad"]).code, Some(2));
    let json = env.run(&["injections", "--json"]).stdout;
    let listed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(listed[0]["verdict"], "good");
    assert!(
        !json.contains("Where does"),
        "the prompt itself is not kept"
    );
}

#[test]
fn questions_people_ask() {
    let env = TestEnv::with_samples();
    assert_snapshot!(
        "blame",
        env.run(&["blame", "inventory.py", "-n", "3"]).shown()
    );
    assert_snapshot!("how", env.run(&["how", "unittest", "-n", "2"]).shown());
    assert_eq!(env.run(&["blame", "zeppelin.py"]).code, Some(1));
    assert_eq!(env.run(&["how", "zeppelin"]).code, Some(1));
    assert_eq!(env.run(&["fix", "zeppelin exploded"]).code, Some(1));
    for command in ["blame", "how", "fix"] {
        let ran = env.run(&[command, "--json", "inventory"]);
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap();
    }
}
