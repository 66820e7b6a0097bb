//! The text that agents will read: a fixed template per kind, with the figures that justify it.

use memory::SignalKind;

use crate::detect::PatternCandidate;

/// Guidance is at most this long. Longer instruction files are followed less.
pub const GUIDANCE_WORDS_MAX: usize = 60;

/// What to do about refusals of the agents' tools.
#[rustfmt::skip]
const TOOL_ADVICE: &[(&str, &str)] = &[
    ("edit-without-read", "Read a file in this session before you edit or overwrite it"),
    ("edit-no-match", concat!(
        "Read the lines again right before you edit them, and copy the old text exactly, ",
        "with its indentation",
    )),
    ("edit-ambiguous", concat!(
        "Include enough surrounding lines in the old text that it occurs only once, or ",
        "replace all occurrences explicitly",
    )),
    ("edit-stale", concat!(
        "Read a file again after a formatter or another command may have changed it, ",
        "before you edit it",
    )),
    ("edit-no-change", "Check that the new text differs from the old text before you edit"),
    ("invalid-patch", "Write patches in the exact format that the tool documents"),
    ("too-large", "Read large files in parts, with an offset and a limit"),
    ("unknown-tool", "Use only tools, skills and agents that are listed as available"),
    ("invalid-input", "Check the required parameters of a tool before you call it"),
    (
        "path-missing",
        "List the folder before you read a path that you have not seen in this session",
    ),
];

/// Returns the guidance for a candidate.
pub fn draft_guidance(candidate: &PatternCandidate) -> String {
    let name = &candidate.name;
    let quoted = |text: &str| format!("`{}`", text.replace('`', "'"));
    let advice = match candidate.kind {
        SignalKind::Instruction => {
            let (what, missing) = name.split_once(' ').unwrap_or(("", name));
            let thing = if what.contains("path") {
                "path"
            } else {
                "command"
            };
            let file = candidate.stale_in.as_deref().unwrap_or("the instructions");
            format!(
                "Do not use the {thing} {}, which {file} names: it does not exist",
                quoted(missing)
            )
        }
        SignalKind::Tool => tool_advice(name),
        SignalKind::Diag => diagnostic_advice(name, &quoted),
        SignalKind::Reject => format!("Ask the user before you run {}", quoted(name)),
        SignalKind::Correction => {
            let text = candidate
                .evidence
                .first()
                .map_or(name.as_str(), |one| one.text.as_str());
            let words: Vec<&str> = text.split_whitespace().take(25).collect();
            format!(
                "Heed what the user has said before: {}",
                quoted(&words.join(" "))
            )
        }
        SignalKind::Retry => format!(
            "Do not repeat {} unchanged after it failed; change something first",
            quoted(name)
        ),
        SignalKind::Reread => format!(
            "Do not read {} again while it has not changed",
            quoted(name)
        ),
        SignalKind::Overhead => format!("Avoid {}: check first whether it is needed", quoted(name)),
        SignalKind::Fixpair => {
            let (problem, repair) = name.split_once(" => ").unwrap_or((name, ""));
            format!(
                "When {} is reported, run {} first",
                quoted(problem),
                quoted(repair)
            )
        }
        SignalKind::Abandon | SignalKind::Cost | SignalKind::Mix => quoted(name),
    };
    with_reason(&advice, candidate)
}

/// Adds the figure that justifies an advice.
pub fn with_reason(advice: &str, candidate: &PatternCandidate) -> String {
    let advice = advice.trim().trim_end_matches('.');
    format!("{advice}, because {}.", figure(candidate))
}

fn tool_advice(name: &str) -> String {
    let known = TOOL_ADVICE.iter().find(|(family, _)| *family == name);
    match (known, name.strip_prefix("path-missing ")) {
        (Some((_, advice)), _) => (*advice).to_owned(),
        (None, Some(path)) => format!("Do not look for `{path}`: it does not exist here"),
        (None, None) => format!("Expect that the tool may answer `{name}`, and avoid the cause"),
    }
}

fn diagnostic_advice(name: &str, quoted: &dyn Fn(&str) -> String) -> String {
    let (tool, rule) = name.split_once('/').unwrap_or(("", name));
    if let Some(program) = rule.strip_prefix("command-not-found ") {
        return format!("Do not run {}: it is not installed here", quoted(program));
    }
    if let Some(script) = rule.strip_prefix("missing-script ") {
        return format!(
            "Do not run the script {}: it does not exist",
            quoted(script)
        );
    }
    if rule == "unformatted" {
        return format!("Run the formatter before you check or commit ({tool})");
    }
    match tool {
        "other" => format!(
            "Before you run the command, make sure that it does not fail with {}",
            quoted(rule)
        ),
        "git" | "gh" | "ssh" | "docker" | "net" | "shell" | "http" | "cli" => {
            format!(
                "Check before you run the command that it will not fail with {}",
                quoted(name)
            )
        }
        _ => format!(
            "Write code that passes {} the first time, and check it before you finish",
            quoted(name)
        ),
    }
}

fn figure(candidate: &PatternCandidate) -> String {
    let agents: Vec<&str> = candidate
        .flavors
        .iter()
        .map(|flavor| flavor.title())
        .collect();
    let cost = match (candidate.minutes, candidate.tokens) {
        (0, 0) => match candidate.times {
            1 => "happened once".to_owned(),
            times => format!("happened {times} times"),
        },
        (0, tokens) => format!("cost {tokens} tokens"),
        (1, _) => "cost 1 minute".to_owned(),
        (minutes, _) => format!("cost {minutes} minutes"),
    };
    format!(
        "that {cost} in {} sessions ({})",
        candidate.sessions,
        agents.join(", ")
    )
}
