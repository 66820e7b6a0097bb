//! `throughline redact`

use std::fs::File;
use std::io::{self, BufRead, Read, Write, stdin, stdout};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::ProgressBar;
use redact::{PersonalData, Redactor, personal_data};
use serde::{Deserialize, Serialize};
use store::forget::Traces;
use store::{RescanProgress, RescanScope};

use crate::commands::App;
use crate::output::table::count;
use crate::output::{self, Exit, error_with_hint};

/// Remove secrets from text
///
/// Reads a file or standard input and writes standard output, with the rules that are applied to
/// everything in the store. --rescan applies the current rules to what was stored under older ones.
#[derive(Debug, clap::Args)]
pub(crate) struct RedactArgs {
    /// The file to read, instead of standard input; it is not changed
    #[arg(value_name = "FILE", conflicts_with = "rescan")]
    file: Option<PathBuf>,

    /// Read one {"id", "text"} object per line, and add why the text is "sensitive"
    #[arg(long)]
    jsonl: bool,

    /// Print to standard error what was replaced, where, and by which rule
    #[arg(long)]
    explain: bool,

    /// Redact the store with the current rules, instead of standard input
    #[arg(long, conflicts_with_all = ["jsonl", "explain"])]
    rescan: bool,

    /// With --rescan: include records that the current rules have already redacted
    #[arg(long, requires = "rescan")]
    all: bool,

    /// With --rescan: count what would change, without changing it
    #[arg(long, requires = "rescan")]
    dry_run: bool,

    /// With --rescan: print the result as JSON
    #[arg(long, requires = "rescan")]
    json: bool,
}

#[derive(Deserialize)]
struct RedactInput {
    #[serde(default)]
    id: serde_json::Value,
    text: String,
}

#[derive(Serialize)]
struct RedactOutput {
    id: serde_json::Value,
    text: String,
    /// Why the text is tagged `sensitive`: types of personal data, or a possible secret.
    sensitive: Vec<&'static str>,
}

pub(crate) fn run(app: &App<'_>, args: &RedactArgs) -> anyhow::Result<Exit> {
    if args.rescan {
        return rescan(app, args);
    }
    let redactor = Redactor::new(store::installation_key(&app.home)?);
    let mut out = io::BufWriter::new(stdout().lock());
    if args.jsonl {
        for (number, line) in (1..).zip(open_input(args)?.lines()) {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let item: RedactInput = serde_json::from_str(&line)
                .with_context(|| format!("line {number} is not an {{\"id\", \"text\"}} object"))?;
            let clean = redactor.clean(&item.text);
            let personal = personal_data(clean.as_str(), None);
            let mut sensitive: Vec<_> = personal.into_iter().map(PersonalData::name).collect();
            if clean.sensitive() {
                sensitive.push("possible-secret");
            }
            let text = clean.as_str().to_owned();
            if args.explain {
                explain(&redactor, &item.text, &format!("line {number}: "));
            }
            let clean = RedactOutput {
                id: item.id,
                text,
                sensitive,
            };
            serde_json::to_writer(&mut out, &clean)?;
            writeln!(out)?;
        }
    } else {
        let mut bytes = Vec::new();
        open_input(args)?.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        if args.explain {
            explain(&redactor, &text, "");
        }
        write!(out, "{}", redactor.clean(&text).as_str())?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Opens the file, or standard input.
fn open_input(args: &RedactArgs) -> anyhow::Result<Box<dyn BufRead>> {
    let Some(path) = &args.file else {
        return Ok(Box::new(stdin().lock()));
    };
    let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Box::new(io::BufReader::new(file)))
}

/// Redacts the store with the current rules.
fn rescan(app: &App<'_>, args: &RedactArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let which = if args.all {
        RescanScope::All
    } else {
        RescanScope::Outdated
    };
    let bar = app
        .environment
        .stderr_is_terminal
        .then(ProgressBar::no_length);
    let progress = |done: RescanProgress| {
        if let Some(bar) = &bar {
            bar.set_length(done.sessions_total as u64);
            bar.set_position(done.sessions as u64);
        }
    };
    let rescan = if args.dry_run {
        store.preview_rescan(which, &progress)?
    } else {
        store.rescan(which, app.environment.now, &progress)?
    };
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    if args.json {
        output::print_json(&rescan)?;
    } else {
        let (looked_at, changed) = (rescan.looked_at, rescan.changed);
        let would = if args.dry_run {
            "would be changed"
        } else {
            "changed"
        };
        let result = format!(
            "Checked {}; {} {would}.",
            count(looked_at, "record"),
            count(changed, "text")
        );
        // What a dry run reports is its result, so it can be piped.
        match args.dry_run {
            true => writeln!(stdout(), "{result}")?,
            false => say!("{result}"),
        }
        for (rule, count) in &rescan.marks {
            writeln!(stdout().lock(), "{count:>6}  {rule}")?;
        }
    }
    if rescan.traces == Traces::Waiting {
        return Err(error_with_hint(
            "the texts are rewritten, but another process is still reading, so the old bytes \
             remain in the write-ahead log",
            "stop that process (`throughline watch`?); the next command then erases them",
        ));
    }
    Ok(Exit::Done)
}

fn explain(redactor: &Redactor, text: &str, prefix: &str) {
    for finding in redactor.findings(text) {
        let line = text[..finding.start].matches('\n').count() + 1;
        say!(
            "{prefix}{line}: bytes {}..{} are {} ({:?}): {}",
            finding.start,
            finding.end,
            finding.rule,
            finding.tier,
            finding.mark
        );
    }
}
