//! The digest of what an account has taken in.

use memory::Session;
use memory::digest::{
    self, CORRECTIONS_MAX, Digest, ERRORS_MAX, List, REASONS_MAX, RETRIES_MAX, STEPS_MAX, Step,
    StepKind, TOOLS_MAX, span_ms,
};

use super::Account;
use crate::digest::talk::Mood;
use crate::digest::verdict::{Evidence, verdict};

impl Account {
    /// Returns the digest of what was taken in.
    pub fn digest(mut self, session: &Session) -> Digest {
        let (outcome, mut reasons) = verdict(&self.evidence());
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
        // What was not overcome matters most; else what came first.
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
            asked: List { items: asked, more },
            said: self.said,
            done: steps(self.steps),
            looks: self.looks,
            errors: List::first(errors, ERRORS_MAX),
            retries: List::first(self.retries, RETRIES_MAX),
            corrections: List::first(self.corrections, CORRECTIONS_MAX),
            tools: List::first(self.tools, TOOLS_MAX),
            overhead: self.overhead,
            usage: session.usage,
            cost_usd: session.cost_usd,
            trust: self.trust,
        }
    }

    fn evidence(&self) -> Evidence {
        let count = |wanted: StepKind| {
            let steps = self.steps.iter().filter(|step| step.kind == wanted);
            steps.filter(|step| step.times > step.failed).count() as u64
        };
        Evidence {
            last: self.last.clone(),
            mood: self.mood.unwrap_or(Mood::Neutral),
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
            admits: self.admits,
        }
    }
}

/// Keeps the steps that tell most, in their order: changes and tests before plain commands.
fn steps(steps: Vec<Step>) -> List<Step> {
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
    List { items, more }
}
