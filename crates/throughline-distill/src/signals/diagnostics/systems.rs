//! Readers for programs that every project uses: the shell, the network, HTTP.

use super::{Reader, reader};

pub(super) const READERS: &[Reader] = &[
    reader(
        r#": unbound variable$"#,
        "shell/unbound-variable",
        &[(
            "./run.sh: line 3: API_KEY: unbound variable",
            "shell/unbound-variable",
        )],
    ),
    reader(
        r"NotFound: No such file or directory.*'(?P<path>[^']+)'$",
        "shell/path-missing $path",
        &[(
            concat!(
                "error: Uncaught NotFound: No such file or directory (os error 2): read",
                "file 'x.json'"
            ),
            "shell/path-missing x.json",
        )],
    ),
    reader(
        concat!(
            r"(?:^|[ :])(?:\w*[Ee]rror|\w*Exception|NotFound|Caused by): No such file or",
            r" directory"
        ),
        "shell/path-missing",
        &[(
            "Error: No such file or directory (os error 2)",
            "shell/path-missing",
        )],
    ),
    reader(
        r"[Ss]egmentation fault|SIGSEGV",
        "shell/segfault",
        &[("Segmentation fault (core dumped)", "shell/segfault")],
    ),
    reader(
        r"OOMKilled",
        "shell/out-of-memory",
        &[("Container killed: OOMKilled", "shell/out-of-memory")],
    ),
    reader(
        r"^g?awk: .*syntax error",
        "awk/syntax",
        &[("awk: cmd. line:1: syntax error at or near }", "awk/syntax")],
    ),
    reader(
        r#""code"\s*:\s*([45]\d\d)\b"#,
        "http/$1",
        &[(
            "{\"error\":{\"code\":401,\"message\":\"Invalid API key\"}}",
            "http/401",
        )],
    ),
    reader(
        r"^rsync error: (?P<msg>[a-z/ ]+)",
        "rsync/$msg",
        &[(
            "rsync error: some files/attrs were not transferred (code 23)",
            "rsync/some <path> were not transferred",
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
        r"(?:^|[ :])([\w.@-]+): command not found$|(?:^|: )(?:line )?\d+: ([\w.@-]+): not found$",
        "shell/command-not-found $1$2",
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
        r#"bad interpreter: "#,
        "shell/bad-interpreter",
        &[(
            "bash: ./a.sh: /bin/zsh^M: bad interpreter: No such file or directory",
            "shell/bad-interpreter",
        )],
    ),
    reader(
        concat!(
            r#"(?:tar|stat|can't open file):? ['"]?(?P<path>[\w@.~/+-]+)['"]?: (?:Cannot open|st"#,
            r#"at|\[Errno 2\])"#,
        ),
        "shell/path-missing $path",
        &[
            (
                "stat: .git/a.json: stat: No such file or directory",
                "shell/path-missing .git/a.json",
            ),
            (
                "tar: foo.tar: Cannot open: No such file or directory",
                "shell/path-missing foo.tar",
            ),
            (
                concat!(
                    "python3: can't open file '/home/a/app/foo.py': [Errno 2] No such file or dir",
                    "ectory",
                ),
                "shell/path-missing app/foo.py",
            ),
        ],
    ),
    reader(
        r#"^stat (?P<path>[\w@.~/+-]+): (?:no such file|directory not found)"#,
        "shell/path-missing $path",
        &[(
            "stat ./cmd/app/x: no such file or directory",
            "shell/path-missing cmd/app/x",
        )],
    ),
    reader(
        r#"['"`]?(?P<path>[\w@.~/+-]+)['"`]?: No such file or directory"#,
        "shell/path-missing $path",
        &[
            (
                "find: ‘docs/foo’: No such file or directory",
                "shell/path-missing docs/foo",
            ),
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
        r#"Argument list too long"#,
        "shell/argument-list-too-long",
        &[(
            "bash: /usr/bin/rm: Argument list too long",
            "shell/argument-list-too-long",
        )],
    ),
    reader(
        r#": Is a directory$"#,
        "shell/is-a-directory",
        &[("grep: foo: Is a directory", "shell/is-a-directory")],
    ),
    reader(
        r"[Nn]o space left on device|[Dd]isk quota exceeded",
        "shell/disk-full",
        &[("write error: No space left on device", "shell/disk-full")],
    ),
    reader(
        concat!(
            r"syntax error near unexpected token|parse error near|unexpected EOF while ",
            r"looking|unmatched ['\x22]|bad substitution",
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
        r"(?i)connection refused|ECONNREFUSED|failed to connect to|connection reset|unreachable$",
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
            r"unexpected argument '--?([\w-]+)|(?:unknown|unrecognized|invalid) (?:shorthand ",
            r")?(?:flag|option|arguments?)s?:? +[`'\x22-]*([\w-]+)|flag provided but not ",
            r"defined: --?([\w-]+)|(?:illegal|invalid|unrecognized) option -+ ?'?(\w+)|[Nn]o ",
            r"such option:? +-{0,2}([\w-]+)",
        ),
        "cli/unknown-option $1$2$3$4$5",
        &[
            (
                "error: unexpected argument '--base' found",
                "cli/unknown-option base",
            ),
            ("unknown flag: --short", "cli/unknown-option short"),
            ("flag provided but not defined: -e", "cli/unknown-option e"),
        ],
    ),
    reader(
        r"unexpected argument '",
        "cli/unexpected-argument",
        &[(
            "error: unexpected argument 'src/a.rs' found",
            "cli/unexpected-argument",
        )],
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
        r#""status(?:Code|_code)?"\s*:\s*([45]\d\d)\b|\bERROR ([45]\d\d): "#,
        "http/$1$2",
        &[
            (
                "{\"statusCode\":500,\"message\":\"Internal server error\"}",
                "http/500",
            ),
            ("2026-01-01 00:00:00 ERROR 403: Forbidden.", "http/403"),
        ],
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
