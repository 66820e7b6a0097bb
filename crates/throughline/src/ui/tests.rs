//! The UI without a terminal: keys go in, the worker answers at once, and the screen comes out as
//! text.

use std::path::Path;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use insta::assert_snapshot;
use jiff::SignedDuration;
use memory::{
    Block, FactKind, Flavor, Message, MessageId, Origin, Role, SessionId, SessionKind,
    SessionPatch, Trust,
};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use store::{IncomingEntries, NewFact};
use testkit::store::{START, TestStore};
use unicode_width::UnicodeWidthStr;

use super::keys::KeyMap;
use super::messages::{UiEffect, UiEvent, UiQuestion};
use super::state::{Reach, Screen, UiState};
use super::update::{ask_rows, update};
use super::view::view;
use super::worker::Worker;
use crate::commands::App;
use crate::config::Config;
use crate::environment::Environment;

const SCRIPT: &str = "
    session s1 in /src/shop
    u where does the reorder threshold come from?
    a I look it up in the settings.
    a use Bash grep -rn threshold src
    t result src/config.rs: let threshold = settings.reorder_at;
    a The reorder threshold is read from config.toml, in settings.reorder_at.
    u then make the threshold ten
    a use Bash cargo test
    t failed error[E0308]: mismatched types in totals.rs
    a The threshold is ten now, but a test fails.
    session s2 in /src/shop
    u 日本語の設定ファイルはどこですか
    a 設定は config.toml の threshold にあります 🎉👩‍👩‍👧 и ещё немного.
    session s3 in /src/bidi
    u שלום threshold \u{202e}evil\u{202c} e\u{301}tude nai\u{308}ve
    a It is right-to-left text with combining marks.
";

/// The UI on a store, without a terminal.
pub(super) struct TestUi<'a> {
    state: UiState,
    worker: Worker<'a>,
    is_over: bool,
}

fn test_store() -> TestStore {
    let store = testkit::store::store(&SCRIPT.replace("\\u{202e}", "\u{202e}"));
    store
        .remember(NewFact {
            workspace: Some(testkit::store::workspace("/src/shop")),
            kind: FactKind::Preference,
            text: "Keep every threshold in config.toml".to_owned(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: true,
            at: START,
            sources: Vec::new(),
        })
        .unwrap();
    store
}

pub(super) fn environment() -> Environment {
    Environment::for_test(
        Path::new("/src/shop"),
        START + SignedDuration::from_hours(50),
    )
}

pub(super) fn app(environment: &Environment) -> App<'_> {
    App {
        environment,
        config: Config::default(),
        config_path: "/nowhere/config.toml".into(),
        home: "/nowhere".into(),
    }
}

impl<'a> TestUi<'a> {
    pub(super) fn new(app: &'a App<'a>, store: &'a TestStore, size: (u16, u16)) -> Self {
        let worker = Worker::new(app, store).unwrap();
        let keys = KeyMap::new(&app.config.ui.keys).unwrap();
        let state = UiState::new(keys, vec![Reach::Everywhere, Reach::Here], "");
        let mut ui = Self {
            state,
            worker,
            is_over: false,
        };
        ui.apply(UiEvent::Resize(size.0, size.1));
        let effects = ask_rows(&mut ui.state, Screen::Search);
        ui.perform(effects);
        ui
    }

    fn apply(&mut self, event: UiEvent) {
        let effects = update(&mut self.state, event);
        self.perform(effects);
    }

    fn perform(&mut self, effects: Vec<UiEffect>) {
        for effect in effects {
            match effect {
                // The store is shared by all cases of a property.
                UiEffect::Ask(UiQuestion::Forget(_)) => {}
                UiEffect::Ask(question) => {
                    let answer = self.worker.answer(question);
                    let answer = answer.unwrap_or_else(|error| {
                        super::messages::UiAnswer::Failed(error.to_string())
                    });
                    self.apply(UiEvent::Answer(answer));
                }
                UiEffect::Quit | UiEffect::Resume(_) => self.is_over = true,
                UiEffect::Copy(_) | UiEffect::Mouse(_) | UiEffect::Suspend => {}
            }
        }
    }

    pub(super) fn press(&mut self, code: KeyCode) {
        self.apply(UiEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    pub(super) fn press_with(&mut self, modifiers: KeyModifiers, letter: char) {
        self.apply(UiEvent::Key(KeyEvent::new(
            KeyCode::Char(letter),
            modifiers,
        )));
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.press(KeyCode::Char(c));
        }
    }

    /// Draws the screen and returns it as text. The cell after a wide character is left out.
    pub(super) fn screen(&self) -> String {
        let (columns, rows) = self.state.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| view(&self.state, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for row in 0..rows {
            let mut line = String::new();
            let mut column = 0;
            while column < columns {
                let symbol = buffer[(column, row)].symbol();
                line.push_str(symbol);
                column += u16::try_from(symbol.width()).unwrap().max(1);
            }
            text += line.trim_end();
            text.push('\n');
        }
        text
    }
}

fn snapshots(size: (u16, u16)) {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, size);
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_suffix(format!("{}x{}", size.0, size.1));
    settings.bind(|| {
        assert_snapshot!("sessions", ui.screen());
        ui.type_text("reorder thr");
        assert_snapshot!("hits", ui.screen());
        ui.press(KeyCode::Down);
        ui.press(KeyCode::Enter);
        assert_snapshot!("session", ui.screen());
        ui.press(KeyCode::Esc);
        ui.press_with(KeyModifiers::CONTROL, 'u');
        ui.type_text("שלום");
        assert_snapshot!("bidi", ui.screen());
        ui.press_with(KeyModifiers::CONTROL, 'u');
        ui.type_text("設定");
        ui.press(KeyCode::Enter);
        assert_snapshot!("wide", ui.screen());
        ui.press(KeyCode::Char('3'));
        assert_snapshot!("memory", ui.screen());
        ui.press(KeyCode::Char('x'));
        assert_snapshot!("forget", ui.screen());
        ui.press(KeyCode::Esc);
        ui.press(KeyCode::Char('?'));
        assert_snapshot!("keys", ui.screen());
        ui.press(KeyCode::Esc);
        ui.press(KeyCode::Char('4'));
        assert_snapshot!("given", ui.screen());
        ui.press(KeyCode::Char('5'));
        assert_snapshot!("usage", ui.screen());
        ui.press_with(KeyModifiers::CONTROL, 'k');
        ui.type_text("sess");
        ui.press(KeyCode::Down);
        assert_snapshot!("palette", ui.screen());
    });
}

#[test]
fn screens_of_40_by_10() {
    snapshots((40, 10));
}

#[test]
fn screens_of_80_by_24() {
    snapshots((80, 24));
}

#[test]
fn screens_of_120_by_40() {
    snapshots((120, 40));
}

#[test]
fn screens_of_200_by_50() {
    snapshots((200, 50));
}

/// Runs a test on the UI at the usual size.
fn check(test: impl FnOnce(&mut TestUi<'_>)) {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    test(&mut TestUi::new(&app, &store, (100, 30)));
}

#[test]
fn every_letter_searches() {
    check(|ui| {
        for typed in ["t", "th", "thr", "thresho", "threshold"] {
            ui.press_with(KeyModifiers::CONTROL, 'u');
            ui.type_text(typed);
            let screen = ui.screen();
            // The fact comes before the sessions.
            let (fact, session) = (screen.find("Keep every"), screen.find("claude"));
            assert!(fact.is_some() && fact < session, "{typed}: {screen}");
            assert!(screen.contains("hit"), "{typed}: {screen}");
        }
        ui.press_with(KeyModifiers::CONTROL, 'u');
        ui.type_text("qqqq");
        assert!(
            ui.screen().contains("Nothing found everywhere"),
            "{}",
            ui.screen()
        );
    });
}

#[test]
fn an_answer_that_was_overtaken_is_not_shown() {
    check(|ui| {
        ui.type_text("reorder");
        let old = update(&mut ui.state, UiEvent::Key(KeyCode::Char('q').into()));
        let new = update(&mut ui.state, UiEvent::Key(KeyCode::Backspace.into()));
        ui.perform(new);
        let shown = ui.screen();
        ui.perform(old);
        assert_eq!(ui.screen(), shown);
        assert!(shown.contains("hit"), "{shown}");
    });
}

#[test]
fn a_key_for_the_results_waits_for_them() {
    check(|ui| {
        let typed = update(
            &mut ui.state,
            UiEvent::Paste("settings.reorder_at".to_owned()),
        );
        let enter = UiEvent::Key(KeyCode::Enter.into());
        let opened = update(&mut ui.state, enter);
        assert!(opened.is_empty(), "{opened:?}");
        ui.perform(typed);
        let open = ui.state.session.as_ref().unwrap();
        assert!(open.records[open.selected].content.contains("reorder_at"));
    });
}

#[test]
fn a_session_opens_at_its_hit_and_can_be_walked() {
    check(|ui| {
        ui.type_text("settings.reorder_at");
        ui.press(KeyCode::Enter);
        let open = ui.state.session.as_ref().unwrap();
        assert!(open.records[open.selected].content.contains("reorder_at"));
        ui.press(KeyCode::Char('g'));
        ui.press(KeyCode::Char('J'));
        let open = ui.state.session.as_ref().unwrap();
        assert_eq!(
            open.records[open.selected].content,
            "then make the threshold ten"
        );
        ui.press(KeyCode::Char('e'));
        let open = ui.state.session.as_ref().unwrap();
        assert!(open.records[open.selected].content.contains("E0308"));
        ui.press(KeyCode::Char('f'));
        ui.type_text("CONFIG.TOML");
        ui.press(KeyCode::Enter);
        let open = ui.state.session.as_ref().unwrap();
        assert!(open.records[open.selected].content.contains("config.toml"));
        ui.press(KeyCode::Esc);
        assert_eq!(ui.state.screen, Screen::Search);
    });
}

#[test]
fn a_fact_opens_where_it_was_said() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let session = SessionId::new("claude:s1");
    let said = store.timeline(&session, 4, 1).unwrap()[0].clone();
    store
        .remember(NewFact {
            workspace: Some(testkit::store::workspace("/src/shop")),
            kind: FactKind::Decision,
            text: "Zeppelins are read from the settings".to_owned(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: false,
            at: START,
            sources: vec![said.id],
        })
        .unwrap();
    let mut ui = TestUi::new(&app, &store, (100, 30));
    ui.type_text("zeppelins");
    ui.press(KeyCode::Enter);
    let open = ui.state.session.as_ref().unwrap();
    assert_eq!(open.records[open.selected].id, said.id);
    // A fact that was saved by hand has no session.
    ui.press_with(KeyModifiers::ALT, '3');
    ui.press(KeyCode::Enter);
    assert!(
        ui.screen().contains("No session has this fact."),
        "{}",
        ui.screen()
    );
}

#[test]
fn a_key_without_effect_says_why() {
    check(|ui| {
        ui.type_text("settings.reorder_at");
        ui.press(KeyCode::Enter);
        ui.press(KeyCode::Char('G'));
        for (key, notice) in [
            ('J', "There is no later prompt."),
            ('e', "There is no later error."),
            ('n', "Press f to find a text first."),
        ] {
            ui.press(KeyCode::Char(key));
            assert!(ui.screen().contains(notice), "{}", ui.screen());
        }
        ui.press(KeyCode::Char('f'));
        ui.type_text("threshold");
        assert!(ui.screen().contains("match 6 of 6"), "{}", ui.screen());
        ui.press_with(KeyModifiers::CONTROL, 'u');
        ui.type_text("zeppelin");
        assert!(ui.screen().contains("no match"), "{}", ui.screen());
        ui.press(KeyCode::Enter);
        assert!(
            ui.screen().contains("Nothing in this session contains"),
            "{}",
            ui.screen()
        );
    });
}

#[test]
fn facts_are_unpinned_and_a_plan_is_shown_before_forgetting() {
    check(|ui| {
        ui.press_with(KeyModifiers::ALT, '3');
        assert!(ui.screen().contains("pinned"), "{}", ui.screen());
        ui.press(KeyCode::Char('p'));
        assert!(ui.screen().contains("Unpinned"), "{}", ui.screen());
        ui.press(KeyCode::Char('x'));
        assert!(
            ui.screen().contains("Delete this for good?"),
            "{}",
            ui.screen()
        );
        ui.press(KeyCode::Char('n'));
        assert!(
            ui.screen().contains("Nothing was forgotten."),
            "{}",
            ui.screen()
        );
    });
}

#[test]
fn the_neighbors_of_a_session_in_the_list_are_opened() {
    check(|ui| {
        ui.press(KeyCode::Enter);
        let first = open_id(ui);
        ui.press(KeyCode::Char(']'));
        let second = open_id(ui);
        assert_ne!(first, second);
        ui.press(KeyCode::Char('['));
        assert_eq!(open_id(ui), first);
        ui.press(KeyCode::Char('['));
        assert!(
            ui.screen().contains("no further session"),
            "{}",
            ui.screen()
        );
        ui.press(KeyCode::Esc);
        assert_eq!(ui.state.screen, Screen::Search);
    });
}

#[test]
fn a_subagent_is_entered_and_left() {
    let (store, environment) = (test_store(), environment());
    add_prompt(&store, "s1/agent-a", Some("s1"), "look for the callers");
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (100, 30));
    ui.type_text("settings.reorder_at");
    ui.press(KeyCode::Enter);
    let parent = open_id(&ui);
    ui.press(KeyCode::Char('u'));
    assert!(ui.screen().contains("No other session"), "{}", ui.screen());
    ui.press(KeyCode::Char('s'));
    assert_ne!(open_id(&ui), parent);
    assert!(
        ui.screen().contains("look for the callers"),
        "{}",
        ui.screen()
    );
    ui.press(KeyCode::Char('s'));
    assert!(ui.screen().contains("no subagent"), "{}", ui.screen());
    ui.press(KeyCode::Char('u'));
    assert_eq!(open_id(&ui), parent);
}

#[test]
fn a_session_is_followed_as_it_grows() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (100, 30));
    ui.type_text("settings.reorder_at");
    ui.press(KeyCode::Enter);
    ui.press(KeyCode::Char('t'));
    assert!(ui.screen().contains("following"), "{}", ui.screen());
    let known = ui.state.session.as_ref().unwrap().outline.kind.len();
    ui.apply(UiEvent::Tick);
    assert_eq!(ui.state.session.as_ref().unwrap().outline.kind.len(), known);
    add_prompt(&store, "s1", None, "one more question");
    ui.apply(UiEvent::Tick);
    let open = ui.state.session.as_ref().unwrap();
    assert_eq!(open.selected, open.outline.kind.len() - 1);
    assert!(ui.screen().contains("one more question"), "{}", ui.screen());
    ui.press(KeyCode::Char('t'));
    assert!(!ui.state.is_following());
}

#[test]
fn hits_are_narrowed_to_a_type() {
    check(|ui| {
        ui.type_text("threshold");
        assert!(ui.screen().contains("Keep every"), "{}", ui.screen());
        ui.press_with(KeyModifiers::CONTROL, 't');
        let screen = ui.screen();
        assert!(screen.contains("· prompts"), "{screen}");
        assert!(!screen.contains("Keep every"), "{screen}");
        let rows = ui.state.search.rows.iter();
        let pages = rows.flat_map(|row| &row.pages);
        let mut headings = pages.map(|page| page.heading.as_str());
        assert!(
            headings.all(|heading| heading.starts_with("you")),
            "{screen}"
        );
        for _ in 0..5 {
            ui.press_with(KeyModifiers::CONTROL, 't');
        }
        assert!(ui.screen().contains("Keep every"), "{}", ui.screen());
    });
}

#[test]
fn the_palette_performs_what_is_chosen() {
    check(|ui| {
        ui.press_with(KeyModifiers::CONTROL, 'k');
        ui.type_text("tokens");
        ui.press(KeyCode::Enter);
        assert_eq!(ui.state.screen, Screen::Usage);
        ui.press_with(KeyModifiers::CONTROL, 'k');
        ui.type_text("no such action");
        ui.press(KeyCode::Enter);
        assert_eq!(ui.state.screen, Screen::Usage);
        assert!(ui.state.overlay.is_none());
    });
}

#[test]
fn hits_show_the_marks_of_their_session() {
    check(|ui| {
        ui.type_text("threshold");
        ui.press(KeyCode::Down);
        let titles = |ui: &TestUi<'_>| -> Vec<String> {
            let rows = ui.state.search.rows.iter();
            rows.map(|row| row.title.clone()).collect()
        };
        let before = titles(ui)[1].clone();
        ui.press_with(KeyModifiers::ALT, 's');
        let starred: Vec<_> = titles(ui)
            .into_iter()
            .filter(|title| title.starts_with('★'))
            .collect();
        assert_eq!(starred, [format!("★ {before}")]);
        assert!(ui.screen().contains('★'), "{}", ui.screen());
    });
}

#[test]
fn a_session_is_starred_named_tagged_and_archived() {
    check(|ui| {
        let listed = ui.state.search.rows.len();
        ui.press(KeyCode::Down);
        let selected = ui.state.session_id().cloned();
        ui.press_with(KeyModifiers::ALT, 's');
        assert!(ui.screen().contains("Starred claude"), "{}", ui.screen());
        // The list was read again, and the same session is selected.
        assert_eq!(ui.state.session_id().cloned(), selected);
        assert!(ui.screen().contains("▸claude"), "{}", ui.screen());
        assert!(ui.screen().contains('★'), "{}", ui.screen());

        ui.press(KeyCode::Enter);
        ui.press(KeyCode::Char('R'));
        ui.type_text("stock alerts");
        assert!(
            ui.screen().contains("Enter stores the name"),
            "{}",
            ui.screen()
        );
        ui.press(KeyCode::Enter);
        assert!(ui.screen().contains("★ stock alerts"), "{}", ui.screen());
        ui.press(KeyCode::Char('#'));
        ui.apply(UiEvent::Paste("#shop urgent".to_owned()));
        ui.press(KeyCode::Enter);
        let title = "★ stock alerts #shop #urgent";
        assert!(ui.screen().contains(title), "{}", ui.screen());
        ui.press(KeyCode::Char('#'));
        ui.press_with(KeyModifiers::CONTROL, 'w');
        ui.press(KeyCode::Enter);
        assert!(
            ui.screen().contains("Tagged claude s2 #shop."),
            "{}",
            ui.screen()
        );
        ui.press(KeyCode::Char('#'));
        ui.type_text(",a");
        ui.press(KeyCode::Enter);
        assert!(ui.screen().contains("without commas"), "{}", ui.screen());
        ui.press(KeyCode::Char('R'));
        ui.press(KeyCode::Esc);
        assert!(
            ui.screen().contains("Nothing was changed."),
            "{}",
            ui.screen()
        );

        for opened in ['R', 'k'] {
            match opened {
                'k' => ui.press_with(KeyModifiers::CONTROL, opened),
                _ => ui.press(KeyCode::Char(opened)),
            }
            assert!(ui.state.overlay.is_some());
            ui.press_with(KeyModifiers::CONTROL, 'c');
            assert!(ui.state.overlay.is_none() && !ui.is_over, "{opened}");
        }

        ui.press(KeyCode::Char('A'));
        assert!(
            ui.screen().contains("Archived claude s2"),
            "{}",
            ui.screen()
        );
        ui.press(KeyCode::Esc);
        assert_eq!(ui.state.search.rows.len(), listed - 1);
        ui.press_with(KeyModifiers::CONTROL, 't');
        assert!(
            ui.screen().contains("No starred sessions"),
            "{}",
            ui.screen()
        );
        ui.press_with(KeyModifiers::CONTROL, 't');
        assert!(ui.screen().contains("· archived"), "{}", ui.screen());
        assert_eq!(ui.state.session_id().cloned(), selected);
        ui.press_with(KeyModifiers::ALT, 'a');
        assert!(ui.screen().contains("is listed again"), "{}", ui.screen());
    });
}

#[test]
fn the_list_shows_what_other_programs_write() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (100, 30));
    ui.press(KeyCode::Down);
    let selected = ui.state.session_id().cloned();
    ui.apply(UiEvent::Tick);
    let before = ui.screen();
    ui.apply(UiEvent::Tick);
    assert_eq!(ui.screen(), before);
    add_prompt(&store, "s9", None, "a session has begun");
    ui.apply(UiEvent::Tick);
    assert!(ui.screen().contains("4 sessions"), "{}", ui.screen());
    assert_eq!(ui.state.session_id().cloned(), selected);
    // Results of a search do not move while they are read.
    ui.type_text("begun");
    add_prompt(&store, "s8", None, "another one has begun");
    ui.apply(UiEvent::Tick);
    assert_eq!(ui.state.search.rows.len(), 1, "{}", ui.screen());
    ui.press(KeyCode::Esc);
    assert!(ui.screen().contains("5 sessions"), "{}", ui.screen());
}

#[test]
fn all_keys_can_be_read_on_a_small_screen() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let mut ui = TestUi::new(&app, &store, (40, 10));
    ui.press(KeyCode::F(1));
    let first = ui.screen();
    assert!(
        first.contains("ctrl-p k") && first.contains("↓ more"),
        "{first}"
    );
    for _ in 0..20 {
        ui.press(KeyCode::PageDown);
    }
    let last = ui.screen();
    assert!(last.contains("ctrl-q") && last.contains("↑ more"), "{last}");
    ui.press(KeyCode::Char('g'));
    assert_eq!(ui.screen(), first);
    ui.apply(UiEvent::Resize(0, 0));
    ui.screen();
    ui.press(KeyCode::Esc);
    assert!(ui.state.overlay.is_none());
}

#[test]
fn silences_are_listed_with_their_reasons() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let figures = [
        ("agent", "claude"),
        ("reason", "the prompt says too little"),
    ];
    let figures = figures.map(|(name, text)| (name.to_owned(), text.into()));
    let figures = figures.into_iter().collect();
    let name = store::EventName::InjectionDeclined;
    store.record_event(START, name, None, figures).unwrap();
    let mut ui = TestUi::new(&app, &store, (100, 30));
    ui.press_with(KeyModifiers::ALT, '4');
    let screen = ui.screen();
    assert!(screen.contains("0 injections, 1 silence"), "{screen}");
    assert!(screen.contains("The prompt was given nothing"), "{screen}");
    assert!(screen.contains("silent 2d claude"), "{screen}");
}

/// Adds a prompt to a session, which another one may have started.
fn add_prompt(store: &TestStore, session: &str, parent: Option<&str>, text: &str) {
    let id = |name: &str| SessionId::of(Flavor::Claude, name);
    let at = START + SignedDuration::from_hours(1);
    let mut patch = SessionPatch::new(id(session), Flavor::Claude);
    patch.include_time(at);
    patch.parent = parent.map(id);
    patch.kind = parent.map(|_| SessionKind::Subagent);
    let message = MessageId::new(format!("added {text}"));
    let mut message = Message::new(message, id(session), Role::User, Origin::Human);
    message.at = Some(at);
    message.line = 1000;
    message.blocks = vec![Block::Text(text.to_owned())];
    let workspace = testkit::store::workspace("/src/shop");
    let incoming = IncomingEntries {
        sessions: vec![(patch, Some(workspace))],
        records: memory::record::project_records(message),
        ..IncomingEntries::default()
    };
    testkit::store::append(store, incoming);
}

/// Returns the id of the open session.
fn open_id(ui: &TestUi<'_>) -> String {
    ui.state.session.as_ref().unwrap().session.id.to_string()
}

/// Random input: text, and the letters of actions.
const LETTERS: &str = "threshold co-?1234567jkJKeEgGnNoOvfpxysut[]+m/*RA#設🎉\u{301}";

fn key() -> impl Strategy<Value = UiEvent> {
    let code = prop_oneof![
        6 => prop::sample::select(LETTERS.chars().collect::<Vec<_>>()).prop_map(KeyCode::Char),
        4 => prop::sample::select(vec![
            KeyCode::Up, KeyCode::Down, KeyCode::PageUp, KeyCode::PageDown, KeyCode::Home,
            KeyCode::End, KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab,
            KeyCode::Backspace, KeyCode::Left, KeyCode::Right, KeyCode::F(1), KeyCode::Null,
        ]),
    ];
    let modifiers = prop::sample::select(vec![
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::NONE,
        KeyModifiers::SHIFT,
        KeyModifiers::CONTROL,
        KeyModifiers::ALT,
    ]);
    prop_oneof![
        20 => (code, modifiers).prop_map(|(code, keys)| UiEvent::Key(KeyEvent::new(code, keys))),
        1 => any::<String>().prop_map(UiEvent::Paste),
        1 => (0..210_u16, 0..60_u16).prop_map(|(columns, rows)| UiEvent::Resize(columns, rows)),
        1 => (-9..9_isize).prop_map(UiEvent::Wheel),
        1 => Just(()).prop_map(|()| UiEvent::Slow),
        1 => Just(()).prop_map(|()| UiEvent::Tick),
    ]
}

#[test]
fn random_keys_never_panic_and_quitting_always_works() {
    let (store, environment) = (test_store(), environment());
    let app = app(&environment);
    let config = ProptestConfig::with_cases(24);
    proptest!(config, |(events in prop::collection::vec(key(), 1..60))| {
        let mut ui = TestUi::new(&app, &store, (80, 24));
        for event in events {
            ui.apply(event);
            ui.screen();
            if ui.is_over {
                break;
            }
        }
        // Whatever is open closes at the first key.
        ui.press_with(KeyModifiers::CONTROL, 'c');
        ui.press_with(KeyModifiers::CONTROL, 'c');
        prop_assert!(ui.is_over);
    });
}
