use super::shape::{Turn, turns};
use super::*;
use crate::transcript::transcript;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    check_cut(text, text, &[], expected);
}

/// Of `before`, `sent` is sent; the numbers of its lines are in front of them.
#[track_caller]
fn check_cut(before: &str, sent: &str, open: &[&str], expected: &[&str]) {
    let messages = transcript(sent);
    let open: Vec<_> = open.iter().map(|call| CallId::new(*call)).collect();
    let found = broken(&Sent {
        before: &transcript(before),
        messages: &messages,
        open: &open,
        window: Some(Tokens(5_000)),
    });
    let found: Vec<_> = found.iter().map(|broken| format!("{broken:?}")).collect();
    assert_eq!(found, expected, "{sent}");
}

#[test]
fn a_sound_conversation_breaks_nothing() {
    check(
        "u prompt\na think + say + use #1 @A\na use #2 @A\nu result #1\n\
         u result #2 + image\na done",
        &[],
    );
    check_cut("", "u prompt\na use #1 + use #2\nu result #1", &["2"], &[]);
}

#[test]
fn the_user_begins() {
    check("a hello", &["FirstNotUser"]);
}

#[test]
fn texts_are_not_blank_and_turns_not_empty() {
    check("u blank\na hello", &["BlankText(0)"]);
    check("u prompt\ns boundary\nu more", &["EmptyTurn(1)"]);
}

#[test]
fn roles_take_turns() {
    let messages = transcript("u prompt");
    let turn: Vec<Turn<'_>> = turns(&messages);
    let twice = [turn.clone(), turn].concat();
    assert_eq!(anthropic::broken(&twice), [Broken::RoleTwice(1)]);
}

#[test]
fn calls_are_answered_in_the_next_turn() {
    check(
        "u prompt\na use #1\nu more",
        &[
            r#"Unanswered(CallId("1"))"#,
            r#"ChatUnanswered(CallId("1"))"#,
            r#"CallWithoutOutput(CallId("1"))"#,
        ],
    );
    check(
        "u prompt\na use #1\nu more\na well\nu result #1",
        &[
            r#"Unanswered(CallId("1"))"#,
            r#"StrayResult(CallId("1"))"#,
            r#"ChatUnanswered(CallId("1"))"#,
            r#"ToolNotAfterCalls(CallId("1"))"#,
        ],
    );
    check_cut(
        "",
        "u prompt\na use #1\nu more",
        &["1"],
        &[
            "ResultsNotFirst(2)",
            r#"ChatUnanswered(CallId("1"))"#,
            r#"ToolNotAfterCalls(CallId("1"))"#,
        ],
    );
}

#[test]
fn results_have_calls() {
    check(
        "u result #1",
        &[
            r#"StrayResult(CallId("1"))"#,
            r#"ToolNotAfterCalls(CallId("1"))"#,
            r#"OutputWithoutCall(CallId("1"))"#,
        ],
    );
    check(
        "u prompt + result #",
        &["NamelessResult(0)", "ResultsNotFirst(0)"],
    );
}

#[test]
fn calls_and_results_come_once() {
    check(
        "u prompt\na use #1\nu result #1\na use #1\nu result #1",
        &[r#"CallTwice(CallId("1"))"#, r#"OutputTwice(CallId("1"))"#],
    );
    check(
        "u prompt\na use #1\nu result #1 + result #1",
        &[
            r#"ResultTwice(CallId("1"))"#,
            r#"ToolNotAfterCalls(CallId("1"))"#,
            r#"OutputTwice(CallId("1"))"#,
        ],
    );
}

#[test]
fn results_come_first() {
    check(
        "u prompt\na use #1 + use #2\nu result #1 + more + result #2",
        &[
            "ResultsNotFirst(2)",
            r#"ChatUnanswered(CallId("2"))"#,
            r#"ToolNotAfterCalls(CallId("2"))"#,
        ],
    );
}

#[test]
fn everybody_keeps_to_their_blocks() {
    check("u think + prompt", &["UserThinks(0)", "ReasoningAlone(0)"]);
    check(
        "u use #1\na hello",
        &[
            r#"UserCalls(CallId("1"))"#,
            r#"Unanswered(CallId("1"))"#,
            r#"CallWithoutOutput(CallId("1"))"#,
        ],
    );
    check("u prompt\na image", &["AssistantImage(1)"]);
    check(
        "u prompt\na use #1\nu result #1\na result #",
        &["AssistantAnswers(3)"],
    );
    check("u prompt + error", &["NotContent(0)"]);
}

#[test]
fn thoughts_lead_somewhere_and_stay_as_they_are() {
    check(
        "u prompt\na say + think",
        &["ThinkingLast(1)", "ReasoningAlone(2)"],
    );
    check_cut(
        "u prompt\na think + say",
        "u prompt\na say",
        &[],
        &["ThinkingChanged"],
    );
    check_cut(
        "u prompt\na think ~5 + say",
        "u prompt\na think ~6 + say",
        &[],
        &["ThinkingChanged"],
    );
}

/// A log in order has no excuse: whatever of its last thoughts is altered, left out or moved is
/// noticed.
#[test]
fn a_tampered_transcript_is_noticed() {
    let changed = &["ThinkingChanged"];
    // A thought at the end of its response, which goes on in another.
    check_cut(
        "u prompt\na say + think @A\na more @B",
        "u prompt\na say @A\na more @B",
        &[],
        changed,
    );
    // A thought between two calls, and one in an entry of its own.
    check_cut(
        "u prompt\na use #1 + think + use #2\nu result #1 + result #2",
        "u prompt\na use #1 + use #2\nu result #1 + result #2",
        &[],
        changed,
    );
    let before = transcript("u prompt\na think @A\na say @A");
    let mut sent = transcript("u prompt\na say @A");
    sent[1].id = MessageId::new("3");
    assert_eq!(whole::broken(&before, &sent), [Broken::ThinkingChanged]);
    // In an earlier turn it may be missing, but not be another.
    let before = "u prompt\na think ~5 + say\nu go\na done";
    check_cut(before, "u prompt\na say\nu go\na done", &[], &[]);
    check_cut(
        before,
        "u prompt\na think ~6 + say\nu go\na done",
        &[],
        changed,
    );
    check_cut(
        "u prompt\na think ~5 + say + think ~6 + more",
        "u prompt\na think ~6 + say + think ~5 + more",
        &[],
        changed,
    );
}

#[test]
fn only_what_a_damaged_log_cannot_say_is_excused() {
    // The call was written before and still waits, so the thought before it leads to nothing.
    let damaged = "u prompt\na use #1 @A\na think + use #1 @B\nu result #1";
    let mut sent = transcript("u prompt\na use #1 @A\nu result #1");
    sent[2].id = MessageId::new("4");
    assert_eq!(whole::broken(&transcript(damaged), &sent), []);
    // Not even then is a thought altered.
    check_cut(
        "u prompt\na think ~5 + use #1 @A\na say + use #1 @A\nu result #1",
        "u prompt\na think ~6 + use #1 @A\na say @A\nu result #1",
        &[],
        &["ThinkingChanged"],
    );
}

#[test]
fn a_response_is_whole() {
    check_cut(
        "a hello @A\na goodbye @A",
        "u prompt\na goodbye @A\nu so\na hello @A",
        &[],
        &["PartedResponse(\"A\")"],
    );
    check_cut(
        "a hello @A\na goodbye @A\na more @A",
        "u prompt\na goodbye @A",
        &[],
        &["PartedResponse(\"A\")"],
    );
}

#[test]
fn a_thought_is_not_parted_from_what_it_led_to() {
    // Of four lines the third and fourth are sent, under their own numbers.
    let before = transcript("u prompt\nu again\na think\na say");
    let mut sent = transcript("u prompt\na say");
    sent[1].id = MessageId::new("4");
    let found = whole::broken(&before, &sent);
    assert_eq!(found, [Broken::ReasoningLost(MessageId::new("3"))]);
}

#[test]
fn a_window_has_an_end() {
    check(
        "u prompt ~5001",
        &["TooLong { tokens: Tokens(5001), window: Tokens(5000) }"],
    );
}
