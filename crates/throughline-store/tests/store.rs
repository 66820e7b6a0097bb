//! The store from outside: what is written, what is found, and which damage is noticed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use jiff::Timestamp;
use memory::{
    Block, Flavor, Message, MessageId, Origin, RecordKind, Role, SessionId, SessionPatch, Usage,
    UsageEntry, Workspace,
};
use throughline_store::{IncomingEntries, MatchLevel, Query, SessionFilter, Store, UsageFilter};

struct Test {
    dir: tempfile::TempDir,
    store: Store,
}

impl Test {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        Self { dir, store }
    }

    /// Stores a prompt of a session whose folder has the session's name.
    fn say(&self, session: &str, text: &str) {
        self.hand_in(session, Some(session), text);
    }

    fn hand_in(&self, session: &str, workspace: Option<&str>, text: &str) {
        let id = SessionId::of(Flavor::Claude, session);
        let name = MessageId::new(format!("{session}/{}", text.len()));
        let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
        message.blocks = vec![Block::Text(text.to_owned())];
        message.at = Timestamp::from_second(1_767_600_000).ok();
        let mut patch = SessionPatch::new(id, Flavor::Claude);
        patch.include_time(message.at.unwrap());
        let workspace = workspace.map(|name| Workspace {
            key: format!("example.com/{name}"),
            root: format!("/work/{name}"),
        });
        self.append(IncomingEntries {
            records: memory::record::project_records(message),
            sessions: vec![(patch, workspace)],
            usage: Vec::new(),
        });
    }

    fn append(&self, incoming: IncomingEntries) {
        testkit::store::append(&self.store, incoming);
    }

    fn find(&self, query: &Query) -> Vec<String> {
        let hits = self
            .store
            .search(&Query {
                limit: 10,
                ..query.clone()
            })
            .unwrap()
            .hits;
        let mut found: Vec<_> = hits.into_iter().map(|hit| hit.snippet.text).collect();
        found.sort();
        found
    }
}

fn words(text: &str) -> Query {
    Query {
        text: text.to_owned(),
        ..Query::default()
    }
}

#[test]
fn filters_narrow_the_search() {
    let test = Test::new();
    test.say("red", "apple pie in the red session");
    test.say("blue", "apple cake in the blue session");
    assert_eq!(test.find(&words("apple")).len(), 2);
    let pie = ["apple pie in the red session"];
    assert_eq!(test.find(&words("apple -cake")), pie);
    assert_eq!(test.find(&words("\"apple pie\"")), pie);
    let filters = [
        Query {
            workspace: Some("/work/red".into()),
            ..words("apple")
        },
        Query {
            workspace: Some("example.com/red".into()),
            ..words("apple")
        },
        Query {
            session: Some(SessionId::of(Flavor::Claude, "red")),
            ..words("apple")
        },
    ];
    for filter in filters {
        assert_eq!(test.find(&filter), pie);
    }
    let none = [
        Query {
            flavor: Some(Flavor::Codex),
            ..words("apple")
        },
        Query {
            kinds: vec![RecordKind::Error],
            ..words("apple")
        },
        Query {
            workspace: Some("green".into()),
            ..words("apple")
        },
        Query {
            tool: Some("Bash".into()),
            ..words("apple")
        },
        Query {
            since: Timestamp::from_second(1_800_000_000).ok(),
            ..words("apple")
        },
    ];
    for filter in none {
        assert_eq!(test.find(&filter), Vec::<String>::new());
    }
}

#[test]
fn a_question_is_stretched_before_it_fails() {
    let test = Test::new();
    test.say("s", "the parser drops newlines");
    let rung = |text: &str| {
        test.store
            .search(&Query {
                limit: 5,
                ..words(text)
            })
            .unwrap()
            .rung
    };
    assert_eq!(rung("parser newlines"), MatchLevel::Forms);
    assert_eq!(rung("parser zeppelin"), MatchLevel::Related);
    assert_eq!(rung("?"), MatchLevel::NoWords);
}

#[test]
fn a_workspace_that_becomes_known_later_finds_what_came_before() {
    let test = Test::new();
    test.hand_in("s", None, "early apple");
    assert!(
        test.find(&Query {
            workspace: Some("orchard".into()),
            ..words("apple")
        })
        .is_empty()
    );
    test.hand_in("s", Some("orchard"), "late apple");
    let found = test.find(&Query {
        workspace: Some("orchard".into()),
        ..words("apple")
    });
    assert_eq!(found, ["early apple", "late apple"]);
}

#[test]
fn a_folder_and_its_remote_are_one_workspace_in_any_order() {
    let at = |test: &Test, session: &str, key: &str, root: &str| {
        let id = SessionId::of(Flavor::Claude, session);
        let mut message = Message::new(
            MessageId::new(session),
            id.clone(),
            Role::User,
            Origin::Human,
        );
        message.blocks = vec![Block::Text(format!("apple of {session}"))];
        let workspace = Workspace {
            key: key.into(),
            root: root.into(),
        };
        test.append(IncomingEntries {
            records: memory::record::project_records(message),
            sessions: vec![(SessionPatch::new(id, Flavor::Claude), Some(workspace))],
            usage: Vec::new(),
        });
    };
    let logs = [
        ("plain", "/work/a", "/work/a"),
        ("named", "example.com/a", "/work/a"),
        ("clone", "/work/b", "/work/b"),
        ("cloned", "example.com/a", "/work/b"),
    ];
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let test = Test::new();
        for index in order {
            let (session, key, root) = logs[index];
            at(&test, session, key, root);
        }
        let query = Query {
            workspace: Some("example.com/a".into()),
            ..words("apple")
        };
        assert_eq!(test.find(&query).len(), 4, "{order:?}");
        assert_eq!(test.store.health(false).unwrap().workspaces, 1, "{order:?}");
    }
}

#[test]
fn usage_counts_once_per_response() {
    let test = Test::new();
    test.say("s", "hello");
    let usage = |output: u64| UsageEntry {
        session: SessionId::of(Flavor::Claude, "s"),
        key: "msg_1:req_1".to_owned(),
        at: None,
        model: None,
        usage: Usage {
            input: 10,
            output,
            ..Usage::default()
        },
        cost_usd: None,
    };
    test.append(IncomingEntries {
        usage: vec![usage(3), usage(40), usage(7)],
        ..IncomingEntries::default()
    });
    let sessions = test.store.sessions(&SessionFilter {
        limit: 9,
        ..SessionFilter::default()
    });
    let total = sessions.unwrap()[0].usage;
    assert_eq!((total.input, total.output), (10, 40));
}

#[test]
fn usage_is_added_up_within_a_quarter_of_an_hour() {
    let test = Test::new();
    test.say("a", "one");
    test.say("b", "two");
    let entry = |session: &str, key: &str, second: Option<i64>, cost_usd| UsageEntry {
        session: SessionId::of(Flavor::Claude, session),
        key: key.to_owned(),
        at: second.and_then(|second| Timestamp::from_second(second).ok()),
        model: Some("m".to_owned()),
        usage: Usage {
            input: 10,
            output: 1,
            ..Usage::default()
        },
        cost_usd,
    };
    let quarter = 900;
    test.append(IncomingEntries {
        records: Vec::new(),
        sessions: Vec::new(),
        usage: vec![
            entry("a", "k1", Some(quarter), None),
            entry("a", "k2", Some(2 * quarter - 1), None),
            entry("a", "k3", Some(2 * quarter - 1), Some(0.25)),
            entry("a", "k4", Some(2 * quarter), None),
            // This entry gets the time of its session.
            entry("b", "k5", None, None),
        ],
    });
    let count = |filter: &UsageFilter| -> Vec<String> {
        let rows = test.store.usage(filter).unwrap();
        rows.iter()
            .map(|row| {
                let quarter = row.quarter.map(Timestamp::as_second);
                let (session, requests) = (row.session.native(), row.requests);
                let (tokens, cost) = (row.usage.total(), row.cost_usd);
                format!("{session} {quarter:?} {requests} {tokens} {cost:?}")
            })
            .collect()
    };
    let all = [
        "a Some(900) 1 11 Some(0.25)", "a Some(900) 2 22 None", "a Some(1800) 1 11 None",
        "b Some(1767600000) 1 11 None",
    ];
    let filter = UsageFilter::default;
    assert_eq!(count(&filter()), all);
    let since = Timestamp::from_second(1800).ok();
    assert_eq!(count(&UsageFilter { since, ..filter() }), all[2..]);
    let until = since;
    assert_eq!(count(&UsageFilter { until, ..filter() }), all[..2]);
    let session = Some(SessionId::of(Flavor::Claude, "b"));
    assert_eq!(
        count(&UsageFilter {
            session,
            ..filter()
        }),
        all[3..]
    );
    let workspace = Some("work/a".to_owned());
    assert_eq!(
        count(&UsageFilter {
            workspace,
            ..filter()
        }),
        all[..3]
    );
    let flavor = Some(Flavor::Grok);
    assert!(count(&UsageFilter { flavor, ..filter() }).is_empty());
}

#[test]
fn long_texts_are_kept_once_and_read_back_whole() {
    let test = Test::new();
    let long = "a rather long text, repeated. ".repeat(5000);
    test.say("a", &long);
    test.say("b", &long);
    let mut read = Vec::new();
    for session in ["a", "b"] {
        let id = SessionId::of(Flavor::Claude, session);
        test.store
            .each_record(&id, |record| read.push(record.content))
            .unwrap();
    }
    assert!(read.iter().all(|text| *text == long) && read.len() == 2);
    let size = std::fs::metadata(test.store.path()).unwrap().len();
    assert!(size < 2 * long.len() as u64, "{size}");
}

#[test]
fn changed_bytes_are_noticed() {
    let test = Test::new();
    test.say("s", "the quick brown fox");
    let path = test.store.path().to_owned();
    drop(test.store);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes
        .windows(19)
        .position(|window| window == b"the quick brown fox")
        .unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open(test.dir.path()).unwrap();
    let health = store.health(true).unwrap();
    assert_eq!((health.problems.len(), health.damaged), (0, Some(1)));
    let id = SessionId::of(Flavor::Claude, "s");
    assert!(store.each_record(&id, |_| {}).is_err());
}

#[test]
fn the_dump_shows_every_table() {
    let test = Test::new();
    test.say("s", "hello");
    let dump = test.store.dump().unwrap();
    assert!(!dump.contains("NOT SHOWN"), "{dump}");
    assert!(dump.contains("0 without a record, 0 not indexed"), "{dump}");
}

#[test]
fn many_threads_write_and_read_at_once() {
    let test = Test::new();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let test = &test;
            scope.spawn(move || {
                for i in 0..20 {
                    test.say(&format!("s{thread}"), &format!("text number {i}"));
                    test.store
                        .search(&Query {
                            limit: 5,
                            ..words("text")
                        })
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(test.store.health(true).unwrap().records, 160);
}

#[test]
fn the_second_secret_of_a_session_is_taken_out_of_earlier_text_too() {
    let test = Test::new();
    let (first, second) = (
        "Hd3JgP6uAe1QoXiZq7RkT2mVx9LsWc4YbN8f",
        "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi",
    );
    let id = SessionId::of(Flavor::Claude, "s");
    let say = |name: &str, text: String| {
        let mut message = Message::new(MessageId::new(name), id.clone(), Role::User, Origin::Human);
        message.blocks = vec![Block::Text(text)];
        test.append(IncomingEntries {
            records: memory::record::project_records(message),
            ..IncomingEntries::default()
        });
    };
    // The first secret makes the writer build the filter of the session's text.
    say("a", format!("export DB_PASSWORD={first}"));
    say(
        "b",
        format!("the value is {second}, and nothing says what it is"),
    );
    say("c", "nothing of note".to_owned());
    assert!(test.store.dump().unwrap().contains(second));
    say("d", format!("export API_TOKEN={second}"));
    let dump = test.store.dump().unwrap();
    assert!(!dump.contains(second) && !dump.contains(first));
}

#[test]
fn a_secret_that_becomes_known_later_is_gone_from_its_block() {
    let test = Test::new();
    let value = "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi";
    let id = SessionId::of(Flavor::Claude, "s");
    let said = |name: &str, text: String| {
        let mut message = Message::new(MessageId::new(name), id.clone(), Role::User, Origin::Human);
        message.blocks = vec![Block::Text(text)];
        memory::record::project_records(message)
    };
    let many = (0..20).flat_map(|at| {
        let text = format!("number {at}: the value is {value}, and there is more to be said of it");
        said(&at.to_string(), text)
    });
    test.append(IncomingEntries {
        records: many.collect(),
        ..IncomingEntries::default()
    });
    let in_blocks = || {
        let connection = rusqlite::Connection::open(test.store.path()).unwrap();
        let mut statement = connection.prepare("SELECT data FROM blocks").unwrap();
        let blocks = statement.query_map([], |row| row.get::<_, Vec<u8>>(0));
        let texts = blocks.unwrap().map(|data| {
            let bytes = zstd::bulk::decompress(&data.unwrap(), 1 << 20).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        texts.filter(|text| text.contains(value)).count()
    };
    assert_eq!(in_blocks(), 1);
    test.append(IncomingEntries {
        records: said("late", format!("export DB_PASSWORD={value}")),
        ..IncomingEntries::default()
    });
    assert_eq!(in_blocks(), 0);
    assert!(!test.store.dump().unwrap().contains(value));
}
