//! Touches: which files a session read or changed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The files of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTouches {
    pub branch: Option<String>,
    /// In the order of their first touch.
    pub files: Vec<TouchedFile>,
}

/// How a session used one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    pub path: String,
    pub touches: u32,
    pub edits: u32,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl SessionTouches {
    /// Returns the time of the last touch.
    pub fn last(&self) -> Option<Timestamp> {
        self.files.iter().map(|file| file.last).max()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }

    /// Counts a change of a file whose touch is counted already.
    pub fn add_edit(&mut self, path: &str) {
        if let Some(file) = self.files.iter_mut().find(|file| file.path == path) {
            file.edits += 1;
        }
    }

    /// Adds a touch.
    pub fn add(&mut self, path: &str, is_edit: bool, at: Timestamp) {
        let edits = u32::from(is_edit);
        match self.files.iter_mut().find(|file| file.path == path) {
            Some(file) => {
                file.touches += 1;
                file.edits += edits;
                file.last = file.last.max(at);
            }
            None => self.files.push(TouchedFile {
                path: path.to_owned(),
                touches: 1,
                edits,
                first: at,
                last: at,
            }),
        }
    }
}
