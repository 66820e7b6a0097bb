//! Memory over HTTP: for our own commands on a Unix socket, and for the user's other programs on
//! loopback.
//!
//! [`guard`] checks every request before it reaches a route. Each resource has a file, and
//! [`views`] holds the JSON types that they share. Handlers only translate: [`crate::requests`]
//! answers, on threads that may block. [`listen`] accepts connections, and [`openapi`] generates
//! the API description from the handlers.

#![expect(
    unused_qualifications,
    reason = "the macros that describe the routes write names in full"
)]

mod command;
mod config;
mod events;
mod export;
mod extract;
mod facts;
mod forget;
pub mod guard;
mod health;
pub mod hook;
mod ledger;
pub mod listen;
mod marks;
mod nested;
pub mod openapi;
mod page_access;
mod patterns;
mod problem;
mod questions;
mod records;
mod search;
mod sessions;
mod share;
mod summaries;
mod timeline;
mod views;
mod web;
mod workspaces;

use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::{OnceCell, Semaphore, watch};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use self::guard::{HttpLimits, RequestGuard};
pub use self::problem::Problem;
use capture::Sources;

use crate::command::{COMMAND_PATH, CommandRunner};
use crate::daemon::{DaemonHandle, StartupFiles};
use crate::mcp::{ClientFolder, McpServer};
use crate::requests::RequestError;
use crate::stages::StageSettings;
use crate::{ConfigFile, InjectionSettings, ServeContext};

const EXPORTS_MAX: usize = 2;
/// The port that is tried first when the page is opened and the daemon has none.
const PAGE_PORT: u16 = 7_411;

/// The state that all routes share.
#[derive(Clone, Debug)]
pub struct HttpState {
    pub context: ServeContext,
    pub guard: Arc<RequestGuard>,
    pub daemon: DaemonHandle,
    /// Turns true when the daemon stops.
    pub stopping: watch::Receiver<bool>,
    /// Limits concurrent event listeners.
    listeners: Arc<Semaphore>,
    /// Limits concurrent exports, because each holds a snapshot of the store.
    exports: Arc<Semaphore>,
    /// Identifies this run of the daemon in event ids.
    boot_id: Arc<str>,
    /// The files that the daemon was started from.
    pub startup_files: Arc<StartupFiles>,
    pub stages: Arc<StageSettings>,
    pub sources: Arc<Sources>,
    /// The port on loopback, once one is open.
    pub port: Arc<OnceCell<u16>>,
    /// The user's configuration file, where the program gives access to it.
    config_file: Option<Arc<dyn ConfigFile>>,
    /// Runs commands, where the program gives a way to.
    command_runner: Option<Arc<dyn CommandRunner>>,
    /// The switches of injection, if they were changed since the daemon started.
    changed_injection: Arc<RwLock<Option<InjectionSettings>>>,
}

impl HttpState {
    pub fn new(
        context: ServeContext,
        gate: RequestGuard,
        daemon: DaemonHandle,
        stopping: watch::Receiver<bool>,
        boot: &str,
        origin: StartupFiles,
        (stages, sources): (Arc<StageSettings>, Arc<Sources>),
    ) -> Self {
        let listeners = Semaphore::new(gate.limits.listeners_max);
        Self {
            context,
            guard: Arc::new(gate),
            daemon,
            stopping,
            listeners: Arc::new(listeners),
            exports: Arc::new(Semaphore::new(EXPORTS_MAX)),
            boot_id: boot.into(),
            startup_files: Arc::new(origin),
            stages,
            sources,
            port: Arc::default(),
            config_file: None,
            command_runner: None,
            changed_injection: Arc::default(),
        }
    }

    #[must_use]
    pub fn with_config_file(mut self, file: Option<Arc<dyn ConfigFile>>) -> Self {
        self.config_file = file;
        self
    }

    #[must_use]
    pub fn with_command_runner(mut self, runner: Option<Arc<dyn CommandRunner>>) -> Self {
        self.command_runner = runner;
        self
    }

    /// Returns the context with the switches as they are now.
    pub fn current_context(&self) -> ServeContext {
        let changed = self.changed_injection.read();
        let changed = changed.unwrap_or_else(PoisonError::into_inner);
        let mut context = self.context.clone();
        if let Some(injection) = changed.as_ref() {
            let mut settings = (*context.settings).clone();
            settings.injection.clone_from(injection);
            context.settings = Arc::new(settings);
        }
        context
    }

    /// Uses other switches from now on, and the configuration file as it is now.
    fn set_injection(&self, settings: InjectionSettings, file: &std::path::Path) {
        let mut changed = self
            .changed_injection
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *changed = Some(settings);
        self.startup_files.accept_change(file);
    }

    /// Returns the port on loopback, and opens one if there is none.
    async fn open_port(&self) -> Result<u16, Problem> {
        let open = || async {
            let (listener, port) = listen::bind_loopback(PAGE_PORT).await?;
            let listener = listen::HttpListener::Tcp(listener, port);
            let (limits, stopping) = (self.guard.limits, self.stopping.clone());
            tokio::spawn(listen::serve_listener(
                listener,
                router(self),
                limits,
                stopping,
            ));
            Ok(port)
        };
        let port = self.port.get_or_try_init(open).await;
        port.copied()
            .map_err(|error: std::io::Error| Problem::internal(error.to_string()))
    }

    /// Runs `answer` on a thread that may block.
    pub async fn run_blocking<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&ServeContext) -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, Problem> {
        let context = self.current_context();
        let answered = tokio::task::spawn_blocking(move || answer(&context)).await;
        Ok(answered.map_err(|_| Problem::internal("the request handler failed"))??)
    }
}

/// Returns all routes behind the guard.
pub fn router(state: &HttpState) -> Router {
    let (routes, description) = routes_and_description();
    let description = Arc::new(openapi::document_json(description));
    routes
        .route(
            "/openapi.json",
            axum::routing::get(move || openapi::serve_document(Arc::clone(&description))),
        )
        .with_state(state.clone())
        .nest_service("/mcp", mcp_service(state))
        .fallback(problem::route_not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        // The guard reads the whole body, within its own limits.
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn(guard::add_security_headers))
        .layer(from_fn_with_state(state.clone(), guard::guard_request))
}

fn routes_and_description() -> (Router<HttpState>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(openapi::base_document())
        .routes(routes!(records::give))
        .routes(routes!(records::get, records::forget))
        .routes(routes!(search::search))
        .routes(routes!(search::context))
        .routes(routes!(questions::blame))
        .routes(routes!(questions::how))
        .routes(routes!(questions::fix))
        .routes(routes!(facts::list))
        .routes(routes!(facts::get, facts::patch, facts::forget))
        .routes(routes!(facts::uses))
        .routes(routes!(facts::remember))
        .routes(routes!(facts::pin))
        .routes(routes!(summaries::summarize))
        .routes(routes!(summaries::compact))
        .routes(routes!(export::export))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::get, marks::patch, forget::session))
        .routes(routes!(marks::tags))
        .routes(routes!(workspaces::list, forget::workspace))
        .routes(routes!(timeline::timeline))
        .routes(routes!(timeline::outline))
        .routes(routes!(timeline::find))
        .routes(routes!(nested::compactions))
        .routes(routes!(nested::subagents))
        .routes(routes!(nested::turns))
        .routes(routes!(share::marks))
        .routes(routes!(share::transcript))
        .routes(routes!(workspaces::layers))
        .routes(routes!(workspaces::capsules))
        .routes(routes!(config::settings))
        .routes(routes!(config::switch))
        .routes(routes!(sessions::snapshot))
        .routes(routes!(patterns::list))
        .routes(routes!(patterns::get))
        .routes(routes!(patterns::detect))
        .routes(routes!(patterns::list_effects))
        .routes(routes!(patterns::distribution, patterns::distribute))
        .routes(routes!(patterns::review))
        .routes(routes!(events::events))
        .routes(routes!(events::log))
        .routes(routes!(health::health))
        .routes(routes!(health::stop))
        .routes(routes!(health::new_token))
        .routes(routes!(hook::hook))
        .routes(routes!(ledger::injections))
        .routes(routes!(ledger::rate))
        .routes(routes!(ledger::usage))
        .routes(routes!(ledger::own_usage))
        .routes(routes!(ledger::retention))
        .routes(routes!(web::ticket))
        .routes(routes!(web::session))
        .route(COMMAND_PATH, axum::routing::post(command::command))
        .route("/ui/", axum::routing::get(web::page))
        .route("/ui/{path}", axum::routing::get(web::file))
        .route("/ui/{screen}/{id}", axum::routing::get(web::screen))
        .split_for_parts()
}

/// Serves MCP without sessions, so nothing accumulates for clients that have disconnected.
fn mcp_service(state: &HttpState) -> StreamableHttpService<McpServer, LocalSessionManager> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(state.guard.limits.body_bytes_max);
    let state = state.clone();
    StreamableHttpService::new(
        move || {
            let context = state.current_context();
            Ok(McpServer::new(context, ClientFolder::FromHeader))
        },
        LocalSessionManager::default().into(),
        config,
    )
}
