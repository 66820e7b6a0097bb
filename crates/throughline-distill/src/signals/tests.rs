use memory::{RecordId, Signal, SignalKind};

use super::{FinishedCall, SignalBuilder, SignalClock};

/// Feeds calls into a builder: `ok` or `fail`, the tool or `$ command`, the result.
#[track_caller]
fn signals(script: &[(&str, &str, &str)]) -> Vec<Signal> {
    let mut builder = SignalBuilder::default();
    let mut progress = SignalClock::default();
    for (end, call, result) in script {
        progress.active_ms += 60_000;
        progress.text_bytes += 400;
        let command = call.strip_prefix("$ ");
        let (tool, path) = call.split_once(' ').unwrap_or((call, ""));
        let call = FinishedCall {
            tool: if command.is_some() { "Bash" } else { tool },
            command,
            path: (command.is_none() && !path.is_empty()).then_some(path),
            only_reads: command == Some("ls"),
            record: Some(RecordId::from_bytes([7; 16])),
            result,
        };
        match *end {
            "fail" => builder.add_failure(&call, progress),
            "edit" => builder.add_change(path),
            _ => {
                builder.add_success(&call, progress);
                builder.add_text(call.path, result);
            }
        }
    }
    let mut all = builder.finish(progress);
    all.retain(|signal| signal.kind != SignalKind::Mix);
    all
}

fn names(signals: &[Signal]) -> Vec<String> {
    let name = |signal: &Signal| format!("{} {}", signal.kind, signal.name);
    signals.iter().map(name).collect()
}

#[test]
fn one_failure_has_several_causes() {
    let output = "Exit code 1\n[lint] $ golangci-lint run ./...\n\
        a.go:1:2: Error return value is not checked (errcheck)\n\
        b.go:3:4: error returned from external package is unwrapped (wrapcheck)\n\
        2 issues:\n* errcheck: 1\n* wrapcheck: 1\n[lint] ERROR task failed";
    let found = signals(&[("fail", "$ mise run lint 2>&1", output)]);
    assert_eq!(
        names(&found),
        ["diag golangci/errcheck", "diag golangci/wrapcheck"]
    );
}

#[test]
fn a_problem_costs_until_it_is_gone() {
    let both = "a.go:1:2: x (errcheck)\nb.go:3:4: y (dupl)";
    let found = signals(&[
        ("fail", "$ mise run lint", both),
        ("fail", "$ mise run lint", "b.go:3:4: y (dupl)"),
        ("ok", "$ ls", ""),
        ("ok", "$ mise run lint", ""),
    ]);
    let costs: Vec<_> = found
        .iter()
        .map(|s| (s.name.as_str(), s.ms, s.overcome))
        .collect();
    assert_eq!(
        costs,
        [
            ("golangci/dupl", 180_000, true),
            ("golangci/errcheck", 60_000, true)
        ]
    );
    let open = signals(&[
        ("fail", "$ make", "a.go:1:2: x (errcheck)"),
        ("ok", "$ ls", ""),
    ]);
    assert_eq!(
        (open[0].ms, open[0].tokens, open[0].overcome),
        (60_000, 100, false)
    );
}

#[test]
fn a_user_who_refuses_is_not_an_error() {
    let text = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    assert_eq!(
        names(&signals(&[("fail", "$ git push", text)])),
        ["reject git push"]
    );
}

#[test]
fn refusals_have_one_name_under_all_agents() {
    let claude = signals(&[("fail", "Edit a.rs", "String to replace not found in file.")]);
    let codex = "apply_patch verification failed: Failed to find expected lines in /a/b.rs:\nx";
    let codex = signals(&[("fail", "$ apply_patch <<'EOF'", codex)]);
    assert_eq!(names(&claude), ["tool edit-no-match"]);
    assert_eq!(names(&codex), ["tool edit-no-match"]);
}

#[test]
fn a_command_that_repairs_another_is_a_success() {
    let found = signals(&[
        (
            "fail",
            "$ mise run lint",
            "a.go:1:1: File is not formatted (gofmt)",
        ),
        ("ok", "$ mise run fmt", ""),
        ("ok", "$ mise run lint", ""),
    ]);
    assert_eq!(names(&found)[1], "fixpair golangci/gofmt => mise run fmt");
    let edited = signals(&[
        (
            "fail",
            "$ mise run lint",
            "a.go:1:1: File is not formatted (gofmt)",
        ),
        ("ok", "$ mise run fmt", ""),
        ("edit", "Edit a.go", ""),
        ("ok", "$ mise run lint", ""),
    ]);
    assert_eq!(edited.len(), 1, "an edit may have repaired it");
}

#[test]
fn a_path_from_an_instruction_file_that_does_not_exist_is_stale() {
    let found = signals(&[
        ("ok", "Read CLAUDE.md", "Lint rules are in `.golangci.yml`."),
        (
            "fail",
            "Read .golangci.yml",
            "File does not exist. Did you mean .golangci.yaml?",
        ),
    ]);
    assert_eq!(
        names(&found),
        [
            "tool path-missing",
            "tool path-missing .golangci.yml",
            "instruction path-missing .golangci.yml",
        ]
    );
}
