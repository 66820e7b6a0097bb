//! The command line as a whole.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    backup, blame, compact, completions, config, context, decrypt, digest, doctor, encrypt, eval,
    export, facts, fix, forget, hook, how, import, ingest, injections, install, key, mcp, pin,
    prefer, redact, rekey, remember, restore, resume, retain, search, serve, sessions, show,
    summarize, summary, uninstall, up, usage, watch,
};

/// Session memory for coding agents
///
/// Throughline reads the session logs of Claude Code, Codex CLI, Grok CLI and others, takes the
/// secrets out, keeps them in one SQLite file, and finds them again.
#[derive(Debug, Parser)]
#[command(
    name = "throughline",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Start with `throughline up`, then `throughline search WORDS`.\n\
    Exit status: 0 done, 1 nothing found, 2 error, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Keep everything Throughline writes in this folder
    #[arg(long, global = true, value_name = "DIR", env = "THROUGHLINE_HOME")]
    pub home: Option<PathBuf>,

    /// Read this configuration file instead of the usual one
    #[arg(long, global = true, value_name = "FILE", env = "THROUGHLINE_CONFIG")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Up(up::UpArgs),
    Ingest(ingest::IngestArgs),
    Watch(watch::WatchArgs),
    Search(search::SearchArgs),
    Sessions(sessions::SessionsArgs),
    Show(show::ShowArgs),
    Digest(digest::DigestArgs),
    Resume(resume::ResumeArgs),
    Blame(blame::BlameArgs),
    How(how::HowArgs),
    Fix(fix::FixArgs),
    Remember(remember::RememberArgs),
    Prefer(prefer::PreferArgs),
    Pin(pin::PinArgs),
    Unpin(pin::UnpinArgs),
    Facts(facts::FactsArgs),
    Context(context::ContextArgs),
    Hook(hook::HookArgs),
    Mcp(mcp::McpArgs),
    Serve(serve::ServeArgs),
    Injections(injections::InjectionsArgs),
    Feedback(injections::FeedbackArgs),
    Summary(summary::SummaryArgs),
    Summarize(summarize::SummarizeArgs),
    Usage(usage::UsageArgs),
    Compact(compact::CompactArgs),
    Install(install::InstallArgs),
    Uninstall(uninstall::UninstallArgs),
    Doctor(doctor::DoctorArgs),
    Retain(retain::RetainArgs),
    Export(export::ExportArgs),
    Import(import::ImportArgs),
    Forget(forget::ForgetArgs),
    Backup(backup::BackupArgs),
    Restore(restore::RestoreArgs),
    Encrypt(encrypt::EncryptArgs),
    Decrypt(decrypt::DecryptArgs),
    Rekey(rekey::RekeyArgs),
    Key(key::KeyArgs),
    Config(config::ConfigArgs),
    Redact(redact::RedactArgs),
    Eval(eval::EvalArgs),
    Completions(completions::CompletionsArgs),
}

/// Puts what people type into the form that the parser knows.
pub fn rewrite_arguments(arguments: Vec<OsString>) -> Vec<OsString> {
    let Some(search) = arguments.iter().position(|argument| argument == "search") else {
        return arguments;
    };
    let mut literal = false;
    let rewrite = |(at, argument): (usize, OsString)| {
        literal |= argument == "--";
        match argument.into_string() {
            Ok(text) if at > search && !literal => search::rewrite_exclusion(text).into(),
            Ok(text) => text.into(),
            Err(argument) => argument,
        }
    };
    arguments.into_iter().enumerate().map(rewrite).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn an_unwanted_word_is_not_an_option() {
        let rewritten = |line: &str| {
            let words = rewrite_arguments(line.split(' ').map(Into::into).collect());
            words
                .into_iter()
                .map(|word| word.into_string().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            rewritten("t search a -docs -n 4"),
            "t search a --not=docs -n 4"
        );
        assert_eq!(
            rewritten("t search a --json -- -docs"),
            "t search a --json -- -docs"
        );
        assert_eq!(rewritten("t show -docs"), "t show -docs");
    }
}
