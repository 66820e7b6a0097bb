//! Formats of no single vendor: JWT, password hashes, signed URLs, private parts of keys.

use super::{BodyKind, FormatRule, rule};

#[rustfmt::skip] // Packed: a rule is read as a unit, and rustfmt would give each string a line.
pub(super) const RULES: &[FormatRule] = &[
    rule("jwt", &["eyJ"], r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}",
        &["eyJ{w30}.eyJ{w60}.{b43}"], &["eyJpZCI6IDc5ODY1Nywg", "eyJ.a.b"]),
    rule("jwt", &["ZXlK"], r"ZXlK[A-Za-z0-9+/_-]{60,}={0,2}", &["ZXlK{w160}"], &["ZXlK"]),
    rule("password-hash", &["$apr1$", "$1$", "$5$", "$6$", "$y$", "$7$"], concat!(
            r"\$(?:apr1|1|5|6|y|7)\$(?:[A-Za-z0-9./=]+\$)?[A-Za-z0-9./]{1,24}\$([A-Za-z0-9./]{20,}",
            r")"
        ), &["$apr1${w8}${w22}", "$6${w16}${w86}"], &["$1$2"]),
    rule("password-hash", &["$2a$", "$2b$", "$2y$"], r"\$2[aby]\$\d\d\$([A-Za-z0-9./]{53})",
        &["$2b$12${w53}"], &["$2b$12$"]),
    rule("password-hash", &["$argon2"],
        r"\$argon2(?:id|i|d)\$v=\d+\$[a-z0-9=,]+\$([A-Za-z0-9+/]{8,}\$[A-Za-z0-9+/]{16,})",
        &["$argon2id$v=19$m=65536,t=3,p=4${w22}${w43}"], &["$argon2id$"]),
    rule("password-hash", &["{SHA", "{SSHA", "{sha", "{ssha"],
        r"(?i)\{S?SHA(?:256|512)?\}([A-Za-z0-9+/]{24,}={0,2})", &["{SSHA}{w32}"], &["{SHA}"]),
    rule("signed-url", &["sig=", "Signature=", "signature="],
        r"(?i)(?:\bsig|[?&]Signature|X-(?:Amz|Goog)-Signature)=([A-Za-z0-9%+/_~-]{40,}={0,2})",
        &["?sv=2023&sig={w40}%3D", "X-Amz-Signature={h64}"], &["sig=abc"]).before(8),
    rule("amz-security-token", &["X-Amz-Security-Token="],
        r"X-Amz-Security-Token=([A-Za-z0-9%+/=_-]{60,})", &["X-Amz-Security-Token={w200}"],
        &["X-Amz-Security-Token="]),
    rule("aws-session-token", &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz", "AQoDYXdz"],
        r"(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz|AQoDYXdz)[A-Za-z0-9+/]{60,}={0,2}",
        &["IQoJb3JpZ2lu{w260}=="], &["IQoJb3JpZ2lu"]),
    rule("cookie-session", &["s%3A", "s:"],
        r"s(?:%3A|:)([A-Za-z0-9_-]{20,36}\.[A-Za-z0-9%+/=_-]{30,})", &["s%3A{w32}.{w43}"],
        &["s:a.b"]),
    rule("base64-private-key", &["LS0tLS1CRUdJTi"], concat!(
            r"LS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVk|BFQyBQUklWQV|BPUEVOU1NIIF|BEU0EgUFJJVk|BFTk",
            r"NSWVBURU)[A-Za-z0-9+/\s]{40,}={0,2}"
        ), &["LS0tLS1CRUdJTiBQUklWQVRF{w200}"], &["LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"]),
    rule("jwk-private-key", &["kty", "\"d\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"p\"", "\"q\"",
        "\"k\""], r#""(?:d|dp|dq|qi|p|q|k)"\s*:\s*"([A-Za-z0-9_-]{40,})""#,
        &["{\"kty\":\"EC\",\"d\": \"{b43}\"}"], &["{\"d\": \"M 10 20 L 30 40\"}"]),
    rule("sidekiq-secret", &["CONTRIBSYS__COM"],
        r#"CONTRIBSYS__COM["']?\s*[:=]+\s*["']?([a-f0-9]{8}:[a-f0-9]{8})"#,
        &["BUNDLE_GEMS__CONTRIBSYS__COM={h8}:{h8}"],
        &["BUNDLE_GEMS__CONTRIBSYS__COM="]).body(BodyKind::PatternOnly),
    rule("ntlm-token", &["TlRMTVNTUAAD"], r"TlRMTVNTUAAD[A-Za-z0-9+/]{40,}={0,2}",
        &["TlRMTVNTUAADAAAA{w80}="], &["TlRMTVNTUAAD"]),
];
