//! Tests of the whole redactor: text in, text out.

use proptest::prelude::*;

mod every_format;
mod linear_cost;
mod slow_texts;

use crate::format::rules::{self, template};
use crate::{Redactor, SessionSecrets, mark};

fn redactor() -> &'static Redactor {
    static REDACTOR: std::sync::LazyLock<Redactor> =
        std::sync::LazyLock::new(|| Redactor::new([7; 32]));
    &REDACTOR
}

/// Cleans `text` and shortens its marks to `‹rule›`.
fn cleaned(text: &str) -> String {
    let mut out = redactor().clean(text).into_owned().into_string();
    for (start, end) in mark::find_marks(&out).into_iter().rev() {
        let rule = out[start + "[redacted:".len()..end]
            .split(':')
            .next()
            .unwrap_or_default()
            .to_owned();
        out.replace_range(start..end, &format!("‹{rule}›"));
    }
    out
}

/// Expands the template, cleans it and compares it with `expected`.
#[track_caller]
fn check(template: &str, expected: &str) {
    assert_eq!(cleaned(&template::expand(template)), expected);
}

#[track_caller]
fn spares(text: &str) {
    let clean = redactor().clean(text);
    assert_eq!(clean.as_str(), text);
    assert!(!clean.is_changed());
}

#[test]
fn every_rule_proves_itself() {
    let mut faults = Vec::new();
    for rule in rules::all() {
        let pattern = regex::bytes::RegexBuilder::new(rule.pattern)
            .unicode(false)
            .build();
        assert!(pattern.is_ok(), "{}: {}", rule.name, rule.pattern);
        assert!(!rule.catches.is_empty(), "{} has no example", rule.name);
        for template in rule.catches {
            let text = template::expand(template);
            assert_eq!(rules::expanded_len(template), text.len(), "{template}");
            if !redactor().clean(&text).is_changed() {
                faults.push(format!("{} misses {text}", rule.name));
            }
        }
        for template in rule.spares {
            let text = template::expand(template);
            if redactor().clean(&text).is_changed() {
                faults.push(format!("{} takes {text}", rule.name));
            }
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn sample_set() {
    let set = include_str!("sample.txt");
    let mut faults = Vec::new();
    for line in set
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (kind, template) = line.split_once(' ').expect("kind and text");
        let text = template::expand(template).replace("⏎", "\n");
        let changed = redactor().clean(&text).is_changed();
        if changed != (kind == "+") {
            faults.push(format!("{kind} {text}"));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn assignments() {
    check("export API_TOKEN='{w32}'", "export API_TOKEN='‹token›'");
    check(
        "const KEY_SECRET: &str = \"{w32}\";",
        "const KEY_SECRET: &str = \"‹password›\";",
    );
    check(
        "client_id=acme&client_secret={w40}&grant_type=x",
        "client_id=acme&client_secret=‹password›&grant_type=x",
    );
    check("set -gx ACME_TOKEN {w32}", "set -gx ACME_TOKEN ‹token›");
    check(
        "acme login --token {w32} -v",
        "acme login --token ‹token› -v",
    );
    check(
        "std::env::set_var(\"ACME_KEY\", \"{h32}\");",
        "std::env::set_var(\"ACME_KEY\", \"‹token›\");",
    );
    check(
        "password = \"ab{w10}\" + \"{w10}cd\"",
        "password = \"‹password›\"",
    );
}

#[test]
fn pairs_and_headers() {
    check(
        "{\"name\":\"X_TOKEN\",\"value\":\"{w32}\"}",
        "{\"name\":\"X_TOKEN\",\"value\":\"‹token›\"}",
    );
    check(
        "- name: DB_PASSWORD\n  value: \"Qz{w8}!\"",
        "- name: DB_PASSWORD\n  value: \"‹password›\"",
    );
    check(
        "[[\"authorization\",\"Bearer {w32}\"]]",
        "[[\"authorization\",\"Bearer ‹token›\"]]",
    );
    check(
        "Cookie: theme=dark; sessionid={l32}; lang=en",
        "Cookie: theme=dark; sessionid=‹cookie›; lang=en",
    );
}

#[test]
fn urls() {
    check(
        "postgres://app:Qt{w8}@db:5432/x",
        "postgres://app:‹url-password›@db:5432/x",
    );
    spares("postgres://app:$DB_PASS@db:5432/x");
    spares("https://github.com/acme/api@main");
}

#[test]
fn key_blocks() {
    let body = "{w64}\n{w64}\n{w20}==";
    check(
        &format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"),
        "-----BEGIN RSA PRIVATE KEY-----\n‹private-key›\n-----END RSA PRIVATE KEY-----",
    );
    check(
        &format!("-----BEGIN PRIVATE KEY-----\n{body}\n[output truncated]"),
        "-----BEGIN PRIVATE KEY-----\n‹private-key›\n[output truncated]",
    );
    check(
        "  1→-----BEGIN PRIVATE KEY-----\n  2→{w64}\n  3→-----END PRIVATE KEY-----",
        "  1→-----BEGIN PRIVATE KEY-----\n  2→‹private-key›\n  3→-----END PRIVATE KEY-----",
    );
    spares("-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----");
    spares("-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ2\n-----END CERTIFICATE-----");
}

#[test]
fn a_test_key_is_a_key() {
    check(
        "use sk-live-51Hx0fakefakefakefake0 and postgres://app:hunter2@db/x",
        "use ‹sk-key› and postgres://app:‹url-password›@db/x",
    );
}

#[test]
fn private_spans() {
    check(
        "a <private>my words</private> b",
        "a <private>‹private›</private> b",
    );
    check("a <private> without an end", "a <private>‹private›");
}

#[test]
fn harmless_text() {
    for text in [
        "commit 9f1c13a2ea3680a6b9607d0cb3e46682fa68c3d8",
        r#"{"sessionId":"a3427b3c-14c4-4b85-82c6-0d205cdbcacf","usage":{"input_tokens":18231}}"#,
        "password: string; token = process.env.TOKEN; api_key = os.environ['API_KEY']",
        "sha512-3JzvlFUZDkk3oBDXQ2aXw4WSyfXlWOvQyBcOqT2m2pDpQJzOEjeKqQh8wVYNyw==",
        "fn verify_password(password: &str, hash: &PasswordHash) -> bool {",
        "\"id\":\"toolu_01NLNqqBcTOV1yq5lN16tRX6\"",
    ] {
        spares(text);
    }
}

#[test]
fn a_secret_recurs_in_its_session() {
    let secret = template::expand("{w32}");
    let (first, second) = (format!("we saw {secret} here"), format!("TOKEN={secret}"));
    let mut seen = SessionSecrets::default();
    redactor().collect_secrets(&first, &mut seen);
    redactor().collect_secrets(&second, &mut seen);
    assert_eq!(seen.new_values().len(), 1);
    for text in [&first, &second, &format!("cut {}…", &secret[..14])] {
        let clean = redactor().clean_in_session(text, &mut seen);
        assert!(
            !clean.as_str().contains(&secret[..12]),
            "{}",
            clean.as_str()
        );
    }
    seen.mark_written();
    assert!(seen.new_values().is_empty());
    let mut later = SessionSecrets::from_fingerprints(seen.fingerprints());
    assert!(
        !redactor()
            .clean_in_session(&first, &mut later)
            .as_str()
            .contains(&secret)
    );
    assert!(
        redactor()
            .clean_in_session("nothing here", &mut later)
            .as_str()
            == "nothing here"
    );
}

#[test]
fn marks_say_the_same_of_the_same() {
    let (a, b) = (
        template::expand("TOKEN={w32}"),
        template::expand("my token: {w33}"),
    );
    let twice = redactor().clean(&a).into_owned();
    assert_eq!(twice, redactor().clean(&a).into_owned());
    assert_ne!(twice.as_str(), redactor().clean(&b).as_str());
}

/// The frames that agents put around a text.
fn frames(text: &str) -> Vec<String> {
    let json = serde_json::json!({ "content": text }).to_string();
    let nested = serde_json::json!({ "output": json }).to_string();
    let diff: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let numbered: String = text
        .lines()
        .enumerate()
        .map(|(at, line)| format!("{:>6}→{line}\n", at + 1))
        .collect();
    vec![
        text.to_owned(),
        json,
        nested,
        diff,
        numbered,
        format!("\u{1b}[32m{text}\u{1b}[0m"),
        format!("data: {text}\n\n"),
    ]
}

#[test]
fn no_planted_secret_survives_its_frame() {
    for rule in rules::all().filter(|rule| rule.body == rules::BodyKind::Random) {
        for template in rule.catches {
            let text = template::expand(template);
            let Some(hit) = redactor().findings(&text).into_iter().next() else {
                continue;
            };
            let secret = &text[hit.start..hit.end];
            for frame in frames(&format!("first line\n{text}\nlast line")) {
                let clean = redactor().clean(&frame);
                assert!(
                    !clean.as_str().contains(secret),
                    "{}: {}",
                    rule.name,
                    clean.as_str()
                );
                if serde_json::from_str::<serde_json::Value>(&frame).is_ok() {
                    assert!(
                        serde_json::from_str::<serde_json::Value>(clean.as_str()).is_ok(),
                        "{}",
                        clean.as_str()
                    );
                }
            }
        }
    }
}

/// Text made of pieces that detectors react to.
fn fragments() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("password".to_owned()),
        Just("token".to_owned()),
        Just("\"key\": \"".to_owned()),
        Just("=".to_owned()),
        Just(": ".to_owned()),
        Just("\\\"".to_owned()),
        Just("\\u00".to_owned()),
        Just("://".to_owned()),
        Just("@".to_owned()),
        Just("sk-ant-api03-".to_owned()),
        Just("-----BEGIN PRIVATE KEY-----\n".to_owned()),
        Just("Private-Lines: 2\n".to_owned()),
        Just("Cookie: a=".to_owned()),
        Just("Bearer ".to_owned()),
        Just("ghp_".to_owned()),
        Just("\u{1b}[3".to_owned()),
        Just("\u{1b}(".to_owned()),
        Just("\u{1b}]8;;".to_owned()),
        Just("\u{fffd}".to_owned()),
        Just("\\u00".to_owned()),
        Just("\\x2".to_owned()),
        Just("&#".to_owned()),
        Just("%2".to_owned()),
        Just("\n".to_owned()),
        Just("é→".to_owned()),
        Just("[redacted:token:".to_owned()),
        Just("[redacted:token:1a2b3c]".to_owned()),
        Just("<private>".to_owned()),
        Just("</private>".to_owned()),
        Just("curl -u ".to_owned()),
        Just("\" + \"".to_owned()),
        "[A-Za-z0-9]{1,40}",
        "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn cleaning_twice_is_cleaning_once(text in fragments()) {
        let once = redactor().clean(&text).into_owned();
        let twice = redactor().clean(once.as_str());
        prop_assert_eq!(twice.as_str(), once.as_str());
        prop_assert!(once.as_str().len() <= text.len() * 4 + 64);
    }

    #[test]
    fn no_detector_fails(any in any::<String>(), pieces in fragments()) {
        for text in [any, pieces] {
            let json = serde_json::json!({ "password": text, "k": [text] }).to_string();
            for text in [text, json] {
                let clean = redactor().clean(&text);
                prop_assert!(!clean.as_str().contains("redaction failed"), "{:?}", text);
            }
        }
    }

    #[test]
    fn json_stays_json(text in fragments()) {
        let json = serde_json::json!({ "token": text, "n": { "password": text } }).to_string();
        let clean = redactor().clean(&json).into_owned();
        let parsed = serde_json::from_str::<serde_json::Value>(clean.as_str());
        prop_assert!(parsed.is_ok(), "{}", clean.as_str());
    }

    #[test]
    fn prose_is_borrowed(words in prop::collection::vec("[a-z]{1,9}", 0..40)) {
        let text = words.join(" ");
        prop_assert!(!redactor().clean(&text).is_changed());
    }
}

#[test]
fn a_key_or_a_hash_is_only_tagged() {
    let text = template::expand("[DEBUG] Using Key={h32}");
    let clean = redactor().clean(&text);
    assert!(clean.sensitive() && !clean.is_changed());
    assert!(!redactor().clean("nothing of note").sensitive());
}

#[test]
fn passwords_in_prose_and_in_other_languages() {
    check("My password is hunter2", "My password is ‹password›");
    check(
        "the pw for staging is Tr0ub4dor&3",
        "the pw for staging is ‹password›",
    );
    check("Password:\nSommer2024x\n", "Password:\n‹password›\n");
    check(
        "Mein Passwort ist Sommer2024!",
        "Mein Passwort ist ‹password›",
    );
    check("пароль: Qwerty77z", "пароль: ‹password›");
    check("パスワード: Sakura2024x", "パスワード: ‹password›");
    check("contraseña: Verano2024x", "contraseña: ‹password›");
    check(
        "le mot de passe : Soleil2024x",
        "le mot de passe : ‹password›",
    );
    check("密码是Hunter2024x。", "密码是‹password›。");
    for text in [
        "the password is hashed with argon2id before it is stored",
        "the password is sha256 encoded",
        "the password for staging is in the vault",
        "Passwort ist falsch",
        "Password:\nEnter it again to continue",
    ] {
        spares(text);
    }
}

#[test]
fn a_cache_key_is_no_key() {
    let text = template::expand("Cache restored from key: node-modules-{h40}");
    spares(&text);
}

#[test]
fn columns_under_a_header() {
    let password = template::expand("Tq{w8}!");
    let token = template::expand("{w32}");
    for table in [
        format!("id,username,password\n1,alice,{password}\n2,bob,none\n"),
        format!("\"user\",\"password\"\n\"alice\",\"{password}\"\n"),
        format!("user;secret;role\na;{password};x\n"),
        format!("user\tpassword\nalice\t{password}\n"),
        format!("| user | password |\n|---|---|\n| alice | `{password}` |\n"),
        format!("│ user │ password │\n│ alice │ {password} │\n"),
        format!("+----+-----+\n| id | password |\n+----+-----+\n|  1 | {password} |"),
        format!(" id | api_token\n----+---------\n  1 | {token}\n(1 row)"),
        serde_json::json!({ "output": format!("user,password\nalice,{password}\n") }).to_string(),
    ] {
        let clean = redactor().clean(&table).into_owned();
        let is_left = clean.as_str().contains(&password) || clean.as_str().contains(&token);
        assert!(!is_left, "{}", clean.as_str());
    }
    for table in [
        "id,name,token_type\n1,a,bearer\n2,b,mac2x\n",
        "| Option | Password | Notes |\n|---|---|---|\n| a | required | min 8 chars |",
        "| Token | Type |\n|--|--|\n| `IDENT` | string |\n| `CipherBox-v1` | u32 |",
        "model,input_tokens,output_tokens\ngpt4,1823,99\n",
        "const names = [\"user\", \"password\"];\nconst x2 = [\"a1\", \"b2c3d4\"];",
        "user, password, host\nuser1, password1, host1\n",
    ] {
        spares(table);
    }
}

#[test]
fn pairs_of_an_id_and_its_secret() {
    let aws = template::expand("AKIA{u16}");
    let secret = template::expand("{w20}/{w19}");
    for text in [
        format!("{aws} {secret}"),
        format!("{aws}\n{secret}\n"),
        format!("Access key ID,Secret access key\n{aws},{secret}\n"),
        format!("AWS Secret Access Key [None]: {secret}\n"),
    ] {
        let clean = redactor().clean(&text).into_owned();
        assert!(!clean.as_str().contains(&secret), "{}", clean.as_str());
    }
}

#[test]
fn blocks_of_yaml() {
    for sign in ["|", "|-", ">-", ">+"] {
        for name in ["password", "apiKey"] {
            let secret = template::expand("Tr{w24}");
            let text = format!("{name}: {sign}\n  {secret}\nother: x\n");
            let clean = redactor().clean(&text).into_owned();
            assert!(!clean.as_str().contains(&secret), "{}", clean.as_str());
        }
    }
}

#[test]
fn manifests_and_property_lists() {
    check(
        "kind: Secret\nstringData:\n  user: admin\n  db: Qz{w8}!\n",
        "kind: Secret\nstringData:\n  user: admin\n  db: ‹kubernetes-secret›\n",
    );
    check(
        "apiVersion: v1\ndata:\n  db: {w16}\nkind: Secret\nmetadata:\n  a: b-1\n",
        "apiVersion: v1\ndata:\n  db: ‹kubernetes-secret›\nkind: Secret\nmetadata:\n  a: b-1\n",
    );
    check(
        "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"Qz{w8}!\"}}",
        "{\"kind\":\"Secret\",\"stringData\":{\"a\":\"‹kubernetes-secret›\"}}",
    );
    check(
        "<key>API_KEY</key>\n\t<string>{w32}</string>",
        "<key>API_KEY</key>\n\t<string>‹token›</string>",
    );
    check(
        "buildConfigField \"String\", \"API_KEY\", \"\\\"{w32}\\\"\"",
        "buildConfigField \"String\", \"API_KEY\", \"\\\"‹token›\\\"\"",
    );
    spares("kind: Secret\nmetadata:\n  name: foo-1\n  namespace: prod2\n");
}

#[test]
fn environment_files_in_base64() {
    // `PORT=1`, `DB_PASSWORD=Zq7Rt2Lm9x`, each on a line.
    let encoded = "UE9SVD0xCkRCX1BBU1NXT1JEPVpxN1J0MkxtOXgK";
    check(
        &format!("echo {encoded} | base64 -d > .env"),
        "echo ‹base64-secret› | base64 -d > .env",
    );
    // `the PASSWORD is in the vault`.
    spares("dGhlIFBBU1NXT1JEIGlzIGluIHRoZSB2YXVsdA==");
}

#[test]
fn formats_without_a_literal() {
    check("{h32}-{h8}-{h8}", "‹mailgun-key›");
    check("app {d16}|{w27} x", "app ‹facebook-token› x");
    spares(&template::expand(
        "{h8}-{h4}-{h4}-{h4}-{h12} | {d16}|column",
    ));
}

#[test]
fn variables_of_a_graphql_query() {
    let query = "{\"query\":\"mutation($p: String!){login(password: $p){ok}}\",";
    check(
        &format!("{query}\"variables\":{{\"n\":\"a1b2c3\",\"p\":\"Qz{{w8}}!\"}}}}"),
        &format!("{query}\"variables\":{{\"n\":\"a1b2c3\",\"p\":\"‹password›\"}}}}"),
    );
}
