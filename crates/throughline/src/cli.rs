//! The command line: global options, the help page, and the rewriting of arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser;

use crate::commands::{Command, search};

/// The page of `throughline --help`. Clap cannot group subcommands under headings, so the page is
/// written by hand; a test compares it with the commands that exist.
const HELP: &str = include_str!("help.txt");

/// The heading of the options that every command has, which stand behind those of the command.
const GLOBAL_OPTIONS: &str = "Global options";

/// Session memory for coding agents
#[derive(Debug, Parser)]
#[command(
    name = "throughline",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    override_help = HELP
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Keep all data in this folder
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    #[arg(value_name = "DIR", env = "THROUGHLINE_HOME", hide_env_values = true)]
    pub(crate) home: Option<PathBuf>,

    /// Read this configuration file instead of the default one
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    #[arg(
        value_name = "FILE",
        env = "THROUGHLINE_CONFIG",
        hide_env_values = true
    )]
    pub(crate) config: Option<PathBuf>,

    /// When to print colors
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    #[arg(value_name = "WHEN", default_value = "auto")]
    pub(crate) color: clap::ColorChoice,

    /// Do not show long output in a pager
    #[arg(long, global = true, help_heading = GLOBAL_OPTIONS)]
    pub(crate) no_pager: bool,
}

/// Rewrites `-word` after `search` to an option that clap accepts. Everything after `--` is left
/// alone.
pub(crate) fn rewrite_arguments(arguments: Vec<OsString>) -> Vec<OsString> {
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
    fn the_help_page_names_every_command_once_and_fits_a_screen() {
        let command = <Cli as clap::CommandFactory>::command();
        let existing = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        let mut existing: Vec<_> = existing.map(|sub| sub.get_name().to_owned()).collect();
        let entries = HELP.lines().take_while(|line| *line != "Options:");
        let entries = entries.filter_map(|line| line.strip_prefix("  "));
        let names = entries.flat_map(|entry| {
            let (names, _) = entry.split_once("  ").unwrap();
            names.split(", ").map(str::to_owned).collect::<Vec<_>>()
        });
        let mut listed: Vec<_> = names.collect();
        existing.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, existing);
        assert!(HELP.lines().all(|line| line.chars().count() <= 80));
        assert!(HELP.lines().count() <= 74);
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
