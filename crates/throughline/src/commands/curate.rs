//! `throughline curate`

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

use learn::curate::{
    BloatText, EntryStatus, EvidenceLevel, GUIDANCE_WORDS_MAX, NewDecision, ReviewDecision,
    draft_guidance, find_bloat, load_catalog, needs_decision, promote, record_decision, save_entry,
};
use learn::detect::{INSTRUCTION_FILES, PatternCandidate, read_instructions};
use learn::distribute::text_outside_blocks;
use serde_json::{Value, json};
use store::Store;

use crate::commands::{App, detect};
use crate::learning::{self, catalog_dir, repository_roots};
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint};

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

    /// Withdraw the approved pattern with this id; `distribute` then removes it from the files
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["auto_approve", "approve", "reject"]
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
    let curation = Curation {
        app,
        store: &store,
        roots: repository_roots(&store)?,
    };
    if let Some(id) = &args.withdraw {
        return curation.withdraw(id, args);
    }
    let candidates = learning::detect(app, &store, app.config.curate.gate.min_sessions)?;
    let named = [
        (&args.approve, ReviewDecision::Approve),
        (&args.reject, ReviewDecision::Reject),
    ];
    for (id, decision) in named {
        let Some(id) = id else { continue };
        let candidate = detect::find_candidate(&candidates, id)?;
        let text = args
            .text
            .clone()
            .unwrap_or_else(|| draft_guidance(candidate));
        let word = UserWord::Given(args.why.clone());
        let outcome = curation.decide(candidate, decision, &text, word)?;
        return report(args, &[outcome], &[]);
    }
    let reviews = store.reviews()?;
    let pending: Vec<&PatternCandidate> = candidates
        .iter()
        .filter(|candidate| needs_decision(candidate, &reviews))
        .collect();
    if args.auto_approve {
        return curation.auto_approve(args, &pending);
    }
    if args.json {
        return report(
            args,
            &[],
            &pending
                .iter()
                .map(|one| curation.proposal(one))
                .collect::<Vec<_>>(),
        );
    }
    curation.ask(&pending)
}

/// Whether the user looked at a candidate, and what they said about it.
enum UserWord {
    Given(Option<String>),
    /// The gate decided.
    Absent,
}

struct Curation<'a> {
    app: &'a App<'a>,
    store: &'a Store,
    /// The repositories that exist here, by workspace.
    roots: BTreeMap<String, PathBuf>,
}

impl Curation<'_> {
    /// Approves what passes the gate. Thin but real evidence becomes provisional.
    fn auto_approve(
        &self,
        args: &CurateArgs,
        pending: &[&PatternCandidate],
    ) -> anyhow::Result<Exit> {
        let (mut decided, mut left) = (Vec::new(), Vec::new());
        for candidate in pending {
            let text = draft_guidance(candidate);
            let thin = self.level(candidate) == EvidenceLevel::TooThin;
            let duplicate = self.bloat(candidate, &text).iter().any(|one| one.duplicate);
            if thin || duplicate || self.root(candidate).is_err() {
                left.push(self.proposal(candidate));
                continue;
            }
            decided.push(self.decide(
                candidate,
                ReviewDecision::Approve,
                &text,
                UserWord::Absent,
            )?);
        }
        report(args, &decided, &left)
    }

    /// Asks about each candidate in turn.
    fn ask(&self, pending: &[&PatternCandidate]) -> anyhow::Result<Exit> {
        if pending.is_empty() {
            say!("No candidate needs a decision.");
            return Ok(Exit::NothingFound);
        }
        let mut lines = std::io::stdin().lock().lines();
        let mut decided = 0;
        'candidates: for (at, candidate) in pending.iter().enumerate() {
            let mut text = draft_guidance(candidate);
            self.show(candidate, &text, at + 1, pending.len());
            loop {
                say!("[a]pprove [r]eject [d]iscuss [e]vidence [t]ext [s]kip [q]uit?");
                let Some(answer) = lines.next().transpose()? else {
                    break 'candidates;
                };
                let (key, rest) = answer.trim().split_at(answer.trim().len().min(1));
                let why = Some(rest.trim().to_owned()).filter(|why| !why.is_empty());
                let decision = match key {
                    "a" => ReviewDecision::Approve,
                    "r" => ReviewDecision::Reject,
                    "d" => ReviewDecision::Discuss,
                    "e" => {
                        say!("{}", detect::format_evidence(self.app, candidate));
                        continue;
                    }
                    "t" => {
                        text = why.unwrap_or(text);
                        say!("{}", sanitize(&text));
                        continue;
                    }
                    "s" => continue 'candidates,
                    "q" => break 'candidates,
                    _ => continue,
                };
                match self.decide(candidate, decision, &text, UserWord::Given(why)) {
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
        let level = match self.level(candidate) {
            EvidenceLevel::TooThin => "below the gate",
            EvidenceLevel::Provisional => "real, but thin for the agents' files",
            EvidenceLevel::DistributionReady => "ready for the agents' files",
        };
        say!(
            "\n{at}/{of}  {} {} in {} sessions ({}): {level}",
            candidate.kind,
            sanitize(&candidate.name),
            candidate.sessions,
            learning::agent_names(&candidate.flavors),
        );
        say!("  {}", sanitize(text));
        for found in self.bloat(candidate, text) {
            let same = if found.duplicate {
                "says the same"
            } else {
                "is similar"
            };
            say!("  {} {same}: {}", found.source, sanitize(&found.text));
        }
    }

    /// Records a decision, and writes the catalog entry of an approval.
    fn decide(
        &self,
        candidate: &PatternCandidate,
        decision: ReviewDecision,
        text: &str,
        word: UserWord,
    ) -> anyhow::Result<Value> {
        let approved = decision == ReviewDecision::Approve;
        let mut saved = None;
        if approved {
            let words = text.split_whitespace().count();
            if words > GUIDANCE_WORDS_MAX {
                return Err(error_with_hint(
                    format!("the text has {words} words, more than {GUIDANCE_WORDS_MAX}"),
                    "agents follow short instructions best; shorten it",
                ));
            }
            if let Some(same) = self.bloat(candidate, text).iter().find(|one| one.duplicate) {
                return Err(error_with_hint(
                    format!("{} already says: {}", same.source, same.text),
                    "reject the candidate, or approve it with another text",
                ));
            }
            let ready = matches!(word, UserWord::Given(_))
                || self.level(candidate) == EvidenceLevel::DistributionReady;
            let status = if ready {
                EntryStatus::Approved
            } else {
                EntryStatus::Provisional
            };
            let folder = catalog_dir(self.app, self.root(candidate)?);
            saved = Some((
                promote(&folder, candidate, status, ready, text)?,
                status,
                folder,
            ));
        }
        let why = match word {
            UserWord::Given(why) => why,
            UserWord::Absent => Some("passed the gate".to_owned()),
        };
        let new = NewDecision {
            candidate,
            decision,
            why,
            guidance: approved.then_some(text),
        };
        record_decision(self.store, &new, self.app.environment.now)?;
        let file = saved
            .as_ref()
            .map(|(_, _, folder)| folder.join(format!("{}.md", candidate.id)));
        Ok(json!({
            "id": candidate.id,
            "name": candidate.name,
            "decision": decision,
            "status": saved.as_ref().map(|(_, status, _)| status),
            "version": saved.as_ref().map(|(outcome, _, _)| outcome.version()),
            "file": file,
        }))
    }

    fn withdraw(&self, id: &str, args: &CurateArgs) -> anyhow::Result<Exit> {
        for root in self.roots.values() {
            let folder = catalog_dir(self.app, root);
            let found = load_catalog(&folder)?
                .into_iter()
                .find(|entry| entry.id.starts_with(id));
            if let Some(mut entry) = found.filter(|_| !id.is_empty()) {
                entry.status = EntryStatus::Withdrawn;
                let file = folder.join(format!("{}.md", entry.id));
                let outcome = json!({
                    "id": entry.id, "name": entry.signal, "decision": "withdraw", "file": file,
                });
                save_entry(&folder, entry)?;
                return report(args, &[outcome], &[]);
            }
        }
        Err(error_with_hint(
            format!("no pattern of a catalog here has the id {id:?}"),
            "`throughline measure` lists the distributed patterns",
        ))
    }

    fn level(&self, candidate: &PatternCandidate) -> EvidenceLevel {
        self.app.config.curate.gate.level(candidate)
    }

    fn root(&self, candidate: &PatternCandidate) -> anyhow::Result<&PathBuf> {
        let key = candidate.workspace.as_deref().unwrap_or_default();
        self.roots.get(key).ok_or_else(|| {
            error_with_hint(
                format!("the repository {key} of this pattern is not on this machine"),
                "clone it and run an agent in it, so that Throughline knows the folder",
            )
        })
    }

    /// Returns what already says the same, in the catalog and in the instruction files.
    fn bloat(&self, candidate: &PatternCandidate, text: &str) -> Vec<learn::curate::BloatFinding> {
        let Ok(root) = self.root(candidate) else {
            return Vec::new();
        };
        let catalog = load_catalog(&catalog_dir(self.app, root)).unwrap_or_default();
        let entries = catalog.into_iter().filter(|entry| entry.id != candidate.id);
        let mut texts: Vec<BloatText> = entries
            .map(|entry| BloatText {
                source: format!("pattern {}", entry.id),
                text: entry.guidance,
            })
            .collect();
        texts.extend(INSTRUCTION_FILES.iter().filter_map(|file| {
            Some(BloatText {
                source: (*file).to_owned(),
                text: text_outside_blocks(&read_instructions(&root.join(file))?),
            })
        }));
        find_bloat(text, &texts)
    }

    fn proposal(&self, candidate: &PatternCandidate) -> Value {
        let text = draft_guidance(candidate);
        json!({
            "id": candidate.id,
            "kind": candidate.kind,
            "name": candidate.name,
            "sessions": candidate.sessions,
            "flavors": candidate.flavors,
            "level": self.level(candidate),
            "similar": self.bloat(candidate, &text),
            "guidance": text,
        })
    }
}

fn outcome_line(outcome: &Value) -> String {
    let text = |key: &str| outcome[key].as_str().unwrap_or_default();
    match outcome["file"].as_str() {
        Some(file) => format!("{} {}: wrote {file}", text("decision"), text("name")),
        None => format!("{} {}", text("decision"), text("name")),
    }
}

fn report(args: &CurateArgs, decided: &[Value], pending: &[Value]) -> anyhow::Result<Exit> {
    if args.json {
        output::print_json(&json!({ "decisions": decided, "pending": pending }))?;
    } else {
        for outcome in decided {
            say!("{}", sanitize(&outcome_line(outcome)));
        }
        if !pending.is_empty() {
            say!("{} candidates are left without a decision.", pending.len());
        }
    }
    Ok(Exit::of_query(decided.is_empty() && pending.is_empty()))
}
