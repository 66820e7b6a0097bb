//! Every format is redacted whatever stands beside it and however it is encoded or wrapped.

use super::redactor;
use crate::format;
use crate::format::rules::{self, template};
use crate::mark;

/// Text directly before and behind a token.
const NEIGHBOURS: &[(&str, &str)] = &[
    ("", ""),
    (" ", " "),
    ("mcp__", ""),
    ("run-", ".log"),
    ("build_", "_old"),
    ("a.", ".b"),
    ("https://x.test/verify/", "/next"),
    ("s/OLD/", "/"),
    ("q=%22", "%22"),
    ("k%3D", "%26x"),
    ("a%20", "%20b"),
    ("a%2520", "%2520b"),
    ("", "..."),
    ("", "…"),
    ("", "####"),
    ("", "****"),
    ("…", ""),
    ("...", ""),
    ("\"", "\""),
    ("'", "'"),
    ("`", "`"),
    ("“", "”"),
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("<", ">"),
    ("\\", "\\"),
    ("\\\\", "\\\\"),
    ("C:\\tmp\\", "\\x"),
    ("令牌", "结束"),
    ("トークンは", "です"),
    ("🔑", "🔒"),
    ("\u{200b}", "\u{200b}"),
    ("\u{feff}", "\u{2060}"),
    ("│ ", " │"),
    ("| ", " |"),
    ("│", "│"),
    ("// ", ""),
    ("# ", ""),
    ("> ", ""),
    ("    12\u{2192}", ""),
    ("   12\t", ""),
    ("src/a.rs:12:", ""),
    ("+", ""),
    ("-", ""),
    ("&quot;", "&quot;"),
    ("&#34;", "&#34;"),
    ("=", ";"),
    (":", ","),
    ("@", "!"),
    ("$", "?"),
    ("~", "~"),
    ("^", "^"),
    ("*", "*"),
    ("\t", "\t"),
    ("\u{1b}[32m", "\u{1b}[0m"),
    ("\u{1b}]8;;https://a.test\u{7}", "\u{1b}]8;;\u{7}"),
    ("\r\n", "\r\n"),
    ("a=1&t=", "&b=2"),
];

/// Letters glued to a token. Only a format with a distinctive literal can tell them from the token.
const LETTERS: &[(&str, &str)] = &[
    ("msg_x", ""),
    ("x", ""),
    ("", "xxxx"),
    ("", "abc"),
    ("", "_end"),
];

/// Every example of a certain format, with the part that must be replaced.
fn tokens() -> Vec<(&'static str, String, String)> {
    let mut tokens = Vec::new();
    for rule in rules::all().filter(|rule| rule.is_certain()) {
        for template in rule.catches {
            let text = template::expand(template);
            let findings = redactor().findings(&text);
            let finding = findings
                .first()
                .unwrap_or_else(|| panic!("{} in {text}", rule.name));
            let secret = text[finding.start..finding.end].to_owned();
            tokens.push((rule.name, text, secret));
        }
    }
    tokens
}

/// True when a run of the secret is left: two fifths of it, but six to twenty characters.
fn leaks(clean: &str, secret: &str) -> bool {
    let run = (secret.len() * 2)
        .div_ceil(5)
        .clamp(6, 20)
        .min(secret.len());
    let bytes = secret.as_bytes();
    let flat: String = clean
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '│')
        .collect();
    bytes.windows(run).any(|piece| {
        let piece = std::str::from_utf8(piece).unwrap_or("\u{0}");
        // The literal itself is not secret.
        let is_literal = piece
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b"-_/:.$".contains(&b));
        !is_literal && (clean.contains(piece) || flat.contains(piece))
    })
}

#[track_caller]
fn check(leaked: &mut Vec<String>, rule: &str, text: &str, secret: &str) {
    let clean = redactor().clean(text);
    if leaks(clean.as_str(), secret) {
        leaked.push(format!("{rule}: {text:?} -> {:?}", clean.as_str()));
    }
}

#[track_caller]
fn none(leaked: &[String]) {
    let shown: Vec<_> = leaked.iter().take(40).collect();
    assert!(leaked.is_empty(), "{} leaks\n{shown:#?}", leaked.len());
}

#[test]
fn every_format_beside_every_neighbour() {
    let mut leaked = Vec::new();
    for (rule, text, secret) in tokens() {
        for (before, after) in NEIGHBOURS {
            check(
                &mut leaked,
                rule,
                &format!("{before}{text}{after}"),
                &secret,
            );
        }
    }
    none(&leaked);
}

#[test]
fn every_odd_literal_glued_to_letters() {
    let mut leaked = Vec::new();
    for (rule, text, secret) in tokens() {
        if !text.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !format::starts_with_distinctive_literal(&text)
        {
            continue;
        }
        for (before, after) in LETTERS {
            check(
                &mut leaked,
                rule,
                &format!("{before}{text}{after}"),
                &secret,
            );
        }
    }
    none(&leaked);
}

#[test]
fn every_format_in_every_encoding() {
    let mut leaked = Vec::new();
    for (rule, text, secret) in tokens() {
        let once = serde_json::json!({ "content": text }).to_string();
        let twice = serde_json::json!({ "output": once }).to_string();
        let deep = (0..6).fold(text.clone(), |text, _| {
            serde_json::json!({ "o": text }).to_string()
        });
        let percent: String = text
            .chars()
            .map(|c| match c {
                '/' | '+' | '=' | ':' | '%' | ' ' | '$' | '@' => format!("%{:02X}", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        let entities = text
            .replace('&', "&amp;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;");
        let dashes = format!(
            "{{\"k\":\"{}\"}}",
            text.replace('"', "\\\"").replace('-', "\\u002d")
        );
        let half = text.len() / 2;
        let invisible = if text.is_char_boundary(half) {
            format!("{}\u{200b}{}", &text[..half], &text[half..])
        } else {
            text.clone()
        };
        for encoded in [once, twice, deep, percent, entities, dashes, invisible] {
            check(&mut leaked, rule, &encoded, &secret);
        }
    }
    none(&leaked);
}

/// Wraps `text` in lines of `width`, each between `before` and `after`.
fn wrapped(text: &str, width: usize, before: &str, after: &str) -> String {
    let lines: Vec<String> = text
        .as_bytes()
        .chunks(width)
        .map(|line| format!("{before}{:<width$}{after}", String::from_utf8_lossy(line)))
        .collect();
    lines.join("\n")
}

#[test]
fn every_token_wrapped_at_any_width() {
    let mut leaked = Vec::new();
    for (rule, text, secret) in tokens() {
        let is_one_word = text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-+/=.%~".contains(&b));
        if !is_one_word || secret.len() != text.len() || text.len() < 24 {
            continue;
        }
        for width in [12, 16, 20, 27, 40, 64] {
            if !format::starts_with_distinctive_literal(&text) {
                continue;
            }
            check(
                &mut leaked,
                rule,
                &wrapped(&text, width, "", "").replace(' ', ""),
                &secret,
            );
            check(
                &mut leaked,
                rule,
                &wrapped(&text, width, "│ ", " │"),
                &secret,
            );
            check(
                &mut leaked,
                rule,
                &wrapped(&text, width, "| ", " |"),
                &secret,
            );
            check(
                &mut leaked,
                rule,
                &wrapped(&text, width, "# ", "").replace("  ", ""),
                &secret,
            );
            let json = serde_json::json!({ "o": wrapped(&text, width, "│ ", " │") }).to_string();
            check(&mut leaked, rule, &json, &secret);
        }
    }
    none(&leaked);
}

#[test]
fn long_values_go_whole() {
    let mut leaked = Vec::new();
    let long = template::expand("{w9000}");
    let list = template::expand("{w3000}");
    for (text, secret) in [
        (
            format!("eyJ{}.eyJ{long}.{}", &long[..40], &long[..43]),
            &long,
        ),
        (format!("x/eyJ{long}.eyJ{long}.{}", &long[..43]), &long),
        (
            format!("API_TOKEN={}", &long[..5000]),
            &long[..5000].to_owned(),
        ),
        (
            format!("API_TOKEN=\"{}\" # x", &long[..5000]),
            &long[..5000].to_owned(),
        ),
        (format!("FlyV1 fm2_{long}"), &long),
        (format!("FlyV1 fm2_{list},fm2_{list}A,fm2_{list}B"), &list),
        (format!("Authorization: Bearer {long}"), &long),
        (format!("sk-proj-{long}"), &long),
    ] {
        check(&mut leaked, "long", &text, secret);
    }
    none(&leaked);
}

#[test]
fn key_blocks_in_every_frame() {
    let mut leaked = Vec::new();
    let lines: Vec<String> = ["{w64}", "{b64}", "{l64}", "{w24}=="]
        .iter()
        .map(|line| template::expand(line).replace(['-', '_'], "/"))
        .collect();
    let (open, close) = (
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
    );
    let all: Vec<&str> = [open]
        .into_iter()
        .chain(lines.iter().map(String::as_str))
        .chain([close])
        .collect();
    let framed = |before: &str, after: &str| {
        let lines: Vec<String> = all.iter().map(|l| format!("{before}{l}{after}")).collect();
        lines.join("\n")
    };
    let mut texts = vec![
        all.join("\n"),
        all.join(" "),
        all.join("\\n"),
        all.join("\r\n"),
        all[..4].join("\n"),
        all[..4].join(" "),
        format!(
            "{open}\n{}\n[redacted:token:1a2b3c]\n{}\n{close}",
            lines[0], lines[2]
        ),
        format!(
            "{open}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{}\n{close}",
            lines[..3].join("\n")
        ),
    ];
    for (before, after) in [
        ("// ", ""),
        ("# ", ""),
        ("> ", ""),
        (" * ", ""),
        ("| ", " |"),
        ("│ ", " │"),
        ("+", ""),
        ("-", ""),
        ("    ", ""),
        ("  12\u{2192}", ""),
        ("key.pem:3:", ""),
        ("\"", "\\n\""),
        ("'", "' +"),
    ] {
        texts.push(framed(before, after));
    }
    for text in texts {
        for line in &lines[..3] {
            if text.contains(line.as_str()) {
                check(&mut leaked, "private-key", &text, line);
            }
        }
        let json = serde_json::json!({ "k": text }).to_string();
        check(&mut leaked, "private-key", &json, &lines[0]);
    }
    none(&leaked);
}

#[test]
fn what_stands_beside_a_mark_goes() {
    let mut leaked = Vec::new();
    let mark = "[redacted:token:1a2b3c]";
    for (text, secret) in [
        (format!("password=Qx7vLm2pZ{mark}"), "Qx7vLm2pZ"),
        (format!("password={mark}Qx7vLm2pZ"), "Qx7vLm2pZ"),
        (format!("password=\"{mark}Qx7vLm2pZ\""), "Qx7vLm2pZ"),
    ] {
        check(&mut leaked, "password", &text, secret);
    }
    none(&leaked);
}

#[test]
fn private_text_is_balanced_or_hidden_to_the_end() {
    for (text, shown) in [
        ("a <private>b<private>c</private>d</private> e", "a  e"),
        ("a <private>b c d e", "a "),
        ("a <private>b</private> c <private>d</private> e", "a  c  e"),
        ("a <private>b [redacted:token:1a2b3c] d</private> e", "a  e"),
    ] {
        let mut clean = redactor().clean(text).into_owned().into_string();
        for (start, end) in mark::find_marks(&clean).into_iter().rev() {
            clean.replace_range(start..end, "");
        }
        assert_eq!(
            clean.replace("<private>", "").replace("</private>", ""),
            shown
        );
    }
    let json = r#"{"a":"x <private>y z","b":"kept"}"#;
    let clean = redactor().clean(json).into_owned().into_string();
    assert!(!clean.contains("y z") && clean.contains("kept"), "{clean}");
}
