//! `throughline blame`

use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::path::Path;

use recall::questions::{self, Blame};

use crate::commands::App;
use crate::commands::sessions::short_session_id;
use crate::output::table::count;
use crate::output::text::{TextStyle, sanitize};
use crate::output::{self, Exit, say, time};

/// Show which sessions touched a file, and why
///
/// The file may be named by any end of its path, so that worktrees and other clones count.
#[derive(Debug, clap::Args)]
pub(crate) struct BlameArgs {
    /// The file
    #[arg(value_name = "PATH")]
    path: String,

    /// Only this workspace
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// How many sessions to show
    #[arg(short = 'n', long, default_value_t = 10, value_name = "NUMBER")]
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
    if args.json {
        output::print_json(&blames)?;
    } else if blames.is_empty() {
        say("No session is known to have touched it.");
    } else {
        let mut out = stdout().lock();
        for blame in &blames {
            write!(out, "{}", format_blame(app, blame))?;
        }
    }
    Ok(if blames.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

/// A path in this repository is known to other clones by its end.
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

fn format_blame(app: &App<'_>, blame: &Blame) -> String {
    let paint = TextStyle {
        color: app.environment.color,
    };
    let touch = &blame.touch;
    let when = time::format_time(touch.last, &app.environment.zone);
    let deeds = if touch.edits > 0 {
        count(usize::try_from(touch.edits).unwrap_or(usize::MAX), "edit")
    } else {
        "only read".to_owned()
    };
    let workspace = touch
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let head = format!("{when}  {}  {deeds}", sanitize(workspace));
    let session = format!(
        "{} {}",
        agent_name(touch.session.as_str()),
        short_session_id(&sanitize(touch.session.native()))
    );
    let mut out = format!("{}  {}\n", paint.bold(&head), paint.dim(&session));
    let _ = writeln!(out, "    {}", sanitize(&touch.path));
    for (who, text) in [("you", &blame.prompt), ("agent", &blame.said)] {
        if let Some(text) = text {
            let _ = writeln!(out, "    {who}: {}", sanitize(text));
        }
    }
    out
}

/// Returns the agent of a session by its id.
pub(crate) fn agent_name(session: &str) -> &str {
    session.split(':').next().unwrap_or_default()
}
