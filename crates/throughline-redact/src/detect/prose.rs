//! Passwords in prose: `the pw for staging is …`, `Passwort ist …`, `密码是…`, or a prompt with its
//! answer on the next line.

use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::value;

/// Words for a password. Words of other languages, and English ones before a blank or
/// before the end of their line, since [`crate::assignment`] deals with `password = …`.
#[rustfmt::skip]
pub(crate) const LITERALS: &[&str] = &[
    "assword ", "asswords ", "asscode ", "assphrase ", "pw ", "PW ", "pwd ", "asswd ", "pass ",
    "assword:\n", "assword:\\n", "assphrase:\n", "assphrase:\\n", "asscode:\n", "asscode:\\n",
    "assword\n", "assword\\n", "assphrase: ",
    "asswort", "ASSWORT", "ennwort", "wachtwoord", "Wachtwoord", "contraseña", "Contraseña",
    "CONTRASEÑA", "contrasena", "Contrasena", "clave ", "Clave ", "clave:", "Clave:",
    "mot de passe", "Mot de passe", "MOT DE PASSE", "password è", "parola d'ordine",
    "Parola d'ordine", "parola ", "Parola ", "parola:", "Parola:",
    "senha", "Senha", "SENHA", "hasło", "Hasło", "hasło:",
    "heslo", "Heslo", "lösenord", "Lösenord", "adgangskode", "Adgangskode", "passord", "Passord",
    "salasana", "Salasana", "jelszó", "Jelszó", "şifre", "Şifre", "mật khẩu", "Mật khẩu",
    "kata sandi", "Kata sandi", "пароль", "Пароль", "ПАРОЛЬ", "пароля", "парола", "Парола",
    "κωδικός", "Κωδικός", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "密码", "密碼", "口令", "パスワード",
    "暗証番号", "비밀번호", "암호", "पासवर्ड", "รหัสผ่าน",
];

/// True for a verb between the word and the password, in languages that separate words by spaces.
fn is_verb(word: &str) -> bool {
    matches!(
        word,
        "is" | "was"
            | "to"
            | "are"
            | "ist"
            | "lautet"
            | "war"
            | "es"
            | "era"
            | "est"
            | "était"
            | "è"
            | "é"
            | "jest"
            | "är"
            | "on"
            | "er"
            | "je"
            | "là"
            | "adalah"
            | "van"
            | "είναι"
            | "है"
            | "هي"
            | "היא"
            | "now"
            | "será"
            | "sera"
            | "blir"
    )
}

/// Signs, and verbs of languages without spaces.
const JOINS: &[&str] = &[
    ":", "=", "：", "->", "=>", "→", "是", "为", "為", "设为", "改成", "は", "이", "는", "은", "คือ",
];

/// Words with a digit that occur in sentences about passwords.
#[rustfmt::skip]
const TECHNICAL_TERMS: &[&str] = &[
    "sha1", "sha-1", "sha256", "sha-256", "sha512", "sha-512", "sha2", "sha3", "md5", "base64",
    "base32", "utf8", "utf-8", "argon2", "argon2id", "argon2i", "bcrypt", "pbkdf2", "scrypt",
    "oauth2", "x509", "ipv4", "ipv6", "hmac-sha256", "aes-256", "aes256", "aes-128", "rot13",
    "crc32", "sha256sum", "sqlite3", "python3", "pkcs8", "pkcs12", "oauth2.0", "http/2", "k8s",
    "i18n", "2fa", "mfa", "1password", "auth0",
];

/// Nouns behind the word for a password that make the sentence one about something else.
#[rustfmt::skip]
const COMPOUND_NOUNS: &[&str] = &[
    "manager", "managers", "policy", "policies", "hash", "hashes", "hashing", "length", "field",
    "form", "page", "strength", "rule", "rules", "format", "version", "age", "column", "file",
    "prompt", "hint", "reset", "generator", "grant", "flow", "encryption", "algorithm",
];

/// Words before the word for a password that announce its value: `log in with password …`.
const ANNOUNCING_WORDS: &[&str] = &["with ", "using ", "mit ", "avec ", "con "];
/// An announced password has at least so many bytes.
const ANNOUNCED_BYTES_MIN: usize = 8;
/// Words before the earlier one of two passwords.
const CHANGING_WORDS: &[&str] = &["from", "von", "de", "da", "du"];
/// Words between the two.
const CHANGED_TO_WORDS: &[&str] = &[" to ", " auf ", " zu ", " into ", " a ", " à ", " para "];
/// A password that no sign announces follows a line of at most so many words.
const HEADING_WORDS_MAX: usize = 4;

/// How far behind the word for a password the verb or sign may stand.
const GAP_BYTES_MAX: usize = 48;
const GAP_WORDS_MAX: usize = 6;
const VERB_BYTES_MAX: usize = 12;
const VALUE_BYTES_MAX: usize = 128;
/// A password of one case that no sign announces has at least so many bytes.
const HEX_BYTES_MIN: usize = 16;
const PASSPHRASE_WORDS_MIN: usize = 3;
const PASSPHRASE_WORD_BYTES_MIN: usize = 4;

/// Parts of compound words that describe a password instead of being one: `plain-text-only`.
#[rustfmt::skip]
const DESCRIBING_WORDS: &[&str] = &[
    "only", "based", "side", "specific", "free", "less", "safe", "time", "text", "plain", "case",
    "sensitive", "user", "default", "read", "write", "self", "auto", "with", "from", "then", "into",
    "that", "this", "your", "same", "known", "hash", "salt", "bcrypt", "argon", "base", "encoded",
    "secret", "secrets", "token", "password", "name", "file", "vault", "store", "config", "test",
    "placeholder", "changeme", "change", "example", "unknown", "here", "must", "long", "short",
    "character", "length", "single", "double", "multi", "over", "under", "pre", "post", "zero",
];

/// Says cheaply whether a password could follow.
pub(crate) fn may_find(text: &str, start: usize, end: usize) -> bool {
    let bytes = &text.as_bytes()[end..];
    // Most sentences about passwords contain none. A password has a digit or a special character,
    // or it consists of words with hyphens between them.
    let is_odd = |b: &u8| b.is_ascii_digit() || b"!@#$%^&*+~?".contains(b);
    let rest = || {
        let rest = bytes.iter().take(2 * GAP_BYTES_MAX);
        rest.take_while(|&&b| b != b'\n')
    };
    let ends_line = || rest().count() < 2 * GAP_BYTES_MAX && rest().last() == Some(&b':');
    starts_word(text, start)
        && (rest().any(is_odd)
            || rest().filter(|&&b| b == b'-').count() + 1 >= PASSPHRASE_WORDS_MIN
            || ends_line())
        || text[..end].ends_with('\n')
}

pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if !starts_word(text, start) {
        return;
    }
    progress.count_work(GAP_BYTES_MAX);
    let literal = &text[start..end];
    let value = if literal.ends_with(":\n") {
        find_on_next_line(text, end)
    } else if literal.ends_with('\n') {
        find_below_heading(text, start, end)
    } else {
        // Some literals hold the sign that joins them to the password.
        let signs = literal.len() - literal.trim_end_matches([':', ' ']).len();
        let sign = literal.ends_with(':') || literal.ends_with(": ");
        find_after_join(
            text,
            first_letter(text, start),
            end - if sign { signs } else { 0 },
        )
    };
    let Some(value) = value else {
        return;
    };
    let changed_to = || {
        let rest = &text[value.1..];
        let word = CHANGED_TO_WORDS
            .iter()
            .find(|word| rest.starts_with(**word))?;
        let (start, end) = password_at(text, value.1 + word.len())?;
        is_unlike_words(&text[start..end]).then_some((start, end))
    };
    for (start, end) in [Some(value), changed_to()].into_iter().flatten() {
        found.push(Detection {
            rule: "password",
            confidence: Confidence::Probable,
            start,
            end,
        });
    }
}

/// True when the literal starts a word. Some literals leave out the first letter of their word,
/// which may be written in two cases.
fn starts_word(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    let first = first_letter(text, start);
    first == 0 || !bytes[first - 1].is_ascii_alphanumeric() && !b"_-.$/".contains(&bytes[first - 1])
}

/// Returns the offset of the first letter of the word that a literal stands for.
fn first_letter(text: &str, start: usize) -> usize {
    let is_cut = ["ass", "ASS", "enn"]
        .iter()
        .any(|head| text[start..].starts_with(head));
    start - usize::from(is_cut && start > 0)
}

/// Returns the password behind `is`, `:` and the like. A few words may come first, such as `for the
/// staging host`.
fn find_after_join(text: &str, first: usize, end: usize) -> Option<(usize, usize)> {
    let limit = text.floor_char_boundary(end + GAP_BYTES_MAX);
    let is_passphrase = text[..end].ends_with("assphrase");
    let mut at = end;
    // `use password Wint3r!x for now`: without a verb only a value that is not a word counts.
    if let Some((start, end)) = password_behind_blank(text, end)
        && (is_unlike_words(&text[start..end])
            || is_announced(text, first) && end - start >= ANNOUNCED_BYTES_MIN)
    {
        return Some((start, end));
    }
    for word_index in 0..GAP_WORDS_MAX {
        let gap = &text[at..limit];
        let blank = gap.len()
            - gap
                .trim_start_matches([' ', '*', '"', '\'', '`', ')', '」'])
                .len();
        at += blank;
        let rest = &text[at..limit];
        if let Some(join) = join_len(rest) {
            let follows_verb = rest.starts_with(char::is_alphabetic);
            let from = at + join;
            let from = from + leading_blanks_len(&text[from..]);
            let passphrase = || passphrase_at(text, from).filter(|_| follows_verb || is_passphrase);
            let next_line = || {
                let is_prompt = !follows_verb && text[from..].starts_with(['\n', '\r']);
                is_prompt.then(|| find_on_next_line(text, from)).flatten()
            };
            let value = password_at(text, from).or_else(passphrase);
            // `is generated for root@localhost: …`: the verb may belong to the words before.
            if value.is_some() || !follows_verb {
                return value.or_else(next_line);
            }
        }
        let word = rest
            .find(|c: char| c.is_whitespace() || ":=：".contains(c))
            .filter(|&len| len > 0)?;
        let is_plain = rest[..word]
            .chars()
            .all(|c| c.is_alphanumeric() || "-_'’./@()".contains(c));
        if !is_plain || word_index == 0 && COMPOUND_NOUNS.contains(&&rest[..word]) {
            return None;
        }
        at += word;
        // `changed the password from … to …`
        if CHANGING_WORDS.contains(&&rest[..word])
            && let Some((start, end)) = password_behind_blank(text, at)
            && is_unlike_words(&text[start..end])
        {
            return Some((start, end));
        }
    }
    None
}

/// Returns the password directly behind a blank.
fn password_behind_blank(text: &str, end: usize) -> Option<(usize, usize)> {
    let from = end + usize::from(text[end..].starts_with(' '));
    password_at(text, from).filter(|_| text[..from].ends_with(' '))
}

/// True when the words before the word for a password announce its value.
fn is_announced(text: &str, first: usize) -> bool {
    let before = &text.as_bytes()[..first];
    ANNOUNCING_WORDS
        .iter()
        .any(|word| before.ends_with(word.as_bytes()))
}

/// Length of the verb or sign that `rest` starts with.
fn join_len(rest: &str) -> Option<usize> {
    let len = rest.find([' ', ':', '\n', '`', '"', '\'']);
    if let Some(len) = len.filter(|&len| len <= VERB_BYTES_MAX && is_verb(&rest[..len])) {
        // `is set to`, `is now`: the last verb is the one before the password.
        let after = rest[len..].trim_start_matches(' ');
        let more = ["set to ", "now ", "set as "]
            .iter()
            .find(|more| after.starts_with(**more));
        let more = more.map_or(0, |more| rest.len() - len - after.len() + more.len());
        return Some(len + more + usize::from(rest[len + more..].starts_with(':')));
    }
    let sign = JOINS.iter().find(|sign| rest.starts_with(**sign))?;
    Some(sign.len())
}

fn leading_blanks_len(text: &str) -> usize {
    text.len()
        - text
            .trim_start_matches([' ', '\t', '*', '\u{a0}', '：'])
            .len()
}

/// Returns the answer to a prompt when it stands alone on the next line, or on the one behind a
/// blank line or the start of a code block.
fn find_on_next_line(text: &str, from: usize) -> Option<(usize, usize)> {
    let limit = text.floor_char_boundary(from + GAP_BYTES_MAX);
    let gap = &text[from..limit];
    let code = gap.trim_start_matches(['\n', '\r', ' ', '>']);
    let code = match code.strip_prefix("```") {
        Some(block) => block.split_once('\n').map_or(code, |(_, code)| code),
        None => code,
    };
    let from = limit - code.len();
    let from = from + leading_blanks_len(&text[from..]);
    let (start, end) = password_at(text, from)?;
    let rest = &text[end..];
    (rest.is_empty()
        || rest
            .trim_start_matches([' ', '`', '"', '\''])
            .starts_with(['\n', '\r', '"'])
        || rest.trim().is_empty())
    .then_some((start, end))
}

/// Returns the password below a short line that ends with the word for it, as pages show it.
fn find_below_heading(text: &str, start: usize, end: usize) -> Option<(usize, usize)> {
    let line = &text[text.floor_char_boundary(start.saturating_sub(GAP_BYTES_MAX))..end - 1];
    let line = line.rsplit('\n').next()?;
    let is_heading = line.split(' ').count() <= HEADING_WORDS_MAX
        && line
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b" *#\"{:".contains(&b));
    let (start, end) = find_on_next_line(text, end).filter(|_| is_heading)?;
    let value = &text[start..end];
    let is_certain = value::is_strong_password(value) || value::is_random(value, HEX_BYTES_MIN);
    is_certain.then_some((start, end))
}

fn password_at(text: &str, from: usize) -> Option<(usize, usize)> {
    let limit = text.floor_char_boundary(from + VALUE_BYTES_MAX);
    let rest = &text[from..limit];
    let quote = rest.chars().next().filter(|c| "\"'`“‘「『«".contains(*c));
    let start = from + quote.map_or(0, char::len_utf8);
    let rest = &text[start..limit];
    let is_end = |c: char| match quote {
        Some(quote) => c == closing(quote) || c == '\n',
        None => c.is_whitespace() || "\"'`<>。，、；！？」』）“”".contains(c),
    };
    let len = rest.find(is_end).unwrap_or(rest.len());
    let mut value = &rest[..len];
    if quote.is_none() {
        value = value.trim_end_matches(['.', ',', ';', ':', ')', '*', '?']);
    }
    let after = text[start + value.len()..].trim_start_matches([' ', '-']);
    let goes_on = [
        "encoded", "hashed", "encrypted", "char", "byte", "bit", "digit", "long", "hash", "letters",
    ]
    .iter()
    .any(|word| after.starts_with(word));
    (is_prose_password(value) && !goes_on).then_some((start, start + value.len()))
}

/// Returns the passphrase at `from`: words with hyphens between them, as generators make them. It
/// must end its sentence or line, because such compounds also describe the noun behind them.
fn passphrase_at(text: &str, from: usize) -> Option<(usize, usize)> {
    let limit = text.floor_char_boundary(from + VALUE_BYTES_MAX);
    let rest = &text[from..limit];
    let open = usize::from(rest.starts_with(['"', '\'', '`', '*']));
    let rest = &rest[open..];
    let is_part = |c: char| c.is_ascii_alphabetic() || c == '-';
    let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let value = &rest[..len];
    let after = rest[len..].trim_start_matches(['"', '\'', '`', '*', ' ', ')']);
    let ends =
        after.is_empty() || after.starts_with(['.', ',', ';', '\n', '\r', '!', '?', '(', '-']);
    let words = || value.split('-');
    let is_word = |word: &str| {
        word.len() >= PASSPHRASE_WORD_BYTES_MIN
            && word[1..].bytes().all(|b| b.is_ascii_lowercase())
            && !DESCRIBING_WORDS.contains(&word.to_ascii_lowercase().as_str())
    };
    let is_participle = ["ed", "ing", "able", "ible", "ly"]
        .iter()
        .any(|ending| value.ends_with(ending));
    let is_passphrase =
        ends && !is_participle && words().count() >= PASSPHRASE_WORDS_MIN && words().all(is_word);
    is_passphrase.then_some((from + open, from + open + len))
}

fn closing(quote: char) -> char {
    match quote {
        '“' => '”',
        '‘' => '’',
        '「' => '」',
        '『' => '』',
        '«' => '»',
        other => other,
    }
}

/// True for a password that no word of a sentence resembles: a digit, and a special character that
/// does not merely end it, or capitals and small letters besides.
fn is_unlike_words(value: &str) -> bool {
    const BYTES_MIN: usize = 8;
    let shape = value::shape(value);
    let is_special = |b: u8| b"!@#$%^&*+~".contains(&b);
    let (last, before) = value.as_bytes().split_last().unwrap_or((&0, &[]));
    let is_inside = before.iter().any(|&b| is_special(b));
    let ends_special = is_special(*last) && shape.upper > 0 && shape.lower > 0;
    value.len() >= BYTES_MIN
        && shape.digits > 0
        && (is_inside || ends_special)
        && value::is_strong_password(value)
}

/// True for a password in a sentence: letters with a digit or a special character, and no technical
/// term.
fn is_prose_password(value: &str) -> bool {
    const BYTES_MIN: usize = 6;
    let shape = value::shape(value);
    let letters = shape.lower + shape.upper;
    let special = value.bytes().any(|b| b"!@#$%^&*+~?".contains(&b));
    let lower = value.to_ascii_lowercase();
    value.len() >= BYTES_MIN
        && !value.contains(' ')
        && value::is_password(value)
        && (shape.digits > 0 && letters > 0 || special && letters >= 3)
        && !is_technical_term(&lower)
        && !value.contains(['/', '(', '{', '[', '='])
        && !(value.contains('_') && value::is_worded_identifier(value))
}

/// True for a technical term, also as a part of a compound: `base64-encoded`.
fn is_technical_term(lower: &str) -> bool {
    TECHNICAL_TERMS.contains(&lower)
        || lower
            .split('-')
            .any(|part| part.len() > 3 && TECHNICAL_TERMS.contains(&part))
            && lower
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[track_caller]
    fn check(text: &str, secret: &str, is_replaced: bool) {
        let clean = Redactor::new([7; 32]).clean(text).into_owned();
        assert_eq!(
            !clean.as_str().contains(secret),
            is_replaced,
            "{}",
            clean.as_str()
        );
    }

    #[test]
    fn passphrases_of_words() {
        for text in [
            "my database password is correct-horse-battery",
            "my passphrase: correct-horse-battery",
            "the staging admin password was `correct-horse-battery`, please rotate it",
            "Das Passwort lautet correct-horse-battery.",
        ] {
            check(text, "horse", true);
        }
    }

    #[test]
    fn passwords_without_a_verb() {
        for text in [
            "use password Wint3r!xQ for now",
            "ssh root@1.2.3.4 (password Wint3r!xQ)",
            "user admin, passcode Wint3r!xQ",
            "Parola: Wint3r!xQ",
            "пароль Wint3r!xQ",
            "changed my password from Wint3r!xQ to something else",
        ] {
            check(text, "Wint3r", true);
        }
        for text in [
            "the password OAuth2 flow", "a password v2 form", "password hash$2 row",
        ] {
            check(text, "2", false);
        }
    }

    #[test]
    fn words_between_the_verb_and_the_password() {
        for text in [
            "the root password on db1 is `Wint3rmoon`",
            "A temporary password is generated for root@localhost: Wint3r;moon",
            "Please use the following password to proceed to installation:\n\nWint3rmoon\n",
            "password (prod): Wint3rmoon",
            "log in as root with password Wint3rmoon",
        ] {
            check(text, "Wint3r", true);
        }
        check("from Wint3r!x7 on", "Wint3r", false);
        let text = "I changed my password from Alph4!xQ99 to Bet4!yQ88";
        check(text, "Alph4", true);
        check(text, "Bet4", true);
    }

    #[test]
    fn passwords_below_their_heading() {
        for text in [
            "Username\nanna\nPassword\nWint3rMoon\n",
            "Password:\n```\nWint3rMoon\n```",
            "The password:\n\n> Wint3rMoon!",
            "Initial admin password\n\n    Wint3rMoon\n",
        ] {
            check(text, "Wint3r", true);
        }
        for text in [
            "a form with name and password\nWint3rMoon.tsx renders it",
            "the password\nWint3rMoon renders it",
        ] {
            check(text, "Wint3r", false);
        }
    }

    #[test]
    fn sentences_about_something_else() {
        for (text, part) in [
            ("the password is base64-encoded", "base64"),
            ("the password manager is 1Password", "1Password"),
            ("the password policy is min8chars", "min8"),
        ] {
            check(text, part, false);
        }
    }

    #[test]
    fn compounds_that_describe_a_password() {
        for (text, part) in [
            ("the password is never-ever-stored", "never"),
            ("the password is plain-text-only", "plain"),
            ("the password is state-of-the-art", "state"),
            ("our password is multi-factor-auth ready", "factor"),
            ("the password is stored in kube-system-secrets", "kube"),
        ] {
            check(text, part, false);
        }
    }
}
