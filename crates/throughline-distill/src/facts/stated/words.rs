//! The word lists of the statement patterns.

/// Words of reports: what is broken, slow or done at the moment.
pub(super) const TROUBLE: &[&str] = &[
    "fail", "fails", "failed", "failing", "broken", "breaks", "broke", "crash", "crashes",
    "crashed", "slow", "down", "red", "green", "wrong", "missing", "behind", "reported", "timeout",
    "timeouts", "flaky", "stuck", "hangs", "works", "worked", "pass", "passes", "passed",
    "welcome", "restarted", "tired", "forever", "bug", "bugs", "error:", "typo", "tight",
];

/// Words that are no subject of a rule.
pub(super) const PERSONS: &[&str] = &[
    "it", "he", "she", "they", "you", "somebody", "someone", "everybody", "everyone", "nobody",
    "that", "this", "there", "which", "who",
];

/// Words after "always" or "never" that tell a story instead of giving a rule.
pub(super) const NARRATION: &[&str] = &[
    "a", "an", "the", "was", "were", "is", "are", "had", "has", "have", "been", "i", "you", "he",
    "she", "we", "they", "in", "on", "at", "works", "worked", "fails", "failed", "happens",
    "happened", "heard", "got", "gets", "returns", "returned", "did", "does", "really", "quite",
    "to", "saw", "seen", "mind", "knew", "failing", "thought",
];

/// Verbs with which people begin a task.
pub(super) const IMPERATIVES: &[&str] = &[
    "add", "fix", "run", "write", "make", "use", "try", "look", "show", "open", "remove", "delete",
    "rename", "update", "change", "commit", "push", "explain", "create", "implement", "refactor",
    "check", "test", "keep", "stop", "avoid", "ask", "be", "bring", "read", "move", "revert",
    "undo", "continue", "go", "do", "don't", "put", "set", "let's", "install", "build", "deploy",
    "merge", "rebase", "review", "document", "find", "search", "replace", "rewrite", "generate",
];

/// Activities that recur, so that a rule about one of them holds for good.
pub(super) const HABITS: &[&str] = &[
    "add", "change", "commit", "create", "deploy", "document", "edit", "introduce", "merge",
    "modify", "name", "open", "push", "rename", "remove", "search", "touch", "update", "use",
    "write", "generate", "install", "publish", "release",
];

/// Verbs after "don't" that comfort, doubt or wait instead of forbidding.
pub(super) const NOT_RULES: &[&str] = &[
    "worry", "forget", "know", "think", "understand", "see", "mind", "bother", "hesitate", "care",
    "wait", "panic", "start", "answer", "get", "break", "have", "need", "want", "like", "believe",
    "remember", "feel", "include", "be",
];

/// Parts of a project, and languages.
pub(super) const SCOPES: &[&str] = &[
    "javascript", "typescript", "python", "rust", "go", "java", "kotlin", "swift", "ruby", "php",
    "c++", "c#", "sql", "yaml", "json", "css", "html", "markdown", "makefiles", "bash", "react",
    "yaml files", "json files", "library code", "integration tests", "unit tests", "public apis",
    "api responses", "controllers", "templates", "readmes", "indentation", "logs", "files",
    "components", "classes", "functions", "variables", "constants", "docs", "documentation",
    "code", "tests", "commit messages", "comments", "names", "identifiers", "dates", "money",
    "migrations", "error messages", "log messages", "branch names", "ui texts", "shell scripts",
    "scripts", "production", "everything",
];

/// Output that an agent produces all the time.
pub(super) const OUTPUTS: &[&str] = &[
    "answers", "answer", "commits", "messages", "responses", "replies", "comments", "summaries",
    "explanations", "diffs", "names",
];

/// Products of development work, as conventions name them.
pub(super) const WORK_PRODUCTS: &[&str] = &[
    "commit", "commits", "pr", "prs", "requests", "request", "branches", "branch", "names",
    "tests", "test", "functions", "function", "methods", "files", "modules", "migrations",
    "migration", "messages", "comments", "comment", "imports", "types", "endpoints", "endpoint",
    "routes", "docs", "variables", "constants", "columns", "tables", "interfaces", "classes",
    "scripts", "changes", "releases", "reviews", "titles", "dependencies", "snapshots", "fixtures",
    "secrets", "errors", "logs", "hints", "identifiers", "enums", "structs", "credentials", "code",
];

/// Times at which something happens again and again.
pub(super) const RECURRENCES: &[&str] = &[
    " every monday", " every tuesday", " every wednesday", " every thursday", " every friday",
    " every saturday", " every sunday", " every day", " every night", " every week",
    " every month", " every 30 ", " every 60 ", " every 90 ", " every hour", " weekly", " nightly",
    " daily",
];

/// Participles of how something is made, kept or run.
pub(super) const MADE: &[&str] = &[
    "built", "written", "run", "deployed", "hosted", "generated", "stored", "loaded", "called",
    "named", "kept", "rebuilt", "rotated", "versioned", "released", "tested", "formatted",
    "managed", "configured", "served", "rendered", "installed", "returned", "compiled",
];
