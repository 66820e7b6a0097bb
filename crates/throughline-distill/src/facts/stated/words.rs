//! The word lists behind the features of a sentence.

/// Contractions and the words they stand for.
pub(super) const CONTRACTIONS: &[(&str, &str)] = &[
    ("i'm", "i am"),
    ("i'd", "i would"),
    ("i've", "i have"),
    ("i'll", "i will"),
    ("we're", "we are"),
    ("we've", "we have"),
    ("we'll", "we will"),
    ("we'd", "we would"),
    ("you're", "you are"),
    ("you'll", "you will"),
    ("you've", "you have"),
    ("they're", "they are"),
    ("it's", "it is"),
    ("that's", "that is"),
    ("there's", "there is"),
    ("here's", "here is"),
    ("what's", "what is"),
    ("let's", "let us"),
    ("lets", "let us"),
    ("don't", "do not"),
    ("dont", "do not"),
    ("doesn't", "does not"),
    ("didn't", "did not"),
    ("isn't", "is not"),
    ("aren't", "are not"),
    ("wasn't", "was not"),
    ("won't", "will not"),
    ("can't", "can not"),
    ("cannot", "can not"),
    ("couldn't", "could not"),
    ("shouldn't", "should not"),
    ("wouldn't", "would not"),
    ("haven't", "have not"),
    ("hasn't", "has not"),
    ("mustn't", "must not"),
    ("thats", "that is"),
    ("theres", "there is"),
    ("cant", "can not"),
    ("wont", "will not"),
    ("doesnt", "does not"),
    ("isnt", "is not"),
    ("im", "i am"),
    ("ive", "i have"),
];

/// Words that carry the structure of a sentence. Each is its own form.
#[rustfmt::skip]
pub(super) const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "above", "actually", "after", "all", "also", "although", "always", "am", "an",
    "and", "any", "anything", "are", "as", "at", "be", "because", "been", "before", "behind",
    "below", "between", "both", "but", "by", "can", "could", "did", "do", "does", "each", "else",
    "even", "ever", "every", "everybody", "everyone", "everything", "everywhere", "for", "from",
    "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if", "in", "inside",
    "instead", "into", "is", "it", "its", "let", "make", "may", "me", "might", "more", "must", "my",
    "myself", "need", "needs", "never", "no", "nobody", "not", "nothing", "of", "off", "on", "once",
    "one", "only", "or", "other", "our", "ours", "out", "outside", "over", "own", "per", "please",
    "rather", "same", "shall", "she", "should", "since", "so", "some", "somebody", "someone",
    "such", "sure", "than", "that", "the", "their", "them", "then", "there", "these", "they",
    "this", "those", "through", "to", "too", "two", "under", "unless", "until", "us", "use", "used",
    "uses", "using", "via", "want", "wants", "was", "we", "were", "what", "when", "whenever",
    "where", "whether", "which", "while", "who", "whoever", "why", "will", "with", "within",
    "without", "would", "you", "your", "yourself",
];

/// Groups of words that play the same part in a sentence. The first group that has a word counts.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("CHOSE", CHOSE),
    ("PREFER", PREFER),
    ("STANDING", STANDING),
    ("PERMIT", PERMIT),
    ("MOMENT", MOMENT),
    ("TROUBLE", TROUBLE),
    ("GUESS", GUESS),
    ("REPORT", REPORT),
    ("TASK", TASK),
    ("HABIT", HABIT),
    ("SCREEN", SCREEN),
    ("LOCATED", LOCATED),
    ("MADE", MADE),
    ("LANGUAGE", LANGUAGE),
    ("PROJECT", PROJECT),
    ("PLACE", PLACE),
    ("PRODUCTS", PRODUCTS),
    ("PRODUCT", PRODUCT),
    ("MANNER", MANNER),
    ("ORDINAL", ORDINAL),
    ("CALENDAR", CALENDAR),
];

/// Verbs that report a choice.
#[rustfmt::skip]
const CHOSE: &[&str] = &[
    "abandoned", "adopted", "adopting", "agreed", "banned", "chose", "chosen", "consolidated",
    "decided", "decision", "ditched", "dropped", "dropping", "going", "migrated", "migrating",
    "moved", "moving", "opted", "picked", "rejected", "replaced", "resolved", "retired", "settled",
    "settle", "standardised", "standardising", "standardize", "standardized", "standardizing",
    "sticking", "swapped", "switched", "switching", "went", "concluded", "committed", "phasing",
    "ended", "gave", "deprecated", "unified", "reverted", "choosing", "keeping", "staying", "stay",
    "stays",
];

const PREFER: &[&str] = &[
    "avoid", "ban", "dislike", "expect", "favor", "favour", "favors", "favours", "hate", "insist",
    "like", "likes", "love", "prefer", "preferred", "prefers", "refrain", "stick", "stand", "care",
];

/// Words that say that something holds for good.
#[rustfmt::skip]
const STANDING: &[&str] = &[
    "convention", "conventionally", "default", "defaults", "ever", "forward", "future", "general",
    "generally", "habit", "invariably", "normally", "policy", "principle", "rule", "standard",
    "strictly", "style", "times", "typically", "usually", "exceptions", "exception", "throughout",
    "consistently", "guideline", "guidelines", "anymore", "longer", "onwards", "permanently",
];

const PERMIT: &[&str] = &[
    "acceptable", "allowed", "binding", "forbidden", "mandatory", "obligatory", "okay", "optional",
    "permitted", "prohibited", "required", "requires", "require", "reserved", "taboo", "verboten",
    "approval", "permission", "asking", "fine",
];

/// Words that refer to the present moment or task.
#[rustfmt::skip]
const MOMENT: &[&str] = &[
    "again", "already", "currently", "just", "later", "moment", "next", "now", "right", "so far",
    "soon", "still", "temporarily", "time", "today", "tomorrow", "tonight", "yesterday", "yet",
    "morning", "noon", "afternoon", "minute", "meanwhile", "first", "last", "second", "third",
    "previous", "latest", "recent", "recently", "attached", "following", "current",
];

/// Words of reports on failures and progress.
#[rustfmt::skip]
const TROUBLE: &[&str] = &[
    "broken", "breaks", "broke", "bug", "bugs", "complains", "complain", "conflict", "conflicts",
    "crash", "crashed", "crashes", "down", "empty", "error", "expired", "fail", "failed", "failing",
    "fails", "failure", "flaky", "forever", "green", "hang", "hangs", "invalid", "issue", "lost",
    "missing", "mistake", "outdated", "pass", "passed", "passes", "problem", "problems", "ready",
    "red", "slow", "stuck", "timeout", "timeouts", "typo", "unclear", "warning", "warnings",
    "weird", "worked", "works", "wrong", "done", "finished", "ran", "throws", "thrown", "gone",
    "blank", "blocked", "blurry", "busy", "corrupted", "crashing", "cut", "dead", "disconnects",
    "drops", "dropping", "duplicate", "duplicated", "evicted", "freezes", "frozen", "full",
    "hanging", "hidden", "ignored", "inverted", "invisible", "killed", "lags", "late", "leaked",
    "leaks", "misaligned", "misleading", "misspelled", "muted", "nan", "null", "overflow",
    "overflows", "panics", "rejected", "running", "skipped", "slower", "strange", "swallowed",
    "swapped", "tight", "twice", "undefined", "unexpected", "unused", "waiting", "welcome",
    "unreachable", "wiped", "conflicting", "denied", "damaged", "refuses", "refused", "ugly", "odd",
    "confusing", "blocked",
];

const GUESS: &[&str] = &[
    "apparently", "assume", "assumes", "believe", "guess", "hopefully", "imagine", "likely",
    "maybe", "perhaps", "possibly", "probably", "seems", "seem", "suppose", "think", "thinking",
    "unsure", "wonder", "wondering", "know", "remember", "forgot", "heard", "suggested",
];

const REPORT: &[&str] = &[
    "according", "asked", "claims", "noticed", "recommends", "reported", "reports", "said", "saw",
    "say", "says", "seen", "see", "shows", "suggests", "told", "tried", "found", "got", "get",
    "getting", "gets", "happened", "happens", "happen", "seeing", "took", "takes",
];

/// Verbs that begin a task.
#[rustfmt::skip]
const TASK: &[&str] = &[
    "add", "adjust", "analyze", "answer", "apply", "build", "bump", "change", "check", "clean",
    "compare", "compute", "continue", "convert", "copy", "create", "debug", "deploy", "describe",
    "design", "do", "download", "draft", "draw", "edit", "ensure", "explain", "extract", "fetch",
    "figure", "fill", "find", "finish", "fix", "format", "generate", "give", "go", "handle", "help",
    "hide", "implement", "improve", "increase", "insert", "inspect", "install", "investigate",
    "list", "load", "look", "measure", "merge", "migrate", "modify", "move", "open", "optimize",
    "paste", "plot", "port", "print", "profile", "provide", "pull", "read", "rebase", "redo",
    "reduce", "refactor", "regenerate", "reload", "remove", "rename", "render", "replace",
    "reproduce", "restart", "restore", "return", "revert", "review", "rewrite", "roll", "save",
    "search", "send", "set", "show", "simplify", "sort", "split", "squash", "start", "summarize",
    "support", "swap", "take", "tell", "test", "translate", "try", "turn", "undo", "update",
    "upgrade", "upload", "verify", "wait", "work", "wrap", "delete", "resolve", "rerun", "retry",
    "spawn", "confirm", "group", "fork", "count", "comment", "clone", "reply", "execute", "address",
];

/// Verbs of activities that recur.
#[rustfmt::skip]
const HABIT: &[&str] = &[
    "ask", "commit", "commits", "document", "follow", "keep", "leave", "log", "name", "push", "put",
    "run", "respect", "write", "touch", "treat", "stop", "skip", "call", "place", "sign", "pin",
    "default", "respond", "speak", "announce", "mention",
];

const LOCATED: &[&str] = &[
    "lives", "live", "sits", "resides", "belongs", "belong", "goes", "runs", "listens", "hosted",
    "located", "owned", "owns", "maintains", "maintained", "managed", "reachable", "served",
    "called", "named", "stored", "kept", "start", "starts", "expire", "expires", "contains",
];

/// Participles of how something is made.
#[rustfmt::skip]
const MADE: &[&str] = &[
    "based", "built", "compiled", "computed", "configured", "created", "deployed", "formatted",
    "generated", "installed", "loaded", "made", "pinned", "rebuilt", "released", "rendered",
    "renewed", "rotated", "returned", "sorted", "tagged", "tested", "updated", "versioned",
    "written", "wrapped", "documented", "reviewed", "merged", "handled", "shared",
];

#[rustfmt::skip]
const LANGUAGE: &[&str] = &[
    "python", "rust", "java", "javascript", "typescript", "kotlin", "swift", "go", "ruby", "php",
    "sql", "css", "html", "yaml", "json", "toml", "markdown", "bash", "react", "django", "docker",
    "kubernetes", "postgres", "sqlite", "redis", "npm", "pnpm", "yarn", "bun", "pip", "uv", "cargo",
    "make", "pytest", "jest", "vitest", "git", "english", "german", "french", "terraform", "helm",
    "node", "linux", "windows", "macos", "grpc", "rest", "graphql", "tailwind", "mysql", "kafka",
];

/// The project as a whole and the people behind it.
#[rustfmt::skip]
const PROJECT: &[&str] = &[
    "project", "projects", "repo", "repository", "repositories", "codebase", "monorepo", "team",
    "company", "organization", "org", "product", "workspace", "shop", "house", "group", "customers",
    "users", "department",
];

/// Parts of a project's environment.
#[rustfmt::skip]
const PLACE: &[&str] = &[
    "staging", "production", "prod", "ci", "cd", "database", "db", "server", "servers", "cluster",
    "registry", "vpn", "bucket", "pipeline", "pipelines", "environment", "environments", "port",
    "branch", "trunk", "main", "master", "develop", "docs", "wiki", "backend", "frontend", "api",
    "apis", "service", "services", "sandbox", "machine", "machines", "runner", "runners", "account",
    "network", "office", "warehouse", "firmware", "board", "app", "site", "folder", "license",
];

/// Products of development work in general.
#[rustfmt::skip]
const PRODUCTS: &[&str] = &[
    "answers", "artifacts", "assets", "benchmarks", "booleans", "branches", "certificates",
    "changes", "classes", "columns", "commands", "comments", "components", "constants",
    "credentials", "dates", "dependencies", "deployments", "deploys", "diffs", "docstrings", "docs",
    "documentation", "emojis", "endpoints", "enums", "errors", "exceptions", "explanations",
    "exports", "features", "fields", "files", "fixtures", "flags", "functions", "globals",
    "handlers", "headers", "helpers", "hints", "icons", "identifiers", "images", "imports",
    "integers", "interfaces", "keys", "libraries", "lines", "logs", "macros", "messages", "methods",
    "migrations", "mocks", "modules", "names", "notebooks", "numbers", "packages", "parameters",
    "plots", "prs", "queries", "releases", "replies", "requests", "responses", "reviews", "routes",
    "screens", "scripts", "secrets", "singletons", "snapshots", "spaces", "statements", "stories",
    "strings", "structs", "summaries", "tables", "tabs", "tags", "templates", "tests", "textures",
    "tickets", "timestamps", "titles", "tokens", "transactions", "types", "variables", "versions",
    "views", "code", "money", "sizes", "values", "prices", "functionality", "logging",
    "indentation",
];

const PRODUCT: &[&str] = &[
    "change", "class", "column", "comment", "component", "dependency", "endpoint", "feature",
    "file", "fixture", "function", "helper", "image", "method", "migration", "module", "package",
    "page", "pr", "query", "release", "request", "response", "route", "schema", "screen", "script",
    "table", "ticket", "type", "variable", "version", "view", "row", "field", "value", "line",
    "string", "key", "id", "test", "tests", "struct", "parameter", "argument", "flag", "option",
];

const MANNER: &[&str] = &[
    "brief", "concise", "short", "shorter", "small", "smaller", "simple", "terse", "explicit",
    "direct", "precise", "plain", "readable", "minimal", "boring", "tone", "words", "sentences",
    "thin", "pure", "stable", "idempotent", "reversible", "immutable", "read-only",
];

#[rustfmt::skip]
const SCREEN: &[&str] = &[
    "accordion", "admin", "admins", "animation", "appointment", "appointments", "avatar", "avatars",
    "axis", "background", "badge", "banner", "bold", "border", "bot", "box", "bullet", "bullets",
    "button", "buttons", "caption", "card", "cards", "carousel", "cart", "cell", "cells", "chart",
    "chat", "checkbox", "checkout", "circle", "circles", "color", "colors", "colour", "colours",
    "cursor", "customer", "dashboard", "detail", "details", "dialog", "diff", "discount",
    "dropdown", "editor", "email", "emails", "enemies", "enemy", "entries", "entry", "export",
    "filter", "font", "fonts", "footer", "form", "game", "gray", "greeting", "grey", "grid",
    "guest", "guests", "header", "heading", "headings", "hero", "icon", "indicator", "input",
    "invoice", "item", "items", "label", "labels", "landing", "layout", "legend", "level", "levels",
    "link", "links", "list", "lists", "log", "logo", "loop", "map", "marker", "member", "members",
    "menu", "message", "modal", "notification", "notifications", "order", "orders", "output",
    "panel", "paragraph", "parcel", "patch", "patient", "patients", "payment", "payments", "photo",
    "picture", "pictures", "player", "players", "popup", "preview", "price", "products", "progress",
    "prompt", "reminder", "report", "result", "results", "row", "rows", "score", "scroll",
    "section", "sections", "selection", "session", "sessions", "settings", "shadow", "shop",
    "sidebar", "slider", "sound", "sounds", "spinner", "stack", "student", "students",
    "subscription", "switch", "tab", "teacher", "teachers", "text", "timer", "title", "toast",
    "toggle", "toolbar", "tooltip", "total", "totals", "trace", "tree", "upload", "user", "video",
    "widget", "window", "word",
];

const ORDINAL: &[&str] = &[
    "solution", "approach", "option", "suggestion", "way", "thing", "part", "step", "task",
    "exercise", "question", "case", "example", "version", "idea", "plan", "fix",
];

#[rustfmt::skip]
const CALENDAR: &[&str] = &[
    "monday", "mondays", "tuesday", "tuesdays", "wednesday", "wednesdays", "thursday", "thursdays",
    "friday", "fridays", "saturday", "sunday", "sundays", "weekly", "nightly", "daily", "monthly",
    "day", "days", "night", "nights", "week", "weeks", "month", "months", "hour", "hours",
    "minutes", "seconds", "year", "years", "quarter", "sprint", "sprints", "summer", "autumn",
    "noon", "weekend", "weekends", "weekdays",
];
