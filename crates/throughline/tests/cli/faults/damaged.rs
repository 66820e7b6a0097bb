//! Damaged stores: the messages, and how everything is recovered.

use std::fs;

use super::{Machine, outcome, soaking};

fn records(dump: &str) -> Vec<String> {
    let (_, records) = dump.split_once("# records\n").unwrap();
    let mut records: Vec<_> = records.lines().map(str::to_owned).collect();
    records.sort();
    records
}

#[test]
fn after_a_repair_the_next_sweep_brings_everything_back() {
    let whole = Machine::new(12);
    whole.run_ingest();
    let expected = records(&whole.dump());
    let machine = Machine::new(12);
    machine.run_ingest();
    drop(machine.dump());
    let path = store::Store::database_path(&machine.store());
    let sound = fs::read(&path).unwrap();
    let pages = sound.len() / 4096;
    let rounds = if soaking() { pages.min(100) } else { 8 };
    let (mut lost, mut repairs) = (0, 0);
    for round in 0..rounds {
        let mut bytes = sound.clone();
        let page = 4096 * (round * pages / rounds);
        bytes[page..page + 4096].fill(0);
        fs::write(&path, bytes).unwrap();
        let ran = machine.env.run(&["doctor", "--repair", "--json"]);
        assert_eq!(ran.code, Some(0), "page {page}: {}", ran.stderr);
        if ran.stdout.is_empty() {
            // An unused page.
            assert!(ran.stderr.contains("Nothing to repair"), "{}", ran.stderr);
        } else {
            let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            lost += told["lost_records"].as_u64().unwrap();
            repairs += 1;
        }
        machine.run_ingest();
        let found = records(&machine.dump());
        let missing = expected.iter().find(|record| !found.contains(record));
        let instead = missing.and_then(|record| {
            let like = |other: &&String| other.get(..40) == record.get(..40);
            found.iter().find(like)
        });
        assert_eq!(missing, instead, "page {page}: {}", ran.stdout);
        assert_eq!(found.len(), expected.len(), "page {page}");
    }
    println!(
        "soak: zeroed page, repair, sweep | {repairs} repairs | {lost} records lost, all read again"
    );
}

#[test]
fn the_damaged_are_sent_to_the_doctor() {
    let machine = Machine::new(12);
    machine.run_ingest();
    let path = store::Store::database_path(&machine.store());
    let mut bytes = fs::read(&path).unwrap();
    bytes[..100].fill(7);
    fs::write(&path, &bytes).unwrap();
    let ran = machine.env.run(&["sessions"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("doctor --repair"), "{}", ran.stderr);
    let ran = machine.env.run(&["doctor"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stdout.contains("PROBLEM") && ran.stdout.contains("--repair"),
        "{}",
        ran.stdout
    );
    let ran = machine.env.run(&["doctor", "--repair"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("Repaired: "), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("kept in $HOME/memory/quarantine"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        fs::read(machine.store().join("quarantine/throughline.db")).unwrap(),
        bytes
    );
    assert_eq!(machine.env.run(&["sessions"]).code, Some(0));
    let ran = machine.env.run(&["doctor", "--deep"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let again = outcome(&mut machine.env.command(&["doctor", "--repair"]));
    assert!(again.1.contains("Nothing to repair"), "{}", again.1);
}
