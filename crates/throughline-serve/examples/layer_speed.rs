//! Measures lookups in each memory layer and what the layers add to a hook: the 50th and the 99th
//! percentile, beside the cost of measuring nothing.
//!
//!     cargo run --release -p throughline-serve --example layer_speed

use std::time::{Duration, Instant};

use jiff::SignedDuration;
use memory::layers::{Card, CardKey, ContextCache, WorkingMemory};
use memory::{MemoryItem, SessionId};
use testkit::store::{START, TestStore, append_script};
use throughline_serve::ServeSettings;
use throughline_serve::live::LiveLayers;

const LOOKUPS: usize = 20_000;
const FILES: usize = 120;
/// The number of items that a prompt considers.
const ITEMS: usize = 8;
const WORKSPACE: &str = "example.com/shop";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    report("nothing", None, (0..LOOKUPS).map(|_| time(|| ())));
    measure_policies();
    measure_live()?;
    Ok(())
}

/// Measures the policies on full layers.
fn measure_policies() {
    let card = Card::new(
        &"a line of a card that holds a few words\n".repeat(12),
        Vec::new(),
    );
    let key = |number: usize| CardKey::File(format!("crates/part/src/file{number}.rs"));
    let (mut working, mut cache) = (WorkingMemory::default(), ContextCache::default());
    for number in 0..FILES {
        working.insert(key(number), card.clone(), START);
        cache.insert(key(number), card.clone(), START);
    }
    let keys: Vec<_> = (0..LOOKUPS).map(|number| key(number * 7 % FILES)).collect();
    let in_working = |key: &CardKey| time(|| drop(working.lookup(key, START).cloned()));
    let target = Some(Duration::from_micros(50));
    report("L1", target, keys.iter().map(in_working));
    let in_cache = |key: &CardKey| time(|| drop(cache.lookup(key, START)));
    let target = Some(Duration::from_micros(100));
    report("L1.5", target, keys.iter().map(in_cache));
}

/// Measures the store, and the layers of a live session of 2,000 steps.
fn measure_live() -> Result<(), Box<dyn std::error::Error>> {
    let (store, layers) = (TestStore::empty(), LiveLayers::default());
    layers.start(&store)?;
    let mut script = String::from("session s1 in /src/shop\n");
    for number in 0..2_000 {
        script += &format!(
            "u step {number}\na use Edit /src/shop/{number}.rs\nt edit /src/shop/{number}.rs\n"
        );
    }
    let ids = append_script(&store, &script);
    let target = Some(Duration::from_millis(2));
    let reads = ids.iter().cycle().step_by(13).take(LOOKUPS / 4);
    let read = |id| time(|| drop(store.read_record(id)));
    report("L2, a record", target, reads.copied().map(read));
    let archived = |number| {
        let key = CardKey::File(format!("src/{number}.rs"));
        time(|| drop(store.archived_card(WORKSPACE, &key)))
    };
    report(
        "L2, an archived card",
        target,
        (0..LOOKUPS / 4).map(archived),
    );

    let now = START + SignedDuration::from_mins(i64::try_from(script.lines().count())?);
    layers.feed(&store, &ServeSettings::default(), now)?;
    let session = SessionId::new("claude:s1");
    let items = ids.iter().take(ITEMS);
    let items: Vec<_> = items
        .map(|id| (MemoryItem::Record(*id), "a line of a record".to_owned()))
        .collect();
    let prompt = |_| {
        time(|| {
            let generation = store.card_generation().unwrap_or_default();
            layers.count_prompt(WORKSPACE, Some(&session), &items, generation, now);
            layers.measure_answer(WORKSPACE, 1_000, now);
        })
    };
    let target = Some(Duration::from_micros(300));
    report("hook: a prompt", target, (0..LOOKUPS / 4).map(prompt));
    let restore = |_| time(|| drop(layers.restore(&store, &session, now)));
    report("hook: a compaction", None, (0..200).map(restore));
    Ok(())
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn report(name: &str, target: Option<Duration>, times: impl Iterator<Item = Duration>) {
    let mut times: Vec<_> = times.collect();
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    let (median, most) = (at(50), at(99));
    let target = target.map_or_else(String::new, |target| {
        let verdict = if most <= target { "ok" } else { "missed" };
        format!("  target {target:?}, {verdict}")
    });
    println!("{name:<22} p50 {median:>9.1?}  p99 {most:>9.1?}{target}");
}
