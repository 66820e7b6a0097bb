//! The configuration file, `config.toml`: one struct per section, and the checks of its values.

mod file;
mod hook;
mod retention;
mod ui;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Context;
use capture::CaptureScope;
use distill::compact::CompactionLimits;
use memory::{Flavor, Price, Tokens};
use serde::{Deserialize, Deserializer, Serialize};

pub(crate) use self::file::UserConfigFile;
pub(crate) use self::hook::{HookAnswerConfig, HookConfig, ModelEnvironment};
pub(crate) use self::retention::RetentionConfig;
pub(crate) use self::ui::UiConfig;
use crate::model::{ModelConfig, SummaryConfig};

/// The configuration file with all defaults, as `throughline config --default` prints it.
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
    /// Folders that are searched for an agent's logs instead of its default folders.
    pub(crate) roots: BTreeMap<String, Vec<PathBuf>>,
    pub(crate) compaction: CompactionConfig,
    pub(crate) summary: SummaryConfig,
    pub(crate) model: ModelConfig,
    pub(crate) prices: PricesConfig,
    pub(crate) retention: RetentionConfig,
    pub(crate) ui: UiConfig,
    pub(crate) curate: CurateConfig,
    pub(crate) distribute: DistributeConfig,
}

/// A year; a larger value is certainly a mistake.
const IDLE_MINUTES_MAX: f64 = 366.0 * 24.0 * 60.0;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CompactionConfig {
    pub(crate) enabled: bool,
    pub(crate) min_tokens: i64,
    pub(crate) min_messages: i64,
    pub(crate) max_tokens: i64,
    pub(crate) threshold: i64,
    pub(crate) auto_tokens: i64,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            min_tokens: 10_000,
            min_messages: 5,
            max_tokens: 40_000,
            threshold: 0,
            auto_tokens: 160_000,
        }
    }
}

impl CompactionConfig {
    /// Returns the limits. A value that is not positive means the default.
    pub(crate) fn limits(&self, summary: &SummaryConfig) -> CompactionLimits {
        let positive = |value: i64| u64::try_from(value).ok().filter(|value| *value > 0);
        let defaults = CompactionLimits::default();
        CompactionLimits {
            min_tokens: positive(self.min_tokens).map_or(defaults.min_tokens, Tokens),
            min_messages: positive(self.min_messages)
                .and_then(|count| usize::try_from(count).ok())
                .unwrap_or(defaults.min_messages),
            max_tokens: positive(self.max_tokens).map_or(defaults.max_tokens, Tokens),
            threshold: positive(self.threshold).map(Tokens),
            summary: summary.limits(),
            ..defaults
        }
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
    pub(crate) cadence_seconds: u64,
}

/// A day; agents delete their logs after weeks.
const CADENCE_SECONDS_MAX: u64 = 24 * 60 * 60;

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CurateConfig {
    /// The folder of the catalog, relative to the root of a repository.
    pub(crate) catalog_dir: PathBuf,
    pub(crate) gate: learn::curate::CurationGate,
}

impl Default for CurateConfig {
    fn default() -> Self {
        let learn::LearnSettings {
            catalog_dir, gate, ..
        } = learn::LearnSettings::default();
        Self { catalog_dir, gate }
    }
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DistributeConfig {
    /// Maps the key of a workspace to the domains that it belongs to.
    pub(crate) domains: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WorkspacesConfig {
    /// Maps the key or folder of a workspace to the key of the workspace that it counts as.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Maps the key or folder of a workspace to the workspaces whose memory may be shown in it.
    pub(crate) related: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FactsConfig {
    pub(crate) extract: bool,
    /// Also asks the configured model.
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
    /// Hooks start the daemon if it is not running.
    pub(crate) start: bool,
    /// The TCP port on loopback; 0 means none. Without this setting a daemon in the foreground uses
    /// [`ServeConfig::FOREGROUND_PORT`], and a daemon in the background opens no port.
    pub(crate) port: Option<u16>,
    /// A daemon in the background exits after this long without work; 0 means never.
    pub(crate) idle_minutes: f64,
    pub(crate) requests_per_second: f64,
}

impl ServeConfig {
    /// The default port of a daemon in the foreground.
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
    /// What agents may do over MCP besides reading.
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
    pub(crate) sensitive_in: Vec<String>,
    pub(crate) notices: bool,
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
            sensitive_in: Vec::new(),
            notices: true,
        }
    }
}

impl InjectionConfig {
    pub(crate) fn settings(&self, off_now: bool) -> serve::InjectionSettings {
        let budget = recall::Budget {
            facts: self.facts,
            snippets: self.snippets,
            tokens: Tokens(self.tokens),
            ..recall::Budget::default()
        };
        serve::InjectionSettings {
            disabled_by_environment: off_now,
            enabled: self.enabled,
            disabled_workspaces: self.off.clone(),
            notices: self.notices,
            sensitive_workspaces: self.sensitive_in.clone(),
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
    pub(crate) fn watch_options(&self) -> capture::WatchOptions {
        capture::WatchOptions {
            rescan_every: Duration::from_secs(self.cadence_seconds),
            ..capture::WatchOptions::default()
        }
    }

    fn scope(&self, workspaces: &WorkspacesConfig) -> CaptureScope {
        let capture = self.clone();
        CaptureScope {
            never_captured: capture.never.into(),
            exceptions: capture.spared.into(),
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
            never: scope.never_captured.into_vec(),
            spared: scope.exceptions.into_vec(),
            outside: scope.keep_outside,
            archive: true,
            allow: scope.allowed,
            deny: scope.denied,
            threads: 0,
            cadence_seconds: capture::WatchOptions::default().rescan_every.as_secs(),
        }
    }
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PricesConfig {
    pub(crate) as_of: String,
    /// Entries of a file are merged into the shipped list.
    #[serde(deserialize_with = "merge_into_shipped")]
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

/// The price list, which exists only in the default configuration file.
static SHIPPED_PRICES: LazyLock<memory::Prices> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Defaults {
        prices: memory::Prices,
    }
    toml::from_str(DEFAULT_TOML).map_or_else(
        |error| {
            tracing::error!(%error, "cannot parse the shipped prices");
            memory::Prices::default()
        },
        |defaults: Defaults| defaults.prices,
    )
});

fn merge_into_shipped<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Price>, D::Error> {
    let mut models = SHIPPED_PRICES.models.clone();
    models.extend(BTreeMap::<String, Price>::deserialize(deserializer)?);
    Ok(models)
}

/// Parses a configuration file. Returns `None` if `asked` is not given and the default file does
/// not exist.
fn read_toml<T: serde::de::DeserializeOwned>(
    asked: Option<&Path>,
    default_path: &Path,
) -> anyhow::Result<Option<T>> {
    let path = asked.unwrap_or(default_path);
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
        .with_context(|| format!("invalid configuration in {}", path.display()))
}

impl Config {
    /// Loads and checks the configuration. A file that was asked for must exist; the default file
    /// need not.
    pub(crate) fn load(asked: Option<&Path>, default_path: &Path) -> anyhow::Result<Self> {
        let config: Self = read_toml(asked, default_path)?.unwrap_or_default();
        let path = asked.unwrap_or(default_path);
        config
            .validate()
            .with_context(|| format!("invalid configuration in {}", path.display()))?;
        Ok(config)
    }

    /// Returns the settings of the learning loop.
    pub(crate) fn learn_settings(&self) -> learn::LearnSettings {
        learn::LearnSettings {
            catalog_dir: self.curate.catalog_dir.clone(),
            gate: self.curate.gate.clone(),
            domains: self.distribute.domains.clone(),
        }
    }

    fn validate(&self) -> anyhow::Result<()> {
        for name in self.capture.agents.iter().chain(self.roots.keys()) {
            if Flavor::from_name(name).is_none() {
                let known: Vec<_> = Flavor::ALL.iter().map(|flavor| flavor.name()).collect();
                anyhow::bail!("unknown agent {name:?}; known agents: {}", known.join(", "));
            }
        }
        self.retention.validate()?;
        let cadence = self.capture.cadence_seconds;
        if !(1..=CADENCE_SECONDS_MAX).contains(&cadence) {
            anyhow::bail!(
                "`cadence_seconds` under [capture] must be between 1 and {CADENCE_SECONDS_MAX}, \
                 not {cadence}"
            );
        }
        let rate = self.serve.requests_per_second;
        if !(rate.is_finite() && rate >= 1.0) {
            anyhow::bail!("`requests_per_second` under [serve] must be at least 1");
        }
        let idle = self.serve.idle_minutes;
        if !(idle.is_finite() && (0.0..=IDLE_MINUTES_MAX).contains(&idle)) {
            anyhow::bail!("`idle_minutes` under [serve] must be between 0 and {IDLE_MINUTES_MAX}");
        }
        let gate = self.injection.gate;
        if !(0.0..=1.0).contains(&gate) {
            anyhow::bail!("`gate` under [injection] must be between 0 and 1, not {gate}");
        }
        let budget = self.model.daily_usd;
        if !(budget.is_finite() && budget >= 0.0) {
            anyhow::bail!("`daily_usd` under [model] must be 0 or more");
        }
        let invalid = self.prices.models.iter().find(|(_, p)| !p.is_valid());
        if let Some((model, _)) = invalid {
            anyhow::bail!("the price of {model:?} under [prices.models] must be 0 or more");
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

    fn limits(compaction: &str) -> CompactionLimits {
        let config: CompactionConfig = toml::from_str(compaction).unwrap();
        config.limits(&SummaryConfig::default())
    }

    #[test]
    fn the_printed_limits_are_those_of_compaction() {
        assert_eq!(limits(""), CompactionLimits::default());
    }

    #[test]
    fn compaction_limits_that_are_not_positive_are_defaults() {
        for value in ["0", "-1", "-9223372036854775808"] {
            let text = ["min_tokens", "min_messages", "max_tokens", "threshold"]
                .map(|name| format!("{name} = {value}"));
            assert_eq!(limits(&text.join("\n")), CompactionLimits::default());
        }
        let small = limits("min_tokens = 1\nmin_messages = 2\nmax_tokens = 3\nthreshold = 4");
        assert_eq!((small.min_tokens, small.min_messages), (Tokens(1), 2));
        assert_eq!(
            (small.max_tokens, small.threshold),
            (Tokens(3), Some(Tokens(4)))
        );
        let summary: SummaryConfig = toml::from_str("section_tokens = 5\nfile_tokens = 0").unwrap();
        let limits = CompactionConfig::default().limits(&summary).summary;
        assert_eq!((limits.section, limits.whole), (Tokens(5), Tokens(12_000)));
    }

    #[test]
    fn workspaces_can_be_named_in_the_singular() {
        let text = "[workspace.related]\n\"a\" = [\"b\"]";
        let config: Config = toml::from_str(text).unwrap();
        assert_eq!(config.workspaces.related["a"], ["b"]);
    }

    #[test]
    fn mistakes_are_named() {
        let wrong: Result<Config, _> = toml::from_str("[capture]\nagent = []");
        assert!(
            wrong
                .unwrap_err()
                .to_string()
                .contains("unknown field `agent`")
        );
        let config: Config = toml::from_str("[capture]\ncadence_seconds = 0").unwrap();
        let refused = config.validate().unwrap_err().to_string();
        assert!(refused.starts_with("`cadence_seconds` under [capture]"));
        for gate in ["7.5", "-0.1", "nan"] {
            let config: Config = toml::from_str(&format!("[injection]\ngate = {gate}")).unwrap();
            let refused = config.validate().unwrap_err().to_string();
            assert!(refused.starts_with("`gate` under [injection]"), "{refused}");
        }
        let config: Config = toml::from_str("[capture]\nagents = [\"clod\"]").unwrap();
        assert!(
            config
                .validate()
                .unwrap_err()
                .to_string()
                .contains("known agents: claude")
        );
    }
}
