//! `throughline context`

use std::io::{Read, Write, stdin, stdout};

use recall::{ItemDecision, RecallAnswer, RecallOutcome};

use crate::commands::App;
use crate::output::text::sanitize;
use crate::output::{self, Exit, say};

/// Show what a prompt would get from memory, and why
///
/// Prints exactly the text that an agent would be given with this prompt; nothing, with exit status 1,
/// when memory has nothing to say.
#[derive(Debug, clap::Args)]
pub(crate) struct ContextArgs {
    /// The prompt; - reads it from standard input
    #[arg(value_name = "PROMPT", default_value = "-")]
    prompt: Vec<String>,

    /// The session the prompt is part of: what it has said or been shown is left out
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// The workspace, instead of the one around the current folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Say of everything that was thought of why it is in or out
    #[arg(long)]
    explain: bool,

    /// Record it as shown to the session
    #[arg(long)]
    record: bool,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// A prompt of a hook may be anything; more than this is not read.
const PROMPT_BYTES_MAX: u64 = 16 << 20;

pub(crate) fn run(app: &App<'_>, args: &ContextArgs) -> anyhow::Result<Exit> {
    let prompt = read_prompt(args)?;
    let store = app.open_for_query()?;
    let workspace = app.find_workspace(&store, args.workspace.as_deref())?;
    let settings = app.serve_settings();
    if let Some(off) = serve::prompt::injection_off(&settings, &workspace) {
        if args.json {
            output::print_json(&serde_json::json!({ "answer": { "abstain": "off" }, "off": off }))?;
        } else {
            say(&format!("Nothing: {}.", off.reason()));
        }
        return Ok(Exit::NothingFound);
    }
    let session = args.session.as_deref();
    let occasion = serve::prompt::prompt_request(&store, &settings, prompt, session, &workspace)?;
    let now = app.environment.now;
    let recalled = serve::prompt::recall_for_prompt(&store, &settings, &occasion, &workspace, now)?;
    if args.json {
        output::print_json(&recalled)?;
    } else {
        print_recalled(&recalled, args.explain)?;
        if matches!(recalled.answer, RecallAnswer::Abstain(_))
            && let Some(hint) = other_workspace_hint(&store, &occasion.prompt, &workspace, now)?
        {
            say(&hint);
        }
    }
    let RecallAnswer::Inject(pack) = &recalled.answer else {
        return Ok(Exit::NothingFound);
    };
    if args.record {
        store.record_injection(serve::prompt::new_injection(&occasion, pack, now))?;
    }
    Ok(Exit::Done)
}

/// Returns a hint at the sessions of another workspace that a silent prompt may be about.
fn other_workspace_hint(
    store: &store::Store,
    prompt: &str,
    here: &memory::Workspace,
    now: jiff::Timestamp,
) -> anyhow::Result<Option<String>> {
    let found = recall::search(store, &recall::RecallQuery::from(prompt), now)?;
    if found.verdict != recall::Verdict::Inject {
        return Ok(None);
    }
    let is_other = |key: &&str| *key != here.key;
    let keys = found
        .hits
        .iter()
        .filter_map(|hit| hit.hit.workspace.as_deref());
    let Some(best) = keys.clone().find(is_other) else {
        return Ok(None);
    };
    let sessions: std::collections::BTreeSet<_> = found
        .hits
        .iter()
        .filter(|hit| hit.hit.workspace.as_deref() == Some(best))
        .map(|hit| &hit.hit.session)
        .collect();
    let known = store.workspaces_matching(best, 1)?;
    let folder = known.first().map_or(best, |workspace| &workspace.root);
    let (count, plural) = (sessions.len(), if sessions.len() == 1 { "" } else { "s" });
    let verb = if count == 1 { "matches" } else { "match" };
    let folder = sanitize(folder);
    Ok(Some(format!(
        "Nothing in this workspace; {count} session{plural} elsewhere {verb} (--workspace {folder})."
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

fn print_recalled(recalled: &RecallOutcome, explain: bool) -> anyhow::Result<()> {
    match &recalled.answer {
        RecallAnswer::Inject(pack) => {
            writeln!(stdout().lock(), "{}", pack.text)?;
            say(&format!("Injection {}, {} tokens.", pack.id, pack.tokens));
        }
        RecallAnswer::Abstain(silence) => say(&format!("Nothing: {}.", silence.reason())),
    }
    if explain {
        say(&format!(
            "Looked for: {}; the search is {:.0} % sure.",
            sanitize(&recalled.keywords.join(" ")),
            100.0 * recalled.confidence
        ));
        for considered in &recalled.considered {
            let fate = match considered.fate {
                ItemDecision::Injected => "in".to_owned(),
                ItemDecision::Left(why) => format!("out: {}", why.reason()),
            };
            let (kind, _) = considered.item.parts();
            let id = considered.item.to_string();
            say(&format!(
                "  {kind} {}  {:.2}  {fate}\n      {}",
                if kind == "fact" { &id[..8] } else { &id },
                considered.score,
                sanitize(&considered.text)
            ));
        }
    }
    Ok(())
}
