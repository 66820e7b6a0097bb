//! The screen of patterns on a store with a repository on disk.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use crossterm::event::{KeyCode, KeyModifiers};
use distill::digest::{DigestOptions, digest_pending};
use jiff::SignedDuration;
use testkit::store::TestStore;

use crate::environment::Environment;
use crate::ui::tests::{TestUi, app, environment};

/// Three sessions in which the linter reports the same problem.
fn store_in(repository: &Path, environment: &Environment) -> TestStore {
    let session = |number: u32| {
        format!(
            "session s{number} in {}\n\
             u close the files {number}\n\
             a use Bash mise run lint {number}\n\
             t failed cart.go:12:9: Error return value of f.Close is not checked (errcheck)\n\
             u go on {number}\n\
             a Done {number}.\n",
            repository.display()
        )
    };
    let store = testkit::store::store(&(1..=3).map(session).collect::<String>());
    let options = DigestOptions {
        quiet_for: SignedDuration::ZERO,
        prices: &memory::Prices::default(),
        threads: 1,
        stop: &AtomicBool::new(false),
    };
    digest_pending(&store, &options, environment.now).unwrap();
    store
}

#[test]
fn a_pattern_is_shown_approved_written_and_withdrawn() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("CLAUDE.md");
    fs::write(&rules, "# Rules\n").unwrap();
    let environment = environment();
    let store = store_in(folder.path(), &environment);
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (160, 40));
    ui.press_with(KeyModifiers::ALT, '7');
    let shown = ui.screen();
    assert!(shown.contains("golangci/errcheck"), "{shown}");
    assert!(shown.contains("1 pattern to decide"), "{shown}");
    assert!(shown.contains("state     open, waits for you"), "{shown}");

    ui.press(KeyCode::Char('a'));
    let shown = ui.screen();
    assert!(shown.contains("Change this? y changes it"), "{shown}");
    assert!(shown.contains("+status = \"approved\""), "{shown}");
    ui.press(KeyCode::Esc);
    assert!(!folder.path().join(".throughline").exists());
    ui.press(KeyCode::Char('a'));
    ui.press(KeyCode::Char('y'));
    assert!(folder.path().join(".throughline/patterns").exists());
    assert!(ui.screen().contains("approved"), "{}", ui.screen());

    ui.press(KeyCode::Char('w'));
    assert!(ui.screen().contains("throughline:begin"), "{}", ui.screen());
    ui.press(KeyCode::Char('y'));
    assert!(ui.screen().contains("Changed 1 file."), "{}", ui.screen());
    assert!(fs::read_to_string(&rules).unwrap().contains("errcheck"));
    ui.press(KeyCode::Char('n'));
    let shown = ui.screen();
    assert!(shown.contains("too early"), "{shown}");
    assert!(shown.contains("before     3/3   ██████"), "{shown}");

    // The third page is the first piece of evidence, from which a session opens at its record.
    ui.press(KeyCode::Char('n'));
    ui.press(KeyCode::Enter);
    assert!(ui.screen().contains("is not checked"), "{}", ui.screen());
    ui.press(KeyCode::Char('7'));
    ui.press(KeyCode::Char('x'));
    ui.press(KeyCode::Char('y'));
    ui.press(KeyCode::Char('w'));
    ui.press(KeyCode::Char('y'));
    assert_eq!(fs::read_to_string(&rules).unwrap(), "# Rules\n");
}

#[test]
fn a_rejected_pattern_waits_for_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let environment = environment();
    let store = store_in(folder.path(), &environment);
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (160, 40));
    ui.press_with(KeyModifiers::ALT, '7');
    ui.press(KeyCode::Char('r'));
    let shown = ui.screen();
    assert!(shown.contains("reject golangci/errcheck"), "{shown}");
    assert!(shown.contains("0 patterns to decide"), "{shown}");
    assert_eq!(store.queued_decisions().unwrap().len(), 1);
}
