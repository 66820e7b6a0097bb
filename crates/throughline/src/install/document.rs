//! Adds our entries to the text of a configuration file, and removes them again.

use std::path::Path;

use serde_json::Value;

use super::json::edit::{self, JsonPathStep};
use super::json::scan;
use super::our_entries::{self, ALLOW_LIST, SERVER, SERVER_LISTS};
use super::toml;
use super::toml_lists::{self, TomlListEntry};

/// The entries that a file should contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DesiredContent {
    /// Entries in a JSON object, beside those of the user.
    Json(Vec<DesiredEntry>),
    /// Our MCP server in a TOML file, started with this program.
    Toml { program: String },
    /// Entries in the lists of a TOML file.
    TomlLists(Vec<TomlListEntry>),
    /// A file that contains nothing else.
    WholeFile(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DesiredEntry {
    /// A hook that runs `command`; `group` is its JSON, which is appended to the hooks of the
    /// event.
    Hook {
        event: &'static str,
        command: String,
        group: String,
    },
    /// Our MCP server in the list of that name.
    Server { list: &'static str, server: String },
    /// A permission to use one of our tools without a question.
    AllowedTool { name: String },
    /// A member that the agent requires in the file.
    Member {
        key: &'static str,
        value: &'static str,
    },
}

/// Why a file is not changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigEditError {
    #[error(transparent)]
    Json(#[from] edit::JsonEditError),
    #[error(transparent)]
    Toml(#[from] toml::TomlEditError),
    #[error("it has another MCP server named {SERVER}")]
    ForeignServer,
    #[error("it was not written by Throughline")]
    ForeignFile,
}

impl From<scan::JsonSyntaxError> for ConfigEditError {
    fn from(malformed: scan::JsonSyntaxError) -> Self {
        Self::Json(malformed.into())
    }
}

/// The start of scripts, of TOML files and of the last line of Markdown files that contain nothing
/// but our text.
const SCRIPT_MARKER: &str = "// Throughline:";
pub(crate) const TOML_MARKER: &str = "# Throughline:";
pub(crate) const MARKDOWN_MARKER: &str = "<!-- Throughline:";

/// Returns whether a file contains nothing but our text.
pub(crate) fn is_our_file(text: &str) -> bool {
    let last = text.trim_end().lines().last().unwrap_or_default();
    text.starts_with(SCRIPT_MARKER)
        || text.starts_with(TOML_MARKER)
        || last.starts_with(MARKDOWN_MARKER)
}

/// The format of a file, determined by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    Json,
    Toml,
    WholeFile,
}

impl ConfigFormat {
    pub(crate) fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension {
            Some("toml") if path.ends_with("config.toml") => Self::Toml,
            Some("toml" | "js" | "ts" | "md") => Self::WholeFile,
            _ => Self::Json,
        }
    }
}

/// Returns whether the file contains exactly the desired entries.
pub(crate) fn is_installed(text: &str, wants: &DesiredContent) -> Result<bool, ConfigEditError> {
    match wants {
        DesiredContent::Json(wants) => is_installed_in_json(text, wants),
        DesiredContent::Toml { program } => Ok(toml::has_server_for(text, program)?),
        DesiredContent::TomlLists(entries) => Ok(toml_lists::has_entries_for(text, entries)?),
        DesiredContent::WholeFile(whole) => Ok(text == whole),
    }
}

fn is_installed_in_json(text: &str, wants: &[DesiredEntry]) -> Result<bool, ConfigEditError> {
    if is_blank(text) {
        return Ok(false);
    }
    let root = scan::scan(text)?.to_value();
    let hooks = our_entries::find_our_hooks(&root);
    let is_hook = |want: &&DesiredEntry| matches!(want, DesiredEntry::Hook { .. });
    let is_present = |want: &DesiredEntry| match want {
        DesiredEntry::Hook { event, command, .. } => hooks
            .iter()
            .any(|found| found.event == *event && found.command == *command),
        DesiredEntry::Server { list, server } => {
            let wanted: Value = serde_json::from_str(server).unwrap_or_default();
            let existing = &root[list][SERVER];
            ["command", "args"]
                .iter()
                .all(|key| existing[key] == wanted[key])
                && existing.is_object()
        }
        DesiredEntry::AllowedTool { name } => our_entries::allowed_tools(&root)
            .iter()
            .any(|allowed| allowed == name),
        DesiredEntry::Member { key, .. } => root.get(key).is_some(),
    };
    let count = wants.iter().filter(is_hook).count();
    Ok(hooks.len() == count && wants.iter().all(is_present))
}

/// Adds the desired entries to a text without any of Throughline's.
pub(crate) fn add_entries(text: &str, wants: &DesiredContent) -> Result<String, ConfigEditError> {
    let wants = match wants {
        DesiredContent::Json(wants) => wants,
        DesiredContent::Toml { program } => return Ok(toml::add_server(text, program)?),
        DesiredContent::TomlLists(entries) => {
            return Ok(toml_lists::add_list_entries(text, entries)?);
        }
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
            DesiredEntry::AllowedTool { name } => {
                edit::append(&after, ALLOW_LIST, &Value::from(name.as_str()).to_string())?
            }
            DesiredEntry::Member { key, value } => edit::set(&after, &[key], value)?,
        };
        // Never write a file that cannot be parsed again.
        scan::scan(&after)?;
    }
    if is_new {
        after.push('\n');
    }
    Ok(after)
}

/// Returns the names of the members that [`add_entries`] would create, outermost first.
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
    let mut check = |exists: bool, name: String| {
        if !exists && !missing.contains(&name) {
            missing.push(name);
        }
    };
    for want in wants {
        match want {
            DesiredEntry::Hook { event, .. } => {
                check(root.get("hooks").is_some(), "hooks".to_owned());
                let exists = root["hooks"].get(event).is_some();
                check(exists, format!("hooks.{event}"));
            }
            DesiredEntry::Server { list, .. } => {
                check(root.get(list).is_some(), (*list).to_owned());
            }
            DesiredEntry::AllowedTool { .. } => {
                check(root.get("permissions").is_some(), "permissions".to_owned());
                let exists = root["permissions"].get("allow").is_some();
                check(exists, ALLOW_LIST.join("."));
            }
            DesiredEntry::Member { key, .. } => check(root.get(key).is_some(), (*key).to_owned()),
        }
    }
    Ok(missing)
}

/// Removes all of Throughline's entries. Lists that become empty are removed if we created them, or
/// if that is unknown because there is no manifest entry (`created` is `None`).
pub(crate) fn remove_entries(
    text: &str,
    format: ConfigFormat,
    created: Option<&[String]>,
) -> Result<String, ConfigEditError> {
    match format {
        ConfigFormat::Toml => {
            let text = toml::remove_server(text)?;
            Ok(toml_lists::remove_list_entries(&text)?)
        }
        ConfigFormat::WholeFile => Ok(text.to_owned()),
        ConfigFormat::Json if is_blank(text) => Ok(text.to_owned()),
        ConfigFormat::Json => remove_json_entries(text, created),
    }
}

fn remove_json_entries(text: &str, created: Option<&[String]>) -> Result<String, ConfigEditError> {
    let root = scan::scan(text)?.to_value();
    let is_created = |name: &str| created.is_none_or(|created| created.iter().any(|it| it == name));
    let mut after = text.to_owned();
    let mut emptied = Vec::new();
    for found in our_entries::find_our_hooks(&root) {
        after = edit::remove(&after, &found.path)?;
        emptied.push(vec!["hooks".to_owned(), found.event]);
        emptied.push(vec!["hooks".to_owned()]);
    }
    for list in SERVER_LISTS {
        if our_entries::is_our_server(&root[list][SERVER]) {
            after = edit::remove(&after, &json_path(&[list, SERVER]))?;
            emptied.push(vec![(*list).to_owned()]);
        }
    }
    for index in our_entries::allowed_tool_indexes(&root) {
        let mut path = json_path(ALLOW_LIST);
        path.push(JsonPathStep::Index(index));
        after = edit::remove(&after, &path)?;
        emptied.push(vec!["permissions".to_owned(), "allow".to_owned()]);
        emptied.push(vec!["permissions".to_owned()]);
    }
    // Inner lists come before the objects that contain them.
    emptied.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    emptied.dedup();
    for path in emptied {
        let pointer = format!("/{}", path.join("/"));
        let root = scan::scan(&after)?.to_value();
        if root.pointer(&pointer).is_some_and(is_empty) && is_created(&path.join(".")) {
            let path: Vec<_> = path.iter().map(String::as_str).collect();
            after = edit::remove(&after, &json_path(&path))?;
        }
    }
    remove_added_members(after, created.unwrap_or_default())
}

/// Removes members that we added because our hooks need them. If the user has added hooks since,
/// those need the members too.
fn remove_added_members(text: String, created: &[String]) -> Result<String, ConfigEditError> {
    let root = scan::scan(&text)?.to_value();
    let is_created = |name: &str| created.iter().any(|it| it == name);
    if is_created("hooks") && root.get("hooks").is_some() {
        return Ok(text);
    }
    let is_list = |name: &str| {
        matches!(name, "hooks" | "permissions")
            || name.contains('.')
            || SERVER_LISTS.contains(&name)
    };
    let mut after = text;
    for key in created.iter().filter(|name| !is_list(name)) {
        after = edit::remove(&after, &json_path(&[key]))?;
    }
    Ok(after)
}

/// Returns whether a server of another program has our name.
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
        !server.is_null() && !our_entries::is_our_server(server)
    };
    Ok(SERVER_LISTS.iter().any(is_other))
}

/// Returns whether the text contains an entry of Throughline.
pub(crate) fn has_entries(text: &str, format: ConfigFormat) -> Result<bool, ConfigEditError> {
    match format {
        ConfigFormat::Toml => Ok(toml::has_server(text)? || toml_lists::has_list_entries(text)?),
        ConfigFormat::WholeFile => Ok(is_our_file(text)),
        ConfigFormat::Json => Ok(without_json_or_blank(text)? != text),
    }
}

fn without_json_or_blank(text: &str) -> Result<String, ConfigEditError> {
    remove_entries(text, ConfigFormat::Json, Some(&[]))
}

/// Returns whether a text is blank or an empty object.
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
