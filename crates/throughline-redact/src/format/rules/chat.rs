//! Chat, mail and messaging.

use super::{FormatRule, rule};

#[rustfmt::skip] // One rule, one line: the table is read down its columns.
pub(super) const RULES: &[FormatRule] = &[
    rule("slack-token", &["xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxc-", "xoxd-"], r"xox[a-do-s]-(?:\d[A-Za-z0-9%./+=-]{11,}|[A-Za-z0-9%./+=-]{30,})", &["xoxb-{d12}-{d12}-{w24}", "xoxp-{d11}-{d10}-{d11}-{h32}"], &["xoxb-xxx", "xoxb-Slack_BOT_TOKEN", "xoxb-xoxb-my-bot-token"]),
    rule("slack-token", &["xoxe-", "xoxe."], r"xoxe(?:-\d-[A-Za-z0-9]{20,}|\.xox[bp]-\d-[A-Za-z0-9]{20,})", &["xoxe-1-{w146}", "xoxe.xoxp-1-{w160}"], &["xoxe.xoxp-1-initial"]),
    rule("slack-token", &["xapp-"], r"xapp-\d-[A-Za-z0-9]{8,}-\d{8,}(?:-[A-Za-z0-9]{16,})?", &["xapp-1-A{u10}-{d13}-{h64}"], &["xapp-1-A"]),
    rule("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/((?:services|workflows|triggers)/[A-Za-z0-9/_-]{20,})", &["https://hooks.slack.com/services/T{u10}/B{u10}/{w24}"], &["https://hooks.slack.com/services/TXXXXXXXX/BXXXXXXXX/XXXXXXXXXXXXXXXXXXXXXXXX"]),
    rule("discord-webhook", &["/api/webhooks/"], r"/api/webhooks/(\d{16,20}/[A-Za-z0-9_-]{50,})", &["https://discord.com/api/webhooks/{d18}/{b68}"], &["/api/webhooks/stripe"]),
    rule("teams-webhook", &["webhook.office.com/", "/IncomingWebhook/"], r"webhook\.office\.com/(webhookb2/[A-Za-z0-9@/-]{60,})", &["https://acme.webhook.office.com/webhookb2/{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}-{h4}-{h4}-{h4}-{h12}"], &["webhook.office.com/webhookb2/"]),
    rule("telegram-bot-token", &[":AA"], r"(?:\bbot)?(\d{6,11}:AA[A-Za-z0-9_-]{30,40})", &["{d10}:AA{b33}"], &["10:AAbcdef"]).before(14),
    rule("sendgrid-key", &["SG."], r"SG\.[A-Za-z0-9_-]{16,24}\.[A-Za-z0-9_-]{30,50}", &["SG.{b22}.{b43}"], &["SG.Name.Value"]).anywhere(),
    rule("brevo-key", &["xkeysib-", "xsmtpsib-"], r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}", &["xkeysib-{h64}-{w16}"], &["xkeysib-"]),
    rule("mailgun-key", &["key-"], r"key-[a-f0-9]{32}", &["key-{h32}"], &["key-value"]).whole_word(),
    rule("mailgun-key", &["pubkey-"], r"pubkey-[a-f0-9]{32}", &["pubkey-{h32}"], &["pubkey-file"]),
    rule("mailchimp-key", &["-us"], r"[a-f0-9]{32}-us\d{1,2}", &["{h32}-us14"], &["east-us2"]).before(32),
    rule("twilio-key", &["SK"], r"SK[a-f0-9]{32}", &["SK{h32}"], &["SKIP"]),
    rule("twilio-token", &["AC"], r#"AC[a-f0-9]{32}["']?[\s,:;|]+["']?([a-f0-9]{32})\b"#, &["Client(\"AC{h32}\", \"{h32}\")", "AC{h32}:{h32}"], &["ACCOUNT"]).whole_word(),
    rule("resend-key", &["re_"], r"re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}", &["re_{w8}_{w24}"], &["re_compile_the_pattern"]),
    rule("linear-key", &["lin_api_", "lin_oauth_", "lin_wh_"], r"lin_(?:api|oauth|wh)_[A-Za-z0-9]{30,}", &["lin_api_{w40}"], &["lin_api_"]),
    rule("notion-token", &["ntn_"], r"ntn_[A-Za-z0-9]{40,}", &["ntn_{d11}{w35}"], &["ntn_"]),
    rule("secret-token", &["secret_"], r"secret_[A-Za-z0-9]{32,}", &["secret_{w43}"], &["secret_key_base_for_tests", "secret_manager"]).whole_word(),
    rule("airtable-token", &["pat"], r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", &["pat{w14}.{h64}"], &["pattern.match"]),
    rule("typeform-token", &["tfp_"], r"tfp_[A-Za-z0-9_=.-]{40,}", &["tfp_{b59}"], &["tfp_"]),
    rule("hubspot-token", &["pat-na", "pat-eu", "pat-ap"], r"pat-[a-z]{2}\d-[a-f0-9-]{36}", &["pat-na1-{h8}-{h4}-{h4}-{h4}-{h12}"], &["pat-na1-"]),
    rule("discord-token", &["MT", "MD", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"], r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}", &["MT{w22}.{w6}.{w38}"], &["MT.a.b"]),
];
