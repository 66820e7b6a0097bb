//! Searches in the daemon, which has the store open and what searches need in memory.
//!
//! The client sends its arguments as they are, before it parses them or opens anything. Where no
//! daemon answers in time, or the daemon declines, the command runs here as if there were none.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use serve::client;
use serve::command::{CommandReply, CommandRequest, CommandRunner};
use store::Store;

use crate::cli::{Cli, rewrite_arguments};
use crate::commands::search;
use crate::commands::{App, Command};
use crate::config::Config;
use crate::environment::{self, Environment};
use crate::output::paged::Terminal;
use crate::output::{self, Exit};

/// How long the daemon may take. A search takes a tenth of it; a daemon that needs longer is busy,
/// and searching here is faster.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(150);

/// Has the daemon run a command line, if it is a search and a daemon runs. Returns `None` if the
/// command has to run here.
pub(crate) fn run(arguments: &[OsString]) -> Option<Exit> {
    let (home, arguments) = parse_search(arguments)?;
    // The configuration file and the log of a search that runs elsewhere would be the wrong ones.
    let is_changed = |name: &str| environment::variable(name).is_some();
    if is_changed("THROUGHLINE_CONFIG") || is_changed("THROUGHLINE_LOG") {
        return None;
    }
    let mut environment = Environment::read().ok()?;
    let home = home.or_else(|| environment::variable("THROUGHLINE_HOME").map(PathBuf::from));
    let config_dir = home.as_ref().unwrap_or(&environment.config_dir);
    let request = CommandRequest {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        arguments,
        cwd: environment.cwd.clone(),
        config_path: config_dir.join("config.toml"),
        now: environment.now,
        time_zone: environment::variable("TZ"),
        columns: environment
            .terminal
            .as_ref()
            .map(|terminal| terminal.columns),
        color: environment.color,
    };
    let home = home.as_ref().unwrap_or(&environment.data_dir);
    let reply = client::run_command(home, &request, ANSWER_TIMEOUT).ok()?;
    let mut options = request.arguments.iter().take_while(|text| *text != "--");
    let pager_off = options.any(|option| option == "--no-pager");
    environment.apply_output_options(clap::ColorChoice::Auto, pager_off);
    let printed = search::print_reply(&reply, environment.terminal.as_ref());
    Some(printed.unwrap_or_else(|error| output::report_error(&error.into())))
}

/// Returns the data folder that a command line names, and its arguments from `search` on. Returns
/// `None` for other commands, and for options that only this process can follow.
fn parse_search(arguments: &[OsString]) -> Option<(Option<PathBuf>, Vec<String>)> {
    let mut rest = arguments.iter().skip(1).map(|argument| argument.to_str());
    let mut home = None;
    loop {
        match rest.next()?? {
            "search" => break,
            "--home" => home = Some(PathBuf::from(rest.next()??)),
            option => home = Some(PathBuf::from(option.strip_prefix("--home=")?)),
        }
    }
    let rest: Vec<String> = rest
        .map(|text| Some(text?.to_owned()))
        .collect::<Option<_>>()?;
    let options = rest.iter().take_while(|argument| *argument != "--");
    let is_local = |option: &String| {
        let name = option
            .split_once('=')
            .map_or(option.as_str(), |(name, _)| name);
        matches!(
            name,
            "-h" | "--help" | "--version" | "-V" | "--home" | "--config"
        )
    };
    let is_ours = !options.into_iter().any(is_local);
    let search = std::iter::once("search".to_owned());
    is_ours.then(|| (home, search.chain(rest).collect()))
}

/// Runs searches for other processes, with the configuration of the daemon.
#[derive(Debug)]
pub(crate) struct SearchRunner {
    pub(crate) config: Config,
    pub(crate) config_path: PathBuf,
    pub(crate) home: PathBuf,
}

impl CommandRunner for SearchRunner {
    fn run(&self, store: &Store, request: &CommandRequest) -> Option<CommandReply> {
        let is_same = request.config_path == self.config_path
            && request.time_zone == environment::variable("TZ");
        let program = OsString::from("throughline");
        let arguments = request.arguments.iter().map(OsString::from);
        let arguments = rewrite_arguments(std::iter::once(program).chain(arguments).collect());
        let cli = Cli::try_parse_from(arguments).ok().filter(|_| is_same)?;
        let Command::Search(args) = &cli.command else {
            return None;
        };
        let mut environment = Environment::read().ok()?;
        environment.cwd.clone_from(&request.cwd);
        environment.now = request.now;
        environment.color = request.color;
        environment.terminal = request.columns.map(|columns| Terminal {
            columns,
            rows: 0,
            pager: None,
        });
        environment.apply_output_options(cli.color, cli.no_pager);
        let app = App {
            environment: &environment,
            config: self.config.clone(),
            config_path: self.config_path.clone(),
            home: self.home.clone(),
        };
        // An error is reported by the client, which meets it again.
        search::answer(&app, store, args).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<(Option<PathBuf>, Vec<String>)> {
        let words: Vec<_> = line.split(' ').map(OsString::from).collect();
        parse_search(&words)
    }

    #[test]
    fn only_searches_are_sent() {
        let (home, arguments) = parsed("t --home /h search a -docs -- --home").unwrap();
        assert_eq!(home, Some(PathBuf::from("/h")));
        assert_eq!(arguments.join(" "), "search a -docs -- --home");
        assert_eq!(parsed("t --home=/h search a").unwrap().0, home);
        assert_eq!(parsed("t search a").unwrap().0, None);
        for other in [
            "t", "t sessions search", "t search --help", "t search a --home=/x", "t --home",
            "t --color always search a", "t search a --config c",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
