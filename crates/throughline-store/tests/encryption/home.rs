//! A folder with a store in it.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{Block, Flavor, Message, MessageId, Origin, Role, SessionId, SessionPatch, Workspace};
use throughline_store::{
    CopyProgress, IncomingEntries, RestoreResult, RestoreSource, Result, Store, SwapStep,
    encryption::NoKeychain, restore,
};

/// A word of the stored texts, which the search index holds as it is.
pub const WORD: &str = "quetzalcoatlus";

pub struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("memory")).unwrap();
        Self { dir }
    }

    /// A store with short texts, and one that is kept by itself.
    pub fn with_store() -> Self {
        let home = Self::empty();
        let store = home.open();
        for number in 0..20 {
            say(&store, "s", &format!("text {number} about the {WORD}"));
        }
        say(
            &store,
            "long",
            &format!("{WORD} and much more. ").repeat(4000),
        );
        drop(store);
        home
    }

    pub fn folder(&self) -> PathBuf {
        self.dir.path().join("memory")
    }

    /// A file outside of the store's folder.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn open(&self) -> Store {
        Store::open(&self.folder()).unwrap()
    }

    /// Opens the store, finds it sound, and prints all of it.
    pub fn dump(&self) -> String {
        sound_dump(&self.open())
    }

    pub fn restore(&self, file: &Path) -> Result<RestoreResult> {
        self.restore_step_by_step(file, None, &mut |_| Ok(()))
    }

    pub fn restore_step_by_step(
        &self,
        file: &Path,
        key_file: Option<&Path>,
        on_step: &mut dyn FnMut(SwapStep) -> Result<()>,
    ) -> Result<RestoreResult> {
        let from = RestoreSource {
            file,
            key_file,
            keychain: &NoKeychain,
        };
        restore_into(&self.folder(), &from, on_step)
    }

    pub fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Says whether any file of the store holds a text.
    #[cfg(feature = "encryption")]
    pub fn holds(&self, text: &str) -> bool {
        self.names().iter().any(|name| {
            let path = self.folder().join(name);
            path.is_file()
                && std::fs::read(path)
                    .unwrap()
                    .windows(text.len())
                    .any(|window| window == text.as_bytes())
        })
    }
}

pub fn restore_into(
    folder: &Path,
    from: &RestoreSource<'_>,
    on_step: &mut dyn FnMut(SwapStep) -> Result<()>,
) -> Result<RestoreResult> {
    let now = Timestamp::from_second(1_767_600_000).unwrap();
    let mut last = 0;
    let mut progress = |progress: CopyProgress| {
        assert!(progress.done_pages >= last && progress.done_pages <= progress.total_pages);
        last = progress.done_pages;
    };
    restore(folder, from, now, &mut progress, on_step)
}

pub fn sound_dump(store: &Store) -> String {
    let health = store.health(true).unwrap();
    assert_eq!(
        (health.problems.len(), health.damaged),
        (0, Some(0)),
        "{health:?}"
    );
    store.dump().unwrap()
}

/// Stores a prompt.
pub fn say(store: &Store, session: &str, text: &str) {
    let id = SessionId::of(Flavor::Claude, session);
    let name = MessageId::new(format!("{session}/{text:.20}"));
    let mut message = Message::new(name, id.clone(), Role::User, Origin::Human);
    message.blocks = vec![Block::Text(text.to_owned())];
    message.at = Timestamp::from_second(1_767_600_000).ok();
    let workspace = Workspace {
        key: format!("example.com/{session}"),
        root: format!("/work/{session}"),
    };
    let incoming = IncomingEntries {
        records: memory::record::project_records(message),
        sessions: vec![(SessionPatch::new(id, Flavor::Claude), Some(workspace))],
        usage: Vec::new(),
    };
    testkit::store::append(store, incoming);
}
