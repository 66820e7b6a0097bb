//! `throughline curate`

mod answers;

use learn::curate::{
    CurateError, Curator, DecisionOrigin, DecisionOutcome, EvidenceLevel, ReviewDecision,
};
use learn::detect::PatternCandidate;
use serde_json::{Value, json};

use self::answers::AnswerReader;
use crate::commands::{App, detect};
use crate::learning;
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint};

const QUESTION: &str = "[a]pprove [r]eject [d]iscuss [e]vidence [t]ext [s]kip [q]uit?";

/// Decide which recurring problems become patterns
///
/// Asks about each candidate without a decision. An approved one becomes a file in the catalog of
/// its repository, for you to commit. A rejected one is not asked again while its evidence stays
/// the same.
#[derive(Debug, clap::Args)]
pub(crate) struct CurateArgs {
    /// Approve all candidates that pass the gate, without asking
    #[arg(long)]
    auto_approve: bool,

    /// Approve the candidate with this id
    #[arg(long, value_name = "ID", conflicts_with = "auto_approve")]
    approve: Option<String>,

    /// The text for the agents, instead of the proposed one
    #[arg(long, value_name = "TEXT", requires = "approve")]
    text: Option<String>,

    /// Reject the candidate with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["auto_approve", "approve"])]
    reject: Option<String>,

    /// Postpone the decision about the candidate with this id, until its evidence changes
    #[arg(long, value_name = "ID", conflicts_with_all = ["auto_approve", "approve", "reject"])]
    discuss: Option<String>,

    /// Withdraw the approved pattern with this id; `distribute` then removes it from the files
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["auto_approve", "approve", "reject", "discuss"]
    )]
    withdraw: Option<String>,

    /// The reason for a decision
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,

    /// Print the decisions, and the candidates without one, as JSON; never ask
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &CurateArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let settings = app.config.learn_settings();
    let candidates = learning::detect(app, &store, settings.gate.min_sessions)?;
    let curation = Curation {
        app,
        curator: Curator::new(&store, &settings)?,
    };
    if let Some(id) = &args.withdraw {
        let entry = curation.curator.find_entry(id).map_err(curate_error)?;
        // The candidate, if it still occurs, has the current evidence.
        let known = candidates.iter().find(|candidate| candidate.id == entry.id);
        let pattern = known.unwrap_or(&entry);
        let outcome = curation.decide(pattern, ReviewDecision::Withdraw, None, args.origin())?;
        return report(args, &[outcome], &[]);
    }
    let named = [
        (&args.approve, ReviewDecision::Approve),
        (&args.reject, ReviewDecision::Reject),
        (&args.discuss, ReviewDecision::Discuss),
    ];
    for (id, decision) in named {
        let Some(id) = id else { continue };
        let candidate = detect::find_candidate(&candidates, id)?;
        let text = args.text.as_deref();
        let outcome = curation.decide(candidate, decision, text, args.origin())?;
        return report(args, &[outcome], &[]);
    }
    let pending: Vec<&PatternCandidate> = candidates
        .iter()
        .filter(|candidate| curation.curator.needs_decision(candidate))
        .collect();
    if args.auto_approve {
        return curation.auto_approve(args, &pending);
    }
    if args.json {
        let proposals: Vec<_> = pending.iter().map(|one| curation.proposal(one)).collect();
        return report(args, &[], &proposals);
    }
    curation.ask(&pending)
}

impl CurateArgs {
    fn origin(&self) -> DecisionOrigin {
        DecisionOrigin::User(self.why.clone())
    }
}

fn curate_error(error: CurateError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => error_with_hint(error.to_string(), hint),
        None => error.into(),
    }
}

struct Curation<'a> {
    app: &'a App<'a>,
    curator: Curator<'a>,
}

impl Curation<'_> {
    /// Approves what passes the gate. Thin but real evidence becomes provisional; what resembles an
    /// existing text is left to the user.
    fn auto_approve(
        &self,
        args: &CurateArgs,
        pending: &[&PatternCandidate],
    ) -> anyhow::Result<Exit> {
        let (mut decided, mut left) = (Vec::new(), Vec::new());
        for candidate in pending {
            let view = self.curator.view(candidate);
            let similar = self.curator.similar(candidate, &view.guidance);
            let is_said = similar.iter().any(|one| !one.enforced);
            let is_thin = view.level == EvidenceLevel::TooThin;
            if is_thin || is_said || self.curator.catalog_of(candidate).is_err() {
                left.push(self.proposal(candidate));
                continue;
            }
            let origin = DecisionOrigin::Gate;
            decided.push(self.decide(candidate, ReviewDecision::Approve, None, origin)?);
        }
        report(args, &decided, &left)
    }

    /// Asks about each candidate in turn.
    fn ask(&self, pending: &[&PatternCandidate]) -> anyhow::Result<Exit> {
        if pending.is_empty() {
            say!("No candidate needs a decision.");
            return Ok(Exit::NothingFound);
        }
        let mut answers = AnswerReader::new(self.app);
        let mut decided = 0;
        'candidates: for (at, candidate) in pending.iter().enumerate() {
            let mut text = self.curator.view(candidate).guidance;
            self.show(candidate, &text, at + 1, pending.len());
            loop {
                let Some(answer) = answers.next_answer(QUESTION)? else {
                    break 'candidates;
                };
                let decision = match answer.key {
                    'a' => ReviewDecision::Approve,
                    'r' => ReviewDecision::Reject,
                    'd' => ReviewDecision::Discuss,
                    'e' => {
                        say!("{}", detect::format_evidence(self.app, candidate));
                        continue;
                    }
                    't' => {
                        text = answer.text.unwrap_or(text);
                        say!("  {}", sanitize(&text));
                        continue;
                    }
                    's' => continue 'candidates,
                    'q' => break 'candidates,
                    _ => continue,
                };
                let origin = DecisionOrigin::User(answer.text);
                match self.decide(candidate, decision, Some(&text), origin) {
                    Ok(outcome) => say!("{}", sanitize(&outcome_line(&outcome))),
                    Err(error) => {
                        say!("{}", sanitize(&error.to_string()));
                        continue;
                    }
                }
                decided += 1;
                continue 'candidates;
            }
        }
        Ok(Exit::of_query(decided == 0))
    }

    fn show(&self, candidate: &PatternCandidate, text: &str, at: usize, of: usize) {
        say!(
            "\n{at}/{of}  {} {} in {} ({}): {}",
            candidate.kind,
            sanitize(&candidate.name),
            count(candidate.sessions, "session"),
            learning::agent_names(&candidate.flavors),
            learning::level_text(self.curator.level(candidate)),
        );
        say!("  {}", sanitize(text));
        for found in self.curator.similar(candidate, text) {
            say!("  {}", sanitize(&learning::similar_line(&found)));
        }
    }

    fn decide(
        &self,
        candidate: &PatternCandidate,
        decision: ReviewDecision,
        text: Option<&str>,
        origin: DecisionOrigin,
    ) -> anyhow::Result<DecisionOutcome> {
        let planned = self
            .curator
            .plan(candidate, decision, text, origin)
            .map_err(curate_error)?;
        self.curator
            .carry_out(&planned, self.app.environment.now)
            .map_err(curate_error)
    }

    fn proposal(&self, candidate: &PatternCandidate) -> Value {
        let text = self.curator.view(candidate).guidance;
        json!({
            "id": candidate.id,
            "kind": candidate.kind,
            "name": candidate.name,
            "sessions": candidate.sessions,
            "flavors": candidate.flavors,
            "level": self.curator.level(candidate),
            "similar": self.curator.similar(candidate, &text),
            "guidance": text,
        })
    }
}

fn outcome_line(outcome: &DecisionOutcome) -> String {
    let decision = outcome.decision.name();
    match &outcome.file {
        Some(file) => format!("{decision} {}: wrote {}", outcome.name, file.display()),
        None => format!("{decision} {}", outcome.name),
    }
}

fn report(
    args: &CurateArgs,
    decided: &[DecisionOutcome],
    pending: &[Value],
) -> anyhow::Result<Exit> {
    if args.json {
        output::print_json(&json!({ "decisions": decided, "pending": pending }))?;
    } else {
        for outcome in decided {
            say!("{}", sanitize(&outcome_line(outcome)));
        }
        if !pending.is_empty() {
            let left = count(pending.len(), "candidate");
            say!("Left without a decision: {left}.");
        }
    }
    Ok(Exit::of_query(decided.is_empty() && pending.is_empty()))
}
