//! Writes a corpus of session logs:
//!
//! ```text
//! cargo run --release -p throughline-testkit --example corpus -- --sessions 1000 --out DIR
//!     [--seed 1] [--agents claude,codex,grok] [--secrets 0.01] [--prompts-per-secret 10]
//!     [--lines 50000]
//! ```
#![expect(clippy::print_stdout, reason = "what was made is the output")]

use std::io;
use std::path::PathBuf;

use throughline_testkit::corpus::{self, Agent, Options};

fn main() -> io::Result<()> {
    let (options, out) = parse(std::env::args().skip(1)).map_err(io::Error::other)?;
    let stats = corpus::write(&options, &out)?;
    println!(
        "{} sessions, {} files, {} lines, {} bytes, {} planted",
        stats.sessions, stats.files, stats.lines, stats.bytes, stats.planted
    );
    Ok(())
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<(Options, PathBuf), String> {
    let mut options = Options::default();
    let mut out = None;
    while let Some(flag) = args.next() {
        let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
        let wrong = || format!("{flag} cannot be {value}");
        match flag.as_str() {
            "--sessions" => options.sessions = value.parse().map_err(|_| wrong())?,
            "--seed" => options.seed = value.parse().map_err(|_| wrong())?,
            "--secrets" => options.secret_rate = value.parse().map_err(|_| wrong())?,
            "--prompts-per-secret" => {
                options.prompts_per_secret = value.parse().map_err(|_| wrong())?;
            }
            "--lines" => options.lines = Some(value.parse().map_err(|_| wrong())?),
            "--agents" => {
                let agents: Option<_> = value.split(',').map(Agent::from_name).collect();
                options.agents = agents.ok_or_else(wrong)?;
            }
            "--out" => out = Some(PathBuf::from(value)),
            _ => return Err(format!("there is no option {flag}")),
        }
    }
    Ok((options, out.ok_or("--out is missing")?))
}
