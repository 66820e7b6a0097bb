//! The commands, one file each.

pub mod backup;
pub mod completions;
pub mod config;
pub mod decrypt;
pub mod digest;
pub mod doctor;
pub mod encrypt;
pub mod export;
pub mod forget;
pub mod import;
pub mod ingest;
pub mod key;
pub mod redact;
pub mod rekey;
pub mod restore;
pub mod resume;
pub mod retain;
pub mod search;
pub mod sessions;
pub mod show;
pub mod usage;
pub mod watch;

use std::path::PathBuf;

use anyhow::Context;
use jiff::Timestamp;
use memory::Flavor;
use store::{Recovered, Store};

use crate::cli::{Cli, Command};
use crate::config::Config;
use crate::environment::Environment;
use crate::keychain::SystemKeychain;
use crate::output::{Outcome, hinted, say, time};

/// What every command works with.
#[derive(Debug)]
pub struct App<'a> {
    pub environment: &'a Environment,
    pub config: Config,
    pub config_path: PathBuf,
    /// The folder of everything we write.
    pub home: PathBuf,
}

pub fn run(cli: &Cli, environment: &Environment) -> anyhow::Result<Outcome> {
    let home = cli
        .home
        .clone()
        .unwrap_or_else(|| environment.data_dir.clone());
    let config_dir = if cli.home.is_some() {
        &home
    } else {
        &environment.config_dir
    };
    let usual = config_dir.join("config.toml");
    let config = Config::load(cli.config.as_deref(), &usual)?;
    let config_path = cli.config.clone().unwrap_or(usual);
    let app = App {
        environment,
        config,
        config_path,
        home,
    };
    match &cli.command {
        Command::Ingest(args) => ingest::run(&app, args),
        Command::Watch(args) => watch::run(&app, args),
        Command::Search(args) => search::run(&app, args),
        Command::Sessions(args) => sessions::run(&app, args),
        Command::Show(args) => show::run(&app, args),
        Command::Digest(args) => digest::run(&app, args),
        Command::Retain(args) => retain::run(&app, args),
        Command::Resume(args) => resume::run(&app, args),
        Command::Usage(args) => usage::run(&app, args),
        Command::Doctor(args) => doctor::run(&app, args),
        Command::Export(args) => export::run(&app, args),
        Command::Import(args) => import::run(&app, args),
        Command::Forget(args) => forget::run(&app, args),
        Command::Backup(args) => backup::run(&app, args),
        Command::Restore(args) => restore::run(&app, args),
        Command::Encrypt(args) => encrypt::run(&app, args),
        Command::Decrypt(args) => decrypt::run(&app, args),
        Command::Rekey(args) => rekey::run(&app, args),
        Command::Key(args) => key::run(&app, args),
        Command::Config(args) => config::run(&app, args),
        Command::Redact(args) => redact::run(&app, args),
        Command::Completions(args) => completions::run(args),
    }
}

impl App<'_> {
    /// Opens the store, making it when there is none.
    pub fn open(&self) -> anyhow::Result<Store> {
        let opened = Store::open_with(&self.home, &SystemKeychain);
        let store = self.named(opened)?;
        match store.recovered() {
            None => {}
            Some(Recovered::Finished) => {
                say("Finished an exchange of the store that was interrupted.");
            }
            Some(Recovered::RolledBack) => {
                say("Undid an exchange of the store that was interrupted; the store is as before.");
            }
        }
        if let Err(error) = store.drop_safety_copy(Some(self.environment.now)) {
            tracing::warn!(%error, "the safety copy is not removed");
        }
        Ok(store)
    }

    fn named(&self, opened: store::Result<Store>) -> anyhow::Result<Store> {
        opened.with_context(|| format!("cannot open the store in {}", self.home.display()))
    }

    /// Opens the store of somebody who has ingested before.
    pub fn open_existing(&self) -> anyhow::Result<Store> {
        if !self.has_store() {
            return Err(hinted(
                format!("there is no memory in {} yet", self.home.display()),
                "run `throughline ingest` first",
            ));
        }
        match self.open() {
            // Whoever only asks needs no more than to read.
            Err(error) if is_read_only(&error) => {
                self.named(Store::open_to_read_with(&self.home, &SystemKeychain))
            }
            opened => opened,
        }
    }

    /// Reads a time on the command line.
    pub fn moment(&self, text: Option<&str>) -> anyhow::Result<Option<Timestamp>> {
        text.map(|text| time::parse(text, self.environment.now, &self.environment.zone))
            .transpose()
            .map_err(|error| {
                hinted(
                    error,
                    "the time is read in your own zone unless it names one",
                )
            })
    }

    /// Says whether there is a store, or what is left of one.
    pub fn has_store(&self) -> bool {
        let path = Store::path_in(&self.home);
        path.exists() || path.with_extension("db-wal").exists()
    }
}

/// Says whether nothing can be written where the store lies.
pub fn is_read_only(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<store::Error>()
        .is_some_and(store::Error::is_read_only)
}

/// Reads an agent's name on the command line.
pub fn parse_flavor(name: &str) -> Result<Flavor, String> {
    Flavor::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Flavor::ALL.iter().map(|flavor| flavor.name()).collect();
        format!("no agent is called that; known are {}", known.join(", "))
    })
}
