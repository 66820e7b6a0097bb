//! The capture setup: whose logs are read, where they are, and how much of them is kept.
//!
//! Every way into capture (a sweep, the watcher, a hook that names one log) takes the same
//! [`Sources`]. The binary builds it once from the configuration.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use memory::Flavor;

use crate::discovery::{Discovery, Root, discover, discover_paths};
use crate::{Adapter, CaptureScope};

/// The logs that are captured, and the rules for reading them.
#[derive(Clone)]
pub struct Sources {
    /// The adapters of the captured agents.
    pub adapters: Vec<&'static Adapter>,
    pub roots: Vec<Root>,
    /// The roots are all folders of all captured agents. Only then does a log that discovery does
    /// not find count as gone.
    pub all_roots: bool,
    pub scope: CaptureScope,
    /// Also store the text of the logs, so that it survives the agents' own clean-up.
    pub archive: bool,
    /// How many threads read and clean.
    pub threads: usize,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl Sources {
    /// Lists all logs below the roots.
    pub fn discover(&self) -> Discovery {
        Discovery {
            is_complete: self.all_roots,
            ..discover(&self.adapters, &self.roots)
        }
    }

    /// Lists the logs that [`Self::discover`] would find at these paths.
    pub fn discover_paths(&self, paths: &BTreeSet<PathBuf>) -> Discovery {
        discover_paths(&self.adapters, &self.roots, paths)
    }

    /// Finds the log that one of an agent's hooks named, or all logs of that agent when the hook
    /// named none.
    pub fn discover_agent(&self, flavor: Flavor, log: Option<&Path>) -> Discovery {
        let adapters: Vec<_> = self.adapters_of(flavor).collect();
        let Some(log) = log else {
            let is_agents = |root: &&Root| root.flavor.is_none_or(|owner| owner == flavor);
            let roots: Vec<_> = self.roots.iter().filter(is_agents).cloned().collect();
            return discover(&adapters, &roots);
        };
        let real = log.canonicalize().unwrap_or_else(|_| log.to_owned());
        let paths = BTreeSet::from([log.to_owned(), real]);
        let discovery = discover_paths(&adapters, &self.roots, &paths);
        if !discovery.sources.is_empty() {
            return discovery;
        }
        // The agent may keep its logs outside the roots; it knows better where its log is.
        let root = Root {
            path: log.to_owned(),
            flavor: Some(flavor),
        };
        discover(&adapters, &[root])
    }

    /// Returns whether the sessions of an agent are captured.
    pub fn captures(&self, flavor: Flavor) -> bool {
        self.adapter(flavor).is_some()
    }

    /// Returns the adapter that reads the logs of an agent.
    pub(crate) fn adapter(&self, flavor: Flavor) -> Option<&'static Adapter> {
        self.adapters_of(flavor).next()
    }

    fn adapters_of(&self, flavor: Flavor) -> impl Iterator<Item = &'static Adapter> {
        let adapters = self.adapters.iter().copied();
        adapters.filter(move |adapter| adapter.flavor() == flavor)
    }
}
