//! The files that a session gets back after a compaction, in another agent or from `compact`.

use std::path::Path;

use memory::layers::{Card, CardKey, SessionMemory, TouchedFile};
use recall::seed::{FilePredictor, Seed};

use crate::prompt::modified_since;

/// The most files whose cards are quoted.
const CARDS_MAX: usize = 10;

/// The files that a session gets back, chosen from its working memory.
#[derive(Clone, Debug, Default)]
pub struct RestoredFiles {
    /// Files of the session, the last used first, with their cards.
    pub used: Vec<RestoredCard>,
    /// Files that earlier sessions used with them.
    pub predicted: Vec<Seed>,
    /// More files of this and of earlier sessions, which are only named.
    pub pointers: Vec<String>,
}

/// A file of the session and what is kept of it.
#[derive(Clone, Debug)]
pub struct RestoredCard {
    pub file: TouchedFile,
    pub card: Option<Card>,
}

impl RestoredCard {
    /// Returns the last change or failure. A card without one says no more than the list of files.
    pub fn body(&self) -> Option<&str> {
        let (_, body) = self.card.as_ref()?.text.split_once('\n')?;
        Some(body)
    }
}

impl RestoredFiles {
    /// Chooses the files of a session: its last ones, then others that it may need next.
    pub fn choose(memory: &SessionMemory, predictor: &FilePredictor) -> Self {
        let chosen = predictor.restored_files(&memory.touches);
        let mut restored = Self {
            pointers: chosen.pointers.into_iter().map(|seed| seed.path).collect(),
            ..Self::default()
        };
        for seed in chosen.files {
            let files = &memory.touches.files;
            match files.iter().find(|file| file.path == seed.path) {
                Some(file) => restored.used.push(RestoredCard {
                    card: memory.working.peek(&CardKey::File(seed.path)).cloned(),
                    file: file.clone(),
                }),
                None => restored.predicted.push(seed),
            }
        }
        restored
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let used = self.used.iter().map(|used| used.file.path.as_str());
        let predicted = self.predicted.iter().map(|seed| seed.path.as_str());
        used.chain(predicted)
            .chain(self.pointers.iter().map(String::as_str))
    }

    /// Names the files in a few lines: those in use, marked if they changed on disk since, the
    /// predicted ones, and the rest.
    pub fn lines(&self, root: &Path) -> Vec<String> {
        if self.used.is_empty() {
            return Vec::new();
        }
        let used = self.used.iter().map(|RestoredCard { file, .. }| {
            let has_changed = modified_since(&root.join(&file.path), file.last);
            let note = if has_changed { " (changed since)" } else { "" };
            format!("{}{note}", file.path)
        });
        let used: Vec<_> = used.collect();
        let mut lines = vec![format!(
            "Files in use, the last first; read them again before changing them: {}",
            used.join(", ")
        )];
        let predicted: Vec<_> = self.predicted.iter().map(|seed| &*seed.path).collect();
        if !predicted.is_empty() {
            let predicted = predicted.join(", ");
            lines.push(format!(
                "Files that earlier sessions used with these: {predicted}"
            ));
        }
        if !self.pointers.is_empty() {
            let pointers = format_pointers(&self.pointers);
            lines.push(format!("Other files that may be needed: {pointers}"));
        }
        lines
    }

    /// Returns the cards of the last files that tell more than their names: a heading, and the last
    /// change or failure.
    pub fn quoted_cards(&self) -> impl Iterator<Item = (String, &str)> {
        let cards = self.used.iter().take(CARDS_MAX);
        cards.filter_map(|used| {
            let heading = format!("{}, {}:", used.file.path, describe_use(&used.file));
            Some((heading, used.body()?))
        })
    }
}

/// Names files by their folders, because most of them share one.
fn format_pointers(paths: &[String]) -> String {
    let mut folders: Vec<(&str, Vec<&str>)> = Vec::new();
    for path in paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match folders.iter_mut().find(|(known, _)| *known == folder) {
            Some((_, names)) => names.push(name),
            None => folders.push((folder, vec![name])),
        }
    }
    let folders = folders.into_iter().map(|(folder, names)| match folder {
        "" => names.join(", "),
        folder => format!("{folder}/: {}", names.join(", ")),
    });
    folders.collect::<Vec<_>>().join("; ")
}

fn describe_use(file: &TouchedFile) -> String {
    match (file.touches, file.edits) {
        (touches, 0) => format!("used {touches}×"),
        (touches, edits) => format!("used {touches}×, changed {edits}×"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_are_grouped_by_folder() {
        let paths = ["src/a.rs", "README.md", "src/b.rs", "docs/x.md"].map(str::to_owned);
        assert_eq!(
            format_pointers(&paths),
            "src/: a.rs, b.rs; README.md; docs/: x.md"
        );
    }
}
