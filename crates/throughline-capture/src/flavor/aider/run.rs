//! A run of Aider, which becomes one session.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use memory::{Flavor, SessionId, SessionKind, SessionPatch};
use serde::{Deserialize, Serialize};

/// A run, as its header and Aider's announcements describe it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AiderRun {
    pub id: String,
    pub started: Option<Timestamp>,
    pub version: Option<String>,
    pub model: Option<String>,
    pub automated: bool,
    pub introduced: bool,
    pub titled: bool,
}

impl AiderRun {
    pub(crate) fn session(&self) -> SessionId {
        SessionId::of(Flavor::Aider, &self.id)
    }

    pub(crate) fn patch(&self) -> SessionPatch {
        SessionPatch::new(self.session(), Flavor::Aider)
    }

    /// Returns the patch that introduces the run's session.
    pub(crate) fn first_patch(&self, cwd: Option<String>) -> SessionPatch {
        SessionPatch {
            kind: self.automated.then_some(SessionKind::Automated),
            cwd,
            model: self.model.clone(),
            version: self.version.clone(),
            started: self.started,
            ..self.patch()
        }
    }

    /// Reads a line that Aider prints about itself, and says whether it was one.
    pub(crate) fn read_announcement(&mut self, line: &str) -> bool {
        if let Some(model) = model(line) {
            self.model = Some(model.to_owned());
            return true;
        }
        if let Some(version) = line.strip_prefix("Aider v") {
            self.version = Some(version.trim().to_owned());
            return true;
        }
        false
    }
}

/// Returns the main model that Aider announces.
fn model(line: &str) -> Option<&str> {
    let rest = ["Main model: ", "Models: ", "Model: "]
        .iter()
        .find_map(|head| line.strip_prefix(head))?;
    rest.split([' ', ','])
        .next()
        .filter(|name| !name.is_empty())
}

/// A run before its first prompt.
///
/// The first prompt is part of the run's id: the file has no ids of its own, several files may
/// start a run in the same second, and a file may be moved or lose its beginning.
#[derive(Clone, Debug)]
pub(crate) struct RunHeader {
    pub run: AiderRun,
    started: String,
    hasher: blake3::Hasher,
    first: bool,
}

impl RunHeader {
    /// `nth` is the number of runs that started in the same second before this one.
    pub(crate) fn new(started: &str, nth: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(started.as_bytes());
        hasher.update(&nth.to_le_bytes());
        Self {
            run: AiderRun {
                started: local_time(started),
                ..AiderRun::default()
            },
            started: started.to_owned(),
            hasher,
            first: true,
        }
    }

    /// Reads a line above the first prompt.
    pub(crate) fn add_line(&mut self, line: &str) {
        self.hasher.update(line.as_bytes());
        self.hasher.update(b"\n");
        if std::mem::take(&mut self.first) {
            // The header's first line is the command line.
            self.run.automated = line
                .split(' ')
                .any(|word| AUTOMATIC.contains(&word.split('=').next().unwrap_or(word)));
        }
        self.run.read_announcement(line);
    }

    /// Completes the run with its first prompt, which gives it its id.
    pub(crate) fn finish(mut self, prompt: &str) -> AiderRun {
        self.hasher.update(prompt.as_bytes());
        let hash = self.hasher.finalize().to_hex();
        let started = self.started.replace(' ', "T").replace(':', "-");
        self.run.id = format!("{started}-{}", &hash[..12]);
        self.run
    }
}

/// The options that make Aider process one message and exit.
const AUTOMATIC: &[&str] = &["--message", "--msg", "-m", "--message-file", "-f"];

/// Reads a time without a zone, in the zone of this machine.
fn local_time(text: &str) -> Option<Timestamp> {
    let local: DateTime = text.parse().ok()?;
    Some(local.to_zoned(zone()).ok()?.timestamp())
}

fn zone() -> TimeZone {
    if cfg!(test) {
        TimeZone::UTC
    } else {
        TimeZone::system()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_by_how_it_begins() {
        let name = |nth: u32, lines: &[&str], prompt: &str| {
            let mut head = RunHeader::new("2024-08-05 19:33:02", nth);
            lines.iter().for_each(|line| head.add_line(line));
            head.finish(prompt).id
        };
        let one = name(0, &["aider", "Aider v1"], "hi");
        assert!(one.starts_with("2024-08-05T19-33-02-"), "{one}");
        assert_eq!(one, name(0, &["aider", "Aider v1"], "hi"));
        assert_ne!(one, name(1, &["aider", "Aider v1"], "hi"));
        assert_ne!(one, name(0, &["aider", "Aider v1"], "ho"));
    }

    #[test]
    fn the_banner_tells_version_and_model() {
        let mut head = RunHeader::new("2024-08-05 19:33:02", 0);
        head.add_line("/bin/aider --yes --message=hello");
        head.add_line("Aider v0.47.2-dev");
        head.add_line("Models: claude-3-5-sonnet with diff edit format, weak model haiku");
        let run = head.finish("hello");
        assert_eq!(run.version.as_deref(), Some("0.47.2-dev"));
        assert_eq!(run.model.as_deref(), Some("claude-3-5-sonnet"));
        assert!(run.automated);
        assert!(run.started.is_some());
    }
}
