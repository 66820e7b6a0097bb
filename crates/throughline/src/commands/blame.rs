//! `throughline blame`

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use recall::questions::{self, Blame};
use serde::Serialize;
use store::Store;

use crate::commands::sessions::session_label;
use crate::commands::{App, parse_limit};
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Show which sessions read or changed a file, and why
///
/// Any suffix of the path selects the file, so worktrees and other clones are included.
#[derive(Debug, clap::Args)]
pub(crate) struct BlameArgs {
    /// The file
    #[arg(value_name = "PATH")]
    path: String,

    /// Only this workspace
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// The number of sessions to show
    #[arg(short = 'n', long, default_value = "10", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the sessions as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &BlameArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let workspace = match &args.workspace {
        Some(part) => Some(app.find_workspace(&store, Some(part))?.key),
        None => None,
    };
    let path = workspace_relative(app, &args.path);
    let blames = questions::blame(&store, &path, workspace.as_deref(), args.limit)?;
    let none = "No session read or changed this file.";
    print_answers(app, args.json, &blames, none, |blame| {
        format_blame(app, &store, blame)
    })
}

/// Prints the answers to a question as JSON or as text, or says that there are none.
pub(crate) fn print_answers<T: Serialize>(
    app: &App<'_>,
    as_json: bool,
    answers: &[T],
    none: &str,
    format: impl Fn(&T) -> String,
) -> anyhow::Result<Exit> {
    if as_json {
        output::print_json(&answers)?;
    } else if answers.is_empty() {
        say(none);
    } else {
        let mut out = app.output();
        for answer in answers {
            write!(out, "{}", format(answer))?;
        }
    }
    Ok(if answers.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

/// Returns a path relative to its workspace: other clones share only that part.
fn workspace_relative(app: &App<'_>, path: &str) -> String {
    let whole = app.environment.cwd.join(path);
    if !whole.exists() {
        return path.to_owned();
    }
    let root = app.current_workspace().root;
    let within = whole.strip_prefix(Path::new(&root)).ok();
    within.map_or_else(
        || path.to_owned(),
        |within| within.to_string_lossy().into_owned(),
    )
}

fn format_blame(app: &App<'_>, store: &Store, blame: &Blame) -> String {
    let style = app.style();
    let touch = &blame.touch;
    let when = app.format_when(touch.last);
    let edits = if touch.edits > 0 {
        count(usize::try_from(touch.edits).unwrap_or(usize::MAX), "edit")
    } else {
        "only read".to_owned()
    };
    let workspace = touch
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let head = format!("{when}  {}  {edits}", sanitize(workspace));
    let session = session_label(store, &touch.session);
    let mut out = format!("{}  {}\n", style.bold(&head), style.dim(&session));
    let _ = writeln!(out, "    {}", sanitize(&touch.path));
    for (who, text) in [("you", &blame.prompt), ("agent", &blame.said)] {
        if let Some(text) = text {
            let _ = writeln!(out, "    {who}: {}", sanitize(text));
        }
    }
    out
}
