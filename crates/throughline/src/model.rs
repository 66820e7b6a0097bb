//! The configured model, and the settings of running summaries.
//!
//! Both come from the user's configuration file, never from a repository. API keys come from the
//! environment or the system keychain and are used in requests only.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use distill::model::{
    ApiKey, Endpoint, HttpModel, Model, ModelBudget, ModelClock, ModelSession, WireFormat,
};
use distill::summary::{SummarySettings, SummaryThresholds};
use jiff::tz::TimeZone;
use memory::summary::{SummaryLimits, Template};
use memory::{SessionId, Summary, Tokens};
use serde::{Deserialize, Serialize};
use serve::models::{ModelProvider, ModelRequest};
use store::Store;

use crate::agent_cli::AgentCli;
use crate::commands::App;
use crate::environment;
use crate::output::error_with_hint;
use crate::stoppable::StoppableModel;

/// Section `[summary]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SummaryConfig {
    pub(crate) enabled: bool,
    pub(crate) start_tokens: u64,
    pub(crate) more_tokens: u64,
    pub(crate) tool_calls: u64,
    pub(crate) section_tokens: u64,
    pub(crate) file_tokens: u64,
    /// A file with the section headings; empty means the built-in ones.
    pub(crate) template: String,
    /// A file with instructions for the model; empty means the built-in ones.
    pub(crate) instructions: String,
}

impl Default for SummaryConfig {
    fn default() -> Self {
        let (thresholds, limits) = (SummaryThresholds::default(), SummaryLimits::default());
        Self {
            enabled: true,
            start_tokens: thresholds.first_tokens.0,
            more_tokens: thresholds.new_tokens.0,
            tool_calls: thresholds.new_calls,
            section_tokens: limits.section.0,
            file_tokens: limits.whole.0,
            template: String::new(),
            instructions: String::new(),
        }
    }
}

impl SummaryConfig {
    /// Returns the size limits. A value that is not positive means the default.
    pub(crate) fn limits(&self) -> SummaryLimits {
        let defaults = SummaryLimits::default();
        let positive = |value: u64, default: Tokens| match value {
            0 => default,
            value => Tokens(value),
        };
        SummaryLimits {
            section: positive(self.section_tokens, defaults.section),
            whole: positive(self.file_tokens, defaults.whole),
        }
    }
}

/// Section `[model]`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelConfig {
    pub(crate) enabled: bool,
    pub(crate) provider: Provider,
    pub(crate) base_url: String,
    pub(crate) model: String,
    /// The environment variable that holds the API key.
    pub(crate) key_env: String,
    /// The account name of the API key in the system keychain.
    pub(crate) keychain: String,
    /// The program and its arguments, for the provider `cli`.
    pub(crate) command: Vec<String>,
    pub(crate) timeout_ms: u64,
    pub(crate) daily_tokens: u64,
    pub(crate) daily_usd: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Provider {
    #[default]
    None,
    Anthropic,
    Openai,
    OpenaiResponses,
    Ollama,
    Llamacpp,
    Cli,
}

impl Default for ModelConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            provider: Provider::None,
            base_url: String::new(),
            model: String::new(),
            key_env: String::new(),
            keychain: String::new(),
            command: Vec::new(),
            timeout_ms: 30_000,
            daily_tokens: 1_000_000,
            daily_usd: 1.0,
        }
    }
}

impl ModelConfig {
    /// Returns where requests are sent, or `None` if no model is used.
    pub(crate) fn destination(&self) -> Option<String> {
        match self.provider {
            Provider::None => None,
            _ if !self.enabled => None,
            Provider::Cli => Some(format!("the program {:?}", self.command.join(" "))),
            _ => Some(self.endpoint_url().to_owned()),
        }
    }

    fn endpoint_url(&self) -> &str {
        match self.provider {
            _ if !self.base_url.is_empty() => &self.base_url,
            Provider::Anthropic => "https://api.anthropic.com",
            Provider::Openai | Provider::OpenaiResponses => "https://api.openai.com/v1",
            Provider::Ollama => "http://127.0.0.1:11434",
            Provider::Llamacpp => "http://127.0.0.1:8080/v1",
            Provider::None | Provider::Cli => "",
        }
    }
}

/// Returns the settings of running summaries.
pub(crate) fn summary_settings(app: &App<'_>) -> anyhow::Result<SummarySettings> {
    let config = &app.config.summary;
    let defaults = SummarySettings::default();
    let read =
        |path: &str| std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"));
    Ok(SummarySettings {
        thresholds: SummaryThresholds {
            first_tokens: Tokens(config.start_tokens),
            new_tokens: Tokens(config.more_tokens),
            new_calls: config.tool_calls,
        },
        limits: config.limits(),
        template: match config.template.as_str() {
            "" => defaults.template,
            path => Template(Summary::parse(&read(path)?)),
        },
        instructions: match config.instructions.as_str() {
            "" => defaults.instructions,
            path => read(path)?,
        },
        has_model: is_usable(app),
    })
}

/// Returns whether a model is configured and enabled.
pub(crate) fn is_usable(app: &App<'_>) -> bool {
    app.config.model.destination().is_some() && !app.environment.model_off
}

/// Builds the configured model.
pub(crate) fn configured_model(app: &App<'_>) -> anyhow::Result<Arc<dyn Model>> {
    build_model(&app.config.model, &app.config_path)
}

fn build_model(config: &ModelConfig, path: &Path) -> anyhow::Result<Arc<dyn Model>> {
    let name = config.model.clone();
    if config.provider != Provider::None && config.provider != Provider::Cli && name.is_empty() {
        return Err(error_with_hint(
            "no model name is configured",
            format!("set `model` under [model] in {}", path.display()),
        ));
    }
    let format = match config.provider {
        Provider::None => {
            return Err(error_with_hint(
                "no model is configured",
                format!(
                    "set `provider` and `model` under [model] in {}",
                    path.display()
                ),
            ));
        }
        Provider::Cli => return Ok(Arc::new(AgentCli::new(&config.command, &name)?)),
        Provider::Anthropic => WireFormat::Anthropic,
        Provider::Openai | Provider::Llamacpp => WireFormat::ChatCompletions,
        Provider::OpenaiResponses => WireFormat::Responses,
        Provider::Ollama => WireFormat::Ollama,
    };
    let endpoint = Endpoint::new(config.endpoint_url(), api_key(config)?)
        .map_err(|error| error_with_hint(error.to_string(), "see `base_url` under [model]"))?;
    Ok(Arc::new(HttpModel {
        format,
        endpoint,
        model: name,
    }))
}

fn api_key(config: &ModelConfig) -> anyhow::Result<Option<ApiKey>> {
    if !config.key_env.is_empty() {
        let key = environment::variable(&config.key_env).ok_or_else(|| {
            error_with_hint(
                format!("the environment variable {} is not set", config.key_env),
                "set it, or change `key_env` under [model]",
            )
        })?;
        return Ok(Some(ApiKey::new(key)));
    }
    if !config.keychain.is_empty() {
        return Ok(Some(ApiKey::new(environment::keychain_secret(
            &config.keychain,
        )?)));
    }
    Ok(None)
}

/// Calls `run` with a session of the model, which enforces the budget and records every call.
pub(crate) fn with_asker<T>(
    app: &App<'_>,
    store: &Store,
    model: &dyn Model,
    purpose: &'static str,
    session: Option<&SessionId>,
    run: impl FnOnce(&ModelSession<'_>) -> T,
) -> anyhow::Result<T> {
    Ok(run(
        &ModelPolicy::of(app).session(store, model, purpose, session)?
    ))
}

/// The budget, prices and clock that every use of the model is subject to.
struct ModelPolicy {
    config: ModelConfig,
    prices: memory::Prices,
    zone: TimeZone,
    clock: serve::ClockFn,
    is_off: bool,
}

impl ModelPolicy {
    fn of(app: &App<'_>) -> Self {
        Self {
            config: app.config.model.clone(),
            prices: app.config.prices(),
            zone: app.environment.zone.clone(),
            clock: app.environment.clock_handle(),
            is_off: app.environment.model_off,
        }
    }

    fn session<'a>(
        &'a self,
        store: &'a Store,
        model: &'a dyn Model,
        purpose: &'static str,
        session: Option<&'a SessionId>,
    ) -> anyhow::Result<ModelSession<'a>> {
        let config = &self.config;
        let is_free = matches!(
            config.provider,
            Provider::Ollama | Provider::Llamacpp | Provider::Cli
        );
        let zoned = (self.clock)().to_zoned(self.zone.clone());
        Ok(ModelSession {
            store,
            model,
            budget: ModelBudget {
                enabled: config.enabled && !self.is_off,
                daily_tokens: config.daily_tokens,
                daily_usd: config.daily_usd,
                is_free,
            },
            prices: &self.prices,
            clock: ModelClock {
                now: &*self.clock,
                sleep: &std::thread::sleep,
                jitter: &jitter,
            },
            purpose,
            session,
            budget_day_start: zoned.start_of_day()?.timestamp(),
            attempt_timeout: Duration::from_millis(config.timeout_ms.max(1)),
        })
    }
}

/// The configured model, for stages and requests of a program that keeps running.
pub(crate) struct ConfiguredModel {
    policy: ModelPolicy,
    config_path: PathBuf,
    /// Built on first use, because reading its key may prompt the user for the keychain.
    model: Mutex<Option<Arc<dyn Model>>>,
    /// The last warning, so that the same warning is not printed again and again.
    last_warning: Mutex<String>,
}

impl std::fmt::Debug for ConfiguredModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConfiguredModel").finish_non_exhaustive()
    }
}

impl ConfiguredModel {
    /// Returns the provider of the configured model, or `None` if no model is used.
    pub(crate) fn of(app: &App<'_>) -> Option<Arc<dyn ModelProvider>> {
        is_usable(app).then(|| -> Arc<dyn ModelProvider> {
            Arc::new(Self {
                policy: ModelPolicy::of(app),
                config_path: app.config_path.clone(),
                model: Mutex::default(),
                last_warning: Mutex::default(),
            })
        })
    }

    fn model(&self) -> anyhow::Result<Arc<dyn Model>> {
        let mut cached = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*cached {
            return Ok(Arc::clone(model));
        }
        let model = build_model(&self.policy.config, &self.config_path)?;
        *cached = Some(Arc::clone(&model));
        Ok(model)
    }

    fn warn_once(&self, reason: &str) {
        let mut last_warning = self
            .last_warning
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *last_warning != reason {
            say!("warning: the model is not used: {reason}");
            reason.clone_into(&mut last_warning);
        }
    }
}

impl ModelProvider for ConfiguredModel {
    fn with_model(
        &self,
        request: &ModelRequest<'_>,
        work: &mut dyn FnMut(&ModelSession<'_>),
    ) -> Result<(), String> {
        let mut run = || -> anyhow::Result<()> {
            let model = StoppableModel {
                model: self.model()?,
                stop: Arc::clone(request.stop),
            };
            let sleep = |time| StoppableModel::sleep(request.stop, time);
            let policy = &self.policy;
            let mut session =
                policy.session(request.store, &model, request.purpose, request.session)?;
            session.clock.sleep = &sleep;
            work(&session);
            Ok(())
        };
        run().map_err(|error| {
            let reason = format!("{error:#}");
            self.warn_once(&reason);
            reason
        })
    }
}

/// Returns a random number between 0 and 1. Every `RandomState` has random keys, which saves a
/// dependency on a random number generator.
fn jitter() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
