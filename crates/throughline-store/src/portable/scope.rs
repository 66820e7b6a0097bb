//! Filters an import by the configuration's capture rules.

use std::collections::{HashMap, HashSet};

use memory::Workspace;

use super::line::ExportLine;

/// Which workspaces and files may be captured, as the configuration says.
pub trait ImportScope {
    /// Returns whether a workspace may be captured.
    fn allows(&self, workspace: &Workspace) -> bool;

    /// Returns what is kept of a record's text. `root` is the folder of its session.
    fn keep_text(&self, text: &str, path: Option<&str>, root: Option<&str>) -> String;

    /// Returns a filter for the pieces of one log, which must be passed in order.
    fn log_filter(&self) -> LogPieceFilter<'_>;

    /// Returns whether a log that names its own workspace may be captured.
    fn allows_log(&self, text: &str) -> bool;
}

/// Returns what is kept of the next piece of a log.
pub type LogPieceFilter<'a> = Box<dyn FnMut(String) -> String + 'a>;

/// Checks the lines of one import.
#[derive(Default)]
pub(super) struct ScopeCheck<'a> {
    scope: Option<&'a dyn ImportScope>,
    /// The folder of each workspace and session read so far.
    roots: HashMap<String, String>,
    denied_workspaces: HashSet<String>,
    denied_sessions: HashSet<String>,
    /// Logs, by whether a session that may be captured was read from them.
    logs: HashMap<String, bool>,
    log_filters: HashMap<String, LogPieceFilter<'a>>,
}

impl<'a> ScopeCheck<'a> {
    pub(crate) fn new(scope: Option<&'a dyn ImportScope>) -> Self {
        Self {
            scope,
            ..Self::default()
        }
    }

    /// Removes the excluded parts of a line, or returns why the whole line is excluded.
    pub(crate) fn admit(&mut self, line: &mut ExportLine) -> Result<(), String> {
        let Some(scope) = self.scope else {
            return Ok(());
        };
        match line {
            ExportLine::Workspace(line) => {
                let root = line.roots.first().cloned().unwrap_or_default();
                let workspace = Workspace {
                    key: line.key.clone(),
                    root: root.clone(),
                };
                self.roots.insert(line.key.clone(), root);
                if !scope.allows(&workspace) {
                    self.denied_workspaces.insert(line.key.clone());
                    return Err(NOT_CAPTURED.to_owned());
                }
            }
            ExportLine::Session(line) => {
                let cwd = line.cwd.clone().unwrap_or_default();
                let key = line.workspace.clone().unwrap_or_else(|| cwd.clone());
                let root = self.roots.get(&key).cloned();
                let root = root.filter(|root| !root.is_empty()).unwrap_or(cwd);
                let is_allowed = scope.allows(&Workspace {
                    key: key.clone(),
                    root: root.clone(),
                });
                self.roots.insert(line.id.clone(), root);
                if !is_allowed || self.denied_workspaces.contains(&key) {
                    self.denied_sessions.insert(line.id.clone());
                    return Err(NOT_CAPTURED.to_owned());
                }
            }
            ExportLine::Source(line) => {
                let is_allowed = !self.denied_sessions.contains(&line.session);
                *self.logs.entry(line.path.clone()).or_default() |= is_allowed;
                self.check_session(Some(&line.session))?;
            }
            ExportLine::Record(line) => {
                self.check_session(Some(&line.session))?;
                let root = self.roots.get(&line.session).map(String::as_str);
                let root = root.filter(|root| !root.is_empty());
                line.content = scope.keep_text(&line.content, line.path.as_deref(), root);
            }
            ExportLine::Log(line) => {
                if self.logs.get(&line.path) == Some(&false) {
                    return Err(NOT_CAPTURED.to_owned());
                }
                let rule = self
                    .log_filters
                    .entry(line.path.clone())
                    .or_insert_with(|| scope.log_filter());
                line.text = rule(std::mem::take(&mut line.text));
            }
            ExportLine::Usage(line) => self.check_session(Some(&line.session))?,
            ExportLine::Eviction(line) => self.check_session(Some(&line.session))?,
            ExportLine::Digest(line) => self.check_session(Some(&line.session))?,
            ExportLine::Summary(line) => self.check_session(Some(&line.session))?,
            ExportLine::Marks(line) => self.check_session(Some(&line.session))?,
            ExportLine::Call(line) => self.check_session(line.session.as_ref())?,
            ExportLine::Injection(line) => {
                self.check_session(line.session.as_ref())?;
                self.check_workspace(line.workspace.as_ref())?;
            }
            ExportLine::Fact(line) => self.check_workspace(line.workspace.as_ref())?,
            ExportLine::Export { .. } => {}
        }
        Ok(())
    }

    fn check_session(&self, session: Option<&String>) -> Result<(), String> {
        match session {
            Some(session) if self.denied_sessions.contains(session) => Err(NOT_CAPTURED.to_owned()),
            _ => Ok(()),
        }
    }

    fn check_workspace(&self, key: Option<&String>) -> Result<(), String> {
        match key {
            Some(key) if self.denied_workspaces.contains(key) => Err(NOT_CAPTURED.to_owned()),
            _ => Ok(()),
        }
    }
}

const NOT_CAPTURED: &str =
    "its workspace is not captured; see `allow` and `deny` under [capture] in the configuration";
