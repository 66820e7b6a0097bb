//! Checkpoints of a session, made of its stored records alone.
//!
//! A checkpoint is made after every [`INTERVAL`] interactions, where the conversation was
//! compacted, and at the end of the records. The same records always give the same checkpoints,
//! so a process that was killed loses none: the next one makes them again.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};
use memory::layers::{
    CardKey, Checkpoint, CheckpointCause, SessionMemory, SessionTouches, TouchedFile,
};
use memory::tokens::estimate;
use memory::{RecordKind, SessionId, Tokens, command};
use store::{Store, StoredRecord};

use crate::record_view::ExtractorRecord;

/// Checkpoints are at most this many interactions apart.
pub const INTERVAL: u64 = 50;
/// Sessions that were quiet for longer get checkpoints only on demand.
const ACTIVE_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

const ASKED_MAX: usize = 5;
const FILES_MAX: usize = 20;
const COMMANDS_MAX: usize = 10;
const ERRORS_MAX: usize = 5;
const INTERACTIONS_MAX: usize = 10;
const CARDS_MAX: usize = 20;
/// The size that no checkpoint exceeds.
pub const TOKENS_MAX: Tokens = Tokens(5_000);
/// A quoted text is cut to this many characters, at the end of a word.
const QUOTE_CHARS_MAX: usize = 600;
const LINE_CHARS_MAX: usize = 160;

/// What a run over the pending sessions did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointReport {
    pub sessions: usize,
    pub checkpoints: usize,
}

/// Makes the checkpoints of all sessions that changed lately.
pub fn write_pending_checkpoints(
    store: &Store,
    stopped: &dyn Fn() -> bool,
    now: Timestamp,
) -> store::Result<CheckpointReport> {
    let since = now.checked_sub(ACTIVE_FOR).unwrap_or(now);
    let mut report = CheckpointReport::default();
    for (session, revision) in store.pending_checkpoints(since)? {
        if stopped() {
            break;
        }
        let checkpoints = derive_checkpoints(store, &session)?;
        // The revision detects records that came while the checkpoints were derived; the session
        // is then pending again.
        if store.put_checkpoints(&session, revision, &checkpoints)? {
            report.sessions += 1;
            report.checkpoints += checkpoints.len();
        }
    }
    Ok(report)
}

/// Makes the checkpoints of one session and returns all that it has.
pub fn write_checkpoints(store: &Store, session: &SessionId) -> store::Result<Vec<Checkpoint>> {
    if let Some(revision) = store.checkpoint_revision(session)? {
        let checkpoints = derive_checkpoints(store, session)?;
        store.put_checkpoints(session, revision, &checkpoints)?;
    }
    store.checkpoints(session)
}

/// Returns the checkpoints that the records of a session give.
pub fn derive_checkpoints(store: &Store, session: &SessionId) -> store::Result<Vec<Checkpoint>> {
    let mut builder = CheckpointBuilder {
        cwd: store.session_folder(session)?.map(|(cwd, _)| cwd),
        ..CheckpointBuilder::default()
    };
    store.each_record(session, |record| builder.add(&record))?;
    Ok(builder.finish())
}

/// Reads records in order and takes a checkpoint wherever one is due.
#[derive(Debug, Default)]
struct CheckpointBuilder {
    done: Vec<Checkpoint>,
    state: Checkpoint,
    touches: SessionTouches,
    memory: SessionMemory,
    cwd: Option<String>,
    recent: VecDeque<memory::RecordId>,
    /// True while the records belong to one response of the model.
    in_response: bool,
}

impl CheckpointBuilder {
    fn add(&mut self, record: &StoredRecord) {
        let is_model = matches!(
            record.kind,
            RecordKind::Assistant | RecordKind::Thinking | RecordKind::ToolUse
        );
        let starts = record.kind == RecordKind::Prompt || is_model && !self.in_response;
        if starts {
            self.start_interaction(record);
        }
        self.in_response = is_model;
        let at = record.at.or(self.state.at).unwrap_or(Timestamp::UNIX_EPOCH);
        self.memory
            .add(&record.layer_record(self.cwd.as_deref()), at);
        self.state.at = self.state.at.max(record.at);
        match record.kind {
            RecordKind::Prompt => {
                self.state.prompts += 1;
                push_last(&mut self.state.asked, quote(&record.content), ASKED_MAX);
            }
            RecordKind::Assistant => self.state.said = Some(quote(&record.content)),
            RecordKind::ToolUse => self.add_call(record),
            RecordKind::ToolResult | RecordKind::Error => self.add_result(record),
            RecordKind::Artifact => self.touch(record, true),
            RecordKind::Summary => self.take(CheckpointCause::Compaction),
            RecordKind::Thinking | RecordKind::Approval => {}
        }
    }

    /// Takes a checkpoint if one is due, then counts the interaction that begins.
    fn start_interaction(&mut self, record: &StoredRecord) {
        let last = self
            .done
            .last()
            .map_or(0, |checkpoint| checkpoint.interactions);
        if self.state.interactions - last >= INTERVAL {
            self.take(CheckpointCause::Interval);
        }
        self.state.interactions += 1;
        self.recent.push_back(record.id);
        if self.recent.len() > INTERACTIONS_MAX {
            self.recent.pop_front();
        }
    }

    fn add_call(&mut self, record: &StoredRecord) {
        self.state.calls += 1;
        self.touch(record, false);
        let tool = record.tool.as_deref().unwrap_or_default();
        let tool_name = tool.to_ascii_lowercase();
        if tool_name.contains("todo") || tool_name.contains("plan") {
            self.state.plan = Some(quote(&record.content));
        } else if command::is_shell_tool(tool)
            && let Some(command) = command::parse_call(&record.content)
        {
            push_last(&mut self.state.commands, one_line(&command), COMMANDS_MAX);
        }
    }

    fn add_result(&mut self, record: &StoredRecord) {
        if !ExtractorRecord::from(record).failed() {
            return;
        }
        self.state.failures += 1;
        let mut lines = record
            .content
            .lines()
            .filter(|line| !line.trim().is_empty());
        if let Some(line) = lines.next() {
            push_last(&mut self.state.errors, one_line(line), ERRORS_MAX);
        }
    }

    fn touch(&mut self, record: &StoredRecord, is_edit: bool) {
        if let (Some(path), Some(at)) = (&record.path, record.at) {
            self.touches.add(path, is_edit, at);
        }
    }

    /// Closes a checkpoint, unless nothing happened since the last one.
    fn take(&mut self, cause: CheckpointCause) {
        let last = self
            .done
            .last()
            .map_or(0, |checkpoint| checkpoint.interactions);
        if self.state.interactions == last {
            return;
        }
        let mut checkpoint = self.state.clone();
        checkpoint.number = u32::try_from(self.done.len() + 1).unwrap_or(u32::MAX);
        checkpoint.cause = cause;
        checkpoint.recent = self.recent.iter().copied().collect();
        checkpoint.files = last_files(&self.touches);
        checkpoint.decisions = self.memory.decisions().map(str::to_owned).collect();
        let cards = self.memory.working.used_cards();
        let cards = cards
            .filter(|(key, _)| **key != CardKey::Task)
            .take(CARDS_MAX);
        let cards = cards.map(|(key, card)| (key.clone(), card.first_line().text));
        checkpoint.cards = cards.collect();
        fit(&mut checkpoint);
        self.done.push(checkpoint);
    }

    fn finish(mut self) -> Vec<Checkpoint> {
        self.take(CheckpointCause::End);
        self.done
    }
}

/// Leaves out the oldest items until a checkpoint is within its size.
fn fit(checkpoint: &mut Checkpoint) {
    while estimate(&serde_json::to_string(checkpoint).unwrap_or_default()) > TOKENS_MAX {
        if checkpoint.cards.pop().is_some() {
            continue;
        }
        if checkpoint.files.len() > 1 {
            checkpoint.files.pop();
            continue;
        }
        let lists = [
            &mut checkpoint.asked, &mut checkpoint.commands, &mut checkpoint.errors,
            &mut checkpoint.decisions,
        ];
        let longest = lists.into_iter().max_by_key(|list| list.len());
        if let Some(list) = longest.filter(|list| list.len() > 1) {
            list.remove(0);
            continue;
        }
        if checkpoint.said.take().is_none() && checkpoint.plan.take().is_none() {
            break;
        }
    }
}

/// Returns the files that were touched last, the latest first.
fn last_files(touches: &SessionTouches) -> Vec<TouchedFile> {
    let mut files: Vec<_> = touches.files.iter().enumerate().collect();
    files.sort_by_key(|(position, file)| std::cmp::Reverse((file.last, *position)));
    files.truncate(FILES_MAX);
    files.into_iter().map(|(_, file)| file.clone()).collect()
}

/// Appends a line to a list of the last ones, without repeating it.
fn push_last(list: &mut Vec<String>, line: String, max: usize) {
    if line.is_empty() {
        return;
    }
    list.retain(|known| *known != line);
    list.push(line);
    if list.len() > max {
        list.remove(0);
    }
}

/// Shortens a text at the end of a word.
fn quote(text: &str) -> String {
    shorten(text.trim(), QUOTE_CHARS_MAX)
}

fn one_line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    shorten(&words.join(" "), LINE_CHARS_MAX)
}

fn shorten(text: &str, chars_max: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars_max) else {
        return text.to_owned();
    };
    let head = &text[..end];
    let head = head
        .rsplit_once(char::is_whitespace)
        .map_or("", |(head, _)| head);
    format!("{} …", head.trim_end())
}

#[cfg(test)]
mod tests {
    use testkit::store::store;

    use super::*;

    #[test]
    fn checkpoints_are_at_most_fifty_interactions_apart() {
        let mut script = String::from("session s1 in /src/shop\n");
        for number in 0..60 {
            script += &format!("u do step {number}\na use Bash cargo test {number}\nt result ok\n");
        }
        let store = store(&script);
        let session = SessionId::new("claude:s1");
        let checkpoints = write_checkpoints(&store, &session).unwrap();
        let ends: Vec<_> = checkpoints.iter().map(|c| c.interactions).collect();
        assert_eq!(ends, [50, 100, 120]);
        assert_eq!(checkpoints[0].asked.last().unwrap(), "do step 24");
        assert_eq!(checkpoints[2].cause, CheckpointCause::End);
        assert_eq!(checkpoints[2].recent.len(), INTERACTIONS_MAX);
        // A second process derives the same bytes.
        let again = derive_checkpoints(&store, &session).unwrap();
        assert_eq!(
            serde_json::to_string(&again).unwrap(),
            serde_json::to_string(&checkpoints).unwrap()
        );
    }

    #[test]
    fn texts_are_cut_between_words() {
        assert_eq!(shorten("one two three", 9), "one two …");
        assert_eq!(shorten("one two", 9), "one two");
    }
}
