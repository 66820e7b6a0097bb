//! Finds the rules that a repository's linters already enforce.
//!
//! A rule that the configuration of a linter names is enforced by a machine. Guidance about it may
//! still save a round of repairs, so it is shown beside the candidate and left to the user.

use std::path::Path;

use memory::SignalKind;

use super::bloat::{BloatFinding, SIMILAR};
use crate::detect::read_instructions;

/// The configuration files of linters, by the program that their diagnostics are named after.
#[rustfmt::skip]
const CONFIGURATIONS: &[(&[&str], &[&str])] = &[
    (&["golangci"], &[".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"]),
    (&["clippy", "rustc-lint"], &["clippy.toml", ".clippy.toml", "Cargo.toml"]),
    (&["eslint"], &[
        "eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts",
        ".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml",
        ".eslintrc.yaml", "package.json",
    ]),
    (&["biome"], &["biome.json", "biome.jsonc"]),
    (&["tsc"], &["tsconfig.json", "tsconfig.base.json"]),
    (&["ruff"], &["ruff.toml", ".ruff.toml", "pyproject.toml"]),
    (&["mypy"], &["mypy.ini", ".mypy.ini", "setup.cfg", "pyproject.toml"]),
    (&["pylint"], &[".pylintrc", "pylintrc", "pyproject.toml", "setup.cfg"]),
    (&["rubocop"], &[".rubocop.yml"]),
    (&["markdownlint"], &[".markdownlint.json", ".markdownlint.yaml", ".markdownlint.yml"]),
    (&["phpstan"], &["phpstan.neon", "phpstan.neon.dist"]),
];

/// Returns the line of a linter's configuration that names the rule of a diagnostic.
pub(super) fn enforced_by(root: &Path, kind: SignalKind, name: &str) -> Option<BloatFinding> {
    let (program, rule) = name.split_once('/').filter(|_| kind == SignalKind::Diag)?;
    let (_, files) = CONFIGURATIONS
        .iter()
        .find(|(programs, _)| programs.contains(&program))?;
    files.iter().find_map(|file| {
        let text = read_instructions(&root.join(file))?;
        let line = text.lines().find(|line| names_rule(line, rule))?;
        Some(BloatFinding {
            source: (*file).to_owned(),
            similarity: SIMILAR,
            duplicate: false,
            enforced: true,
            text: line.trim().to_owned(),
        })
    })
}

fn names_rule(line: &str, rule: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || "_-/@".contains(c);
    line.match_indices(rule).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + rule.len()..].chars().next();
        !before.is_some_and(is_inner) && !after.is_some_and(is_inner)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_rule_is_found_in_its_own_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join(".golangci.yaml"),
            "linters:\n  enable:\n    - errcheck-plus\n    - errcheck # errors\n",
        )
        .unwrap();
        let found = enforced_by(folder.path(), SignalKind::Diag, "golangci/errcheck").unwrap();
        assert_eq!(
            (found.source.as_str(), found.enforced),
            (".golangci.yaml", true)
        );
        assert_eq!(found.text, "- errcheck # errors");
        for name in ["golangci/dupl", "ruff/errcheck", "errcheck"] {
            assert_eq!(
                enforced_by(folder.path(), SignalKind::Diag, name),
                None,
                "{name}"
            );
        }
    }
}
