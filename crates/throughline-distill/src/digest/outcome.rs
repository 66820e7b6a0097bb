//! Judges the outcome of a session.

use memory::Outcome;

use super::answer::AnswerReport;
use super::mood::PromptMood;

/// The last event of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SessionEnd {
    #[default]
    Nothing,
    Prompt,
    /// A message of the agent.
    Answer,
    /// A call without a result.
    Call(String),
    Result {
        tool: String,
        failed: bool,
    },
    /// The user refused or interrupted a call.
    Interrupted,
    /// A failure outside of any tool.
    Error(String),
}

/// The observations that determine the outcome.
#[derive(Clone, Debug)]
pub(super) struct OutcomeEvidence {
    pub end: SessionEnd,
    pub mood: PromptMood,
    pub prompts: u64,
    /// Whether the last run of tests passed.
    pub tests: Option<bool>,
    /// Whether the last commit or push succeeded.
    pub committed: bool,
    pub changed: u64,
    pub ran: u64,
    /// The number of errors that were not overcome.
    pub open_errors: u64,
    /// What the agent's last message says about the work.
    pub report: AnswerReport,
}

/// Judges the outcome of a session and gives the reasons. The last events count most, because
/// earlier failures may have been fixed.
pub(super) fn judge_outcome(evidence: &OutcomeEvidence) -> (Outcome, Vec<String>) {
    let (outcome, reason) = outcome_by_end(evidence)
        .or_else(|| outcome_by_work(evidence))
        .unwrap_or_else(|| (Outcome::Unclear, unclear_reason(evidence)));
    let mut reasons = vec![reason];
    if evidence.open_errors > 0 && outcome != Outcome::Failed {
        let noun = if evidence.open_errors == 1 {
            "error was"
        } else {
            "errors were"
        };
        reasons.push(format!("{} {noun} not resolved", evidence.open_errors));
    }
    (outcome, reasons)
}

/// Tools that an agent calls when it has completed its task.
const COMPLETION_TOOLS: &[&str] = &["task_complete", "attempt_completion"];

fn outcome_by_end(evidence: &OutcomeEvidence) -> Option<(Outcome, String)> {
    let reason = |outcome, text: &str| Some((outcome, text.to_owned()));
    match &evidence.end {
        SessionEnd::Call(tool) | SessionEnd::Result { tool, .. }
            if COMPLETION_TOOLS.contains(&tool.as_str()) =>
        {
            reason(Outcome::Succeeded, "the agent marked the task as complete")
        }
        SessionEnd::Nothing => reason(Outcome::Unclear, "the session is empty"),
        SessionEnd::Prompt if evidence.mood == PromptMood::Satisfied => {
            reason(Outcome::Succeeded, "the user was satisfied at the end")
        }
        SessionEnd::Prompt => reason(Outcome::Abandoned, "the last prompt has no answer"),
        SessionEnd::Interrupted => reason(
            Outcome::Abandoned,
            "the user refused or interrupted the last step",
        ),
        SessionEnd::Call(tool) => Some((
            Outcome::Abandoned,
            format!("the session ends during a call of {tool}"),
        )),
        SessionEnd::Error(text) => Some((
            Outcome::Failed,
            format!("the session ends with an error: {text}"),
        )),
        SessionEnd::Result { tool, failed: true } => Some((
            Outcome::Failed,
            format!("the session ends with a failed call of {tool}"),
        )),
        SessionEnd::Result {
            tool,
            failed: false,
        } => Some((
            Outcome::Abandoned,
            format!("the session ends after a call of {tool}, without an answer"),
        )),
        SessionEnd::Answer => None,
    }
}

fn outcome_by_work(evidence: &OutcomeEvidence) -> Option<(Outcome, String)> {
    let reason = |outcome, text: &str| Some((outcome, text.to_owned()));
    if evidence.mood == PromptMood::Satisfied {
        return reason(Outcome::Succeeded, "the user was satisfied at the end");
    }
    // An agent that stops after "now I will …" was cut off, whatever its tests said before.
    if evidence.report == AnswerReport::Progress {
        return reason(
            Outcome::Abandoned,
            "the session ends before an announced step",
        );
    }
    if evidence.tests == Some(false) {
        return reason(Outcome::Failed, "the last test run failed");
    }
    if evidence.report == AnswerReport::Failed {
        // Agents also report single steps that failed; changed files show that others succeeded.
        let is_partial = evidence.changed > 0 || evidence.committed;
        let outcome = if is_partial {
            Outcome::Unclear
        } else {
            Outcome::Failed
        };
        return reason(outcome, "the agent reports that it did not succeed");
    }
    if evidence.tests == Some(true) {
        return reason(Outcome::Succeeded, "the last test run passed");
    }
    if evidence.committed {
        return reason(Outcome::Succeeded, "the work was committed");
    }
    if evidence.mood == PromptMood::Correction {
        return reason(Outcome::Unclear, "the user's last message was a correction");
    }
    if evidence.changed > 0 && evidence.open_errors == 0 {
        let files = if evidence.changed == 1 {
            "file was"
        } else {
            "files were"
        };
        let text = format!(
            "{} {files} changed, and nothing failed afterwards",
            evidence.changed
        );
        return Some((Outcome::Succeeded, text));
    }
    match evidence.report {
        AnswerReport::Done => reason(
            Outcome::Succeeded,
            "the agent reports that the work is done",
        ),
        AnswerReport::Plain if evidence.prompts > 0 && evidence.changed == 0 => {
            reason(Outcome::Succeeded, "the last prompt was answered")
        }
        AnswerReport::Plain
        | AnswerReport::Question
        | AnswerReport::Failed
        | AnswerReport::Progress => None,
    }
}

fn unclear_reason(evidence: &OutcomeEvidence) -> String {
    if evidence.changed > 0 || evidence.ran > 0 {
        "no evidence shows whether the work is correct".to_owned()
    } else if evidence.prompts > 0 {
        "the agent asked a question that was not answered".to_owned()
    } else {
        "the session has no prompts".to_owned()
    }
}
