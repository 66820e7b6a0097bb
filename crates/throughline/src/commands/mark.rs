//! `throughline name`, `star`, `tag` and `archive`: what the user says about a session.

use memory::Session;
use store::MarksPatch;

use crate::commands::App;
use crate::commands::sessions::session_id;
use crate::commands::show::find_session;
use crate::output::text::sanitize;
use crate::output::{Exit, error_with_hint, print_json};

/// Give a session a name
///
/// The name is shown in place of the title. It stays when the session is read again, and it is
/// exported with the session.
#[derive(Debug, clap::Args)]
pub(crate) struct NameArgs {
    /// The id of a session, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// The new name; without one, the marks of the session are shown
    #[arg(value_name = "NAME")]
    name: Vec<String>,

    /// Take the name away
    #[arg(long, conflicts_with = "name")]
    off: bool,

    /// Print the marks of the session as JSON
    #[arg(long)]
    json: bool,
}

/// Star a session
#[derive(Debug, clap::Args)]
pub(crate) struct StarArgs {
    /// The id of a session, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// Take the star away
    #[arg(long)]
    off: bool,

    /// Print the marks of the session as JSON
    #[arg(long)]
    json: bool,
}

/// Add tags to a session
#[derive(Debug, clap::Args)]
pub(crate) struct TagArgs {
    /// The id of a session, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// The tags, one word each
    #[arg(value_name = "TAG", required = true, value_parser = parse_tag)]
    tags: Vec<String>,

    /// Take the tags away
    #[arg(long)]
    off: bool,

    /// Print the marks of the session as JSON
    #[arg(long)]
    json: bool,
}

/// Leave a session out of lists
///
/// An archived session is still searched. `throughline sessions --archived` lists it.
#[derive(Debug, clap::Args)]
pub(crate) struct ArchiveArgs {
    /// The id of a session, or the beginning of it
    #[arg(value_name = "SESSION")]
    session: String,

    /// List the session again
    #[arg(long)]
    off: bool,

    /// Print the marks of the session as JSON
    #[arg(long)]
    json: bool,
}

/// Parses a tag: one word, so that a list of tags can be read.
pub(crate) fn parse_tag(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(|c: char| c.is_whitespace() || c == ',') {
        true => Err("a tag is one word without commas".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(crate) fn run_name(app: &App<'_>, args: &NameArgs) -> anyhow::Result<Exit> {
    let patch = MarksPatch {
        name: (args.off || !args.name.is_empty()).then(|| args.name.join(" ")),
        ..MarksPatch::default()
    };
    mark(app, &args.session, &patch, args.json)
}

pub(crate) fn run_star(app: &App<'_>, args: &StarArgs) -> anyhow::Result<Exit> {
    let patch = MarksPatch {
        starred: Some(!args.off),
        ..MarksPatch::default()
    };
    mark(app, &args.session, &patch, args.json)
}

pub(crate) fn run_tag(app: &App<'_>, args: &TagArgs) -> anyhow::Result<Exit> {
    let mut patch = MarksPatch::default();
    match args.off {
        true => patch.remove_tags.clone_from(&args.tags),
        false => patch.add_tags.clone_from(&args.tags),
    }
    mark(app, &args.session, &patch, args.json)
}

pub(crate) fn run_archive(app: &App<'_>, args: &ArchiveArgs) -> anyhow::Result<Exit> {
    let patch = MarksPatch {
        archived: Some(!args.off),
        ..MarksPatch::default()
    };
    mark(app, &args.session, &patch, args.json)
}

/// Changes the marks of a session and prints what they are now.
fn mark(app: &App<'_>, session: &str, patch: &MarksPatch, json: bool) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let session = find_session(&store, session)?;
    let Some(marks) = store.mark_session(&session.id, patch)? else {
        return Err(error_with_hint(
            format!("{} was deleted in the meantime", session.id),
            "`throughline sessions` lists the sessions",
        ));
    };
    if json {
        print_json(&marks)?;
        return Ok(Exit::Done);
    }
    let session = Session { marks, ..session };
    let marks = describe_marks(&session);
    let marks = match marks.is_empty() {
        true => "no marks".to_owned(),
        false => marks,
    };
    say!("{}: {marks}.", session_id(&store, &session.id));
    Ok(Exit::Done)
}

/// Returns the marks of a session in words, or nothing if it has none.
pub(crate) fn describe_marks(session: &Session) -> String {
    let marks = &session.marks;
    let mut parts = Vec::new();
    parts.extend(
        marks
            .name
            .as_ref()
            .map(|name| format!("named {:?}", sanitize(name))),
    );
    if marks.starred {
        parts.push("starred".to_owned());
    }
    if !marks.tags.is_empty() {
        parts.push(format!("tagged {}", sanitize(&marks.tags.join(", "))));
    }
    if marks.archived {
        parts.push("archived".to_owned());
    }
    parts.join(", ")
}
