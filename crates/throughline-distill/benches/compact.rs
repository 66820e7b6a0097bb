//! Measures the CPU time of a compaction.
//!
//!     cargo bench -p throughline-distill --bench compact
//!
//! The program compacts conversations of 1,000, 10,000 and 100,000 messages with notes that cover
//! all but the end. It prints the time next to two lower bounds from the same run: cloning the
//! messages, and estimating their tokens, which every compaction needs. On Linux the time is CPU
//! time, so that the load of the machine does not matter.

#![expect(clippy::print_stdout, reason = "the figures are the output")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run should say where"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use memory::summary::Template;
use memory::{Message, Summary, Tokens};
use testkit::transcript::transcript;
use throughline_distill::compact::{
    CompactionLimits, CompactionTask, MessageTies, Trigger, compact, compact_from_messages,
    merge_turns,
};
use throughline_distill::summary::RunningSummary;

const RUNS: u32 = 7;
const SPAN: Duration = Duration::from_secs(1);

fn main() {
    println!(
        "messages   text MB  clone ms  estimate ms  compact ms  x estimate  cut alone ms  full ms"
    );
    for count in [1_000, 10_000, 100_000] {
        let messages = conversation(count);
        let bytes: usize = messages.iter().map(size).sum();
        let cloned = mean(|| drop(black_box(messages.clone())));
        let estimated = mean(|| {
            black_box(messages.iter().map(Message::tokens).sum::<Tokens>());
        });
        let summary = Summary::parse("# Task\nSort the lists.\n# Worklog\nSorted half of them.\n");
        let notes = RunningSummary {
            summary,
            file: "summary.md".to_owned(),
            last: Some(messages[messages.len() - 40].id.clone()),
        };
        let limits = CompactionLimits::default();
        let template = Template::default();
        let task = CompactionTask {
            messages: &messages,
            visible: &messages,
            notes: Ok(Some(&notes)),
            template: &template,
            transcript: Some("log.jsonl"),
            restored: None,
            remembered: None,
            uses_notes: true,
            hook_results: &[],
            measured_tokens: None,
            trigger: Trigger::Auto,
            limits: &limits,
        };
        let compacted = mean(|| drop(black_box(compact(&task).unwrap())));
        let whole = mean(|| drop(black_box(compact_from_messages(&task).unwrap())));
        let cut = mean(|| {
            let from = MessageTies::of(&messages).move_cut_back(messages.len() - 40);
            drop(black_box(merge_turns(&messages[from..])));
        });
        println!(
            "{count:>8}  {:>8.1}  {:>8.2}  {:>11.2}  {:>10.2}  {:>10.2}  {:>12.2}  {:>7.2}",
            bytes as f64 / 1e6,
            ms(cloned),
            ms(estimated),
            ms(compacted),
            compacted.as_secs_f64() / estimated.as_secs_f64(),
            ms(cut),
            ms(whole),
        );
    }
}

/// Returns a conversation that repeats a prompt, thinking, two calls with results, and an answer.
fn conversation(count: usize) -> Vec<Message> {
    let mut text = String::new();
    let mut lines = 0;
    for round in 0.. {
        if lines >= count {
            break;
        }
        text += &format!(
            "u prompt ~40\na think ~60 + text ~20 + use #{round}a @{round}A\n\
             a use #{round}b @{round}A\nu result #{round}a ~150\nu result #{round}b ~300\n\
             a text ~80 @{round}B\n"
        );
        lines += 6;
    }
    let mut messages = transcript(&text);
    messages.truncate(count - count % 6);
    messages
}

fn size(message: &Message) -> usize {
    let tokens: Tokens = message.tokens();
    usize::try_from(tokens.0).unwrap() * 3
}

/// Returns the mean time of many runs, because the clock counts in milliseconds.
fn mean(mut run: impl FnMut()) -> Duration {
    run();
    let (mut runs, started) = (0, Instant::now());
    let before = processor_time();
    while runs < RUNS || started.elapsed() < SPAN {
        run();
        runs += 1;
    }
    let spent = match before.zip(processor_time()) {
        Some((before, after)) => after - before,
        None => started.elapsed(),
    };
    spent / runs
}

/// Returns the CPU time of this thread.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
