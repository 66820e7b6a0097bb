//! Decides who wrote a message in the user's role.
//!
//! Codex writes messages in the user's role too. Newer rollouts name the author of each part; in
//! older ones the beginning of the text decides, which needs no look-ahead to the event that
//! repeats a person's prompts.

use serde_json::value::RawValue;

use super::wire::{Part, Passthrough};
use crate::json::{self, Text};
use crate::title::prompt_title;

/// The beginnings of texts that Codex itself writes in the user's role.
const HARNESS_PREFIXES: &[&str] = &[
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<environment_context>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<personality_spec>",
    "<apps_instructions>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<recommended_plugins>",
    "<skill>",
    "<user_shell_command>",
    "<user_action>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<codex_internal_context",
    "<goal_context>",
    "<hook_prompt",
    "<model_switch>",
    "<additional_context",
    "Another language model started to solve this problem",
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via exec_command",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
];

/// The author of a part of a message in the user's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartAuthor {
    Person,
    /// Another agent's model.
    Agent,
    Program,
}

/// Returns the author of each part.
pub(crate) fn part_authors(passthrough: Option<&RawValue>, parts: &[Part<'_>]) -> Vec<PartAuthor> {
    let passthrough = json::parse::<Passthrough<'_>>(passthrough);
    let author = |(at, part): (usize, &Part<'_>)| {
        if is_harness(part.text.as_str()) {
            return PartAuthor::Program;
        }
        let Some(passthrough) = &passthrough else {
            return PartAuthor::Person;
        };
        let metadata = passthrough.content_item_metadata.get(at);
        let provenance = metadata.and_then(|part| part.provenance.as_ref()?.kind.get());
        let kind = passthrough.content_item_kinds.get(at).and_then(Text::get);
        match (provenance, kind) {
            (Some("user"), _) => PartAuthor::Person,
            (Some("harness" | "skills" | "plugins" | "hooks" | "apps"), _) => PartAuthor::Program,
            (Some(_), _) => PartAuthor::Agent,
            (None, None | Some("unknown")) => PartAuthor::Person,
            (None, Some(kind)) if kind.starts_with("user.") => PartAuthor::Person,
            (None, Some(_)) => PartAuthor::Program,
        }
    };
    parts.iter().enumerate().map(author).collect()
}

fn is_harness(text: &str) -> bool {
    let text = text.trim_start().as_bytes();
    HARNESS_PREFIXES.iter().any(|form| {
        text.get(..form.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(form.as_bytes()))
    })
}

/// Returns the working directory that an `<environment_context>` names.
pub(crate) fn cwd(text: &str) -> Option<&str> {
    let context = text.trim_start().strip_prefix("<environment_context>")?;
    let (_, rest) = context.split_once("<cwd>")?;
    let (cwd, _) = rest.split_once("</cwd>")?;
    Some(cwd.trim()).filter(|cwd| !cwd.is_empty())
}

/// Returns the line of a prompt that makes the best title.
pub(crate) fn title(text: &str) -> Option<String> {
    // Editors put open files and selections before the request.
    let request = text
        .rsplit_once("## My request for Codex:")
        .map_or(text, |(_, request)| request);
    prompt_title(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(passthrough: &str, text: &str, author: PartAuthor) {
        let raw: &RawValue = serde_json::from_str(passthrough).unwrap();
        let part = Part {
            text: Text(Some(text.into())),
            image_url: Text(None),
        };
        assert_eq!(part_authors(Some(raw), &[part]), [author], "{text}");
    }

    #[test]
    fn the_form_decides_where_nothing_is_told() {
        for form in HARNESS_PREFIXES {
            check("null", &format!("\n{form} …"), PartAuthor::Program);
        }
        check(
            "null",
            "fix <environment_context> please",
            PartAuthor::Person,
        );
        check(r#"{"turn_id":"7"}"#, "go", PartAuthor::Person);
    }

    #[test]
    fn what_is_told_counts() {
        let passthrough_of = |kind: &str| {
            format!(r#"{{"content_item_metadata":[{{"provenance":{{"type":"{kind}"}}}}]}}"#)
        };
        check(
            &passthrough_of("harness"),
            "a text of a form we do not know",
            PartAuthor::Program,
        );
        check(&passthrough_of("user"), "go", PartAuthor::Person);
        check(&passthrough_of("thread"), "go", PartAuthor::Agent);
        let kind = |kind: &str| format!(r#"{{"content_item_kinds":["{kind}"]}}"#);
        check(
            &kind("hooks.additional_context"),
            "remember",
            PartAuthor::Program,
        );
        check(&kind("user.text"), "go", PartAuthor::Person);
        check(&kind("unknown"), "go", PartAuthor::Person);
    }

    #[test]
    fn the_folder_is_in_the_context() {
        let text = "<environment_context>\n  <cwd>/home/dev/proj</cwd>\n</environment_context>";
        assert_eq!(cwd(text), Some("/home/dev/proj"));
        assert_eq!(cwd("<cwd>/x</cwd>"), None);
    }

    #[test]
    fn the_request_behind_the_editor_is_the_title() {
        let text = "# Context from my IDE setup:\n## Open tabs\n- a.rs\n\n## My request for Codex:\
            \n\n add tests\nnow";
        assert_eq!(title(text).as_deref(), Some("add tests"));
        assert_eq!(title(" \n"), None);
    }
}
