//! The protocol between a hook's process and the daemon: the agent's payload in the body of a
//! request, what else is known in its headers, and in the reply the text to print.

use std::path::PathBuf;

use capture::hook::{HookHints, parse_payload};
use jiff::Timestamp;
use memory::Flavor;
use serde::{Deserialize, Serialize};
use store::Store;

use super::{AnswerMode, FollowUp, HookSilence, answer_event};
use crate::live::LiveLayers;
use crate::percent::{percent_decode, percent_encode};
use crate::settings::ServeSettings;

/// The path that hooks are posted to.
pub const HOOK_PATH: &str = "/hook";
/// The largest payload that is accepted.
pub const PAYLOAD_BYTES_MAX: usize = 16 << 20;

/// The optional headers. Their values are percent-encoded.
pub const AGENT_HEADER: &str = "x-throughline-agent";
pub const EVENT_HEADER: &str = "x-throughline-event";
pub const INSIDE_HEADER: &str = "x-throughline-inside";
pub const CWD_HEADER: &str = "x-throughline-cwd";

/// The daemon's reply to a hook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = Reply)]
pub struct HookReply {
    /// The exact text that the hook prints; may be empty.
    pub answer: String,
    /// Why the answer is empty, for the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<String>,
    /// What the answer shows. The process that prints it queues this, because only there it is
    /// certain that the answer was shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub shown: Vec<FollowUp>,
}

/// Answers a payload. Returns the follow-up work, which the caller runs once the reply is sent, and
/// the key of the workspace if the event got as far as that.
pub fn reply_to_payload(
    store: &Store,
    settings: &ServeSettings,
    layers: &LiveLayers,
    payload: &[u8],
    hints: &HookHints,
    now: Timestamp,
) -> (HookReply, Vec<FollowUp>, Option<String>) {
    let event = match parse_payload(payload, hints) {
        Ok(event) => event,
        Err(unknown) => return (HookReply::silent(unknown.to_string()), Vec::new(), None),
    };
    let generation = store.card_generation();
    match answer_event(store, settings, layers, &event, AnswerMode::Once, now) {
        Ok(outcome) => {
            if let (Some(workspace), Ok(generation)) = (&outcome.workspace, generation) {
                let session = event.session.as_ref();
                layers.count_prompt(workspace, session, &outcome.considered, generation, now);
            }
            let is_shown = |follow_up: &FollowUp| {
                matches!(
                    follow_up,
                    FollowUp::Injected(_) | FollowUp::NotesGiven { .. }
                )
            };
            let follow_ups = outcome.follow_ups.into_iter();
            let (shown, follow_ups) = follow_ups.partition(is_shown);
            let reply = HookReply {
                answer: outcome.answer.render(&event),
                silence: outcome.silence.map(HookSilence::reason),
                shown,
            };
            (reply, follow_ups, outcome.workspace)
        }
        Err(error) => {
            let reply = HookReply {
                answer: event.dialect.empty_answer().to_owned(),
                ..HookReply::silent(error.to_string())
            };
            (reply, super::follow_up::follow_ups_of(&event), None)
        }
    }
}

impl HookReply {
    fn silent(why: String) -> Self {
        Self {
            silence: Some(why),
            ..Self::default()
        }
    }
}

impl HookSilence {
    pub fn reason(self) -> String {
        match self {
            Self::EventNotAnswered => "this event takes no context".to_owned(),
            Self::Duplicate => "duplicate event".to_owned(),
            Self::Off(off) => off.reason().to_owned(),
            Self::NotFromUser => "not written by a person".to_owned(),
            Self::Recall(silence) => silence.reason().to_owned(),
            Self::NothingRelevant => "nothing relevant in memory".to_owned(),
            Self::NoFolder => "the agent did not name its folder".to_owned(),
        }
    }
}

/// Returns the headers that carry the hints.
pub fn headers_from_hints(hints: &HookHints) -> Vec<(&'static str, String)> {
    let flavor = |flavor: Option<Flavor>| flavor.map(|flavor| flavor.name().to_owned());
    let cwd = hints.cwd.as_ref();
    [
        (AGENT_HEADER, flavor(hints.agent)),
        (EVENT_HEADER, hints.event.clone()),
        (INSIDE_HEADER, flavor(hints.environment_agent)),
        (
            CWD_HEADER,
            cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
        ),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, percent_encode(&value?))))
    .collect()
}

/// Reads the hints from headers; `header` returns the value of one.
pub fn hints_from_headers<'a>(header: impl Fn(&str) -> Option<&'a str>) -> HookHints {
    let value = |name: &str| {
        header(name)
            .map(percent_decode)
            .filter(|text| !text.is_empty())
    };
    let flavor = |name: &str| value(name).and_then(|name| Flavor::from_name(&name));
    HookHints {
        agent: flavor(AGENT_HEADER),
        event: value(EVENT_HEADER),
        environment_agent: flavor(INSIDE_HEADER),
        cwd: value(CWD_HEADER).map(PathBuf::from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_a_payload_comes_through_the_headers() {
        let known = HookHints {
            agent: Some(Flavor::Copilot),
            event: Some("sessionStart".into()),
            environment_agent: None,
            cwd: Some("/home/дев/a b%20c\n".into()),
        };
        let sent = headers_from_hints(&known);
        assert!(sent.iter().all(|(_, value)| value.is_ascii()));
        let find = |name: &str| {
            let (_, value) = sent.iter().find(|(known, _)| *known == name)?;
            Some(value.as_str())
        };
        assert_eq!(hints_from_headers(find), known);
        assert_eq!(
            hints_from_headers(|_| Some("%")).event.as_deref(),
            Some("%")
        );
    }
}
