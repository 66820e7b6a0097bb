//! Snapshots: a session in about 100, 1,000 or 5,000 tokens.
//!
//! A snapshot is a list of whole items in the order of their importance. An item that does not fit
//! is left out, so a snapshot is within its size whatever the session, and no item is cut.

use memory::layers::{Checkpoint, TouchedFile};
use memory::tokens::estimate;
use memory::{Session, Summary, Tokens};

memory::named_enum! {
    /// How large a snapshot may be.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum SnapshotSize {
        /// Figures and the current task.
        Lightweight = "lightweight",
        /// The state, the last files, commands and errors.
        Standard = "standard",
        /// The running summary as well.
        Comprehensive = "comprehensive",
    }
}

impl SnapshotSize {
    pub fn tokens_max(self) -> Tokens {
        Tokens(match self {
            Self::Lightweight => 100,
            Self::Standard => 1_000,
            Self::Comprehensive => 5_000,
        })
    }
}

/// Writes a session as it stood at a checkpoint.
pub fn write_snapshot(
    session: &Session,
    checkpoint: &Checkpoint,
    summary: Option<&Summary>,
    size: SnapshotSize,
) -> String {
    let mut text = SnapshotText {
        text: String::new(),
        tokens_max: size.tokens_max(),
    };
    add_figures(&mut text, session, checkpoint);
    for asked in checkpoint.asked.iter().rev().take(1) {
        text.add(&format!("\nThe user's last request: {asked}"));
    }
    if size == SnapshotSize::Lightweight {
        return text.text;
    }
    if let Some(plan) = &checkpoint.plan {
        text.add(&format!("\nPlan: {plan}"));
    }
    if let Some(said) = &checkpoint.said {
        text.add(&format!("\nThe agent said last: {said}"));
    }
    text.add_list(
        "The user decided, the latest first",
        checkpoint.decisions.iter().rev().cloned(),
    );
    text.add_list(
        "Files, the latest first",
        checkpoint.files.iter().map(describe_file),
    );
    text.add_list(
        "Errors, the latest first",
        checkpoint.errors.iter().rev().cloned(),
    );
    text.add_list(
        "Commands, the latest first",
        checkpoint.commands.iter().rev().cloned(),
    );
    let earlier = checkpoint.asked.iter().rev().skip(1).cloned();
    text.add_list("Earlier requests, the latest first", earlier);
    if size == SnapshotSize::Comprehensive {
        for section in summary.iter().flat_map(|summary| &summary.sections) {
            let lines = section.text.lines().filter(|line| !line.trim().is_empty());
            text.add_list(&section.heading, lines.map(str::to_owned));
        }
    }
    text.text
}

fn add_figures(text: &mut SnapshotText, session: &Session, checkpoint: &Checkpoint) {
    text.add(&format!(
        "Session {}, checkpoint {}",
        session.id, checkpoint.number
    ));
    let Checkpoint {
        interactions,
        prompts,
        calls,
        failures,
        ..
    } = checkpoint;
    text.add(&format!(
        "{interactions} interactions, {prompts} prompts, {calls} calls, {failures} failed"
    ));
    if let Some(title) = &session.title {
        text.add(&format!("Title: {}", title.trim()));
    }
    if let Some(branch) = &session.branch {
        text.add(&format!("Branch: {branch}"));
    }
    if let Some(at) = checkpoint.at {
        text.add(&format!("Last activity: {at:.0}"));
    }
}

fn describe_file(file: &TouchedFile) -> String {
    match (file.touches, file.edits) {
        (touches, 0) => format!("{} (used {touches}×)", file.path),
        (touches, edits) => format!("{} (used {touches}×, changed {edits}×)", file.path),
    }
}

/// A text that takes whole items while they fit.
struct SnapshotText {
    text: String,
    tokens_max: Tokens,
}

impl SnapshotText {
    /// Adds an item if the text stays within its size, and says whether it did.
    fn add(&mut self, item: &str) -> bool {
        let end = self.text.len();
        self.text.push_str(item);
        self.text.push('\n');
        let fits = estimate(&self.text) <= self.tokens_max;
        if !fits {
            self.text.truncate(end);
        }
        fits
    }

    /// Adds a heading with as many items as fit; without any, the heading is left out.
    fn add_list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let start = self.text.len();
        if !self.add(&format!("\n{heading}:")) {
            return;
        }
        let mut is_empty = true;
        for item in items {
            if !self.add(&format!("- {item}")) {
                break;
            }
            is_empty = false;
        }
        if is_empty {
            self.text.truncate(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use memory::SessionId;
    use memory::summary::SummarySection;
    use proptest::prelude::*;
    use testkit::store::store;

    use super::*;
    use crate::checkpoint::write_checkpoints;

    fn session(id: &str, title: Option<String>) -> Session {
        let store = store("session s1 in /src/shop\nu hello there\n");
        let mut session = store.sessions_by_prefix("claude:s1", 1).unwrap().remove(0);
        session.id = SessionId::new(id);
        session.title = title;
        session
    }

    fn texts(max: usize) -> impl Strategy<Value = Vec<String>> {
        let long = "(\\PC{0,40} ){0,40}";
        prop::collection::vec(prop_oneof!["[a-z/._ -]{0,80}", long], 0..max)
    }

    fn checkpoints() -> impl Strategy<Value = Checkpoint> {
        let figures = (any::<u64>(), any::<u32>(), any::<u64>());
        (figures, texts(6), texts(20), texts(6), texts(2), texts(25)).prop_map(
            |((interactions, number, calls), asked, commands, errors, said, paths)| Checkpoint {
                number,
                interactions,
                calls,
                prompts: calls,
                failures: calls,
                at: Some(Timestamp::UNIX_EPOCH),
                plan: asked.first().cloned(),
                said: said.first().cloned(),
                asked,
                commands,
                errors,
                files: paths
                    .into_iter()
                    .map(|path| TouchedFile {
                        path,
                        touches: number,
                        edits: number / 2,
                        first: Timestamp::UNIX_EPOCH,
                        last: Timestamp::UNIX_EPOCH,
                    })
                    .collect(),
                ..Checkpoint::default()
            },
        )
    }

    // `PROPTEST_CASES=10000` tries more sessions.
    proptest! {
        #[test]
        fn every_size_holds_and_every_item_is_whole(
            checkpoint in checkpoints(),
            notes in texts(60),
            title in prop::option::of("\\PC{0,200}"),
        ) {
            let session = SESSION.with(Clone::clone);
            let session = Session { title, ..session };
            let section = SummarySection {
                heading: "Notes".to_owned(),
                hint: None,
                text: notes.join("\n"),
            };
            let summary = Summary { sections: vec![section] };
            for &size in SnapshotSize::ALL {
                let text = write_snapshot(&session, &checkpoint, Some(&summary), size);
                prop_assert!(estimate(&text) <= size.tokens_max());
                prop_assert!(text.starts_with("Session claude:s1, checkpoint "));
                if let Some(said) = &checkpoint.said
                    && text.contains("The agent said last:")
                {
                    prop_assert!(text.contains(said.as_str()));
                }
            }
        }
    }

    thread_local! {
        static SESSION: Session = session("claude:s1", None);
    }

    #[test]
    fn a_standard_snapshot_tells_where_the_work_stood() {
        let store = store(
            "session s1 in /src/shop\n\
             u make the totals round once\n\
             a use Edit /src/shop/src/totals.rs\n\
             t edit /src/shop/src/totals.rs\n\
             a use Bash cargo test totals\n\
             t failed error: 1 test failed\n\
             a The test of negative totals still fails.\n",
        );
        let id = SessionId::new("claude:s1");
        let checkpoints = write_checkpoints(&store, &id).unwrap();
        let session = store.sessions_by_prefix(id.as_str(), 1).unwrap().remove(0);
        let last = checkpoints.last().unwrap();
        let text = write_snapshot(&session, last, None, SnapshotSize::Standard);
        for part in [
            "The user's last request: make the totals round once",
            "The agent said last: The test of negative totals still fails.",
            "/src/shop/src/totals.rs (used",
            "- error: 1 test failed",
            "- cargo test totals",
        ] {
            assert!(text.contains(part), "{part} is missing in:\n{text}");
        }
    }
}
