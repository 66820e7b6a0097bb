//! Renders facts and records as items of a context pack, with their provenance.

use jiff::Timestamp;
use memory::{Fact, MemoryItem, Tokens, Trust};
use store::Store;

use super::pack::{PackItem, truncate_chars};
use super::{RecallEnv, labels, stale};
use crate::search::RankedHit;

/// Lengths in characters at which texts are cut.
const FACT_CHARS_MAX: usize = 400;
const QUESTION_CHARS_MAX: usize = 240;
const TITLE_CHARS_MAX: usize = 60;

/// Renders a fact. What the user stated stands in our own line as guidance; the words of agents and
/// tools are quoted.
pub(super) fn fact_pack_item(
    store: &Store,
    fact: &Fact,
    score: f64,
    env: &RecallEnv<'_>,
) -> store::Result<PackItem> {
    let introduction = labels::fact_introduction(fact.kind, fact.trust);
    let pinned = if fact.pinned { "pinned, " } else { "" };
    let who = labels::speaker_label(fact.trust);
    let when = labels::format_date(Some(fact.seen), env.now);
    let end = || store.fact_session_end(fact.id);
    let note = stale_note(&fact.text, None, Some(fact.seen), &end, env)?;
    let source = format!("[{pinned}{who}, {when}{note}]");
    let text = truncate_chars(&fact.text, FACT_CHARS_MAX);
    let (head, quoted) = if fact.trust == Trust::User {
        (format!("{introduction}: {text} {source}"), String::new())
    } else {
        (format!("{introduction} {source}:"), text)
    };
    Ok(PackItem {
        item: MemoryItem::Fact(fact.id),
        head,
        quoted,
        tokens: Tokens::default(),
        score,
        session: None,
    })
}

/// Renders a record, of which `text` may be shown. `is_further` says that the pack shows another
/// record of the same session above it, with the name of the session.
pub(super) fn record_pack_item(
    store: &Store,
    ranked: &RankedHit,
    text: String,
    score: f64,
    is_further: bool,
    env: &RecallEnv<'_>,
) -> store::Result<PackItem> {
    let hit = &ranked.hit;
    let who = labels::speaker_label(ranked.trust);
    let what = labels::kind_label(hit.kind);
    let session = if is_further {
        "the same session".to_owned()
    } else {
        let title = hit.title.as_deref().map_or(String::new(), |title| {
            let title: String = title.chars().take(TITLE_CHARS_MAX).collect();
            format!(" \"{title}\"")
        });
        format!("{}{title}", labels::session_label(&hit.session))
    };
    let path = hit.path.as_deref();
    let of_path = path.map_or(String::new(), |path| format!(" of {path}"));
    let when = labels::format_date(hit.at, env.now);
    let end = || store.session_end(&hit.session);
    let note = stale_note(&text, path, hit.at, &end, env)?;
    let question = ranked.asked.as_ref().map_or(String::new(), |asked| {
        let question = truncate_chars(&asked.text, QUESTION_CHARS_MAX);
        format!(" to \"{question}\"")
    });
    Ok(PackItem {
        item: MemoryItem::Record(hit.id),
        head: format!("Evidence: {what}{question}{of_path} [{who}, {session}, {when}{note}]:"),
        quoted: text,
        tokens: Tokens::default(),
        score,
        session: Some(hit.session.clone()),
    })
}

/// Returns a note about files that have changed since the memory was made, or nothing.
fn stale_note(
    text: &str,
    path: Option<&str>,
    at: Option<Timestamp>,
    session_end: &dyn Fn() -> store::Result<Option<Timestamp>>,
    env: &RecallEnv<'_>,
) -> store::Result<String> {
    let files = stale::changed_files(text, path, at, session_end, env.changed_since)?;
    if files.is_empty() {
        return Ok(String::new());
    }
    let files = files.join(", ");
    Ok(format!("; may be stale: {files} changed since"))
}
