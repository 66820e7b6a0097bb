//! `throughline context`

use std::collections::BTreeSet;
use std::io::{Read, Write, stdin};

use jiff::Timestamp;
use memory::Workspace;
use recall::{ItemDecision, RecallAnswer, RecallOutcome};
use serve::ServeSettings;
use serve::requests::AccessScope;
use serve::requests::context::{PromptContext, prompt_context};
use serve::requests::search::{SearchContent, SearchOptions, search};
use store::{Query, Store};

use crate::commands::App;
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Show the context that memory would inject for a prompt, and why
///
/// Prints exactly the text that an agent would receive with this prompt. Prints nothing and exits
/// with status 1 if memory has nothing relevant.
#[derive(Debug, clap::Args)]
pub(crate) struct ContextArgs {
    /// The prompt; - reads it from standard input
    #[arg(value_name = "PROMPT", default_value = "-")]
    prompt: Vec<String>,

    /// The session of the prompt; leaves out what it contains or has been shown
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Use this workspace instead of that of the current folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// List every candidate and why it was injected or left out
    #[arg(long)]
    explain: bool,

    /// Record the context as shown to the session
    #[arg(long)]
    record: bool,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// A longer prompt is cut off here.
const PROMPT_BYTES_MAX: u64 = 16 << 20;

/// The hits that are searched for sessions of other workspaces.
const HINT_HITS: usize = 20;

pub(crate) fn run(app: &App<'_>, args: &ContextArgs) -> anyhow::Result<Exit> {
    let prompt = read_prompt(args)?;
    let store = app.open_for_query()?;
    let workspace = app.find_workspace(&store, args.workspace.as_deref())?;
    let settings = app.serve_settings();
    let (session, now) = (args.session.as_deref(), app.environment.now);
    let context = prompt_context(&store, &settings, &workspace, prompt, session, now)?;
    let recall = match &context {
        PromptContext::Recalled(recall) => recall,
        PromptContext::Off(off) => {
            if args.json {
                let answer = serde_json::json!({ "answer": { "abstain": "off" }, "off": off });
                output::print_json(&answer)?;
            } else {
                say(&format!("Nothing: {}.", off.reason()));
            }
            return Ok(Exit::NothingFound);
        }
    };
    if args.json {
        output::print_json(&recall.outcome)?;
    } else {
        print_recalled(app, args, &recall.outcome)?;
        if context.pack().is_err()
            && let Some(hint) =
                other_workspace_hint(&store, &settings, &recall.request.prompt, &workspace, now)?
        {
            say(&hint);
        }
    }
    if context.pack().is_err() {
        return Ok(Exit::NothingFound);
    }
    if args.record {
        context.record(&store, now)?;
    }
    Ok(Exit::Done)
}

/// Returns a hint if the prompt matches sessions of another workspace.
fn other_workspace_hint(
    store: &Store,
    settings: &ServeSettings,
    prompt: &str,
    here: &Workspace,
    now: Timestamp,
) -> anyhow::Result<Option<String>> {
    let query = Query {
        text: prompt.to_owned(),
        limit: HINT_HITS,
        ..Query::default()
    };
    let options = SearchOptions {
        content: SearchContent::Records,
        include_sensitive: true,
        ..SearchOptions::default()
    };
    let found = search(store, &AccessScope::unrestricted(), &query, options, now)?;
    if found.confidence < settings.injection.recall.gate {
        return Ok(None);
    }
    let hits = found.hits.iter().map(|ranked| &ranked.hit);
    let keys = hits.clone().filter_map(|hit| hit.workspace.as_deref());
    let Some(best) = keys.clone().find(|key| *key != here.key) else {
        return Ok(None);
    };
    let of_best = hits.filter(|hit| hit.workspace.as_deref() == Some(best));
    let sessions: BTreeSet<_> = of_best.map(|hit| &hit.session).collect();
    let known = store.workspaces_matching(best, 1)?;
    let folder = known.first().map_or(best, |workspace| &workspace.root);
    let verb = if sessions.len() == 1 {
        "matches"
    } else {
        "match"
    };
    Ok(Some(format!(
        "Nothing in this workspace; {} elsewhere {verb} (--workspace {}).",
        count(sessions.len(), "session"),
        sanitize(folder)
    )))
}

fn read_prompt(args: &ContextArgs) -> anyhow::Result<String> {
    if args.prompt != ["-"] {
        return Ok(args.prompt.join(" "));
    }
    let mut bytes = Vec::new();
    stdin()
        .lock()
        .take(PROMPT_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn print_recalled(
    app: &App<'_>,
    args: &ContextArgs,
    recalled: &RecallOutcome,
) -> anyhow::Result<()> {
    match &recalled.answer {
        RecallAnswer::Inject(pack) => {
            writeln!(app.output(), "{}", sanitize(&pack.text))?;
            match args.record {
                true => say(&format!("Injection {}, {} tokens.", pack.id, pack.tokens)),
                false => say(&format!(
                    "A preview of {} tokens; --record counts it as shown, so that it can be rated.",
                    pack.tokens
                )),
            }
        }
        RecallAnswer::Abstain(silence) => say(&format!("Nothing: {}.", silence.reason())),
    }
    if args.explain {
        say(&format!(
            "Searched for: {}; confidence {:.0} %.",
            sanitize(&recalled.keywords.join(" ")),
            100.0 * recalled.confidence
        ));
        for considered in &recalled.considered {
            let fate = match considered.decision {
                ItemDecision::Injected => "injected".to_owned(),
                ItemDecision::Rejected(why) => format!("left out: {}", why.reason()),
            };
            let (kind, _) = considered.item.parts();
            let id = considered.item.to_string();
            say(&format!(
                "  {kind} {}  {:.2}  {fate}\n      {}",
                &id[..8.min(id.len())],
                considered.score,
                sanitize(&considered.text)
            ));
        }
    }
    Ok(())
}
