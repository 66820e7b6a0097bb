//! Finds the author of a prompt, which Kimi records with it.

use memory::Origin;

use super::wire;

/// Returns the origin of a prompt and the typed text.
pub(crate) fn classify_prompt(origin: &wire::Origin<'_>, text: String) -> (Origin, String) {
    let typed = match origin.kind.as_str() {
        "user" => text,
        // The prompt contains the whole skill; the person typed its name.
        "skill_activation" | "plugin_command" if origin.trigger.as_str() == "user-slash" => {
            let (name, words) = (origin.skill_name.as_str(), origin.skill_args.as_str());
            format!("/{name} {words}").trim_end().to_owned()
        }
        // Tasks of subagents, schedules, retries and notifications.
        _ => return (Origin::Harness, text),
    };
    (Origin::Human, typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(origin: &str, expected: (Origin, &str)) {
        let origin = serde_json::from_str(origin).unwrap();
        let (who, text) = classify_prompt(&origin, "all of it".to_owned());
        assert_eq!((who, &*text), expected);
    }

    #[test]
    fn people_and_programs() {
        check(r#"{"kind":"user"}"#, (Origin::Human, "all of it"));
        check(
            concat!(
                r#"{"kind":"skill_activation","skillName":"review","skillArgs":"the store","trig"#,
                r#"ger":"user-slash"}"#,
            ),
            (Origin::Human, "/review the store"),
        );
        check(
            r#"{"kind":"plugin_command","commandName":"go","trigger":"user-slash"}"#,
            (Origin::Human, "/go"),
        );
        for origin in [
            r#"{"kind":"skill_activation","skillName":"review","trigger":"model-tool"}"#,
            r#"{"kind":"system_trigger","name":"subagent"}"#,
            r#"{"kind":"cron_job"}"#,
            "{}",
        ] {
            check(origin, (Origin::Harness, "all of it"));
        }
    }
}
