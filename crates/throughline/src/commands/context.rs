//! `throughline context`

use std::io::{Read, Write, stdin, stdout};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{SessionId, Workspace};
use recall::{Answer, Budget, Fate, Occasion, Recalled, World};
use serde::Serialize;
use store::{NewInjection, Store};

use crate::commands::App;
use crate::output::text::safe;
use crate::output::{self, Outcome, say};

/// Show what a prompt would get from memory, and why
///
/// Prints exactly the text that an agent would be given with this prompt; nothing, with exit status 1,
/// when memory has nothing to say.
#[derive(Debug, clap::Args)]
pub struct ContextArgs {
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

/// Why injection is switched off.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Off {
    Environment,
    Configuration,
    Workspace,
}

impl Off {
    const fn reason(self) -> &'static str {
        match self {
            Self::Environment => "THROUGHLINE_INJECTION is off",
            Self::Configuration => "[injection] enabled is false in the configuration",
            Self::Workspace => "the configuration switches it off for this workspace",
        }
    }
}

pub fn run(app: &App<'_>, args: &ContextArgs) -> anyhow::Result<Outcome> {
    let prompt = prompt(args)?;
    let store = app.open_to_ask()?;
    let workspace = app.workspace(&store, args.workspace.as_deref())?;
    if let Some(off) = off(app, &workspace) {
        if args.json {
            output::json(&serde_json::json!({ "answer": { "abstain": "off" }, "off": off }))?;
        } else {
            say(&format!("Nothing: {}.", off.reason()));
        }
        return Ok(Outcome::NothingFound);
    }
    let occasion = occasion(app, &store, args, prompt, &workspace)?;
    let recalled = answer(app, &store, &occasion, &workspace)?;
    if args.json {
        output::json(&recalled)?;
    } else {
        print(&recalled, args.explain)?;
    }
    let Answer::Inject(pack) = &recalled.answer else {
        return Ok(Outcome::NothingFound);
    };
    if args.record {
        store.record_injection(NewInjection {
            name: pack.id.clone(),
            session: occasion.session.clone(),
            workspace: occasion.workspace.clone(),
            at: app.environment.now,
            prompt: occasion.prompt.clone(),
            tokens: pack.tokens,
            items: pack
                .items
                .iter()
                .map(|item| (item.item, item.tokens))
                .collect(),
        })?;
    }
    Ok(Outcome::Done)
}

fn prompt(args: &ContextArgs) -> anyhow::Result<String> {
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

fn off(app: &App<'_>, workspace: &Workspace) -> Option<Off> {
    let injection = &app.config.injection;
    let named = |part: &String| workspace.key.contains(part) || workspace.root.contains(part);
    if app.environment.injection_off {
        Some(Off::Environment)
    } else if !injection.enabled {
        Some(Off::Configuration)
    } else if injection.off.iter().any(named) {
        Some(Off::Workspace)
    } else {
        None
    }
}

/// A session that is too young to be known is still itself: what was shown to it is not shown again.
fn occasion(
    app: &App<'_>,
    store: &Store,
    args: &ContextArgs,
    prompt: String,
    workspace: &Workspace,
) -> anyhow::Result<Occasion> {
    let session = match &args.session {
        None => None,
        Some(id) => {
            let named = store.sessions_named(id, 2)?;
            let known = if let [only] = named.as_slice() {
                Some(only.id.clone())
            } else {
                None
            };
            Some(known.unwrap_or_else(|| SessionId::new(id)))
        }
    };
    let related = &app.config.workspaces.related;
    let related = related
        .get(&workspace.key)
        .or_else(|| related.get(&workspace.root));
    Ok(Occasion {
        prompt,
        session,
        workspace: Some(workspace.key.clone()),
        related: related.cloned().unwrap_or_default(),
    })
}

/// Returns what a prompt gets.
pub fn answer(
    app: &App<'_>,
    store: &Store,
    occasion: &Occasion,
    workspace: &Workspace,
) -> anyhow::Result<Recalled> {
    let injection = &app.config.injection;
    let config = recall::Config {
        budget: Budget {
            facts: injection.facts,
            snippets: injection.snippets,
            tokens: memory::Tokens(injection.tokens),
            ..Budget::default()
        },
        gate: injection.gate,
        sensitive: injection.sensitive,
        ..recall::Config::default()
    };
    let now = app.environment.now;
    let word = store.injection_name(&occasion.prompt, occasion.session.as_ref(), now);
    let root = PathBuf::from(&workspace.root);
    let changed_since = |path: &Path, at: Timestamp| changed_since(&root.join(path), at);
    let world = World {
        now,
        word: &word,
        changed_since: &changed_since,
    };
    Ok(recall::recall(
        store,
        occasion,
        &config,
        &world,
        recall::offered::find,
    )?)
}

/// Says whether a file was written after a time. A file that is gone says nothing.
fn changed_since(path: &Path, at: Timestamp) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok())
        .is_some_and(|modified| modified > at)
}

fn print(recalled: &Recalled, explain: bool) -> anyhow::Result<()> {
    match &recalled.answer {
        Answer::Inject(pack) => {
            writeln!(stdout().lock(), "{}", pack.text)?;
            say(&format!("Injection {}, {} tokens.", pack.id, pack.tokens));
        }
        Answer::Abstain(silence) => say(&format!("Nothing: {}.", silence.reason())),
    }
    if explain {
        say(&format!(
            "Looked for: {}; the search is {:.0} % sure.",
            safe(&recalled.keywords.join(" ")),
            100.0 * recalled.confidence
        ));
        for considered in &recalled.considered {
            let fate = match considered.fate {
                Fate::Injected => "in".to_owned(),
                Fate::Left(why) => format!("out: {}", why.reason()),
            };
            let (kind, _) = considered.item.parts();
            let id = considered.item.to_string();
            say(&format!(
                "  {kind} {}  {:.2}  {fate}\n      {}",
                if kind == "fact" { &id[..8] } else { &id },
                considered.score,
                safe(&considered.text)
            ));
        }
    }
    Ok(())
}
