//! Capsules of small stores, and what forgetting leaves of them.

use memory::layers::CapsuleKind;
use memory::{FactKind, RecordId, Trust, Workspace};
use store::forget::Selection;
use store::{NewFact, Store};
use testkit::store::{START, TestStore, append_script};

use super::*;

const SHOP: &str = "example.com/shop";
const BANK: &str = "example.com/bank";

/// Two workspaces, in each of which a session read a skill.
fn two_workspaces() -> (TestStore, Vec<RecordId>) {
    let store = TestStore::empty();
    let filler = "and then check the result on the staging server ".repeat(30);
    let skill = |folder: &str, name: &str, word: &str| {
        format!(
            "session {name} in /src/{folder}\nu use the {name} skill\n\
             a use Read /src/{folder}/.claude/skills/{name}/SKILL.md\n\
             t result # Skill {name} with the word {word} {filler}\n\
             a The skill says what to do.\n"
        )
    };
    let mut ids = append_script(&store, &skill("shop", "deploy", "marmalade"));
    ids.extend(append_script(&store, &skill("bank", "audit", "parchment")));
    (store, ids)
}

fn preference(store: &Store, workspace: &str, text: &str) -> memory::FactId {
    let fact = NewFact {
        workspace: Some(Workspace {
            key: workspace.to_owned(),
            root: format!("/src/{workspace}"),
        }),
        kind: FactKind::Preference,
        text: text.to_owned(),
        tags: Vec::new(),
        trust: Trust::User,
        pinned: false,
        at: START,
        sources: Vec::new(),
    };
    store.remember(fact).unwrap().id
}

fn all_text(store: &Store, workspace: &str) -> String {
    serde_json::to_string(&store.capsules(workspace).unwrap()).unwrap()
}

fn record_with(store: &Store, ids: &[RecordId], word: &str) -> Vec<RecordId> {
    let holds = |id: &&RecordId| {
        let record = store.read_record(**id).unwrap();
        record.is_some_and(|record| record.content.contains(word))
    };
    ids.iter().filter(holds).copied().collect()
}

#[test]
fn a_skill_becomes_a_capsule_with_its_entry() {
    let (store, _) = two_workspaces();
    let capsules = refresh_capsules(&store, SHOP).unwrap();
    let skill = find_capsule(&capsules, "skill:deploy").unwrap();
    assert_eq!(skill.kind, CapsuleKind::Skill);
    assert!(skill.percent() <= 30.0 && skill.original_tokens > skill.tokens);
    assert!(skill.summary.contains("marmalade"), "{}", skill.summary);
    assert_eq!(skill.made_of.len(), 1);
    assert!(find_capsule(&capsules, "nothing").is_err());
    // A second run changes no byte of the store.
    let before = store.dump().unwrap();
    assert_eq!(refresh_capsules(&store, SHOP).unwrap(), capsules);
    assert_eq!(store.dump().unwrap(), before);
}

#[test]
fn no_capsule_crosses_workspaces() {
    let (store, _) = two_workspaces();
    for number in 0..12 {
        preference(
            &store,
            BANK,
            &format!("always seal parchment number {number} with green wax"),
        );
    }
    refresh_all_capsules(&store, &|| false).unwrap();
    let (shop, bank) = (all_text(&store, SHOP), all_text(&store, BANK));
    assert!(
        shop.contains("marmalade") && !shop.contains("parchment"),
        "{shop}"
    );
    assert!(
        bank.contains("parchment") && !bank.contains("marmalade"),
        "{bank}"
    );
    let all = store.capsules(SHOP).unwrap();
    let near = search_capsules(&store, SHOP, &all, "the audit skill with parchment", START);
    assert_eq!(near.unwrap(), Vec::new());
}

#[test]
fn forgotten_text_is_in_no_capsule() {
    for whole_session in [false, true] {
        let (store, ids) = two_workspaces();
        refresh_all_capsules(&store, &|| false).unwrap();
        assert!(all_text(&store, SHOP).contains("marmalade"));
        let selection = if whole_session {
            Selection {
                sessions: vec![memory::SessionId::new("claude:deploy")],
                ..Selection::default()
            }
        } else {
            Selection {
                records: record_with(&store, &ids, "marmalade"),
                ..Selection::default()
            }
        };
        let plan = store.plan_forget(&selection).unwrap();
        store.forget(plan, START).unwrap();
        assert!(!store.dump().unwrap().contains("marmalade"));
        refresh_all_capsules(&store, &|| false).unwrap();
        assert!(!store.dump().unwrap().contains("marmalade"));
        assert!(all_text(&store, BANK).contains("parchment"));
    }
}

#[test]
fn a_forgotten_preference_is_in_no_capsule() {
    let (store, _) = two_workspaces();
    let word = preference(&store, SHOP, "always say tamarind before a release");
    for number in 0..12 {
        let text = format!("never merge branch number {number} before the tests pass");
        preference(&store, SHOP, &text);
    }
    refresh_capsules(&store, SHOP).unwrap();
    assert!(all_text(&store, SHOP).contains("tamarind"));
    store.forget_fact(word).unwrap();
    assert!(!store.dump().unwrap().contains("tamarind"));
    refresh_capsules(&store, SHOP).unwrap();
    assert!(!all_text(&store, SHOP).contains("tamarind"));
}

#[test]
fn capsules_of_text_that_is_forgotten_meanwhile_are_not_written() {
    let (store, _) = two_workspaces();
    let capsules = refresh_capsules(&store, SHOP).unwrap();
    let generation = store.card_generation().unwrap();
    let word = preference(&store, SHOP, "always say tamarind before a release");
    store.forget_fact(word).unwrap();
    let mut changed = capsules;
    changed.truncate(1);
    changed[0].summary.push_str(" tamarind");
    assert!(!store.put_capsules(SHOP, generation, changed).unwrap());
    assert!(!all_text(&store, SHOP).contains("tamarind"));
}
