//! `throughline curate`

mod answers;
mod draft;

use learn::curate::{
    CurateError, Curator, DecisionOrigin, DecisionOutcome, EntryStatus, EvidenceLevel,
    GuidanceText, GuidanceTrust, ReviewDecision,
};
use learn::detect::PatternCandidate;
use serde_json::{Value, json};

use store::Store;

use self::answers::AnswerReader;
use crate::commands::{App, detect};
use crate::learning;
use crate::model;
use crate::output::table::count;
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint};

const QUESTION: &str = "[a]pprove [r]eject [d]iscuss [e]vidence [t]ext [s]kip [q]uit?";
const QUESTION_WITH_MODEL: &str =
    "[a]pprove [r]eject [d]iscuss [e]vidence [t]ext [m]odel's draft [s]kip [q]uit?";

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

    /// Let the configured model draft the text of the candidate with this id, for you to approve
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["auto_approve", "approve", "reject", "discuss", "withdraw"]
    )]
    draft: Option<String>,

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
        store: &store,
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
    if let Some(id) = &args.draft {
        let candidate = detect::find_candidate(&candidates, id)?;
        return curation.save_draft(args, candidate);
    }
    let named = [
        (&args.approve, ReviewDecision::Approve),
        (&args.reject, ReviewDecision::Reject),
        (&args.discuss, ReviewDecision::Discuss),
    ];
    for (id, decision) in named {
        let Some(id) = id else { continue };
        let candidate = detect::find_candidate(&candidates, id)?;
        let text = args.text.as_deref().map(GuidanceText::from);
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
    store: &'a Store,
    curator: Curator<'a>,
}

impl Curation<'_> {
    /// Approves what passes the gate. Thin but real evidence becomes provisional; drafts of a
    /// model, and what resembles an existing text, are left to the user.
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
            let is_draft = view.trust == GuidanceTrust::Model;
            if is_thin || is_said || is_draft || self.curator.catalog_of(candidate).is_err() {
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
        let question = match model::is_usable(self.app) {
            true => QUESTION_WITH_MODEL,
            false => QUESTION,
        };
        let mut decided = 0;
        'candidates: for (at, candidate) in pending.iter().enumerate() {
            let view = self.curator.view(candidate);
            let (mut text, mut drafted_by) = (view.guidance, view.drafted_by);
            self.show(candidate, at + 1, pending.len());
            self.show_text(candidate, &text, drafted_by.as_deref());
            loop {
                let Some(answer) = answers.next_answer(question)? else {
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
                        if let Some(typed) = answer.text {
                            (text, drafted_by) = (typed, None);
                        }
                        self.show_text(candidate, &text, drafted_by.as_deref());
                        continue;
                    }
                    'm' => {
                        match self.draft(candidate) {
                            Ok((draft, model)) => (text, drafted_by) = (draft, Some(model)),
                            Err(error) => say!("No draft: {}.", sanitize(&format!("{error:#}"))),
                        }
                        self.show_text(candidate, &text, drafted_by.as_deref());
                        continue;
                    }
                    's' => continue 'candidates,
                    'q' => break 'candidates,
                    other => {
                        if !other.is_whitespace() {
                            say!("{other:?} is not one of the keys.");
                        }
                        continue;
                    }
                };
                let origin = DecisionOrigin::User(answer.text);
                let guidance = GuidanceText {
                    text: &text,
                    drafted_by: drafted_by.as_deref(),
                };
                match self.decide(candidate, decision, Some(guidance), origin) {
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

    fn show(&self, candidate: &PatternCandidate, at: usize, of: usize) {
        say!(
            "\n{at} of {of}: {}\n  {}\n  evidence: {}",
            sanitize(&learning::problem_line(candidate)),
            learning::cost_line(candidate),
            learning::level_text(self.curator.level(candidate)),
        );
    }

    /// Shows what agents would read, and what already says the same.
    fn show_text(&self, candidate: &PatternCandidate, text: &str, drafted_by: Option<&str>) {
        match drafted_by {
            Some(model) => say!("Draft by {}, for you to check:", sanitize(model)),
            None => say!("Agents would read:"),
        }
        say!("  {}", sanitize(text));
        for found in self.curator.similar(candidate, text) {
            say!("  {}", sanitize(&learning::similar_line(&found)));
        }
    }

    fn decide(
        &self,
        candidate: &PatternCandidate,
        decision: ReviewDecision,
        text: Option<GuidanceText<'_>>,
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
        let view = self.curator.view(candidate);
        json!({
            "id": candidate.id,
            "kind": candidate.kind,
            "name": candidate.name,
            "sessions": candidate.sessions,
            "flavors": candidate.flavors,
            "level": self.curator.level(candidate),
            "similar": self.curator.similar(candidate, &view.guidance),
            "guidance": view.guidance,
            "drafted_by": view.drafted_by,
            "trust": view.trust,
        })
    }
}

fn outcome_line(outcome: &DecisionOutcome) -> String {
    let decided = match outcome.decision {
        ReviewDecision::Approve => "Approved",
        ReviewDecision::Reject => "Rejected",
        ReviewDecision::Discuss => "Postponed",
        ReviewDecision::Withdraw => "Withdrawn",
    };
    let name = &outcome.name;
    match (&outcome.file, outcome.status) {
        (Some(file), Some(EntryStatus::Provisional)) => {
            let file = file.display();
            format!("{decided} {name} as provisional; wrote {file}")
        }
        (Some(file), _) => format!("{decided} {name}; wrote {}", file.display()),
        (None, _) => format!("{decided} {name}."),
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
            say!("Left for you to decide with `throughline curate`: {left}.");
        }
    }
    Ok(Exit::of_query(decided.is_empty() && pending.is_empty()))
}
