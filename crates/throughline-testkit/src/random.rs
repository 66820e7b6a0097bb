//! Random conversations for property tests, with everything that real logs hold: parallel calls,
//! calls open across messages, responses in several entries with results between them, thoughts,
//! boundaries, images, empty and huge messages, results without calls, ids used twice.

use memory::Message;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::transcript::transcript;

/// Few names, so that calls and responses repeat.
const CALLS: u8 = 9;
const RESPONSES: u8 = 6;

/// Returns conversations of up to `lines_max` messages.
pub fn transcripts(lines_max: usize) -> impl Strategy<Value = Vec<Message>> {
    vec(line(), 0..=lines_max).prop_map(|lines| transcript(&lines.join("\n")))
}

/// Returns conversations that a well-behaved agent could have had, with calls answered in order.
pub fn sound_transcripts(rounds_max: usize) -> impl Strategy<Value = Vec<Message>> {
    vec(round(), 0..=rounds_max).prop_map(|rounds| {
        let mut text = String::new();
        for (number, round) in rounds.iter().enumerate() {
            text += &round.replace('$', &format!("{number}x"));
            text.push('\n');
        }
        transcript(&text)
    })
}

fn line() -> impl Strategy<Value = String> {
    let user = vec(user_block(), 1..4).prop_map(|blocks| format!("u {}", blocks.join(" + ")));
    let assistant = (vec(assistant_block(), 1..4), response())
        .prop_map(|(blocks, response)| format!("a {}{response}", blocks.join(" + ")));
    let marker = prop_oneof![
        Just("s boundary".to_owned()),
        Just("u summary ~40".to_owned()),
        Just("s boundary + summary".to_owned()),
        Just("s note".to_owned()),
        Just("a error".to_owned()),
        Just("u error".to_owned()),
    ];
    prop_oneof![6 => user, 8 => assistant, 1 => marker]
}

fn response() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => Just(String::new()),
        2 => (0..RESPONSES).prop_map(|api| format!(" @R{api}")),
    ]
}

fn user_block() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => size().prop_map(|size| format!("prompt{size}")),
        5 => (0..CALLS, size()).prop_map(|(call, size)| format!("result #{call}{size}")),
        1 => Just("image".to_owned()),
        1 => Just("blank".to_owned()),
        1 => Just("result #".to_owned()),
        // Some logs write what a person ran as a call in the user's place.
        1 => (0..CALLS).prop_map(|call| format!("use #{call}")),
    ]
}

fn assistant_block() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => size().prop_map(|size| format!("text{size}")),
        2 => size().prop_map(|size| format!("think{size}")),
        5 => (0..CALLS).prop_map(|call| format!("use #{call}")),
        1 => (0..CALLS).prop_map(|call| format!("result #{call}")),
        1 => Just("blank".to_owned()),
        1 => Just("image".to_owned()),
    ]
}

fn size() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        12 => Just(""),
        4 => Just(" ~30"),
        2 => Just(" ~200"),
        1 => Just(" ~3000"),
    ]
}

/// A prompt, some responses with calls, and an answer. `$` stands for the round's number.
fn round() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("u prompt\na text ~20"),
        Just("u prompt ~30\na think + text\na use #$1 @$A\nu result #$1 ~200\na text @$B"),
        // A response in three entries, whose results come between them.
        Just(
            "u prompt\na think @$A\na use #$1 @$A\nu result #$1 ~200\n\
             a use #$2 @$A\nu result #$2\na text"
        ),
        // Calls that stay open across responses.
        Just("u prompt\na use #$1 @$A\na use #$2 @$B\nu result #$1\nu result #$2 ~3000\na text"),
        Just("u prompt + image\na use #$1 + use #$2 @$A\nu result #$2 + result #$1\na text ~30"),
        Just("s boundary\nu summary ~60\nu prompt\na text"),
    ]
    .prop_map(str::to_owned)
}
