//! Readers for version control: git, patch, ssh, gh.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r"GH006|protected branch hook declined|Protected branch update failed",
        "git/protected-branch",
        &[(
            "remote: error: GH006: Protected branch update failed for refs/heads/main.",
            "git/protected-branch",
        )],
    ),
    reader(
        r"untracked working tree files would be (?:overwritten|removed)",
        "git/untracked-files",
        &[(
            concat!(
                "error: The following untracked working tree files would be overwritten",
                " by merge:"
            ),
            "git/untracked-files",
        )],
    ),
    reader(
        concat!(
            r"^(?:fatal|ERROR): (?:repository '[^']+' not found|Repository not found)|^r",
            r"emote: Repository not found"
        ),
        "git/repository-not-found",
        &[(
            "fatal: repository 'https://example.com/a.git/' not found",
            "git/repository-not-found",
        )],
    ),
    reader(
        r"exceeds GitHub's file size limit|GH001: Large files",
        "git/file-too-large",
        &[(
            concat!(
                "remote: error: File a.bin is 120.00 MB; this exceeds GitHub's file siz",
                "e limit"
            ),
            "git/file-too-large",
        )],
    ),
    reader(
        concat!(
            r"already a rebase-(?:merge|apply) directory|You have not concluded your mer",
            r"ge|is already in progress"
        ),
        "git/operation-in-progress",
        &[(
            "fatal: It seems that there is already a rebase-merge directory, and",
            "git/operation-in-progress",
        )],
    ),
    reader(
        r"refusing to merge unrelated histories",
        "git/unrelated-histories",
        &[(
            "fatal: refusing to merge unrelated histories",
            "git/unrelated-histories",
        )],
    ),
    reader(
        r"missing but already registered worktree|is not a working tree",
        "git/stale-worktree",
        &[(
            "fatal: '/w/x' is a missing but already registered worktree;",
            "git/stale-worktree",
        )],
    ),
    reader(
        r"is not a commit and a branch '",
        "git/unknown-revision",
        &[(
            "fatal: 'x' is not a commit and a branch 'y' cannot be created from it",
            "git/unknown-revision",
        )],
    ),
    reader(
        r"^fatal: No url found for submodule",
        "git/submodule-without-url",
        &[(
            "fatal: No url found for submodule path 'x' in .gitmodules",
            "git/submodule-without-url",
        )],
    ),
    reader(
        r"^Unknown JSON field: ",
        "gh/unknown-json-field",
        &[("Unknown JSON field: \"mergedby\"", "gh/unknown-json-field")],
    ),
    reader(
        r"token is missing required scopes|Resource not accessible by",
        "gh/missing-scope",
        &[(
            "error: your authentication token is missing required scopes [read:project]",
            "gh/missing-scope",
        )],
    ),
    reader(
        r"^Some checks were not successful",
        "gh/checks-failed",
        &[("Some checks were not successful", "gh/checks-failed")],
    ),
    reader(
        r"\.lock': File exists|Another git process seems to be running",
        "git/index-locked",
        &[(
            "fatal: Unable to create '/a/.git/index.lock': File exists.",
            "git/index-locked",
        )],
    ),
    reader(
        r"^fatal: not a git repository",
        "git/not-a-repository",
        &[(
            "fatal: not a git repository (or any of the parent directories): .git",
            "git/not-a-repository",
        )],
    ),
    reader(
        r#"not currently on a branch|You are in .detached HEAD"#,
        "git/detached-head",
        &[(
            "fatal: You are not currently on a branch.",
            "git/detached-head",
        )],
    ),
    reader(
        r#"resolve your current index first|you have unmerged files"#,
        "git/conflict",
        &[(
            "error: you need to resolve your current index first",
            "git/conflict",
        )],
    ),
    reader(
        r#"detected dubious ownership"#,
        "git/dubious-ownership",
        &[(
            "fatal: detected dubious ownership in repository at '/app'",
            "git/dubious-ownership",
        )],
    ),
    reader(
        r#"does not appear to be a git repository|No such remote"#,
        "git/no-remote",
        &[(
            "fatal: 'origin' does not appear to be a git repository",
            "git/no-remote",
        )],
    ),
    reader(
        r#"^fatal: (?:destination path )?'[^']+' already exists"#,
        "git/path-exists",
        &[("fatal: '/app/x' already exists", "git/path-exists")],
    ),
    reader(
        r#"how to reconcile divergent|have diverged"#,
        "git/divergent-branches",
        &[(
            "fatal: Need to specify how to reconcile divergent branches.",
            "git/divergent-branches",
        )],
    ),
    reader(
        r#"hunks? FAILED -- saving rejects"#,
        "patch/rejected",
        &[(
            "1 out of 1 hunk FAILED -- saving rejects to file a.rej",
            "patch/rejected",
        )],
    ),
    reader(
        r#"^ssh: connect to host"#,
        "ssh/no-connection",
        &[(
            "ssh: connect to host example.com port 22: Connection timed out",
            "ssh/no-connection",
        )],
    ),
    reader(
        r"pathspec '[^']*' did not match",
        "git/no-such-pathspec",
        &[(
            "error: pathspec 'feature' did not match any file(s) known to git",
            "git/no-such-pathspec",
        )],
    ),
    reader(
        r"already used by worktree|is already checked out",
        "git/branch-in-use",
        &[(
            "fatal: 'x' is already used by worktree at '/w/x'",
            "git/branch-in-use",
        )],
    ),
    reader(
        r"^fatal: a branch named",
        "git/branch-exists",
        &[(
            "fatal: a branch named 'x' already exists",
            "git/branch-exists",
        )],
    ),
    reader(
        r"! \[(?:remote )?rejected\]|non-fast-forward|\(fetch first\)|failed to push some refs",
        "git/push-rejected",
        &[(
            "error: failed to push some refs to 'https://example.com/a.git'",
            "git/push-rejected",
        )],
    ),
    reader(
        r"^CONFLICT \(|fix conflicts and then|Automatic merge failed|could not apply [0-9a-f]{7}",
        "git/conflict",
        &[("CONFLICT (content): Merge conflict in a.rs", "git/conflict")],
    ),
    reader(
        concat!(
            r"local changes (?:to the following files )?would be overwritten|cannot ",
            r"(?:pull with rebase|rebase): You have unstaged|contains modified or untracked",
        ),
        "git/uncommitted-changes",
        &[(
            "error: Your local changes to the following files would be overwritten by merge:",
            "git/uncommitted-changes",
        )],
    ),
    reader(
        r"nothing to commit|no changes added to commit",
        "git/nothing-to-commit",
        &[(
            "nothing to commit, working tree clean",
            "git/nothing-to-commit",
        )],
    ),
    reader(
        concat!(
            r"ambiguous argument '|unknown revision|bad revision|bad object|not a valid ",
            r"object name|invalid reference|couldn't find remote ref|invalid upstream",
        ),
        "git/unknown-revision",
        &[(
            concat!(
                "fatal: ambiguous argument 'main..x': unknown revision or path not in the ",
                "working tree.",
            ),
            "git/unknown-revision",
        )],
    ),
    reader(
        r"no upstream branch|no tracking information",
        "git/no-upstream",
        &[(
            "fatal: The current branch x has no upstream branch.",
            "git/no-upstream",
        )],
    ),
    reader(
        r"corrupt patch at|patch does not apply|patch failed:",
        "git/patch-does-not-apply",
        &[(
            "error: corrupt patch at line 43",
            "git/patch-does-not-apply",
        )],
    ),
    reader(
        r"[Pp]lease tell me who you are|empty ident name",
        "git/no-identity",
        &[("*** Please tell me who you are.", "git/no-identity")],
    ),
    reader(
        r"(?:pre-commit|pre-push|commit-msg|pre-receive) hook (?:declined|failed|exited)",
        "git/hook-failed",
        &[("error: pre-push hook declined", "git/hook-failed")],
    ),
    reader(
        r"The following paths are ignored by one of your \.gitignore",
        "git/ignored-path",
        &[(
            "The following paths are ignored by one of your .gitignore files:",
            "git/ignored-path",
        )],
    ),
    reader(
        r"Permission denied \(publickey|Could not read from remote repository",
        "ssh/permission-denied",
        &[(
            "git@github.com: Permission denied (publickey).",
            "ssh/permission-denied",
        )],
    ),
    reader(
        r"Host key verification failed",
        "ssh/host-key",
        &[("Host key verification failed.", "ssh/host-key")],
    ),
    reader(
        concat!(
            r"could not read Username for|Authentication failed for|Invalid username or ",
            r"(?:password|token)",
        ),
        "git/no-credentials",
        &[(
            "fatal: could not read Username for 'https://github.com': terminal prompts disabled",
            "git/no-credentials",
        )],
    ),
    reader(
        r"gh auth login|not logged (?:in|into)",
        "gh/not-logged-in",
        &[(
            "To get started with GitHub CLI, please run:  gh auth login",
            "gh/not-logged-in",
        )],
    ),
    reader(
        r"^(?:gh: )?.*\(HTTP ([45]\d\d)\)",
        "http/$1",
        &[("gh: Not Found (HTTP 404)", "http/404")],
    ),
    reader(
        r#"No commits between"#,
        "gh/no-commits",
        &[(
            concat!(
                "pull request create failed: GraphQL: No commits between main and x (createPullRe",
                "quest)",
            ),
            "gh/no-commits",
        )],
    ),
    reader(
        r#"a pull request for branch .* already exists"#,
        "gh/pr-exists",
        &[(
            "a pull request for branch \"x\" into branch \"main\" already exists:",
            "gh/pr-exists",
        )],
    ),
    reader(
        r#"completed with 'failure'"#,
        "gh/run-failed",
        &[("X Run lint (123) completed with 'failure'", "gh/run-failed")],
    ),
    reader(
        r"GraphQL: (?P<msg>.+)",
        "gh/graphql $msg",
        &[(
            concat!(
                "GraphQL: Could not resolve to a PullRequest with the number of 12. ",
                "(repository.pullRequest)",
            ),
            concat!(
                "gh/graphql could not resolve to a pullrequest with the number of <number> ",
                "repository.pullrequest",
            ),
        )],
    ),
    reader(
        r"no pull requests found|no checks reported",
        "gh/nothing-found",
        &[(
            "no pull requests found for branch \"x\"",
            "gh/nothing-found",
        )],
    ),
];
