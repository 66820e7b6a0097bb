#![expect(clippy::disallowed_methods, reason = "runs git to check the diffs")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use memory::{Flavor, SignalKind};
use semver::Version;

use super::*;
use crate::curate::{CatalogEntry, EntryEvidence, EntryScope, EntryStatus, GuidanceTrust};

fn entry(id: &str, minutes: u64) -> CatalogEntry {
    CatalogEntry {
        id: id.to_owned(),
        version: Version::new(1, 0, 0),
        status: EntryStatus::Approved,
        distribution_ready: true,
        trust: GuidanceTrust::User,
        drafted_by: None,
        kind: SignalKind::Diag,
        signal: "golangci/errcheck".to_owned(),
        signal_version: 1,
        scope: EntryScope::default(),
        evidence: EntryEvidence {
            minutes,
            ..EntryEvidence::default()
        },
        guidance: format!("Check returned errors, because pattern {id} cost {minutes} minutes."),
    }
}

fn view<'a>(root: &'a Path, flavors: &'a [Flavor]) -> RepositoryView<'a> {
    RepositoryView {
        root,
        workspace: "example.com/app",
        domains: &[],
        flavors,
        only: None,
    }
}

fn plan(root: &Path, flavors: &[Flavor], catalog: &[CatalogEntry]) -> DistributionPlan {
    let mut registry = PatternRegistry::default();
    // The files that may have blocks from before.
    for path in ["CLAUDE.md", "AGENTS.md", ".claude/rules/throughline-a1.md"] {
        let block = plan::PlannedBlock {
            pattern: "none".to_owned(),
            version: "0.0.0".to_owned(),
            path: path.into(),
            flavors: Vec::new(),
            tokens: 0,
        };
        registry.note_planned("example.com/app", root, &[block], Timestamp::UNIX_EPOCH);
    }
    plan_distribution(&view(root, flavors), catalog, &registry, &BTreeSet::new()).unwrap()
}

/// Applies a plan with git, and checks that applying it ourselves gives the same bytes.
#[track_caller]
fn apply_with_git(root: &Path, plan: &DistributionPlan) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        let output = command.args(args).current_dir(root).output().unwrap();
        assert!(
            output.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    if !root.join(".git").exists() {
        git(&["init", "-q"]);
        git(&["config", "core.autocrlf", "false"]);
    }
    for change in &plan.changes {
        let diff = root.join("proposal.diff");
        fs::write(&diff, unified_diff(change)).unwrap();
        git(&["apply", "--check", "proposal.diff"]);
        git(&["apply", "proposal.diff"]);
        let by_git = fs::read_to_string(root.join(&change.path)).ok();
        assert_eq!(by_git, change.after, "{}", unified_diff(change));
        fs::remove_file(diff).unwrap();
    }
}

#[test]
fn every_other_byte_stays() {
    for original in [
        "# Rules\n\nUse tabs.\n", "# Rules\r\n\r\nUse tabs.\r\n", "no final line break",
        "crlf\r\nno final line break", "\n\n\n", "ends with blanks  \n\n\n", "",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("CLAUDE.md");
        fs::write(&file, original).unwrap();
        let catalog = [entry("a1", 9), entry("b2", 5)];
        let first = plan(folder.path(), &[Flavor::Claude], &catalog);
        assert_eq!(first.changes.len(), 1);
        apply_with_git(folder.path(), &first);
        let written = fs::read_to_string(&file).unwrap();
        assert!(
            written.starts_with(original),
            "{original:?} became {written:?}"
        );
        let again = plan(folder.path(), &[Flavor::Claude], &catalog);
        assert_eq!(again.changes, [], "a second run changes nothing");
        let removed = plan(folder.path(), &[Flavor::Claude], &[]);
        apply_with_git(folder.path(), &removed);
        let restored = fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(restored, original);
    }
}

#[test]
fn each_agent_reads_a_pattern_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let files = |flavors: &[Flavor]| -> Vec<String> {
        let plan = plan(root, flavors, &[entry("a1", 9)]);
        let paths = plan
            .placed
            .iter()
            .map(|block| block.path.display().to_string());
        paths.collect()
    };
    assert_eq!(files(&[Flavor::Claude, Flavor::Grok]), ["CLAUDE.md"]);
    assert_eq!(
        files(&[Flavor::Codex, Flavor::Opencode, Flavor::Cursor]),
        ["AGENTS.md"]
    );
    assert_eq!(
        files(&[Flavor::Claude, Flavor::Codex]),
        ["AGENTS.md", "CLAUDE.md"]
    );
    assert_eq!(files(&[Flavor::Gemini]), ["GEMINI.md"]);
    fs::write(root.join("AGENTS.md"), "# Agents\n").unwrap();
    fs::write(root.join("CLAUDE.md"), "@AGENTS.md\n").unwrap();
    assert_eq!(
        files(&[Flavor::Claude, Flavor::Codex]),
        ["AGENTS.md"],
        "an import"
    );
    fs::create_dir(root.join(".gemini")).unwrap();
    let settings = r#"{"context":{"fileName":["AGENTS.md"]}}"#;
    fs::write(root.join(".gemini/settings.json"), settings).unwrap();
    assert_eq!(
        files(&[Flavor::Gemini, Flavor::Codex]),
        ["AGENTS.md"],
        "a setting"
    );
    fs::write(root.join("AGENTS.override.md"), "x\n").unwrap();
    assert_eq!(files(&[Flavor::Codex]), ["AGENTS.override.md"]);
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_is_followed_inside_the_repository_only() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("app");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("AGENTS.md"), "# Agents\n").unwrap();
    std::os::unix::fs::symlink("AGENTS.md", root.join("CLAUDE.md")).unwrap();
    let both = plan(&root, &[Flavor::Claude, Flavor::Codex], &[entry("a1", 9)]);
    assert_eq!(both.changes.len(), 1);
    assert_eq!(both.changes[0].path, Path::new("AGENTS.md"));
    apply_with_git(&root, &both);
    fs::remove_file(root.join("CLAUDE.md")).unwrap();
    fs::write(folder.path().join("outside.md"), "mine\n").unwrap();
    std::os::unix::fs::symlink("../outside.md", root.join("CLAUDE.md")).unwrap();
    let outside = plan(&root, &[Flavor::Claude], &[entry("a1", 9)]);
    assert!(
        outside
            .changes
            .iter()
            .all(|change| change.path != Path::new("CLAUDE.md"))
    );
    assert!(outside.notes[0].why.contains("out of the repository"));
    // A rule file that does not exist yet must not be written through a link either.
    fs::create_dir(folder.path().join("dotfiles")).unwrap();
    std::os::unix::fs::symlink("../dotfiles", root.join(".claude")).unwrap();
    let mut scoped = entry("a1", 9);
    scoped.scope.paths = vec!["src/**".to_owned()];
    let linked = plan(&root, &[Flavor::Claude], &[scoped]);
    let is_rule = |path: &Path| path.starts_with(".claude");
    assert!(linked.changes.iter().all(|change| !is_rule(&change.path)));
    let note = linked
        .notes
        .iter()
        .find(|note| note.path.as_deref().is_some_and(is_rule));
    assert!(note.unwrap().why.contains("out of the repository"));
}

#[test]
fn a_block_that_was_edited_by_hand_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("CLAUDE.md");
    fs::write(&file, "# Rules\n").unwrap();
    apply_with_git(
        folder.path(),
        &plan(folder.path(), &[Flavor::Claude], &[entry("a1", 9)]),
    );
    let edited = fs::read_to_string(&file)
        .unwrap()
        .replace("Check returned", "Always check");
    fs::write(&file, &edited).unwrap();
    let newer = CatalogEntry {
        version: Version::new(2, 0, 0),
        ..entry("a1", 9)
    };
    for catalog in [vec![newer], Vec::new()] {
        let plan = plan(folder.path(), &[Flavor::Claude], &catalog);
        assert_eq!(plan.changes, []);
        assert!(plan.notes[0].why.contains("edited by hand"));
    }
}

#[test]
fn a_new_version_replaces_the_old_block() {
    let folder = tempfile::tempdir().unwrap();
    apply_with_git(
        folder.path(),
        &plan(folder.path(), &[Flavor::Claude], &[entry("a1", 9)]),
    );
    let newer = CatalogEntry {
        version: Version::new(1, 1, 0),
        guidance: "Check and wrap returned errors.".to_owned(),
        ..entry("a1", 9)
    };
    apply_with_git(
        folder.path(),
        &plan(folder.path(), &[Flavor::Claude], &[newer]),
    );
    let text = fs::read_to_string(folder.path().join("CLAUDE.md")).unwrap();
    assert_eq!(find_blocks(&text).len(), 1);
    assert!(text.contains("a1 1.1.0") && !text.contains("pattern a1 cost"));
    assert_eq!(text_outside_blocks(&text), "");
}

#[test]
fn only_ready_patterns_in_scope_are_written_and_the_strongest_fit() {
    let folder = tempfile::tempdir().unwrap();
    let scoped = |change: fn(&mut CatalogEntry)| {
        let mut entry = entry("a1", 9);
        change(&mut entry);
        plan(folder.path(), &[Flavor::Claude], &[entry])
            .placed
            .len()
    };
    assert_eq!(scoped(|_| ()), 1);
    assert_eq!(scoped(|entry| entry.status = EntryStatus::Provisional), 0);
    assert_eq!(scoped(|entry| entry.distribution_ready = false), 0);
    assert_eq!(
        scoped(|entry| entry.scope.repos = vec!["example.com/other".to_owned()]),
        0
    );
    assert_eq!(
        scoped(|entry| entry.scope.domains = vec!["web".to_owned()]),
        0
    );
    assert_eq!(scoped(|entry| entry.scope.flavors = vec![Flavor::Codex]), 0);
    let many: Vec<_> = (0..14).map(|n| entry(&format!("id{n:02}"), n)).collect();
    let full = plan(folder.path(), &[Flavor::Claude], &many);
    assert_eq!(full.placed.len(), PATTERNS_PER_FILE_MAX);
    assert_eq!(full.placed[0].pattern, "id13");
    assert_eq!(full.notes.len(), 4);
}

#[test]
fn a_pattern_for_certain_paths_gets_a_rule_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut scoped = entry("a1", 9);
    scoped.scope.paths = vec!["src/**/*.go".to_owned()];
    let plan_it = |catalog: &[CatalogEntry]| plan(folder.path(), &[Flavor::Claude], catalog);
    apply_with_git(folder.path(), &plan_it(&[scoped.clone()]));
    let file = folder.path().join(".claude/rules/throughline-a1.md");
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.starts_with("---\npaths: [\"src/**/*.go\"]\n---\n"),
        "{text}"
    );
    assert_eq!(plan_it(&[scoped]).changes, []);
    apply_with_git(folder.path(), &plan_it(&[]));
    assert!(!file.exists(), "a rule file without its block is removed");
}

#[test]
fn planning_for_one_agent_leaves_the_others_alone() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = [entry("a1", 9)];
    let mut registry = PatternRegistry::default();
    let both = [Flavor::Claude, Flavor::Codex];
    let mut plan_it = |only: Option<Flavor>, catalog: &[CatalogEntry]| {
        let view = RepositoryView {
            only,
            ..view(folder.path(), &both)
        };
        let plan = plan_distribution(&view, catalog, &registry, &BTreeSet::new()).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        registry.note_planned("example.com/app", folder.path(), &plan.placed, now);
        plan
    };
    let paths = |plan: &DistributionPlan| -> Vec<String> {
        let changes = plan.changes.iter();
        changes
            .map(|change| change.path.display().to_string())
            .collect()
    };
    let claude = plan_it(Some(Flavor::Claude), &catalog);
    assert_eq!(paths(&claude), ["CLAUDE.md"]);
    apply_with_git(folder.path(), &claude);
    let codex = plan_it(Some(Flavor::Codex), &catalog);
    assert_eq!(paths(&codex), ["AGENTS.md"]);
    apply_with_git(folder.path(), &codex);
    assert_eq!(paths(&plan_it(Some(Flavor::Codex), &[])), ["AGENTS.md"]);
}

#[test]
fn a_skill_is_removed_with_its_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut skill = entry("a1", 9);
    skill.scope.on_demand = true;
    skill.signal = "gh/graphql: \"x\"".to_owned();
    let file = ".claude/skills/throughline-a1/SKILL.md";
    let mut registry = PatternRegistry::default();
    let mut plan_it = |catalog: &[CatalogEntry]| {
        let view = view(folder.path(), &[Flavor::Claude]);
        let plan = plan_distribution(&view, catalog, &registry, &BTreeSet::new()).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        registry.note_planned("example.com/app", folder.path(), &plan.placed, now);
        plan
    };
    apply_with_git(folder.path(), &plan_it(&[skill.clone()]));
    let text = fs::read_to_string(folder.path().join(file)).unwrap();
    assert!(text.starts_with("---\nname: throughline-a1\ndescription: \"How to"));
    assert_eq!(plan_it(&[skill]).changes, []);
    apply_with_git(folder.path(), &plan_it(&[]));
    assert!(!folder.path().join(file).exists());
}

#[test]
fn a_pattern_that_is_approved_after_its_block_was_removed_is_proposed_again() {
    let folder = tempfile::tempdir().unwrap();
    let flavors = [Flavor::Claude];
    let catalog = [entry("0123456789ab", 30)];
    let view = view(folder.path(), &flavors);
    let mut registry = PatternRegistry::default();
    let plan_at = |registry: &mut PatternRegistry, now: Timestamp| {
        observe(registry, &[], now);
        let plan = plan_distribution(&view, &catalog, registry, &BTreeSet::new()).unwrap();
        registry.note_planned("example.com/app", folder.path(), &plan.placed, now);
        plan
    };
    let at = |second: i64| Timestamp::from_second(1_790_000_000 + second).unwrap();
    let plan = plan_at(&mut registry, at(1));
    apply_with_git(folder.path(), &plan);
    registry.note_applied("example.com/app", &plan.changes, at(2));
    fs::remove_file(folder.path().join(&plan.changes[0].path)).unwrap();
    assert_eq!(plan_at(&mut registry, at(3)).changes, []);
    registry.note_approved("0123456789ab", Some(at(1)));
    assert_eq!(plan_at(&mut registry, at(4)).changes, []);
    registry.note_approved("0123456789ab", Some(at(5)));
    assert_eq!(plan_at(&mut registry, at(6)).changes, plan.changes);
}
