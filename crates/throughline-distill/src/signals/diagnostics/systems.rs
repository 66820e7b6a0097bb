//! Readers for programs that every project uses: git, ssh, gh, the shell, the network, HTTP.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
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
        r"pathspec '[^']*' did not match",
        "git/no-such-pathspec",
        &[(
            "error: pathspec 'feature' did not match any file(s) known to git",
            "git/no-such-pathspec",
        )],
    ),
    reader(
        concat!(
            r"^fatal: a branch named|already exists\.?$.*branch|already used by worktree|",
            r"is already checked out",
        ),
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
        r"^(?:gh: )?GraphQL: (?P<msg>.+)",
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
        r"Unknown JSON field: |no pull requests found|no checks reported",
        "gh/nothing-found",
        &[(
            "no pull requests found for branch \"x\"",
            "gh/nothing-found",
        )],
    ),
    reader(
        r"command not found: ([\w.@/-]+)",
        "shell/command-not-found $1",
        &[(
            "(eval):1: command not found: docker",
            "shell/command-not-found docker",
        )],
    ),
    reader(
        r"(?:^|[ :])([\w.@-]+): (?:command )?not found$",
        "shell/command-not-found $1",
        &[
            (
                "bash: line 1: rg: command not found",
                "shell/command-not-found rg",
            ),
            ("sh: 1: jq: not found", "shell/command-not-found jq"),
        ],
    ),
    reader(
        r"no matches found: ",
        "shell/no-glob-match",
        &[(
            "zsh:1: no matches found: plugins/*/package.json",
            "shell/no-glob-match",
        )],
    ),
    reader(
        r#"[Nn]o such file or directory: ['"]?(?P<path>[^'"\s]+)"#,
        "shell/path-missing $path",
        &[
            (
                "(eval):cd:1: no such file or directory: cmd/app",
                "shell/path-missing cmd/app",
            ),
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'a.txt'",
                "shell/path-missing a.txt",
            ),
        ],
    ),
    reader(
        r#"['"`]?(?P<path>[\w@.~/+-]+)['"`]?: No such file or directory"#,
        "shell/path-missing $path",
        &[
            (
                "sed: can't read src/x.ts: No such file or directory",
                "shell/path-missing src/x.ts",
            ),
            (
                "rg: /home/a/code/app/docs: No such file or directory (os error 2)",
                "shell/path-missing app/docs",
            ),
        ],
    ),
    reader(
        r"(?:ENOENT: )?no such file or directory",
        "shell/path-missing",
        &[(
            "Error: ENOENT: no such file or directory",
            "shell/path-missing",
        )],
    ),
    reader(
        r"[Pp]ermission denied",
        "shell/permission-denied",
        &[(
            "bash: ./run.sh: Permission denied",
            "shell/permission-denied",
        )],
    ),
    reader(
        r"[Oo]peration not permitted|[Rr]ead-only file system",
        "shell/not-permitted",
        &[(
            "touch: cannot touch 'x': Read-only file system",
            "shell/not-permitted",
        )],
    ),
    reader(
        r"[Nn]o space left on device|[Dd]isk quota exceeded",
        "shell/disk-full",
        &[("write error: No space left on device", "shell/disk-full")],
    ),
    reader(
        concat!(
            r"syntax error near unexpected token|parse error near|unexpected EOF while ",
            r"looking|unmatched ['\x22]|bad substitution|unbound variable",
        ),
        "shell/syntax",
        &[(
            "bash: -c: line 1: syntax error near unexpected token `('",
            "shell/syntax",
        )],
    ),
    reader(
        concat!(
            r"(?i)command timed out|timed out after \d|timeout (?:waiting|exceeded)|",
            r"^Timeout waiting|operation timed out",
        ),
        "shell/timeout",
        &[("command timed out after 2012 milliseconds", "shell/timeout")],
    ),
    reader(
        r"(?i)^killed$|out of memory|cannot allocate memory|heap limit",
        "shell/out-of-memory",
        &[(
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            "shell/out-of-memory",
        )],
    ),
    reader(
        r"(?i)address already in use",
        "net/port-in-use",
        &[(
            "OSError: [Errno 98] Address already in use",
            "net/port-in-use",
        )],
    ),
    reader(
        concat!(
            r"(?i)could not resolve host|temporary failure in name resolution|name or ",
            r"service not known|nodename nor servname",
        ),
        "net/unknown-host",
        &[(
            "curl: (6) Could not resolve host: example.com",
            "net/unknown-host",
        )],
    ),
    reader(
        r"(?i)connection refused|failed to connect to|connection reset|network is unreachable",
        "net/no-connection",
        &[(
            "curl: (7) Failed to connect to localhost port 3000: Connection refused",
            "net/no-connection",
        )],
    ),
    reader(
        concat!(
            r"(?i)certificate verify failed|SSL certificate problem|unable to get local ",
            r"issuer|self[- ]signed certificate",
        ),
        "net/certificate",
        &[(
            "curl: (60) SSL certificate problem: unable to get local issuer certificate",
            "net/certificate",
        )],
    ),
    reader(
        concat!(
            r"regex parse error|the literal .{1,8} is not allowed in a regex|unclosed ",
            r"group|repetition operator missing",
        ),
        "rg/invalid-regex",
        &[(
            "rg: the literal \"\\n\" is not allowed in a regex",
            "rg/invalid-regex",
        )],
    ),
    reader(
        r"^jq: (?:error|\d+ compile error)|^parse error: ",
        "jq/error",
        &[(
            "jq: error (at <stdin>:1): Cannot index string with string",
            "jq/error",
        )],
    ),
    reader(
        r"^sed: (?:-e expression|\d+: |can't find label)",
        "sed/invalid-expression",
        &[(
            "sed: -e expression #1, char 3: unterminated `s' command",
            "sed/invalid-expression",
        )],
    ),
    reader(
        concat!(
            r"unexpected argument '([^']+)'|(?:unknown|unrecognized|invalid) (?:shorthand ",
            r")?(?:flag|option|arguments?)s?:? +[`'\x22-]*([\w-]+)|flag provided but not ",
            r"defined: (-[\w-]+)|(?:illegal|invalid|unrecognized) option -+ ?'?(\w+)|[Nn]o ",
            r"such option: (\S+)",
        ),
        "cli/unknown-option",
        &[
            (
                "error: unexpected argument '--base' found",
                "cli/unknown-option",
            ),
            ("unknown flag: --short", "cli/unknown-option"),
            ("flag provided but not defined: -e", "cli/unknown-option"),
        ],
    ),
    reader(
        concat!(
            r#"(?:unrecognized subcommand|unknown (?:sub)?command|[Nn]o such command|is "#,
            r#"not a \w+ command)"#,
        ),
        "cli/unknown-command",
        &[(
            "error: unrecognized subcommand 'foo'",
            "cli/unknown-command",
        )],
    ),
    reader(
        r"HTTP/[\d.]+\x22? ([45]\d\d)\b",
        "http/$1",
        &[("HTTP/1.1 401 Unauthorized", "http/401")],
    ),
    reader(
        concat!(
            r"(?i)(?:status(?: code)?|returned error|server error|http(?: error)?|",
            r"response)[ :=]+\(?([45]\d\d)\b",
        ),
        "http/$1",
        &[
            (
                "curl: (22) The requested URL returned error: 404",
                "http/404",
            ),
            ("Request failed with status code 503", "http/503"),
        ],
    ),
    reader(
        concat!(
            r"\b(40[0-9]|429|50[0-4]) (?:Client Error|Server Error|Unauthorized|Forbidden|",
            r"Not Found|Too Many Requests|Bad Gateway|Service Unavailable|Internal Server ",
            r"Error)",
        ),
        "http/$1",
        &[(
            "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: x",
            "http/403",
        )],
    ),
];
