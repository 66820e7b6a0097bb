//! Measures lookups in each memory layer: the 50th and the 99th percentile.
//!
//!     cargo run --release -p throughline-serve --example layer_speed

use std::time::{Duration, Instant};

use jiff::Timestamp;
use memory::layers::{Card, CardKey, ContextCache, WorkingMemory};
use testkit::store::{START, TestStore, append_script};

const LOOKUPS: usize = 20_000;
const FILES: usize = 120;

fn main() -> Result<(), Box<dyn std::error::Error>> {
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
    let now: Timestamp = START;
    report(
        "L1",
        keys.iter()
            .map(|key| time(|| drop(working.lookup(key, now).cloned()))),
    );
    report(
        "L1.5",
        keys.iter().map(|key| time(|| drop(cache.lookup(key, now)))),
    );
    let store = TestStore::empty();
    let mut script = String::from("session s1 in /src/shop\n");
    for number in 0..2_000 {
        script += &format!(
            "u step {number}\na use Edit /src/shop/{number}.rs\nt edit /src/shop/{number}.rs\n"
        );
    }
    let ids = append_script(&store, &script);
    let reads = ids.iter().cycle().step_by(13).take(LOOKUPS / 4);
    report(
        "L2, a record",
        reads.map(|id| time(|| drop(store.read_record(*id)))),
    );
    let workspace = "example.com/shop";
    let archived = keys.iter().take(LOOKUPS / 4);
    report(
        "L2, an archived card",
        archived.map(|key| time(|| drop(store.archived_card(workspace, key)))),
    );
    report(
        "generation",
        (0..LOOKUPS / 4).map(|_| time(|| drop(store.card_generation()))),
    );
    Ok(())
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[expect(clippy::print_stdout, reason = "the table is the output")]
fn report(name: &str, times: impl Iterator<Item = Duration>) {
    let mut times: Vec<_> = times.collect();
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100];
    println!("{name:<22} p50 {:>9.1?}  p99 {:>9.1?}", at(50), at(99));
}
