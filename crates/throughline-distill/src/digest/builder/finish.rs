//! Assembles the digest from the collected data.

use memory::digest::{
    self, CORRECTIONS_MAX, CappedList, Digest, DigestStep, ERRORS_MAX, REASONS_MAX, RETRIES_MAX,
    STEPS_MAX, StepKind, TOOLS_MAX, span_ms,
};
use memory::{Outcome, Session, Signal, SignalKind};

use super::DigestBuilder;
use crate::digest::mood::PromptMood;
use crate::digest::outcome::{OutcomeEvidence, judge_outcome};

impl DigestBuilder {
    /// Returns the digest of the records added so far.
    pub fn finish(self, session: &Session) -> Digest {
        self.finish_with_signals(session).0
    }

    /// Returns the digest of the records added so far, and their signals.
    pub fn finish_with_signals(mut self, session: &Session) -> (Digest, Vec<Signal>) {
        let progress = self.progress();
        let signals = std::mem::take(&mut self.signals);
        let digest = self.into_digest(session);
        let mut signals = signals.finish(progress);
        if digest.outcome == Outcome::Abandoned {
            signals.push(Signal {
                text: digest.reasons.join("; "),
                ..Signal::new(SignalKind::Abandon, "session abandoned")
            });
        }
        signals.push(Signal {
            ms: digest.active_ms,
            tokens: digest.usage.input + digest.usage.output,
            ..Signal::new(SignalKind::Cost, "session")
        });
        (digest, signals)
    }

    fn into_digest(mut self, session: &Session) -> Digest {
        let (outcome, mut reasons) = judge_outcome(&self.outcome_evidence());
        reasons.truncate(REASONS_MAX);
        self.tools
            .sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.tool.cmp(&b.tool)));
        let asked: Vec<_> = self
            .first_asked
            .into_iter()
            .chain(self.last_asked)
            .collect();
        let more = self.prompts - asked.len() as u64;
        let ended = self.last_at;
        let mut errors: Vec<_> = self
            .errors
            .into_iter()
            .map(|failure| failure.seen)
            .collect();
        // Errors that were not overcome are most important; the sort keeps the order otherwise.
        errors.sort_by_key(|error| error.overcome);
        Digest {
            version: digest::VERSION,
            outcome,
            reasons,
            started: self.started,
            ended,
            wall_ms: span_ms(self.started, ended),
            active_ms: self.active_ms,
            records: self.records,
            prompts: self.prompts,
            asked: CappedList { items: asked, more },
            said: self.said,
            done: most_telling_steps(self.steps),
            looks: self.looks,
            errors: CappedList::keep_first(errors, ERRORS_MAX),
            retries: CappedList::keep_first(self.retries, RETRIES_MAX),
            corrections: CappedList::keep_first(self.corrections, CORRECTIONS_MAX),
            tools: CappedList::keep_first(self.tools, TOOLS_MAX),
            overhead: self.overhead,
            usage: session.usage,
            cost_usd: session.cost_usd,
            trust: self.trust,
        }
    }

    fn outcome_evidence(&self) -> OutcomeEvidence {
        let count = |wanted: StepKind| {
            let steps = self.steps.iter().filter(|step| step.kind == wanted);
            steps.filter(|step| step.times > step.failed).count() as u64
        };
        OutcomeEvidence {
            end: self.last.clone(),
            mood: self.mood.unwrap_or(PromptMood::Neutral),
            prompts: self.prompts,
            tests: self.tests,
            committed: self.committed,
            changed: count(StepKind::Changed),
            ran: count(StepKind::Ran),
            open_errors: self
                .errors
                .iter()
                .filter(|failure| !failure.seen.overcome)
                .count() as u64,
            report: self.report,
        }
    }
}

/// Keeps the most informative steps in their order: changes and tests before other commands, and
/// failures before successes.
fn most_telling_steps(steps: Vec<DigestStep>) -> CappedList<DigestStep> {
    let more = steps.len().saturating_sub(STEPS_MAX) as u64;
    let mut ranked: Vec<usize> = (0..steps.len()).collect();
    ranked.sort_by_key(|at| {
        let step = &steps[*at];
        (
            step.kind == StepKind::Ran,
            std::cmp::Reverse(step.failed > 0),
            *at,
        )
    });
    ranked.truncate(STEPS_MAX);
    let items = steps.into_iter().enumerate();
    let items = items
        .filter(|(at, _)| ranked.contains(at))
        .map(|(_, step)| step)
        .collect();
    CappedList { items, more }
}
