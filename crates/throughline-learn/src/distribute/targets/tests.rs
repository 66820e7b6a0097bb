use std::fs;

use memory::SignalKind;
use semver::Version;

use super::*;
use crate::curate::{EntryEvidence, EntryScope, EntryStatus, GuidanceTrust};

/// A repository in a folder, and the files that a pattern gets there.
struct TargetRepository(tempfile::TempDir);

impl TargetRepository {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn targets(&self, flavors: &[Flavor], scope: EntryScope) -> Vec<TargetFile> {
        let entry = CatalogEntry {
            id: "a1b2c3d4e5f6".to_owned(),
            version: Version::new(1, 0, 0),
            status: EntryStatus::Approved,
            distribution_ready: true,
            trust: GuidanceTrust::User,
            drafted_by: None,
            kind: SignalKind::Diag,
            signal: "golangci/errcheck".to_owned(),
            signal_version: 1,
            scope,
            evidence: EntryEvidence {
                sessions: 6,
                ..EntryEvidence::default()
            },
            guidance: "Check returned errors.".to_owned(),
        };
        let view = RepositoryView {
            root: self.0.path(),
            workspace: "example.com/app",
            domains: &[],
            flavors,
            only: None,
        };
        choose_targets(&view, &entry)
    }

    /// Checks the files of a pattern, each with its readers: `AGENTS.md: codex grok`.
    #[track_caller]
    fn check(&self, flavors: &[Flavor], scope: EntryScope, expected: &[&str]) {
        let found = self.targets(flavors, scope);
        let shown = found.iter().map(|target| {
            let path = target.path.to_string_lossy().replace("a1b2c3d4e5f6", "ID");
            format!("{path}: {}", target.flavors.join(" "))
        });
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}

fn everywhere() -> EntryScope {
    EntryScope::default()
}

fn paths(paths: &[&str]) -> EntryScope {
    EntryScope {
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        ..EntryScope::default()
    }
}

fn on_demand() -> EntryScope {
    EntryScope {
        on_demand: true,
        ..EntryScope::default()
    }
}

use Flavor::{Claude, Codex, Copilot, Cursor, Gemini, Grok, Opencode};

#[test]
fn every_agent_has_a_file_that_it_always_reads() {
    let empty = TargetRepository::with(&[]);
    for (flavor, expected) in [
        (Claude, "CLAUDE.md: claude"),
        (Codex, "AGENTS.md: codex"),
        (Gemini, "GEMINI.md: gemini"),
        (Copilot, "AGENTS.md: copilot"),
        (Grok, "AGENTS.md: grok"),
        (Opencode, "AGENTS.md: opencode"),
        (Cursor, "AGENTS.md: cursor"),
    ] {
        empty.check(&[flavor], everywhere(), &[expected]);
    }
    let all = [Claude, Codex, Gemini, Copilot, Grok, Opencode, Cursor];
    let expected = [
        "AGENTS.md: codex copilot cursor grok opencode",
        "CLAUDE.md: claude",
        "GEMINI.md: gemini",
    ];
    empty.check(&all, everywhere(), &expected);
}

#[test]
fn rules_for_paths_are_preferred() {
    let empty = TargetRepository::with(&[]);
    for (flavor, expected) in [
        (Claude, ".claude/rules/throughline-ID.md: claude"),
        (Codex, "AGENTS.md: codex"),
        (Gemini, "GEMINI.md: gemini"),
        (
            Copilot,
            ".github/instructions/throughline-ID.instructions.md: copilot",
        ),
        (Grok, ".grok/rules/throughline-ID.md: grok"),
        (Opencode, "AGENTS.md: opencode"),
        (Cursor, ".cursor/rules/throughline-ID.mdc: cursor"),
    ] {
        empty.check(&[flavor], paths(&["**/*.go"]), &[expected]);
    }
    // Grok reads the rules of Claude Code and Cursor too.
    let expected = [".claude/rules/throughline-ID.md: claude grok"];
    empty.check(&[Claude, Grok], paths(&["**/*.go"]), &expected);
    let expected = [".cursor/rules/throughline-ID.mdc: cursor grok"];
    empty.check(&[Cursor, Grok], paths(&["**/*.go"]), &expected);
}

#[test]
fn codex_and_gemini_read_the_files_of_a_folder() {
    let nested = TargetRepository::with(&[("api/AGENTS.override.md", "x"), ("db/a.go", "")]);
    let both = [Codex, Gemini];
    let expected = ["api/AGENTS.override.md: codex", "api/GEMINI.md: gemini"];
    nested.check(&both, paths(&["api/**"]), &expected);
    let expected = ["db/AGENTS.md: codex", "db/GEMINI.md: gemini"];
    nested.check(&both, paths(&["db/*.go"]), &expected);
    let scoped = |path: &str| {
        let targets = nested.targets(&[Codex], paths(&[path]));
        targets[0].is_scoped
    };
    assert!(scoped("api/**"), "the folder says it all");
    assert!(!scoped("db/*.go"), "the text must name the files");
}

#[test]
fn skills_are_read_on_demand() {
    let empty = TargetRepository::with(&[]);
    let all = [Claude, Codex, Gemini, Copilot, Grok, Opencode, Cursor];
    let expected = [
        ".agents/skills/throughline-ID/SKILL.md: codex",
        ".claude/skills/throughline-ID/SKILL.md: claude",
        ".gemini/skills/throughline-ID/SKILL.md: gemini",
        "AGENTS.md: copilot cursor grok opencode",
    ];
    empty.check(&all, on_demand(), &expected);
    let skill = &empty.targets(&[Claude], on_demand())[0];
    let front_matter = skill.front_matter.as_deref().unwrap();
    let (name, description) = front_matter.split_once("\ndescription: ").unwrap();
    assert_eq!(name, "---\nname: throughline-a1b2c3d4e5f6");
    let description: String =
        serde_json::from_str(description.strip_suffix("\n---\n").unwrap()).unwrap();
    assert!(description.contains("golangci/errcheck") && description.len() <= 1_024);
}

#[cfg(unix)]
#[test]
fn a_skill_is_written_once_where_the_folders_are_one() {
    let linked = TargetRepository::with(&[(".claude/skills/mine/SKILL.md", "x")]);
    let root = linked.0.path();
    fs::create_dir(root.join(".agents")).unwrap();
    std::os::unix::fs::symlink("../.claude/skills", root.join(".agents/skills")).unwrap();
    let expected = [".claude/skills/throughline-ID/SKILL.md: claude codex"];
    linked.check(&[Claude, Codex], on_demand(), &expected);
}

#[test]
fn existing_files_are_preferred() {
    let copilot = TargetRepository::with(&[(".github/copilot-instructions.md", "x")]);
    let expected = [".github/copilot-instructions.md: copilot"];
    copilot.check(&[Copilot], everywhere(), &expected);
    copilot.check(
        &[Copilot, Codex],
        everywhere(),
        &["AGENTS.md: codex copilot"],
    );
    let claude = TargetRepository::with(&[("CLAUDE.md", "x")]);
    claude.check(&[Grok], everywhere(), &["CLAUDE.md: grok"]);
    let own = TargetRepository::with(&[(".claude/CLAUDE.md", "x")]);
    own.check(&[Claude], everywhere(), &[".claude/CLAUDE.md: claude"]);
}

#[test]
fn opencode_reads_claudes_file_until_there_is_an_agents_file() {
    let claude = TargetRepository::with(&[("CLAUDE.md", "x")]);
    claude.check(
        &[Claude, Opencode],
        everywhere(),
        &["CLAUDE.md: claude opencode"],
    );
    claude.check(
        &[Claude, Codex, Opencode],
        everywhere(),
        &["AGENTS.md: codex opencode", "CLAUDE.md: claude"],
    );
    let listed = TargetRepository::with(&[
        ("AGENTS.md", "x"),
        ("CLAUDE.md", "x"),
        ("opencode.json", r#"{"instructions": ["./CLAUDE.md"]}"#),
    ]);
    listed.check(
        &[Claude, Opencode],
        everywhere(),
        &["CLAUDE.md: claude opencode"],
    );
}

#[test]
fn imports_and_settings_are_followed() {
    let imported = TargetRepository::with(&[
        ("AGENTS.md", "x"),
        ("CLAUDE.md", "Read @docs/rules.md first.\n"),
        ("docs/rules.md", "@../AGENTS.md\n"),
        ("GEMINI.md", "@./AGENTS.md\n"),
    ]);
    imported.check(
        &[Claude, Codex, Gemini],
        everywhere(),
        &["AGENTS.md: claude codex gemini"],
    );
    let quoted =
        TargetRepository::with(&[("AGENTS.md", "x"), ("CLAUDE.md", "Do not `@AGENTS.md`.\n")]);
    quoted.check(&[Claude], everywhere(), &["CLAUDE.md: claude"]);
    let settings = r#"{"context": {"fileName": ["CONTEXT.md", "AGENTS.md"]}}"#;
    let named = TargetRepository::with(&[(".gemini/settings.json", settings), ("AGENTS.md", "x")]);
    named.check(&[Gemini, Codex], everywhere(), &["AGENTS.md: codex gemini"]);
    named.check(&[Gemini], everywhere(), &["AGENTS.md: gemini"]);
    let outside = r#"{"context": {"fileName": "../CONTEXT.md"}}"#;
    let outside = TargetRepository::with(&[(".gemini/settings.json", outside)]);
    outside.check(&[Gemini], everywhere(), &["GEMINI.md: gemini"]);
}

#[test]
fn codex_does_not_read_beyond_its_limit() {
    let long = TargetRepository::with(&[("AGENTS.md", &"x\n".repeat(16 << 10))]);
    long.check(&[Codex, Cursor], everywhere(), &["AGENTS.md: cursor"]);
}
