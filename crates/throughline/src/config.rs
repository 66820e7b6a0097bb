//! The configuration file.

mod hook;
mod retention;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use anyhow::Context;
use capture::CaptureScope;
use distill::compact::{CompactionLimits, ConfiguredLimits};
use memory::{Flavor, Price};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::hook::{HookAnswerConfig, HookConfig, ModelEnvironment};
pub(crate) use self::retention::RetentionConfig;
use crate::model::{ModelConfig, SummaryConfig};

/// The file with every setting at its default, as `throughline config --default` prints it.
pub(crate) const DEFAULT_TOML: &str = include_str!("default.toml");

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) capture: CaptureConfig,
    #[serde(alias = "workspace")]
    pub(crate) workspaces: WorkspacesConfig,
    pub(crate) facts: FactsConfig,
    pub(crate) injection: InjectionConfig,
    pub(crate) hook: HookConfig,
    pub(crate) mcp: McpConfig,
    pub(crate) serve: ServeConfig,
    /// Folders to look in instead of an agent's own.
    pub(crate) roots: BTreeMap<String, Vec<PathBuf>>,
    pub(crate) compaction: CompactionConfig,
    pub(crate) summary: SummaryConfig,
    pub(crate) model: ModelConfig,
    pub(crate) prices: PricesConfig,
    pub(crate) retention: RetentionConfig,
}

/// A year. Nobody means more.
const IDLE_MINUTES_MAX: f64 = 366.0 * 24.0 * 60.0;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CompactionConfig {
    pub(crate) enabled: bool,
    pub(crate) min_tokens: i64,
    pub(crate) min_messages: i64,
    pub(crate) max_tokens: i64,
    pub(crate) threshold: i64,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            min_tokens: 10_000,
            min_messages: 5,
            max_tokens: 40_000,
            threshold: 0,
        }
    }
}

impl CompactionConfig {
    pub(crate) fn limits(&self) -> CompactionLimits {
        CompactionLimits::from_config(ConfiguredLimits {
            min_tokens: self.min_tokens,
            min_messages: self.min_messages,
            max_tokens: self.max_tokens,
            threshold: self.threshold,
        })
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CaptureConfig {
    pub(crate) agents: Vec<String>,
    pub(crate) never: Vec<String>,
    pub(crate) spared: Vec<String>,
    pub(crate) outside: bool,
    pub(crate) archive: bool,
    pub(crate) allow: Vec<String>,
    pub(crate) deny: Vec<String>,
    pub(crate) threads: usize,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WorkspacesConfig {
    /// A workspace's key or folder, and the key it counts as.
    pub(crate) aliases: BTreeMap<String, String>,
    /// A workspace's key or folder, and the keys of others whose memory may reach it.
    pub(crate) related: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FactsConfig {
    pub(crate) extract: bool,
    /// Ask the configured model too.
    pub(crate) by_model: bool,
}

impl Default for FactsConfig {
    fn default() -> Self {
        Self {
            extract: true,
            by_model: true,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ServeConfig {
    /// Hooks start the daemon where it does not run.
    pub(crate) start: bool,
    /// The port on loopback; 0 for none. Where none is named, a daemon in the foreground has
    /// [`Serve::FOREGROUND_PORT`] and one in the background has none.
    pub(crate) port: Option<u16>,
    /// The daemon ends when nobody has needed it for so long; 0 for never.
    pub(crate) idle_minutes: f64,
    pub(crate) requests_per_second: f64,
}

impl ServeConfig {
    /// Where a daemon in the foreground is reached unless the configuration names another port.
    pub(crate) const FOREGROUND_PORT: u16 = 7411;
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            start: true,
            port: None,
            idle_minutes: 60.0,
            requests_per_second: serve::http::HttpLimits::default().requests_per_second,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct McpConfig {
    /// What agents may do besides reading.
    pub(crate) write: Vec<serve::McpPermission>,
}

impl Default for McpConfig {
    fn default() -> Self {
        let serve::McpSettings { write } = serve::McpSettings::default();
        Self { write }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct InjectionConfig {
    pub(crate) enabled: bool,
    pub(crate) off: Vec<String>,
    pub(crate) facts: usize,
    pub(crate) snippets: usize,
    pub(crate) tokens: u64,
    pub(crate) gate: f64,
    pub(crate) sensitive: bool,
}

impl Default for InjectionConfig {
    fn default() -> Self {
        let recall::RecallConfig {
            budget,
            gate,
            include_sensitive: sensitive,
            ..
        } = recall::RecallConfig::default();
        Self {
            enabled: true,
            off: Vec::new(),
            facts: budget.facts,
            snippets: budget.snippets,
            tokens: budget.tokens.0,
            gate,
            sensitive,
        }
    }
}

impl InjectionConfig {
    pub(crate) fn settings(&self, off_now: bool) -> serve::InjectionSettings {
        let budget = recall::Budget {
            facts: self.facts,
            snippets: self.snippets,
            tokens: memory::Tokens(self.tokens),
            ..recall::Budget::default()
        };
        serve::InjectionSettings {
            disabled_by_environment: off_now,
            enabled: self.enabled,
            disabled_workspaces: self.off.clone(),
            recall: recall::RecallConfig {
                budget,
                gate: self.gate,
                include_sensitive: self.sensitive,
                ..recall::RecallConfig::default()
            },
        }
    }
}

impl CaptureConfig {
    fn scope(&self, workspaces: &WorkspacesConfig) -> CaptureScope {
        let capture = self.clone();
        CaptureScope {
            never_captured: capture.never,
            exceptions: capture.spared,
            keep_outside: capture.outside,
            allowed: capture.allow,
            denied: capture.deny,
            aliases: workspaces.aliases.clone(),
        }
    }
}

impl Default for CaptureConfig {
    fn default() -> Self {
        let scope = CaptureScope::default();
        Self {
            agents: Flavor::ALL
                .iter()
                .map(|flavor| flavor.name().to_owned())
                .collect(),
            never: scope.never_captured,
            spared: scope.exceptions,
            outside: scope.keep_outside,
            archive: true,
            allow: scope.allowed,
            deny: scope.denied,
            threads: 0,
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PricesConfig {
    pub(crate) as_of: String,
    /// A file adds to the list that is shipped, or changes it.
    #[serde(deserialize_with = "over_the_shipped")]
    pub(crate) models: BTreeMap<String, Price>,
}

impl Default for PricesConfig {
    fn default() -> Self {
        Self {
            as_of: SHIPPED_PRICES.as_of.clone(),
            models: SHIPPED_PRICES.models.clone(),
        }
    }
}

/// The list in the printed defaults, which is nowhere else.
static SHIPPED_PRICES: LazyLock<memory::Prices> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Defaults {
        prices: memory::Prices,
    }
    toml::from_str(DEFAULT_TOML).map_or_else(
        |error| {
            tracing::error!(%error, "the shipped prices cannot be read");
            memory::Prices::default()
        },
        |defaults: Defaults| defaults.prices,
    )
});

fn over_the_shipped<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Price>, D::Error> {
    let mut models = SHIPPED_PRICES.models.clone();
    models.extend(BTreeMap::<String, Price>::deserialize(deserializer)?);
    Ok(models)
}

/// Reads as much of a file as is asked for; nothing of the usual one where it is not there.
fn read_toml<T: serde::de::DeserializeOwned>(
    asked: Option<&Path>,
    usual: &Path,
) -> anyhow::Result<Option<T>> {
    let path = asked.unwrap_or(usual);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if asked.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let config = toml::from_str(&text);
    config
        .map(Some)
        .with_context(|| format!("{} is not valid", path.display()))
}

impl Config {
    /// Reads a file. One that was asked for must be there; the usual one need not.
    pub(crate) fn load(asked: Option<&Path>, usual: &Path) -> anyhow::Result<Self> {
        let config: Self = read_toml(asked, usual)?.unwrap_or_default();
        let path = asked.unwrap_or(usual);
        config
            .validate()
            .with_context(|| format!("{} is not valid", path.display()))?;
        Ok(config)
    }

    fn validate(&self) -> anyhow::Result<()> {
        for name in self.capture.agents.iter().chain(self.roots.keys()) {
            if Flavor::from_name(name).is_none() {
                let known: Vec<_> = Flavor::ALL.iter().map(|flavor| flavor.name()).collect();
                anyhow::bail!(
                    "no agent is called {name:?}; known are {}",
                    known.join(", ")
                );
            }
        }
        self.retention.validate()?;
        let rate = self.serve.requests_per_second;
        if !(rate.is_finite() && rate >= 1.0) {
            anyhow::bail!("`requests_per_second` under [serve] is not a number of at least 1");
        }
        let idle = self.serve.idle_minutes;
        if !(idle.is_finite() && (0.0..=IDLE_MINUTES_MAX).contains(&idle)) {
            anyhow::bail!("`idle_minutes` under [serve] is not a number of minutes");
        }
        let budget = self.model.daily_usd;
        if !(budget.is_finite() && budget >= 0.0) {
            anyhow::bail!("`daily_usd` under [model] is not a number of dollars");
        }
        let unsound = self.prices.models.iter().find(|(_, p)| !p.is_valid());
        if let Some((model, _)) = unsound {
            anyhow::bail!("the price of {model:?} is not a number of dollars");
        }
        Ok(())
    }

    pub(crate) fn prices(&self) -> memory::Prices {
        memory::Prices {
            as_of: self.prices.as_of.clone(),
            models: self.prices.models.clone(),
        }
    }

    pub(crate) fn scope(&self) -> CaptureScope {
        self.capture.scope(&self.workspaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_defaults_are_the_defaults() {
        let printed: Config = toml::from_str(DEFAULT_TOML).unwrap();
        let json = |config: &Config| serde_json::to_string_pretty(config).unwrap();
        assert_eq!(json(&printed), json(&Config::default()));
    }

    #[test]
    fn a_file_adds_to_the_shipped_prices() {
        let shipped = Config::default().prices.models;
        assert!(shipped.len() > 20 && shipped.contains_key("claude-sonnet-4-5"));
        let text = "[prices.models.gpt-5]\ninput = 1\noutput = 2\n\
                    [prices.models.mine]\ninput = 0.5\noutput = 1";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.prices.models.len(), shipped.len() + 1);
        assert_eq!(config.prices.models["gpt-5"].cache_read, None);
        assert_eq!(config.prices.as_of, Config::default().prices.as_of);
        let config: Config = toml::from_str("[prices.models.m]\ninput = -1\noutput = 1").unwrap();
        assert!(config.validate().unwrap_err().to_string().contains("\"m\""));
    }

    #[test]
    fn the_printed_limits_are_those_of_compaction() {
        assert_eq!(
            Config::default().compaction.limits(),
            CompactionLimits::default()
        );
    }

    #[test]
    fn workspaces_can_be_named_in_the_singular() {
        let text = "[workspace.related]\n\"a\" = [\"b\"]";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.workspaces.related["a"], ["b"]);
    }

    #[test]
    fn slips_are_named() {
        let wrong: Result<Config, _> = toml::from_str("[capture]\nagent = []");
        assert!(
            wrong
                .unwrap_err()
                .to_string()
                .contains("unknown field `agent`")
        );
        let config: Config = toml::from_str("[capture]\nagents = [\"clod\"]").unwrap();
        assert!(
            config
                .validate()
                .unwrap_err()
                .to_string()
                .contains("known are claude")
        );
    }
}
