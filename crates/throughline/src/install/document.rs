//! One file of configuration as a text: what we want in it put in, and taken out again.

use std::path::Path;

use serde_json::Value;

use super::json::edit::{self, JsonPathStep};
use super::json::scan;
use super::ours::{self, SERVER, SERVER_LISTS};
use super::toml;

/// What we want in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DesiredContent {
    /// Entries among others in a JSON object.
    Json(Vec<DesiredEntry>),
    /// Our server in a TOML file, started by this program.
    Toml { program: String },
    /// The whole file.
    WholeFile(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DesiredEntry {
    /// A hook that runs `command`, written as `group` behind the others of the event.
    Hook {
        event: &'static str,
        command: String,
        group: String,
    },
    /// Our server in the list of that name.
    Server { list: &'static str, server: String },
    /// A member without which the agent would not read the file.
    Member {
        key: &'static str,
        value: &'static str,
    },
}

/// Why a file is left as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigEditError {
    #[error(transparent)]
    Json(#[from] edit::JsonEditError),
    #[error(transparent)]
    Toml(#[from] toml::TomlEditError),
    #[error("it has a server called {SERVER} that does not run Throughline")]
    ForeignServer,
    #[error("it was not written by Throughline")]
    ForeignFile,
}

impl From<scan::JsonSyntaxError> for ConfigEditError {
    fn from(malformed: scan::JsonSyntaxError) -> Self {
        Self::Json(malformed.into())
    }
}

/// The first words of a file that is wholly ours.
pub(crate) const MARKER: &str = "// Throughline:";

/// How a file is changed, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    Json,
    Toml,
    WholeFile,
}

impl ConfigFormat {
    pub(crate) fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("js") => Self::WholeFile,
            _ => Self::Json,
        }
    }
}

/// Says whether everything wanted is there, and nothing of ours that is not wanted.
pub(crate) fn is_installed(text: &str, wants: &DesiredContent) -> Result<bool, ConfigEditError> {
    match wants {
        DesiredContent::Json(wants) => is_installed_in_json(text, wants),
        DesiredContent::Toml { program } => Ok(toml::has_server_for(text, program)?),
        DesiredContent::WholeFile(whole) => Ok(text == whole),
    }
}

fn is_installed_in_json(text: &str, wants: &[DesiredEntry]) -> Result<bool, ConfigEditError> {
    if is_blank(text) {
        return Ok(false);
    }
    let root = scan::scan(text)?.to_value();
    let hooks = ours::find_our_hooks(&root);
    let wanted = |want: &&DesiredEntry| matches!(want, DesiredEntry::Hook { .. });
    let is_there = |want: &DesiredEntry| match want {
        DesiredEntry::Hook { event, command, .. } => hooks
            .iter()
            .any(|found| found.event == *event && found.command == *command),
        DesiredEntry::Server { list, server } => {
            let wanted: Value = serde_json::from_str(server).unwrap_or_default();
            let there = &root[list][SERVER];
            ["command", "args"]
                .iter()
                .all(|key| there[key] == wanted[key])
                && there.is_object()
        }
        DesiredEntry::Member { key, .. } => root.get(key).is_some(),
    };
    let count = wants.iter().filter(wanted).count();
    Ok(hooks.len() == count && wants.iter().all(is_there))
}

/// Puts what is wanted into a text that has nothing of ours.
pub(crate) fn add_entries(text: &str, wants: &DesiredContent) -> Result<String, ConfigEditError> {
    let wants = match wants {
        DesiredContent::Json(wants) => wants,
        DesiredContent::Toml { program } => return Ok(toml::add_server(text, program)?),
        DesiredContent::WholeFile(whole) => return Ok(whole.clone()),
    };
    let is_new = is_blank(text);
    let mut after = if is_new { "{}".into() } else { text.to_owned() };
    for want in wants {
        after = match want {
            DesiredEntry::Hook { event, group, .. } => {
                edit::append(&after, &["hooks", event], group)?
            }
            DesiredEntry::Server { list, server } => edit::set(&after, &[list, SERVER], server)?,
            DesiredEntry::Member { key, value } => edit::set(&after, &[key], value)?,
        };
        // What is written must be read again as it was meant.
        scan::scan(&after)?;
    }
    if is_new {
        after.push('\n');
    }
    Ok(after)
}

/// Names the members that [`with`] would have to make, outermost first.
pub(crate) fn missing_members(
    text: &str,
    wants: &DesiredContent,
) -> Result<Vec<String>, ConfigEditError> {
    let DesiredContent::Json(wants) = wants else {
        return Ok(Vec::new());
    };
    let root = if is_blank(text) {
        Value::Object(serde_json::Map::new())
    } else {
        scan::scan(text)?.to_value()
    };
    let mut missing = Vec::new();
    let mut note = |is_there: bool, name: String| {
        if !is_there && !missing.contains(&name) {
            missing.push(name);
        }
    };
    for want in wants {
        match want {
            DesiredEntry::Hook { event, .. } => {
                note(root.get("hooks").is_some(), "hooks".to_owned());
                let is_there = root["hooks"].get(event).is_some();
                note(is_there, format!("hooks.{event}"));
            }
            DesiredEntry::Server { list, .. } => note(root.get(list).is_some(), (*list).to_owned()),
            DesiredEntry::Member { key, .. } => note(root.get(key).is_some(), (*key).to_owned()),
        }
    }
    Ok(missing)
}

/// Takes everything of ours out. Lists that this leaves empty go if we `made` them, or if nobody
/// knows who did.
pub(crate) fn remove_entries(
    text: &str,
    format: ConfigFormat,
    made: Option<&[String]>,
) -> Result<String, ConfigEditError> {
    match format {
        ConfigFormat::Toml => Ok(toml::remove_server(text)?),
        ConfigFormat::WholeFile => Ok(text.to_owned()),
        ConfigFormat::Json if is_blank(text) => Ok(text.to_owned()),
        ConfigFormat::Json => remove_json_entries(text, made),
    }
}

fn remove_json_entries(text: &str, made: Option<&[String]>) -> Result<String, ConfigEditError> {
    let root = scan::scan(text)?.to_value();
    let is_made = |name: &str| made.is_none_or(|made| made.iter().any(|made| made == name));
    let mut after = text.to_owned();
    let mut emptied = Vec::new();
    for found in ours::find_our_hooks(&root) {
        after = edit::remove(&after, &found.path)?;
        emptied.push(vec!["hooks".to_owned(), found.event]);
        emptied.push(vec!["hooks".to_owned()]);
    }
    for list in SERVER_LISTS {
        if ours::is_our_server(&root[list][SERVER]) {
            after = edit::remove(&after, &json_path(&[list, SERVER]))?;
            emptied.push(vec![(*list).to_owned()]);
        }
    }
    // The lists before what holds them.
    emptied.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    emptied.dedup();
    for path in emptied {
        let pointer = format!("/{}", path.join("/"));
        let root = scan::scan(&after)?.to_value();
        if root.pointer(&pointer).is_some_and(is_empty) && is_made(&path.join(".")) {
            let path: Vec<_> = path.iter().map(String::as_str).collect();
            after = edit::remove(&after, &json_path(&path))?;
        }
    }
    remove_added_members(after, made.unwrap_or_default())
}

/// Takes out what only our hooks needed. Where somebody has put their own among those since, they need it
/// too.
fn remove_added_members(text: String, made: &[String]) -> Result<String, ConfigEditError> {
    let root = scan::scan(&text)?.to_value();
    let is_made = |name: &str| made.iter().any(|made| made == name);
    if is_made("hooks") && root.get("hooks").is_some() {
        return Ok(text);
    }
    let is_list =
        |name: &str| name == "hooks" || name.contains('.') || SERVER_LISTS.contains(&name);
    let mut after = text;
    for key in made.iter().filter(|name| !is_list(name)) {
        after = edit::remove(&after, &json_path(&[key]))?;
    }
    Ok(after)
}

/// Says whether somebody else's server has our name.
pub(crate) fn has_foreign_server(
    text: &str,
    format: ConfigFormat,
) -> Result<bool, ConfigEditError> {
    if format != ConfigFormat::Json || is_blank(text) {
        return Ok(false);
    }
    let root = scan::scan(text)?.to_value();
    let is_other = |list: &&str| {
        let server = &root[*list][SERVER];
        !server.is_null() && !ours::is_our_server(server)
    };
    Ok(SERVER_LISTS.iter().any(is_other))
}

/// Says whether anything of ours is in the text.
pub(crate) fn has_entries(text: &str, format: ConfigFormat) -> Result<bool, ConfigEditError> {
    match format {
        ConfigFormat::Toml => Ok(toml::has_server(text)?),
        ConfigFormat::WholeFile => Ok(text.starts_with(MARKER)),
        ConfigFormat::Json => Ok(without_json_or_blank(text)? != text),
    }
}

fn without_json_or_blank(text: &str) -> Result<String, ConfigEditError> {
    remove_entries(text, ConfigFormat::Json, Some(&[]))
}

/// Says whether a text holds nothing at all, or an object without members.
pub(crate) fn is_empty_document(text: &str, format: ConfigFormat) -> bool {
    match format {
        ConfigFormat::Json => {
            is_blank(text) || scan::scan(text).is_ok_and(|root| is_empty(&root.to_value()))
        }
        ConfigFormat::Toml | ConfigFormat::WholeFile => is_blank(text),
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn json_path(path: &[&str]) -> Vec<JsonPathStep> {
    path.iter()
        .map(|key| JsonPathStep::Key((*key).to_owned()))
        .collect()
}
