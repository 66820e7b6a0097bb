//! `throughline blame`

use std::fmt::Write as _;
use std::io::{Write, stdout};
use std::path::Path;

use recall::questions::{self, Blame};

use crate::commands::App;
use crate::commands::sessions::cut_id;
use crate::output::table::count;
use crate::output::text::{Paint, safe};
use crate::output::{self, Outcome, say, time};

/// Show which sessions touched a file, and why
///
/// The file may be named by any end of its path, so that worktrees and other clones count.
#[derive(Debug, clap::Args)]
pub struct BlameArgs {
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

pub fn run(app: &App<'_>, args: &BlameArgs) -> anyhow::Result<Outcome> {
    let store = app.open_to_ask()?;
    let workspace = match &args.workspace {
        Some(part) => Some(app.workspace(&store, Some(part))?.key),
        None => None,
    };
    let path = relative(app, &args.path);
    let blames = questions::blame(&store, &path, workspace.as_deref(), args.limit)?;
    if args.json {
        output::json(&blames)?;
    } else if blames.is_empty() {
        say("No session is known to have touched it.");
    } else {
        let mut out = stdout().lock();
        for blame in &blames {
            write!(out, "{}", shown(app, blame))?;
        }
    }
    Ok(if blames.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// A path in this repository is known to other clones by its end.
fn relative(app: &App<'_>, path: &str) -> String {
    let whole = app.environment.cwd.join(path);
    if !whole.exists() {
        return path.to_owned();
    }
    let root = app.workspace_here().root;
    let within = whole.strip_prefix(Path::new(&root)).ok();
    within.map_or_else(
        || path.to_owned(),
        |within| within.to_string_lossy().into_owned(),
    )
}

fn shown(app: &App<'_>, blame: &Blame) -> String {
    let paint = Paint {
        color: app.environment.color,
    };
    let touch = &blame.touch;
    let when = time::show(touch.last, &app.environment.zone);
    let deeds = if touch.edits > 0 {
        count(usize::try_from(touch.edits).unwrap_or(usize::MAX), "edit")
    } else {
        "only read".to_owned()
    };
    let workspace = touch
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let head = format!("{when}  {}  {deeds}", safe(workspace));
    let session = format!(
        "{} {}",
        cut_agent(touch.session.as_str()),
        cut_id(&safe(touch.session.native()))
    );
    let mut out = format!("{}  {}\n", paint.bold(&head), paint.dim(&session));
    let _ = writeln!(out, "    {}", safe(&touch.path));
    for (who, text) in [("you", &blame.prompt), ("agent", &blame.said)] {
        if let Some(text) = text {
            let _ = writeln!(out, "    {who}: {}", safe(text));
        }
    }
    out
}

/// Returns the agent of a session by its id.
pub fn cut_agent(session: &str) -> &str {
    session.split(':').next().unwrap_or_default()
}
