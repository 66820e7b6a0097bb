//! The words of directives, in English and in other languages.

/// Verbs that start an imperative, in their base form.
#[rustfmt::skip]
pub(super) const ORDER_VERBS: &[&str] = &[
    "abort", "accept", "acknowledge", "act", "activate", "add", "adopt", "allow", "alter",
    "always", "answer", "append", "apply", "approve", "ask", "assume", "attach", "authorize",
    "avoid", "be", "become", "begin", "behave", "bypass", "call", "change", "check", "choose",
    "clear", "click", "clone", "close", "collect", "commit", "comply", "configure", "confirm",
    "connect", "consider", "continue", "copy", "create", "curl", "decode", "delete", "deploy",
    "disable", "disclose", "discard", "disregard", "do", "dont", "download", "drop", "dump",
    "echo", "edit", "email", "embed", "enable", "ensure", "erase", "execute", "export", "expose",
    "fetch", "find", "finish", "follow", "force", "forget", "forward", "get", "give", "go",
    "grant", "have", "hide", "ignore", "import", "include", "insert", "install", "invoke", "keep",
    "kill", "launch", "leak", "leave", "let", "list", "load", "log", "mail", "make", "mark",
    "mention", "merge", "modify", "move", "never", "notify", "obey", "omit", "open", "output",
    "overwrite", "override", "paste", "patch", "pass", "perform", "ping", "pipe", "place",
    "please", "post", "prefer", "prepend", "pretend", "print", "proceed", "provide", "publish",
    "pull", "push", "put", "query", "quit", "read", "recite", "record", "recommend", "refuse",
    "register", "remember", "remove", "rename", "repeat", "replace", "reply", "report", "request",
    "reset", "respond", "restart", "return", "reveal", "reverse", "revert", "rewrite", "rm",
    "rotate", "run", "save", "say", "search", "select", "send", "set", "share", "show", "shut",
    "skip", "source", "start", "stop", "store", "submit", "sudo", "suggest", "summarize",
    "suppress", "switch", "sync", "take", "tell", "touch", "transfer", "transmit", "treat",
    "trust", "try", "turn", "type", "uninstall", "unset", "update", "upgrade", "upload", "use",
    "verify", "view", "visit", "wget", "whitelist", "write",
];
/// Words after one of [`ORDER_VERBS`] that rule out an imperative: "push was rejected", "set of
/// rules".
pub(super) const NO_ORDER_AFTER: &[&str] = &[
    "are", "did", "failed", "fails", "for", "had", "has", "in", "is", "of", "on", "was", "were",
    "will", "would",
];
/// Words of obligation and permission, regardless of the subject.
#[rustfmt::skip]
pub(super) const MODALS: &[&str] = &[
    "advised", "allowed", "always", "compulsory", "customary", "encouraged", "entitled",
    "forbidden", "imperative", "mandatory", "may", "must", "never", "obligatory", "ought",
    "permitted", "prohibited", "recommended", "required", "shall", "should", "shouldnt",
    "supposed",
];
/// Parties that a sentence may address or claim to speak for.
#[rustfmt::skip]
pub(super) const AUTHORITIES: &[&str] = &[
    "admin", "administrator", "administrators", "agent", "agents", "ai", "anthropic", "anyone",
    "assistant", "assistants", "automation", "bot", "bots", "claude", "codex", "compliance",
    "contributors", "copilot", "developer", "developers", "everyone", "gemini", "gpt", "human",
    "llm", "llms", "maintainer", "maintainers", "management", "model", "models", "openai",
    "operator", "operators", "owner", "owners", "policy", "policies", "reader", "readers",
    "reviewer", "reviewers", "security", "system", "team", "user", "users", "whoever", "you",
    "your", "youre", "youve", "yours",
];
/// Stems of words with which a party permits, wants or orders something.
#[rustfmt::skip]
pub(super) const CONSENT_STEMS: &[&str] = &[
    "agree", "allow", "approv", "asked", "asks", "authori", "consent", "demand", "entitl",
    "expect", "grant", "insist", "instruct", "mandat", "need", "permi", "prefers", "requested",
    "requir", "responsib", "tell", "told", "trust", "waiv", "want", "wish",
];
/// Verbs after "you" that address the reader.
pub(super) const ADDRESSING_WORDS: &[&str] = &[
    "are", "can", "could", "have", "may", "might", "must", "need", "now", "should", "want", "will",
    "would",
];
/// Stems of words for protections of the user.
#[rustfmt::skip]
pub(super) const SAFEGUARD_STEMS: &[&str] = &[
    "approv", "authori", "confirm", "consent", "guard", "permission", "prompt", "restrict",
    "review", "safe", "sandbox", "sanction", "verif", "warn",
];
/// Words that say that a protection is missing.
#[rustfmt::skip]
pub(super) const ABSENCE_WORDS: &[&str] = &[
    "all", "already", "any", "automatic", "automatically", "blanket", "disabled", "every", "given",
    "granted", "implied", "lifted", "needed", "needless", "no", "none", "not", "obtained", "off",
    "optional", "pre", "preapproved", "skipped", "standing", "suspended", "unnecessary", "waived",
    "without",
];
/// Words about the instructions of the conversation itself.
#[rustfmt::skip]
pub(super) const INSTRUCTION_WORDS: &[&str] = &[
    "directive", "directives", "disregard", "guideline", "guidelines", "henceforth", "ignore",
    "instruction", "instructions", "jailbreak", "obey", "override", "overrides", "overriding",
    "persona", "supersede", "supersedes", "superseding", "sysprompt", "void",
];
/// Words for data that must not leave the machine.
#[rustfmt::skip]
pub(super) const SECRET_WORDS: &[&str] = &[
    "apikey", "cookie", "cookies", "credential", "credentials", "dotenv", "env", "environment",
    "key", "keys", "password", "passwords", "secret", "secrets", "ssh", "token", "tokens",
];
/// Stems of verbs that send data away.
#[rustfmt::skip]
pub(super) const SENDING_STEMS: &[&str] = &[
    "append", "attach", "collect", "commit", "copi", "copy", "deliver", "email", "exfiltrat",
    "expos", "forward", "includ", "leak", "mail", "mirror", "past", "paste", "post", "print",
    "publish", "push", "report", "reveal", "send", "sent", "shar", "share", "ship", "submit",
    "sync", "transmit", "transmitt", "upload",
];
/// The endings that [`SENDING_STEMS`] may have.
pub(super) const VERB_ENDINGS: &[&str] = &["", "d", "e", "ed", "es", "ing", "s"];
/// Participles of risky actions, which turn "can be" into a permission.
#[rustfmt::skip]
pub(super) const RISKY_WORDS: &[&str] = &[
    "amended", "bypassed", "committed", "deleted", "disabled", "dropped", "erased", "executed",
    "forced", "ignored", "installed", "merged", "omitted", "overwritten", "published", "pushed",
    "removed", "run", "sent", "shared", "skipped", "suppressed", "trusted", "uploaded",
];
/// Fragments of shell commands with effects.
#[rustfmt::skip]
pub(super) const COMMAND_FRAGMENTS: &[&str] = &[
    "://", "www.", "| sh", "|sh", "| bash", "|bash", "bash -c", "sh -c", "$(", "`curl", "curl ",
    "wget ", "sudo ", "rm -", "chmod ", "chown ", "--force", "--no-verify", "--yes", "--yolo",
    "--dangerously", "--insecure", "npm i", "npx ", "pip install", "base64", "eval(", "eval ",
    "scp ", "nc -", "mailto:", "git push", "git config", "authorized_keys", "crontab",
];
/// Stems of orders, obligations and permissions in other languages.
#[rustfmt::skip]
pub(super) const FOREIGN_ORDERS: &[&str] = &[
    // Spanish, Portuguese, Italian.
    "ignora", "ejecut", "execut", "esegu", "envi", "invi", "borr", "elimin", "cancell", "debe",
    "deben", "deve", "devem", "devono", "tiene que", "hay que", "tem que", "bisogna", "siempre",
    "sempre", "nunca", "mai ", "jamás", "autoriz", "aprob", "aprov", "approvat", "permiso",
    "permitid", "permess", "instruc", "istruzion", "obligatori", "obbligator", "obrigat",
    "sin pedir", "sin pregunt", "sem perg", "senza chied", "desactiv", "desativ", "disattiv", "sub",
    "carica",
    // French.
    "ignore", "ignorez", "exécut", "envoy", "supprim", "doit", "doivent", "devez", "il faut",
    "toujours", "jamais", "autoris", "approuv", "permis", "consigne", "obligatoire",
    "sans demander", "désactiv", "téléverse", "veuillez",
    // German, Dutch.
    "ignorier", "führ", "fuehr", "send", "schick", "lösch", "loesch", "muss", "müssen",
    "muessen", "soll", "immer", "niemals", "genehmig", "erlaub", "darf", "dürfen", "anweisung",
    "verpflicht", "ohne rück", "ohne nach", "deaktivier", "bitte", "negeer", "voer", "stuur",
    "verwijder", "moet", "altijd", "nooit", "toestemming", "goedgekeurd", "zonder te vragen",
    "schakel",
    // Polish, Turkish.
    "zignoruj", "wykonaj", "wyślij", "usuń", "musi", "należy", "zawsze", "nigdy", "zgod",
    "zezwol", "instrukcj", "wyłącz", "yoksay", "çalıştır", "gönder", "sil", "gerek",
    "zorunlu", "her zaman", "asla", "izin", "onay", "talimat", "devre dışı",
    // Russian, Ukrainian.
    "игнориру", "выполн", "запуст", "отправ", "удал", "долж",
    "обязан", "нужно", "следует", "всегда", "никогда",
    "разреш", "одобр", "инструкц", "без подтвержд", "отключ",
    "ігнору", "викона", "надішл", "видал", "повин", "треба",
    "завжди", "ніколи", "дозвол", "схвал", "інструкц", "вимкн",
    // Chinese, Japanese, Korean.
    "忽略", "无视", "执行", "运行", "发送", "上传", "删除", "必须", "應該",
    "应该", "请", "總是", "总是", "始终", "永远", "授权", "批准", "允许", "同意",
    "指令", "无需确认", "禁用", "關閉", "关闭", "需要", "無視", "実行", "送信",
    "アップロード", "削除", "しなければ", "してください", "すること",
    "べき", "必ず", "常に", "決して", "許可", "承認", "指示", "確認なし",
    "無効", "무시", "실행", "전송", "보내", "업로드", "삭제", "해야",
    "하십시오", "하세요", "항상", "절대", "허가", "승인", "허용", "지시",
    "비활성",
    // Arabic, Hebrew, Hindi.
    "تجاهل", "نفذ", "شغل", "أرسل", "ارسل", "احذف", "يجب", "دائما",
    "دائمًا", "أبدا", "موافق", "وافق", "مسموح", "إذن", "تعليمات",
    "عطل", "התעלם", "הרץ", "שלח", "מחק", "חייב", "תמיד", "לעולם",
    "אישר", "מותר", "הוראות", "अनदेखा", "चलाएं",
    "चलाएँ", "भेज", "हटा", "ज़रूरी", "जरूरी",
    "चाहिए", "हमेशा", "कभी", "अनुमति",
    "निर्देश",
];
/// The most frequent words of each language, English first.
#[rustfmt::skip]
pub(super) const FUNCTION_WORDS: &[(&str, &[&str])] = &[
    (
        "en",
        &[
            "a", "an", "and", "are", "as", "at", "be", "because", "but", "by", "did", "do", "does",
            "for", "from", "has", "have", "how", "i", "in", "is", "it", "its", "not", "of", "on",
            "or", "our", "so", "than", "that", "the", "their", "there", "they", "this", "to",
            "was", "we", "were", "what", "when", "where", "which", "why", "will", "with", "you",
        ],
    ),
    (
        "es",
        &[
            "al", "con", "cualquier", "de", "del", "el", "en", "es", "esta", "este", "la", "las",
            "los", "lo", "más", "no", "para", "pero", "por", "que", "se", "sin", "sobre", "su",
            "un", "una", "y", "antes", "cada", "todo", "todos",
        ],
    ),
    (
        "fr",
        &[
            "au", "aux", "avant", "avec", "ce", "cette", "chaque", "d", "dans", "de", "des", "du",
            "en", "est", "et", "l", "la", "le", "les", "ne", "par", "pas", "pour", "qu", "que",
            "qui", "sans", "sur", "tout", "toute", "un", "une", "vous",
        ],
    ),
    (
        "de",
        &[
            "alle", "als", "auf", "aus", "bei", "das", "dass", "dem", "den", "der", "des", "die",
            "diese", "ein", "eine", "einen", "für", "hat", "ist", "jede", "jeder", "mit", "nach",
            "nicht", "ohne", "sie", "sind", "und", "vom", "von", "vor", "wird", "zu", "zum",
        ],
    ),
    (
        "pt",
        &[
            "ao", "antes", "as", "cada", "com", "da", "de", "do", "dos", "e", "em", "esta", "este",
            "na", "no", "não", "o", "os", "para", "por", "que", "se", "sem", "toda", "todo", "um",
            "uma", "você",
        ],
    ),
    (
        "it",
        &[
            "al", "alla", "che", "con", "da", "dal", "dei", "del", "della", "di", "e", "gli", "i",
            "il", "in", "la", "le", "lo", "nel", "non", "ogni", "per", "prima", "questo", "senza",
            "si", "su", "tutti", "un", "una", "è",
        ],
    ),
    (
        "nl",
        &[
            "aan", "alle", "bij", "dat", "de", "deze", "een", "elke", "en", "het", "is", "met",
            "moet", "naar", "niet", "om", "op", "te", "van", "voor", "wordt", "zonder",
        ],
    ),
    (
        "pl",
        &[
            "bez", "do", "i", "jest", "każdy", "każdym", "na", "nie", "o", "od", "po", "przed",
            "przez", "się", "to", "w", "wszystkie", "z", "za", "że",
        ],
    ),
    (
        "tr",
        &[
            "bir", "bu", "da", "de", "her", "için", "ile", "önce", "sonra", "tüm", "ve", "ya",
        ],
    ),
];
