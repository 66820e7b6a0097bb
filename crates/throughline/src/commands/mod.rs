//! The commands, one file each, and what they share: [`App`] and the parsing of common arguments.

pub(crate) mod backup;
pub(crate) mod blame;
pub(crate) mod checkpoint;
pub(crate) mod compact;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod context;
pub(crate) mod curate;
pub(crate) mod decrypt;
pub(crate) mod detect;
pub(crate) mod digest;
pub(crate) mod distribute;
pub(crate) mod doctor;
pub(crate) mod encrypt;
pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod facts;
pub(crate) mod fix;
pub(crate) mod forget;
pub(crate) mod handoff;
pub(crate) mod hook;
pub(crate) mod how;
pub(crate) mod import;
pub(crate) mod ingest;
pub(crate) mod injections;
pub(crate) mod install;
pub(crate) mod key;
pub(crate) mod man;
pub(crate) mod mark;
pub(crate) mod mcp;
pub(crate) mod measure;
pub(crate) mod model_calls;
pub(crate) mod pin;
pub(crate) mod prefer;
pub(crate) mod redact;
pub(crate) mod rekey;
pub(crate) mod remember;
pub(crate) mod restore;
pub(crate) mod restore_log;
pub(crate) mod resume;
pub(crate) mod retain;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod shell;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod summarize;
pub(crate) mod summary;
pub(crate) mod ui;
pub(crate) mod uninstall;
pub(crate) mod up;
pub(crate) mod usage;
pub(crate) mod watch;
pub(crate) mod web;

use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use memory::{Flavor, Tokens, Workspace};
use store::encryption::StoreFileKind;
use store::{OpenMode, Store, SwapRecovery};

use crate::cli::Cli;
use crate::config::Config;
use crate::daemon;
use crate::environment::Environment;
use crate::keychain::SystemKeychain;
use crate::output::paged::PagedOutput;
use crate::output::text::TextStyle;
use crate::output::{Exit, error_with_hint, time};

/// At most this many workspaces are compared with the argument of `--workspace`.
const WORKSPACE_MATCHES_MAX: usize = 1000;

/// The environment, the configuration and the data folder, which every command gets.
#[derive(Debug)]
pub(crate) struct App<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) config: Config,
    pub(crate) config_path: PathBuf,
    /// The data folder: the store and everything else that Throughline writes.
    pub(crate) home: PathBuf,
}

pub(crate) fn run(cli: &Cli, environment: &Environment) -> anyhow::Result<Exit> {
    let home = cli
        .home
        .clone()
        .unwrap_or_else(|| environment.data_dir.clone());
    let config_dir = if cli.home.is_some() {
        &home
    } else {
        &environment.config_dir
    };
    let default_path = config_dir.join("config.toml");
    let config = Config::load(cli.config.as_deref(), &default_path)?;
    let config_path = cli.config.clone().unwrap_or(default_path);
    let app = App {
        environment,
        config,
        config_path,
        home,
    };
    if needs_exclusive_store(&cli.command, &app.home) && daemon::stop_background(&app.home) {
        say!("Stopped the daemon; the next hook starts it again.");
    }
    cli.command.run(&app)
}

macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($args:ty) => $run:path,)+) => {
        /// The commands, each with its arguments.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $($(#[$attribute])* $name($args),)+
        }

        impl Command {
            fn run(&self, app: &App<'_>) -> anyhow::Result<Exit> {
                match self {
                    $(Self::$name(args) => $run(app, args),)+
                }
            }
        }
    };
}

commands! {
    Up(up::UpArgs) => up::run,
    Ui(ui::UiArgs) => ui::run,
    Search(search::SearchArgs) => search::run,
    Sessions(sessions::SessionsArgs) => sessions::run,
    Show(show::ShowArgs) => show::run,
    Resume(resume::ResumeArgs) => resume::run,
    Handoff(handoff::HandoffArgs) => handoff::run,
    Usage(usage::UsageArgs) => usage::run,
    Doctor(doctor::DoctorArgs) => doctor::run,
    Stats(stats::StatsArgs) => stats::run,
    Remember(remember::RememberArgs) => remember::run,
    Prefer(prefer::PreferArgs) => prefer::run,
    Pin(pin::PinArgs) => pin::run,
    Unpin(pin::UnpinArgs) => pin::run_unpin,
    Facts(facts::FactsArgs) => facts::run,
    Name(mark::NameArgs) => mark::run_name,
    Star(mark::StarArgs) => mark::run_star,
    Tag(mark::TagArgs) => mark::run_tag,
    Archive(mark::ArchiveArgs) => mark::run_archive,
    Forget(forget::ForgetArgs) => forget::run,
    Digest(digest::DigestArgs) => digest::run,
    Summary(summary::SummaryArgs) => summary::run,
    Summarize(summarize::SummarizeArgs) => summarize::run,
    Checkpoint(checkpoint::CheckpointArgs) => checkpoint::run,
    Snapshot(snapshot::SnapshotArgs) => snapshot::run,
    Blame(blame::BlameArgs) => blame::run,
    How(how::HowArgs) => how::run,
    Fix(fix::FixArgs) => fix::run,
    Detect(detect::DetectArgs) => detect::run,
    Curate(curate::CurateArgs) => curate::run,
    Distribute(distribute::DistributeArgs) => distribute::run,
    Measure(measure::MeasureArgs) => measure::run,
    Install(install::InstallArgs) => install::run,
    Uninstall(uninstall::UninstallArgs) => uninstall::run,
    Serve(serve::ServeArgs) => serve::run,
    Web(web::WebArgs) => web::run,
    Mcp(mcp::McpArgs) => mcp::run,
    Context(context::ContextArgs) => context::run,
    Injections(injections::InjectionsArgs) => injections::run,
    Feedback(injections::FeedbackArgs) => injections::run_feedback,
    Events(events::EventsArgs) => events::run,
    // Agents call this command; people never type it.
    #[command(hide = true)]
    Hook(hook::HookArgs) => hook::run,
    Ingest(ingest::IngestArgs) => ingest::run,
    Watch(watch::WatchArgs) => watch::run,
    Retain(retain::RetainArgs) => retain::run,
    Export(export::ExportArgs) => export::run,
    Import(import::ImportArgs) => import::run,
    Backup(backup::BackupArgs) => backup::run,
    Restore(restore::RestoreArgs) => restore::run,
    RestoreLog(restore_log::RestoreLogArgs) => restore_log::run,
    Encrypt(encrypt::EncryptArgs) => encrypt::run,
    Decrypt(decrypt::DecryptArgs) => decrypt::run,
    Rekey(rekey::RekeyArgs) => rekey::run,
    Key(key::KeyArgs) => key::run,
    Compact(compact::CompactArgs) => compact::run,
    Redact(redact::RedactArgs) => redact::run,
    Config(config::ConfigArgs) => config::run,
    Completions(completions::CompletionsArgs) => completions::run,
    Shell(shell::ShellArgs) => shell::run,
    // Completion scripts call this command.
    #[command(hide = true)]
    Complete(completions::CompleteArgs) => completions::run_complete,
    Man(man::ManArgs) => man::run,
}

/// Returns whether a command replaces the file of the store, which nothing else may have open.
fn needs_exclusive_store(command: &Command, home: &Path) -> bool {
    match command {
        Command::Restore(_) => true,
        Command::Encrypt(_) => ::store::encryption::ENCRYPTION_BUILT,
        // A plain store is left as it is, so its daemon can go on.
        Command::Decrypt(_) | Command::Rekey(_) => !matches!(
            StoreFileKind::of(&Store::database_path(home)),
            Ok(StoreFileKind::Plain | StoreFileKind::Absent)
        ),
        Command::Doctor(args) => args.repairs(),
        _ => false,
    }
}

impl App<'_> {
    /// Opens the store, and creates it if it does not exist.
    pub(crate) fn open(&self) -> anyhow::Result<Store> {
        let opened = Store::open_with(&self.home, OpenMode::ReadWrite, &SystemKeychain);
        let store = self.with_open_context(opened)?;
        match store.recovered() {
            None => {}
            Some(SwapRecovery::Finished) => {
                say!("Finished replacing the store, which had been interrupted.");
            }
            Some(SwapRecovery::RolledBack) => {
                say!("Rolled back an interrupted replacement of the store; nothing was lost.");
            }
        }
        if let Err(error) = store.remove_safety_copy(Some(self.environment.now)) {
            tracing::warn!(%error, "cannot remove the safety copy");
        }
        Ok(store)
    }

    fn with_open_context(&self, opened: store::Result<Store>) -> anyhow::Result<Store> {
        opened.with_context(|| format!("cannot open the store in {}", self.home.display()))
    }

    /// Opens the store, and fails if it does not exist. Falls back to read-only access where
    /// nothing can be written.
    pub(crate) fn open_existing(&self) -> anyhow::Result<Store> {
        if !self.has_store() {
            return Err(self.no_store_error());
        }
        match self.open() {
            Err(error) if is_read_only(&error) => {
                let opened = Store::open_with(&self.home, OpenMode::ReadOnly, &SystemKeychain);
                self.with_open_context(opened)
            }
            opened => opened,
        }
    }

    /// Returns standard output for text that people read.
    pub(crate) fn output(&self) -> PagedOutput<'_> {
        PagedOutput::new(self.environment.terminal.as_ref())
    }

    /// Returns a path as a person types it in a terminal: with `~` for the home folder.
    pub(crate) fn display_path(&self, path: &str) -> String {
        let home = &self.environment.places.home;
        match Path::new(path).strip_prefix(home) {
            Ok(rest) if self.columns().is_some() => format!("~/{}", rest.display()),
            _ => path.to_owned(),
        }
    }

    /// Returns the width of the terminal, if standard output is one.
    pub(crate) fn columns(&self) -> Option<usize> {
        let terminal = self.environment.terminal.as_ref();
        terminal.map(|terminal| terminal.columns)
    }

    pub(crate) fn style(&self) -> TextStyle {
        TextStyle {
            color: self.environment.color,
        }
    }

    /// Formats a time: relative to now in a terminal, with date and time elsewhere.
    pub(crate) fn format_when(&self, at: Option<Timestamp>) -> String {
        let Environment { now, zone, .. } = self.environment;
        match self.environment.terminal {
            Some(_) => time::format_age(at, *now, zone),
            None => time::format_time(at, zone),
        }
    }

    /// Returns the settings that answers to agents depend on.
    pub(crate) fn serve_settings(&self) -> ::serve::ServeSettings {
        ::serve::ServeSettings {
            injection: self
                .config
                .injection
                .settings(self.environment.injection_off),
            related_workspaces: self.config.workspaces.related.clone(),
            scope: self.config.scope(),
            mcp: ::serve::McpSettings {
                write: self.config.mcp.write.clone(),
            },
            compaction: self.compaction_settings(),
            summary: None,
            extract_facts_with_model: self.config.facts.extract && self.config.facts.by_model,
            model_provider: None,
        }
    }

    /// Returns the settings of compaction. The environment overrides both switches.
    pub(crate) fn compaction_settings(&self) -> ::serve::CompactionSettings {
        let config = &self.config.compaction;
        ::serve::CompactionSettings {
            limits: config.limits(&self.config.summary),
            uses_summary: self
                .environment
                .compaction
                .unwrap_or(config.enabled && self.config.summary.enabled),
            auto_tokens: u64::try_from(config.auto_tokens)
                .ok()
                .filter(|tokens| *tokens > 0)
                .map(Tokens),
        }
    }

    /// Says whether running summaries are written. The environment overrides the configuration.
    pub(crate) fn writes_summaries(&self) -> bool {
        self.environment
            .summary
            .unwrap_or(self.config.summary.enabled)
    }

    /// Opens the store for a single query, without the checks of [`App::open`]. If that fails for
    /// any reason, opens it the usual way, which repairs or reports the problem.
    pub(crate) fn open_for_query(&self) -> anyhow::Result<Store> {
        if !self.has_store() {
            return self.open_existing();
        }
        Store::open_with(&self.home, OpenMode::LazyWrite, &SystemKeychain)
            .or_else(|_| self.open_existing())
    }

    /// Parses a time argument.
    pub(crate) fn parse_time_arg(&self, text: Option<&str>) -> anyhow::Result<Option<Timestamp>> {
        text.map(|text| time::parse_time(text, self.environment.now, &self.environment.zone))
            .transpose()
            .map_err(|error| {
                error_with_hint(error, "times without a zone are in your local time zone")
            })
    }

    /// Returns the workspace of the current folder, with aliases applied.
    pub(crate) fn current_workspace(&self) -> Workspace {
        let here = capture::git::workspace_of(&self.environment.cwd);
        self.config.scope().resolve_alias(here)
    }

    /// Returns the workspace whose address or folder contains `part`, or without `part` the
    /// workspace of the current folder.
    pub(crate) fn find_workspace(
        &self,
        store: &Store,
        part: Option<&str>,
    ) -> anyhow::Result<Workspace> {
        let Some(part) = part else {
            let here = &self.environment.cwd;
            return Ok(::serve::prompt::workspace_of(
                store,
                &self.serve_settings(),
                here,
            )?);
        };
        let mut like = store.workspaces_matching(part, WORKSPACE_MATCHES_MAX)?;
        if let Some(exact) = like.iter().position(|w| w.key == part || w.root == part) {
            return Ok(like.swap_remove(exact));
        }
        let mut called = like
            .iter()
            .filter(|workspace| workspace.short_name() == part);
        if let (Some(only), None) = (called.next(), called.next()) {
            return Ok(only.clone());
        }
        if like.len() == 1 {
            return Ok(like.swap_remove(0));
        }
        let examples = like.into_iter().take(5);
        let keys: Vec<_> = examples.map(|workspace| workspace.key).collect();
        Err(if keys.is_empty() {
            no_workspace_error(part)
        } else {
            error_with_hint(
                format!("several workspaces match {part:?}"),
                format!("use one of {}", keys.join(", ")),
            )
        })
    }

    /// Fails if a filter by a part of a workspace matches none of them, which is likely a typo.
    pub(crate) fn check_workspace_part(
        &self,
        store: &Store,
        part: Option<&str>,
    ) -> anyhow::Result<()> {
        match part {
            Some(part) if store.workspaces_matching(part, 1)?.is_empty() => {
                Err(no_workspace_error(part))
            }
            _ => Ok(()),
        }
    }

    /// Asks a yes-or-no question in the terminal. Fails without a terminal; `instead` is then the
    /// hint. `show` prints what the question is about.
    pub(crate) fn confirm(
        &self,
        question: &str,
        instead: &str,
        show: impl FnOnce(),
    ) -> anyhow::Result<bool> {
        if !self.environment.stderr_is_terminal || !self.environment.stdin_is_terminal {
            return Err(error_with_hint(
                "cannot ask for confirmation: this is not a terminal",
                instead,
            ));
        }
        show();
        say!("{question} [y/N]");
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    /// Returns the error of commands that need a store.
    pub(crate) fn no_store_error(&self) -> anyhow::Error {
        error_with_hint(
            format!("there is no store in {}", self.home.display()),
            "run `throughline up` to set it up, or `throughline ingest` to only read the logs",
        )
    }

    /// Returns whether there is a store. A write-ahead log without its database counts, because a
    /// repair may recover from it.
    pub(crate) fn has_store(&self) -> bool {
        let path = Store::database_path(&self.home);
        path.exists() || path.with_extension("db-wal").exists()
    }
}

fn no_workspace_error(part: &str) -> anyhow::Error {
    error_with_hint(
        format!("no workspace matches {part:?}"),
        "`throughline usage --by workspace` lists the known workspaces",
    )
}

/// Returns whether an error means that the store can only be read.
pub(crate) fn is_read_only(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<store::Error>()
        .is_some_and(store::Error::is_read_only)
}

/// Parses the number of items to show.
pub(crate) fn parse_limit(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("give a number of at least 1".to_owned()),
        Ok(limit) => Ok(limit),
    }
}

/// Parses the name of an agent.
pub(crate) fn parse_flavor(name: &str) -> Result<Flavor, String> {
    Flavor::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Flavor::ALL.iter().map(|flavor| flavor.name()).collect();
        format!("unknown agent; known agents: {}", known.join(", "))
    })
}
