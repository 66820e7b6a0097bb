//! Mirrors the files that describe a session as a whole.

use std::borrow::Cow;

use serde::Deserialize;

use crate::time::Time;

/// A subagent, as in the parent's log and in `subagents/<child>/meta.json`.
#[derive(Deserialize)]
pub(crate) struct Subagent<'a> {
    #[serde(borrow)]
    pub child_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub subagent_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub parent_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub description: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub child_cwd: Option<Cow<'a, str>>,
    #[serde(default)]
    pub started_at: Time,
}

/// `summary.json`.
#[derive(Deserialize)]
pub(crate) struct Summary<'a> {
    #[serde(borrow)]
    pub info: Option<Info<'a>>,
    #[serde(borrow)]
    pub session_summary: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub generated_title: Option<Cow<'a, str>>,
    pub title_is_manual: Option<bool>,
    #[serde(default)]
    pub created_at: Time,
    #[serde(default)]
    pub updated_at: Time,
    #[serde(default)]
    pub last_active_at: Time,
    #[serde(borrow)]
    pub current_model_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub parent_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub session_kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub git_remotes: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow)]
    pub head_branch: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(crate) struct Info<'a> {
    #[serde(borrow)]
    pub id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub cwd: Option<Cow<'a, str>>,
}
