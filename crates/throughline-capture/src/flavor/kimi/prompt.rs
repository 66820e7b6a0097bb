//! Who is behind a prompt. Kimi tells, with each.

use memory::Origin;

use super::wire;

/// Returns who spoke and what they typed.
pub fn classify_prompt(origin: &wire::Origin<'_>, text: String) -> (Origin, String) {
    let typed = match origin.kind.as_str() {
        "user" => text,
        // The prompt holds the whole skill; a person typed its name.
        "skill_activation" | "plugin_command" if origin.trigger.as_str() == "user-slash" => {
            let (name, words) = (origin.skill_name.as_str(), origin.skill_args.as_str());
            format!("/{name} {words}").trim_end().to_owned()
        }
        // Subagents' tasks, schedules, retries, notifications.
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
            r#"{"kind":"skill_activation","skillName":"review","skillArgs":"the store","trigger":"user-slash"}"#,
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
