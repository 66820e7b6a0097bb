//! Facts and injections from outside: merging, superseding, scope, many of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Fact, FactId, FactKind, SessionId, Trust, Workspace};
use throughline_store::{FactFilter, FactOutcome, FactScope, NewFact, Store};

struct Test {
    _dir: tempfile::TempDir,
    store: Store,
}

impl Test {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Self { _dir: dir, store }
    }

    fn say(&self, text: &str, trust: Trust) -> FactOutcome {
        self.say_in("shop", text, trust)
    }

    fn say_in(&self, place: &str, text: &str, trust: Trust) -> FactOutcome {
        self.store.remember(fact(place, text, trust)).unwrap()
    }

    fn texts(&self, history: bool) -> Vec<String> {
        let facts = self.all(history);
        facts.into_iter().map(|fact| fact.text).collect()
    }

    fn all(&self, history: bool) -> Vec<Fact> {
        self.store
            .facts(&FactFilter {
                scope: FactScope::All,
                kind: None,
                history,
                limit: 100,
            })
            .unwrap()
    }
}

fn fact(place: &str, text: &str, trust: Trust) -> NewFact {
    NewFact {
        workspace: Some(Workspace {
            key: format!("example.com/{place}"),
            root: format!("/src/{place}"),
        }),
        kind: if trust == Trust::User {
            FactKind::Preference
        } else {
            FactKind::Note
        },
        text: text.to_owned(),
        tags: Vec::new(),
        trust,
        pinned: false,
        at: Timestamp::from_second(1_767_600_000).unwrap(),
        sources: Vec::new(),
    }
}

#[test]
fn the_same_words_in_another_order_say_the_opposite() {
    let test = Test::new();
    let tabs = "I prefer tabs over spaces";
    let spaces = "I prefer spaces over tabs";
    let first = test.say(tabs, Trust::User);
    let second = test.say(spaces, Trust::User);
    assert!(!second.repeated);
    assert_eq!(second.superseded, [first.id]);
    assert!(test.say(spaces, Trust::User).repeated);
    assert_eq!(test.texts(false), [spaces]);
    // A user who returns to the first opinion gets the first fact back.
    let third = test.say(tabs, Trust::User);
    assert_eq!((third.id, third.superseded), (first.id, vec![second.id]));
    assert_eq!(test.texts(false), [tabs]);
}

#[test]
fn what_is_said_again_is_one_fact() {
    let test = Test::new();
    let first = test.say("Always use pnpm.", Trust::User);
    let again = test.say("use PNPM always", Trust::User);
    let near = test.say(
        "please always run cargo clippy before every commit",
        Trust::User,
    );
    let nearer = test.say("always run cargo clippy before commit", Trust::User);
    assert_eq!((first.id, again.repeated), (again.id, true));
    assert_eq!((near.id, nearer.repeated), (nearer.id, true));
    let all = test.all(true);
    assert_eq!(
        all.iter().map(|fact| fact.times).collect::<Vec<_>>(),
        [2, 2]
    );
}

#[test]
fn the_newer_statement_holds_and_the_older_is_history() {
    let test = Test::new();
    let npm = test.say("use npm", Trust::User).id;
    let pnpm = test.say("use pnpm", Trust::User);
    assert_eq!(pnpm.superseded, [npm]);
    assert_eq!(test.texts(false), ["use pnpm"]);
    let history = test.all(true);
    assert_eq!(history[1].superseded, Some(pnpm.id));
    // Said again, the older one holds again.
    let back = test.say("use npm", Trust::User);
    assert_eq!((back.id, back.superseded), (npm, vec![pnpm.id]));
    assert_eq!(test.texts(false), ["use npm"]);
}

#[test]
fn no_model_changes_what_the_user_prefers_and_nothing_changes_a_pin() {
    let test = Test::new();
    let users = test.say("use pnpm", Trust::User).id;
    assert_eq!(test.say("use npm", Trust::Model).superseded, []);
    test.store.set_pinned(users, true).unwrap();
    let third = test.say("use yarn", Trust::User);
    assert!(!third.superseded.contains(&users));
    assert!(test.texts(false).contains(&"use pnpm".to_owned()));
}

#[test]
fn each_workspace_has_its_own() {
    let test = Test::new();
    test.say_in("shop", "use pnpm", Trust::User);
    assert_eq!(test.say_in("docs", "use npm", Trust::User).superseded, []);
    let about = |places: &[&str]| {
        let keys: Vec<_> = places
            .iter()
            .map(|place| format!("example.com/{place}"))
            .collect();
        let found = test
            .store
            .facts_about(&StemmedText::parse("npm or pnpm?"), &keys, None, 9)
            .unwrap();
        found
            .into_iter()
            .map(|(fact, _)| fact.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(about(&["shop"]), ["use pnpm"]);
    assert_eq!(about(&["sho"]), Vec::<String>::new());
    assert_eq!(about(&["shop", "docs"]).len(), 2);
}

#[test]
fn a_secret_in_a_fact_is_redacted() {
    let test = Test::new();
    let secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    test.say(&format!("the bot's token is {secret}"), Trust::User);
    let dump = test.store.dump().unwrap();
    assert!(
        !dump.contains(secret) && dump.contains("[redacted:"),
        "{dump}"
    );
    assert!(!dump.contains("NOT SHOWN"), "{dump}");
}

#[test]
fn a_fact_can_be_forgotten() {
    let test = Test::new();
    let id = test.say("use pnpm", Trust::User).id;
    assert!(test.store.forget_fact(id).unwrap());
    assert!(!test.store.forget_fact(id).unwrap());
    assert!(test.texts(true).is_empty());
    assert!(
        !test
            .store
            .set_pinned(FactId::from_bytes([0; 16]), true)
            .unwrap()
    );
}

#[test]
fn any_text_is_a_fact() {
    let test = Test::new();
    for text in [
        "",
        "\0",
        "the",
        "'); DROP TABLE facts; --",
        "\u{202e}🧪",
        "a",
        &"x ".repeat(100_000),
    ] {
        test.say(text, Trust::User);
        let words = StemmedText::parse(text);
        let session = SessionId::new(text);
        test.store
            .facts_about(&words, &[text.to_owned()], Some(&session), 5)
            .unwrap();
        test.store.items_injected_into(&session).unwrap();
        test.store.facts_by_prefix(text, 5).unwrap();
    }
}
