//! How a hook's process and the daemon talk: the payload as the agent sent it in the body of a request,
//! what else is known in its headers, and in the reply what is to be printed.

use std::path::PathBuf;

use capture::hook::{Hints, read};
use jiff::Timestamp;
use memory::Flavor;
use serde::{Deserialize, Serialize};
use store::Store;

use super::{After, Quiet, answer};
use crate::settings::Settings;

/// Where hooks are answered: `POST`.
pub const PATH: &str = "/hook";
/// More than this no payload may have.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// The headers, all of which may be missing; their values are [`escape`]d.
pub const AGENT: &str = "x-throughline-agent";
pub const EVENT: &str = "x-throughline-event";
pub const INSIDE: &str = "x-throughline-inside";
pub const CWD: &str = "x-throughline-cwd";

/// What the daemon replies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Reply {
    /// What the hook prints, to the byte; may be empty.
    pub answer: String,
    /// Why the answer carries nothing, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
    /// What the answer shows. Whoever prints it notes this: only there it is known that it was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub shown: Vec<After>,
}

/// Answers a request. What follows is carried out once the reply is on its way.
pub fn respond(
    store: &Store,
    settings: &Settings,
    payload: &[u8],
    hints: &Hints,
    now: Timestamp,
) -> (Reply, Vec<After>) {
    let event = match read(payload, hints) {
        Ok(event) => event,
        Err(unknown) => return (Reply::silent(unknown.to_string()), Vec::new()),
    };
    match answer(store, settings, &event, now) {
        Ok(answered) => {
            let is_shown =
                |after: &After| matches!(after, After::Injected(_) | After::NotesGiven { .. });
            let (shown, after) = answered.after.into_iter().partition(is_shown);
            let reply = Reply {
                answer: answered.answer.write(&event),
                silence: answered.silence.map(Quiet::reason),
                shown,
            };
            (reply, after)
        }
        Err(error) => {
            let reply = Reply {
                answer: event.dialect.silence().to_owned(),
                ..Reply::silent(error.to_string())
            };
            (reply, super::after::of(&event))
        }
    }
}

impl Reply {
    fn silent(why: String) -> Self {
        Self {
            silence: Some(why),
            ..Self::default()
        }
    }
}

impl Quiet {
    pub fn reason(self) -> String {
        match self {
            Self::NotAsked => "nothing is said at this event".to_owned(),
            Self::Twice => "delivered before".to_owned(),
            Self::Off(off) => off.reason().to_owned(),
            Self::NotAPerson => "no person sent it".to_owned(),
            Self::Silence(silence) => silence.reason().to_owned(),
            Self::Nothing => "nothing is worth saying".to_owned(),
            Self::Nowhere => "the agent names no folder".to_owned(),
        }
    }
}

/// Returns the headers that say what is known.
pub fn headers(hints: &Hints) -> Vec<(&'static str, String)> {
    let flavor = |flavor: Option<Flavor>| flavor.map(|flavor| flavor.name().to_owned());
    let cwd = hints.cwd.as_ref();
    [
        (AGENT, flavor(hints.agent)),
        (EVENT, hints.event.clone()),
        (INSIDE, flavor(hints.inside)),
        (CWD, cwd.map(|cwd| cwd.to_string_lossy().into_owned())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, escape(&value?))))
    .collect()
}

/// Reads the headers; `header` returns the value of one.
pub fn hints<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Hints {
    let value = |name: &str| header(name).map(unescape).filter(|text| !text.is_empty());
    let flavor = |name: &str| value(name).and_then(|name| Flavor::from_name(&name));
    Hints {
        agent: flavor(AGENT),
        event: value(EVENT),
        inside: flavor(INSIDE),
        cwd: value(CWD).map(PathBuf::from),
    }
}

/// Writes a text so that it may stand in a header.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        let digits = others
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match digits {
            Some(byte) => {
                out.push(byte);
                rest = &others[2..];
            }
            None => {
                out.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_payload_comes_through_the_headers() {
        let known = Hints {
            agent: Some(Flavor::Copilot),
            event: Some("sessionStart".into()),
            inside: None,
            cwd: Some("/home/дев/a b%20c\n".into()),
        };
        let sent = headers(&known);
        assert!(sent.iter().all(|(_, value)| value.is_ascii()));
        let find = |name: &str| {
            let (_, value) = sent.iter().find(|(known, _)| *known == name)?;
            Some(value.as_str())
        };
        assert_eq!(hints(find), known);
        assert_eq!(hints(|_| Some("%")).event.as_deref(), Some("%"));
    }
}
