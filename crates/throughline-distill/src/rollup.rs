//! The roll-up of a workspace: what its sessions worked on, in at most 1,000 tokens.
//!
//! The hierarchy of summaries is turn, session, workspace: the notes have a line for each turn, a
//! digest is the account of a session, and the roll-up counts what recurs in digests. It holds
//! whole items in the order of their importance.

use std::collections::BTreeMap;

use memory::digest::StepKind;
use memory::tokens::estimate;
use memory::{Digest, FactKind, Outcome, Session, Tokens};
use store::{FactFilter, FactScope, SessionFilter, Store};

/// The size that no roll-up exceeds.
pub const TOKENS_MAX: Tokens = Tokens(1_000);
/// How many of the latest sessions are counted.
const SESSIONS_MAX: usize = 200;
/// How many items of each kind are listed.
const FILES_MAX: usize = 15;
const COMMANDS_MAX: usize = 10;
const DECISIONS_MAX: usize = 10;
const OPEN_MAX: usize = 6;
const LINE_CHARS_MAX: usize = 160;

/// The roll-up of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Rollup {
    pub sessions: usize,
    pub text: String,
    pub tokens: Tokens,
    /// The size of the digests that it was made of.
    pub original_tokens: Tokens,
}

/// Rolls the digests of a workspace up.
pub fn roll_up(store: &Store, workspace: &str) -> store::Result<Rollup> {
    let filter = SessionFilter {
        workspace: Some(workspace.to_owned()),
        limit: SESSIONS_MAX,
        ..SessionFilter::default()
    };
    let mut digests = Vec::new();
    for session in store.sessions(&filter)? {
        if session.workspace.as_deref() != Some(workspace) {
            continue;
        }
        if let Some(stored) = store.digest(&session.id)? {
            digests.push((session, stored.digest));
        }
    }
    let decisions = store.facts(&FactFilter {
        scope: FactScope::Workspaces(vec![workspace.to_owned()]),
        kind: Some(FactKind::Decision),
        history: false,
        limit: DECISIONS_MAX,
    })?;
    let decisions: Vec<String> = decisions
        .into_iter()
        .map(|fact| one_line(&fact.text))
        .collect();
    Ok(write_rollup(&digests, &decisions))
}

/// Writes a roll-up. The latest session comes first.
pub fn write_rollup(digests: &[(Session, Digest)], decisions: &[String]) -> Rollup {
    let mut rollup = Rollup {
        sessions: digests.len(),
        ..Rollup::default()
    };
    let (mut files, mut commands) = (BTreeMap::new(), BTreeMap::new());
    let mut outcomes: BTreeMap<&str, usize> = BTreeMap::new();
    for (session, digest) in digests {
        rollup.original_tokens += estimate(&serde_json::to_string(digest).unwrap_or_default());
        *outcomes.entry(digest.outcome.name()).or_default() += 1;
        for step in &digest.done.items {
            let what = store::relative_path(&step.what, session.cwd.as_deref());
            match step.kind {
                StepKind::Changed => *files.entry(one_line(what)).or_default() += 1,
                StepKind::Ran | StepKind::Tested => {
                    *commands.entry(one_line(what)).or_default() += 1;
                }
                StepKind::Delegated => {}
            }
        }
    }
    let open = digests
        .iter()
        .filter(|(_, digest)| matches!(digest.outcome, Outcome::Abandoned | Outcome::Failed));
    let open = open.filter_map(|(session, digest)| {
        let asked = digest.asked.items.last()?;
        Some(format!(
            "{} ({}): {}",
            session.id,
            digest.outcome,
            one_line(asked)
        ))
    });
    let outcomes = outcomes
        .iter()
        .map(|(name, count)| format!("{count} {name}"));
    let outcomes: Vec<_> = outcomes.collect();
    rollup.add(&format!(
        "{} sessions: {}",
        digests.len(),
        outcomes.join(", ")
    ));
    rollup.add_list("Open ends", open.take(OPEN_MAX));
    rollup.add_list("Decisions", decisions.iter().take(DECISIONS_MAX).cloned());
    rollup.add_list(
        "Files by sessions that changed them",
        most(files, FILES_MAX),
    );
    rollup.add_list(
        "Commands by sessions that ran them",
        most(commands, COMMANDS_MAX),
    );
    rollup
}

impl Rollup {
    /// Adds an item if the text stays within its size, and says whether it did.
    fn add(&mut self, line: &str) -> bool {
        let end = self.text.len();
        self.text.push_str(line);
        self.text.push('\n');
        let tokens = estimate(&self.text);
        if tokens > TOKENS_MAX {
            self.text.truncate(end);
            return false;
        }
        self.tokens = tokens;
        true
    }

    /// Adds a heading with as many items as fit; without any, the heading is left out.
    fn add_list(&mut self, heading: &str, items: impl Iterator<Item = String>) {
        let (end, tokens) = (self.text.len(), self.tokens);
        let mut count = 0;
        if self.add(&format!("\n{heading}:")) {
            for item in items {
                if !self.add(&format!("- {item}")) {
                    break;
                }
                count += 1;
            }
        }
        if count == 0 {
            self.text.truncate(end);
            self.tokens = tokens;
        }
    }
}

/// Returns the most frequent items with their numbers.
fn most(counts: BTreeMap<String, usize>, max: usize) -> impl Iterator<Item = String> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
        .into_iter()
        .take(max)
        .map(|(what, count)| format!("{what} ({count}×)"))
}

/// Returns a text as one line, shortened at the end of a word.
pub fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let line = words.join(" ");
    let Some((end, _)) = line.char_indices().nth(LINE_CHARS_MAX) else {
        return line;
    };
    let head = &line[..end];
    let head = head.rsplit_once(' ').map_or(head, |(head, _)| head);
    format!("{head} …")
}

#[cfg(test)]
mod tests {
    use memory::digest::{CappedList, DigestStep};
    use testkit::store::store;

    use super::*;

    fn digest(number: usize, outcome: Outcome) -> (Session, Digest) {
        let store = store("session s1 in /src/shop\nu hello there\n");
        let session = store.sessions_by_prefix("claude:s1", 1).unwrap().remove(0);
        let step = |kind, what: String| DigestStep {
            kind,
            what,
            times: 1,
            failed: 0,
            exit: None,
        };
        let digest = Digest {
            outcome,
            asked: CappedList::keep_first(vec![format!("finish part {number}")], 1),
            done: CappedList::keep_first(
                vec![
                    step(StepKind::Changed, "src/totals.rs".to_owned()),
                    step(StepKind::Changed, format!("src/{number}.rs")),
                    step(StepKind::Tested, "cargo test".to_owned()),
                ],
                10,
            ),
            ..Digest::default()
        };
        (session, digest)
    }

    #[test]
    fn what_recurs_comes_first() {
        let digests = [digest(1, Outcome::Succeeded), digest(2, Outcome::Abandoned)];
        let rollup = write_rollup(&digests, &["amounts are integers".to_owned()]);
        insta::assert_snapshot!(rollup.text, @"
        2 sessions: 1 abandoned, 1 succeeded

        Open ends:
        - claude:s1 (abandoned): finish part 2

        Decisions:
        - amounts are integers

        Files by sessions that changed them:
        - src/totals.rs (2×)
        - src/1.rs (1×)
        - src/2.rs (1×)

        Commands by sessions that ran them:
        - cargo test (2×)
        ");
    }

    #[test]
    fn a_rollup_is_within_its_size() {
        let mut digests = vec![digest(1, Outcome::Failed)];
        let steps = (0..40).map(|number| DigestStep {
            kind: StepKind::Changed,
            what: format!(
                "a folder with a very long name/{}/{number}",
                "wörter ".repeat(40)
            ),
            times: 1,
            failed: 0,
            exit: None,
        });
        digests[0].1.done = CappedList::keep_first(steps.collect(), 40);
        let decisions = vec!["決定 ".repeat(300); 20];
        let rollup = write_rollup(&digests, &decisions);
        assert!(rollup.tokens <= TOKENS_MAX && estimate(&rollup.text) == rollup.tokens);
        assert!(rollup.text.contains("Open ends"));
    }
}
