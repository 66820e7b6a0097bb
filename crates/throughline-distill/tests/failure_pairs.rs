//! Do two failures have the same cause? The names of diagnostics are compared with labels: a pair
//! of outputs counts as found if they share a name. `tools.txt` says which names an output gets, no
//! more and no less.

use std::collections::BTreeSet;

use throughline_distill::signals::diagnostics::diagnostics;

struct LabelledFailure {
    cause: String,
    output: String,
}

fn failures(file: &str) -> Vec<LabelledFailure> {
    let mut parts = file.split("\n### ").map(|part| part.split_once('\n'));
    // The text before the first output describes the file.
    parts.next();
    let failures = parts.flatten().map(|(cause, output)| LabelledFailure {
        cause: cause.to_owned(),
        output: output.to_owned(),
    });
    failures.collect()
}

/// Returns the F1 score over all pairs, and the pairs that are wrong.
fn score(failures: &[LabelledFailure]) -> (f64, Vec<String>) {
    let names: Vec<BTreeSet<String>> = failures
        .iter()
        .map(|failure| {
            diagnostics(&failure.output)
                .into_iter()
                .map(|one| one.name)
                .collect()
        })
        .collect();
    let (mut found, mut missed, mut confused) = (0.0, 0.0, 0.0);
    let mut wrong = Vec::new();
    for (one, a) in failures.iter().enumerate() {
        for (other, b) in failures.iter().enumerate().skip(one + 1) {
            let is_same = a.cause == b.cause;
            let is_found = !names[one].is_disjoint(&names[other]);
            match (is_same, is_found) {
                (true, true) => found += 1.0,
                (true, false) => missed += 1.0,
                (false, true) => confused += 1.0,
                (false, false) => continue,
            }
            if is_same != is_found {
                let (first, second) = (&names[one], &names[other]);
                wrong.push(format!("{} {first:?} / {} {second:?}", a.cause, b.cause));
            }
        }
    }
    (2.0 * found / (2.0 * found + missed + confused), wrong)
}

#[track_caller]
#[expect(
    clippy::print_stdout,
    reason = "the score and the wrong pairs are the result"
)]
fn check(file: &str, causes_min: usize) {
    let failures = failures(file);
    let causes: BTreeSet<&str> = failures.iter().map(|one| one.cause.as_str()).collect();
    assert!(causes.len() >= causes_min, "{}", causes.len());
    let (f1, wrong) = score(&failures);
    println!(
        "F1 {f1:.3} of {} failures with {} causes",
        failures.len(),
        causes.len()
    );
    println!("{}", wrong.join("\n"));
    assert!(f1 >= 0.9, "F1 {f1:.3}\n{}", wrong.join("\n"));
}

#[test]
fn failures_that_were_seen_are_told_apart() {
    check(include_str!("failures/seen.txt"), 45);
}

#[test]
fn failures_that_were_held_out_are_told_apart() {
    check(include_str!("failures/held_out.txt"), 60);
}

#[test]
fn outputs_of_many_tools_get_their_names_and_no_others() {
    let file = include_str!("failures/tools.txt").replace("\\e", "\x1b");
    let failures = failures(&file);
    assert!(failures.len() >= 300, "{}", failures.len());
    let wrong = failures.iter().filter_map(|failure| {
        let names: Vec<String> = diagnostics(&failure.output)
            .into_iter()
            .map(|found| found.name)
            .collect();
        let names = match names.is_empty() {
            true => "-".to_owned(),
            false => names.join("; "),
        };
        (names != failure.cause).then(|| format!("{names}, not {}", failure.cause))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
