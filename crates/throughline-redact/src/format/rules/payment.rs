//! Payment, commerce, and the `_live_` / `_test_` family many vendors follow.

use super::{BodyKind, FormatRule, rule};

#[rustfmt::skip] // One rule, one line: the table is read down its columns.
pub(super) const RULES: &[FormatRule] = &[
    rule("stripe-key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_prod_", "rk_prod_"], r"[sr]k_(?:live|test|prod)_[A-Za-z0-9_]{14,}", &["sk_live_{w24}", "rk_live_{w24}", "sk_test_51{w97}"], &["sk_test_your_key_here", "sk_live_", "sk_test_ok"]).body(BodyKind::PatternOnly),
    rule("stripe-key", &["pk_live_", "pk_test_"], r"pk_(?:live|test)_[A-Za-z0-9]{20,}", &["pk_test_{w24}"], &["pk_test_xxxxxxxxxxxxxxxxxxxxxxxx"]),
    rule("sk-key", &["sk-live-", "sk-test-", "sk-prod-"], r"sk-(?:live|test|prod)-[A-Za-z0-9_-]{12,}", &["sk-live-{w22}"], &["sk-test-your-key-here", "sk-live-"]).body(BodyKind::PatternOnly),
    rule("webhook-secret", &["whsec_"], r"whsec_[A-Za-z0-9+/=_-]{24,}", &["whsec_{w32}"], &["whsec_test"]),
    rule("live-key", &["_live_", "_test_", "_prod_", "_sandbox_"], r"\b[A-Za-z][A-Za-z0-9]{0,11}_(?:live|test|prod|sandbox)_[A-Za-z0-9_=-]{20,}", &["ak_live_{w30}", "duffel_test_{b43}"], &["integration_test_suite_for_everything_else", "is_live_streaming_enabled_for_user"]).before(12).whole_word(),
    rule("live-key", &["live_", "test_"], r"(?:live|test)_[A-Za-z0-9]{30,}", &["live_{h35}"], &["test_something_with_a_long_name", "test_thisfunctionnameislongbutfinehere"]).whole_word(),
    rule("square-token", &["sq0", "EAAA"], r"(?:sq0[a-z]{3}-[A-Za-z0-9_-]{22,43}|EAAA[A-Za-z0-9_-]{56,60})", &["sq0csp-{b43}", "EAAA{b60}"], &["sq0abc"]),
    rule("braintree-token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}", &["access_token$production${l16}${h32}"], &["access_token$"]).body(BodyKind::PatternOnly),
    rule("easypost-key", &["EZAK", "EZTK"], r"EZ[AT]K[A-Za-z0-9]{54}", &["EZAK{w54}"], &["EZAKGqQ"]),
    rule("flutterwave-key", &["FLWSECK", "FLWPUBK"], r"FLW(?:SEC|PUB)K(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?", &["FLWSECK-{h32}-X", "FLWSECK_TEST-{h32}-X"], &["FLWSECK-"]),
    rule("shippo-token", &["shippo_"], r"shippo_(?:live|test)_[a-fA-F0-9]{40}", &["shippo_live_{h40}"], &["shippo_live_"]),
    rule("paystack-key", &["sk_"], r"sk_[A-Za-z0-9]{32,}", &["sk_{h48}"], &["sk_buff_alloc"]),
    rule("coinbase-key", &["organizations/"], r"organizations/[a-f0-9-]{36}/apiKeys/([a-f0-9-]{36})", &["organizations/{h8}-{h4}-{h4}-{h4}-{h12}/apiKeys/{h8}-{h4}-{h4}-{h4}-{h12}"], &["organizations/acme"]),
    rule("generic-pat", &["_pat_", "_key_", "_secret_", "_token_", "_sk_", "_api_"], r"\b[A-Za-z][A-Za-z0-9]{0,9}_(?:pat|key|secret|token|sk|api)_(?:v\d_)?[A-Za-z0-9]{20,}", &["acme_pat_{w32}", "foo_sk_{w32}"], &["my_api_controllernamelongenough", "aws_secret_managerclientconfiguration"]).before(10).whole_word(),
];
