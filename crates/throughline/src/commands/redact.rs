//! `throughline redact`

use std::io::{self, BufRead, Read, Write, stdin, stdout};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use store::redact::Redactor;

use crate::commands::App;
use crate::output::{Outcome, say};

/// Take the secrets out of a text: standard input to standard output
///
/// What Throughline stores has passed through the same rules.
#[derive(Debug, clap::Args)]
pub struct RedactArgs {
    /// Read and write one {"id", "text"} object a line, each text on its own
    #[arg(long)]
    jsonl: bool,

    /// Say on standard error what was replaced, where, and by which rule
    #[arg(long)]
    explain: bool,
}

#[derive(Deserialize, Serialize)]
struct Item {
    #[serde(default)]
    id: serde_json::Value,
    text: String,
}

pub fn run(app: &App<'_>, args: &RedactArgs) -> anyhow::Result<Outcome> {
    let redactor = Redactor::new(store::installation_key(&app.home)?);
    let mut out = io::BufWriter::new(stdout().lock());
    if args.jsonl {
        for (number, line) in (1..).zip(stdin().lock().lines()) {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let item: Item = serde_json::from_str(&line)
                .with_context(|| format!("line {number} is not an {{\"id\", \"text\"}} object"))?;
            let text = redactor.clean(&item.text).as_str().to_owned();
            if args.explain {
                explain(&redactor, &item.text, &format!("line {number}: "));
            }
            serde_json::to_writer(&mut out, &Item { id: item.id, text })?;
            writeln!(out)?;
        }
    } else {
        let mut bytes = Vec::new();
        stdin().lock().read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        if args.explain {
            explain(&redactor, &text, "");
        }
        write!(out, "{}", redactor.clean(&text).as_str())?;
    }
    out.flush()?;
    Ok(Outcome::Done)
}

fn explain(redactor: &Redactor, text: &str, place: &str) {
    for finding in redactor.findings(text) {
        let line = text[..finding.start].matches('\n').count() + 1;
        say(&format!(
            "{place}{line}: bytes {}..{} are {} ({:?}): {}",
            finding.start, finding.end, finding.rule, finding.tier, finding.mark
        ));
    }
}
