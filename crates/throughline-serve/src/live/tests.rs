//! The layers of live sessions against a store.

use memory::{FactKind, SessionId, Trust};
use store::NewFact;
use store::forget::Selection;
use testkit::store::{START, TestStore, append_script};

use super::*;
use crate::ServeSettings;

const WORKSPACE: &str = "example.com/shop";

fn script(steps: usize) -> String {
    let mut script = String::from("session s1 in /src/shop\n");
    for step in 0..steps {
        let file = step % 7;
        script += &format!(
            "u do step {step} of the totals\n\
             a use Edit /src/shop/src/{file}.rs\n\
             t edit /src/shop/src/{file}.rs\n\
             a use Bash cargo test part{file}\n\
             t failed error: part {step} fails\n\
             a Step {step} is done.\n"
        );
    }
    script
}

/// The time just after a script of this length.
fn after(script: &str) -> Timestamp {
    let minutes = i64::try_from(script.lines().count()).unwrap();
    START + SignedDuration::from_mins(minutes)
}

fn feed(layers: &LiveLayers, store: &Store, now: Timestamp) {
    layers.feed(store, &ServeSettings::default(), now).unwrap();
}

fn session() -> SessionId {
    SessionId::new("claude:s1")
}

fn lookups(layers: &LiveLayers) -> BTreeMap<(LookupSource, Layer), u64> {
    let state = layers.lock();
    let mut all = BTreeMap::new();
    for counts in state
        .workspaces
        .values()
        .flat_map(|shared| shared.counts.values())
    {
        for (key, count) in &counts.lookups {
            *all.entry(*key).or_default() += count;
        }
    }
    all
}

#[test]
fn a_restart_between_two_pieces_changes_nothing() {
    let whole = script(40);
    for cut in [1, 2, 7, 23, 39] {
        let part = script(cut);
        let (store, restarted) = (TestStore::empty(), LiveLayers::default());
        let first = LiveLayers::default();
        first.start(&store).unwrap();
        append_script(&store, &part);
        feed(&first, &store, after(&part));
        // The other process starts after the first part was stored, and was not there to see it.
        restarted.start(&store).unwrap();
        append_script(&store, &whole);
        for layers in [&first, &restarted] {
            feed(layers, &store, after(&whole));
        }
        let memory = |layers: &LiveLayers| layers.session_memory(&store, &session()).unwrap();
        let [one, two] = [&first, &restarted].map(|layers| memory(layers).unwrap());
        let cards = |memory: &SessionMemory| {
            let cards = memory.working.used_cards();
            cards
                .map(|(key, card)| (key.clone(), card.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(cards(&one), cards(&two), "cut after {cut} steps");
        assert_eq!(one.touches, two.touches);
    }
}

#[test]
fn a_lookup_is_counted_before_the_card_is_made() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let text = script(14);
    append_script(&store, &text);
    feed(&layers, &store, after(&text));
    let counts = lookups(&layers);
    let touch = |layer| {
        counts
            .get(&(LookupSource::Touch, layer))
            .copied()
            .unwrap_or(0)
    };
    // Seven files, one family of commands and one error are new; the rest was seen before.
    assert_eq!(touch(Layer::Miss), 9, "{counts:?}");
    assert_eq!(touch(Layer::Working), 14 * 3 - 9, "{counts:?}");
    assert_eq!(counts.get(&(LookupSource::Prompt, Layer::Miss)), Some(&1));
    layers.flush(&store, FlushMode::Now, after(&text)).unwrap();
    let stored = store.layer_lookups(WORKSPACE, 0).unwrap();
    let total: u64 = stored.iter().map(|(.., count)| count).sum();
    assert_eq!(total, counts.values().sum::<u64>());
    assert_eq!(lookups(&layers), BTreeMap::new());
}

#[test]
fn no_card_crosses_workspaces() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let shop = script(3);
    let bank = "session s2 in /src/bank\nu count the vault\na use Edit /src/bank/vault.rs\nt edit \
                /src/bank/vault.rs\na done\n";
    append_script(&store, &shop);
    append_script(&store, bank);
    feed(&layers, &store, after(&shop));
    // Much later both sessions are closed, and their files go to the caches.
    let later = after(&shop) + SignedDuration::from_hours(3);
    feed(&layers, &store, later);
    layers.flush(&store, FlushMode::Now, later).unwrap();
    assert_eq!(layers.live_sessions(), 0);
    let keys = |workspace: &str| {
        let entries = store.context_cache(workspace).unwrap();
        entries
            .iter()
            .map(|(key, _)| key.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(keys("example.com/bank"), ["file:/src/bank/vault.rs"]);
    assert_eq!(
        keys(WORKSPACE),
        [
            "file:/src/shop/src/0.rs", "file:/src/shop/src/1.rs", "file:/src/shop/src/2.rs"
        ]
    );
}

#[test]
fn forgotten_text_is_in_no_layer() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let text = script(3) + "u the launch word is marmalade\na I will keep it.\n";
    let ids = append_script(&store, &text);
    let now = after(&text);
    feed(&layers, &store, now);
    let later = now + SignedDuration::from_mins(2);
    layers.flush(&store, FlushMode::Now, later).unwrap();
    let holds = |layers: &LiveLayers| format!("{:?}", layers.lock()).contains("marmalade");
    assert!(holds(&layers));
    let prompt = ids.iter().copied().find(|id| {
        let record = store.read_record(*id).unwrap();
        record.is_some_and(|record| record.content.contains("marmalade"))
    });
    let plan = store
        .plan_forget(&Selection {
            records: prompt.into_iter().collect(),
            ..Selection::default()
        })
        .unwrap();
    store.forget(plan, later).unwrap();
    // Whatever is asked next finds no card of it.
    assert!(layers.session_memory(&store, &session()).unwrap().is_none());
    assert!(!holds(&layers));
    assert!(!store.dump().unwrap().contains("marmalade"));
    feed(&layers, &store, later);
    layers.flush(&store, FlushMode::Now, later).unwrap();
    assert!(!holds(&layers) && !store.dump().unwrap().contains("marmalade"));
}

/// Another request may forget a text after it was read for a prompt or a client.
#[test]
fn text_that_was_forgotten_while_it_was_read_enters_no_cache() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let text = script(3);
    let ids = append_script(&store, &text);
    let now = after(&text);
    feed(&layers, &store, now);
    let read = store.card_generation().unwrap();
    let items = [(MemoryItem::Record(ids[0]), "marmalade".to_owned())];
    let cards = [(CardKey::Task, Some(Card::new("marmalade", Vec::new())))];
    let holds = || format!("{:?}", layers.lock()).contains("marmalade");
    let selection = Selection {
        records: vec![ids[0]],
        ..Selection::default()
    };
    let plan = store.plan_forget(&selection).unwrap();
    store.forget(plan, now).unwrap();
    layers
        .count_pull(&store, WORKSPACE, &cards, read, now)
        .unwrap();
    layers.count_prompt(WORKSPACE, None, &items, read, now);
    assert!(!holds());
    let current = store.card_generation().unwrap();
    layers.count_prompt(WORKSPACE, None, &items, current, now);
    assert!(holds());
}

#[test]
fn a_flush_of_forgotten_cards_writes_none() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    let text = script(3);
    append_script(&store, &text);
    let flush = LayerFlush {
        workspace: WORKSPACE.to_owned(),
        generation: store.card_generation().unwrap(),
        archived: vec![(CardKey::Task, Card::new("old words", Vec::new()))],
        ..LayerFlush::default()
    };
    let fact = NewFact {
        workspace: None,
        kind: FactKind::Note,
        text: "herons stand in water".to_owned(),
        tags: Vec::new(),
        trust: Trust::User,
        pinned: false,
        at: START,
        sources: Vec::new(),
    };
    let fact = store.remember(fact).unwrap();
    store.forget_fact(fact.id).unwrap();
    assert!(!store.flush_layers(flush.clone()).unwrap());
    assert_eq!(
        store.archived_card(WORKSPACE, &CardKey::Task).unwrap(),
        None
    );
    let generation = store.card_generation().unwrap();
    assert!(
        store
            .flush_layers(LayerFlush {
                generation,
                ..flush
            })
            .unwrap()
    );
    assert!(
        store
            .archived_card(WORKSPACE, &CardKey::Task)
            .unwrap()
            .is_some()
    );
    drop(layers);
}

#[test]
fn at_most_32_sessions_are_live() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let mut text = String::new();
    for number in 0..40 {
        text += &format!(
            "session s{number} in /src/shop\nu hello\n\
             a use Read /src/shop/{number}.rs\nt result ok\n"
        );
    }
    append_script(&store, &text);
    feed(&layers, &store, START + SignedDuration::from_mins(90));
    assert_eq!(layers.live_sessions(), SESSIONS_MAX);
    let largest = layers
        .lock()
        .sessions
        .values()
        .map(|live| live.memory.bytes())
        .max();
    assert!(largest.unwrap() < SESSION_BYTES_MAX);
}

#[test]
fn a_compacted_session_gets_its_files_from_working_memory() {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store).unwrap();
    let text = script(14);
    append_script(&store, &text);
    let now = after(&text);
    feed(&layers, &store, now);
    let live = layers.restore(&store, &session(), now).unwrap().unwrap();
    let stored = from_store::restored_files(&store, &session(), WORKSPACE, now).unwrap();
    let shown = |restored: &RestoredFiles| {
        let used = restored.used.iter();
        used.map(|used| {
            (
                used.file.path.clone(),
                used.card.as_ref().map(|c| c.text.clone()),
            )
        })
        .collect::<Vec<_>>()
    };
    assert_eq!(live.used.len(), 7);
    assert_eq!(shown(&live), shown(&stored));
    let counts = lookups(&layers);
    assert_eq!(
        counts.get(&(LookupSource::Restore, Layer::Working)),
        Some(&7)
    );
}
