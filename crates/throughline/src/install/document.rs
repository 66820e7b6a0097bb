//! One file of configuration as a text: what we want in it put in, and taken out again.

use std::path::Path;

use serde_json::Value;

use super::json::edit::{self, Step};
use super::json::scan;
use super::ours::{self, SERVER, SERVER_LISTS};
use super::toml;

/// What we want in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Entries among others in a JSON object.
    Json(Vec<Want>),
    /// Our server in a TOML file, started by this program.
    Toml { program: String },
    /// The whole file.
    Whole(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A hook that runs `command`, written as `group` behind the others of the event.
    Hook {
        event: &'static str,
        command: String,
        group: String,
    },
    /// Our server in the list of that name.
    Server { list: &'static str, server: String },
    /// A member without which the agent would not read the file.
    Needed {
        key: &'static str,
        value: &'static str,
    },
}

/// Why a file is left as it is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error(transparent)]
    Json(#[from] edit::Refused),
    #[error(transparent)]
    Toml(#[from] toml::Refused),
    #[error("it has a server called {SERVER} that does not run Throughline")]
    OtherServer,
    #[error("it was not written by Throughline")]
    NotOurs,
}

impl From<scan::Malformed> for Refused {
    fn from(malformed: scan::Malformed) -> Self {
        Self::Json(malformed.into())
    }
}

/// The first words of a file that is wholly ours.
pub const MARKER: &str = "// Throughline:";

/// How a file is changed, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Toml,
    Whole,
}

impl Format {
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("js") => Self::Whole,
            _ => Self::Json,
        }
    }
}

/// Says whether everything wanted is there, and nothing of ours that is not wanted.
pub fn is_installed(text: &str, wants: &Wants) -> Result<bool, Refused> {
    match wants {
        Wants::Json(wants) => is_in_json(text, wants),
        Wants::Toml { program } => Ok(toml::has(text, program)?),
        Wants::Whole(whole) => Ok(text == whole),
    }
}

fn is_in_json(text: &str, wants: &[Want]) -> Result<bool, Refused> {
    if is_blank(text) {
        return Ok(false);
    }
    let root = scan::scan(text)?.to_value();
    let hooks = ours::hooks(&root);
    let wanted = |want: &&Want| matches!(want, Want::Hook { .. });
    let is_there = |want: &Want| match want {
        Want::Hook { event, command, .. } => hooks
            .iter()
            .any(|found| found.event == *event && found.command == *command),
        Want::Server { list, server } => {
            let wanted: Value = serde_json::from_str(server).unwrap_or_default();
            let there = &root[list][SERVER];
            ["command", "args"]
                .iter()
                .all(|key| there[key] == wanted[key])
                && there.is_object()
        }
        Want::Needed { key, .. } => root.get(key).is_some(),
    };
    let count = wants.iter().filter(wanted).count();
    Ok(hooks.len() == count && wants.iter().all(is_there))
}

/// Puts what is wanted into a text that has nothing of ours.
pub fn with(text: &str, wants: &Wants) -> Result<String, Refused> {
    let wants = match wants {
        Wants::Json(wants) => wants,
        Wants::Toml { program } => return Ok(toml::with(text, program)?),
        Wants::Whole(whole) => return Ok(whole.clone()),
    };
    let is_new = is_blank(text);
    let mut after = if is_new { "{}".into() } else { text.to_owned() };
    for want in wants {
        after = match want {
            Want::Hook { event, group, .. } => edit::append(&after, &["hooks", event], group)?,
            Want::Server { list, server } => edit::set(&after, &[list, SERVER], server)?,
            Want::Needed { key, value } => edit::set(&after, &[key], value)?,
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
pub fn missing(text: &str, wants: &Wants) -> Result<Vec<String>, Refused> {
    let Wants::Json(wants) = wants else {
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
            Want::Hook { event, .. } => {
                note(root.get("hooks").is_some(), "hooks".to_owned());
                let is_there = root["hooks"].get(event).is_some();
                note(is_there, format!("hooks.{event}"));
            }
            Want::Server { list, .. } => note(root.get(list).is_some(), (*list).to_owned()),
            Want::Needed { key, .. } => note(root.get(key).is_some(), (*key).to_owned()),
        }
    }
    Ok(missing)
}

/// Takes everything of ours out. Lists that this leaves empty go if we `made` them, or if nobody
/// knows who did.
pub fn without(text: &str, format: Format, made: Option<&[String]>) -> Result<String, Refused> {
    match format {
        Format::Toml => Ok(toml::without(text)?),
        Format::Whole => Ok(text.to_owned()),
        Format::Json if is_blank(text) => Ok(text.to_owned()),
        Format::Json => without_json(text, made),
    }
}

fn without_json(text: &str, made: Option<&[String]>) -> Result<String, Refused> {
    let root = scan::scan(text)?.to_value();
    let is_made = |name: &str| made.is_none_or(|made| made.iter().any(|made| made == name));
    let mut after = text.to_owned();
    let mut emptied = Vec::new();
    for found in ours::hooks(&root) {
        after = edit::remove(&after, &found.path)?;
        emptied.push(vec!["hooks".to_owned(), found.event]);
        emptied.push(vec!["hooks".to_owned()]);
    }
    for list in SERVER_LISTS {
        if ours::is_our_server(&root[list][SERVER]) {
            after = edit::remove(&after, &steps(&[list, SERVER]))?;
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
            after = edit::remove(&after, &steps(&path))?;
        }
    }
    without_needed(after, made.unwrap_or_default())
}

/// Takes out what only our hooks needed. Where somebody has put their own among those since, they need it
/// too.
fn without_needed(text: String, made: &[String]) -> Result<String, Refused> {
    let root = scan::scan(&text)?.to_value();
    let is_made = |name: &str| made.iter().any(|made| made == name);
    if is_made("hooks") && root.get("hooks").is_some() {
        return Ok(text);
    }
    let is_list =
        |name: &str| name == "hooks" || name.contains('.') || SERVER_LISTS.contains(&name);
    let mut after = text;
    for key in made.iter().filter(|name| !is_list(name)) {
        after = edit::remove(&after, &steps(&[key]))?;
    }
    Ok(after)
}

/// Says whether somebody else's server has our name.
pub fn has_other_server(text: &str, format: Format) -> Result<bool, Refused> {
    if format != Format::Json || is_blank(text) {
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
pub fn has_any(text: &str, format: Format) -> Result<bool, Refused> {
    match format {
        Format::Toml => Ok(toml::has_any(text)?),
        Format::Whole => Ok(text.starts_with(MARKER)),
        Format::Json => Ok(without_json_or_blank(text)? != text),
    }
}

fn without_json_or_blank(text: &str) -> Result<String, Refused> {
    without(text, Format::Json, Some(&[]))
}

/// Says whether a text holds nothing at all, or an object without members.
pub fn says_nothing(text: &str, format: Format) -> bool {
    match format {
        Format::Json => {
            is_blank(text) || scan::scan(text).is_ok_and(|root| is_empty(&root.to_value()))
        }
        Format::Toml | Format::Whole => is_blank(text),
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

fn steps(path: &[&str]) -> Vec<Step> {
    path.iter()
        .map(|key| Step::Key((*key).to_owned()))
        .collect()
}
