//! Routes for the configuration: every setting with its line, and the switches of the page.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::HttpState;
use super::extract::JsonBody;
use super::problem::Problem;
use crate::{ConfigEdit, ConfigFile, ConfigSetting, ConfigSwitch};

/// The settings in effect
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ConfigAnswer {
    /// The configuration file
    file: String,
    exists: bool,
    settings: Vec<ConfigSetting>,
}

/// Read the settings in effect, each with the line of the file that sets it
#[utoipa::path(get, path = "/config", tag = "daemon",
    responses((status = 200, body = ConfigAnswer)))]
pub(super) async fn settings(
    State(state): State<HttpState>,
) -> Result<Json<ConfigAnswer>, Problem> {
    let file = config_file(&state)?;
    let path = file.path().to_owned();
    let read = tokio::task::spawn_blocking(move || file.settings()).await;
    let settings = read.map_err(|_| Problem::internal("the request handler failed"))?;
    Ok(Json(ConfigAnswer {
        exists: path.exists(),
        file: path.display().to_string(),
        settings: settings.map_err(Problem::internal)?,
    }))
}

fn config_file(state: &HttpState) -> Result<Arc<dyn ConfigFile>, Problem> {
    state.config_file.clone().ok_or_else(|| {
        Problem::new(
            StatusCode::NOT_FOUND,
            "this daemon has no configuration file",
        )
    })
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum SwitchName {
    /// Whether prompts are given anything from memory, in all workspaces or in one
    Injection,
    /// Whether texts that may contain a secret are given to prompts, in all workspaces or in one
    Sensitive,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SwitchBody {
    switch: SwitchName,
    on: bool,
    /// The key of a workspace; without it the switch is for all
    workspace: Option<String>,
    /// The `confirm` of the answer without it; the change is made only with it
    confirm: Option<String>,
}

/// A change of the configuration file
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SwitchAnswer {
    /// The file
    file: String,
    /// Whether the change was made
    applied: bool,
    /// The lines that change; empty if the switch is set like that already
    diff: String,
    /// Confirms this change, once and within five minutes
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm: Option<String>,
}

/// Set a switch in the configuration file. Without `confirm` only the change is shown.
#[utoipa::path(post, path = "/config/switch", tag = "daemon", request_body = SwitchBody,
    responses((status = 200, body = SwitchAnswer)))]
pub(super) async fn switch(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<SwitchBody>,
) -> Result<Json<SwitchAnswer>, Problem> {
    let file = config_file(&state)?;
    let (switch, confirm) = (parse_switch(&body), body.confirm);
    let changed = tokio::task::spawn_blocking(move || set_switch(&state, &*file, &switch, confirm));
    let changed = changed.await;
    Ok(Json(changed.map_err(|_| {
        Problem::internal("the request handler failed")
    })??))
}

fn parse_switch(body: &SwitchBody) -> ConfigSwitch {
    let on = body.on;
    let workspace = body.workspace.clone().filter(|key| !key.is_empty());
    match (&body.switch, workspace) {
        (SwitchName::Injection, None) => ConfigSwitch::Injection(on),
        (SwitchName::Injection, Some(workspace)) => {
            ConfigSwitch::WorkspaceInjection { workspace, on }
        }
        (SwitchName::Sensitive, None) => ConfigSwitch::Sensitive(on),
        (SwitchName::Sensitive, Some(workspace)) => {
            ConfigSwitch::WorkspaceSensitive { workspace, on }
        }
    }
}

fn set_switch(
    state: &HttpState,
    file: &dyn ConfigFile,
    switch: &ConfigSwitch,
    confirm: Option<String>,
) -> Result<SwitchAnswer, Problem> {
    let refuse =
        |why: String| Problem::with_hint(StatusCode::BAD_REQUEST, why, "the file was not changed");
    let path = file.path().display().to_string();
    let Some(edit) = file.plan(switch).map_err(refuse)? else {
        return Ok(SwitchAnswer {
            file: path,
            applied: true,
            diff: String::new(),
            confirm: None,
        });
    };
    let access = &state.guard.page_access;
    let subject = subject_of(&edit);
    let Some(confirm) = confirm else {
        let token = access.issue_confirmation(&subject);
        return Ok(SwitchAnswer {
            file: path,
            applied: false,
            diff: edit.diff,
            confirm: Some(token.map_err(|error| Problem::internal(error.to_string()))?),
        });
    };
    if !access.confirm(&confirm, &subject) {
        return Err(refuse(
            "the change is not confirmed, or the file has changed since".to_owned(),
        ));
    }
    let injection = file.apply(&edit).map_err(refuse)?;
    state.set_injection(injection, file.path());
    Ok(SwitchAnswer {
        file: path,
        applied: true,
        diff: edit.diff,
        confirm: None,
    })
}

/// Describes exactly one edit, so that a confirmation is valid for nothing else.
fn subject_of(edit: &ConfigEdit) -> String {
    let mut hash = DefaultHasher::new();
    (&edit.before, &edit.after).hash(&mut hash);
    format!("config {:016x}", hash.finish())
}
