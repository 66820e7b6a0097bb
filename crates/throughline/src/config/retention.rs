//! The `[retention]` section.

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize};
use store::retention::{RetentionPolicy, WorkspacePolicy};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RetentionConfig {
    pub(crate) raw_soft_cap_bytes: ByteSize,
    pub(crate) raw_hard_cap_bytes: ByteSize,
    pub(crate) raw_max_age_days: u32,
    pub(crate) delete_after_days: u32,
    pub(crate) distilled_cap_bytes: ByteSize,
    pub(crate) quiet_minutes: u32,
    pub(crate) workspace: Vec<WorkspaceRetentionConfig>,
}

/// Exceptions for one workspace.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkspaceRetentionConfig {
    #[serde(rename = "match")]
    pub(crate) part: String,
    pub(crate) raw_soft_cap_bytes: Option<ByteSize>,
    pub(crate) raw_max_age_days: Option<u32>,
    pub(crate) delete_after_days: Option<u32>,
}

impl Default for RetentionConfig {
    fn default() -> Self {
        Self {
            raw_soft_cap_bytes: ByteSize(2 << 30),
            raw_hard_cap_bytes: ByteSize(4 << 30),
            raw_max_age_days: 90,
            delete_after_days: 0,
            distilled_cap_bytes: ByteSize(512 << 20),
            quiet_minutes: 30,
            workspace: Vec::new(),
        }
    }
}

impl RetentionConfig {
    pub(crate) fn policy(&self) -> RetentionPolicy {
        let exception = |own: &WorkspaceRetentionConfig| WorkspacePolicy {
            workspace: own.part.clone(),
            raw_soft_cap_bytes: own.raw_soft_cap_bytes.map(|size| size.0),
            raw_max_age: own.raw_max_age_days.map(days_or_never),
            delete_after: own.delete_after_days.map(days_or_never),
        };
        RetentionPolicy {
            raw_soft_cap_bytes: self.raw_soft_cap_bytes.0,
            raw_hard_cap_bytes: self.raw_hard_cap_bytes.0,
            raw_max_age: days_or_never(self.raw_max_age_days),
            delete_after: days_or_never(self.delete_after_days),
            distilled_cap_bytes: self.distilled_cap_bytes.0,
            workspaces: self.workspace.iter().map(exception).collect(),
        }
    }

    pub(crate) fn quiet(&self) -> SignedDuration {
        SignedDuration::from_mins(i64::from(self.quiet_minutes))
    }

    pub(crate) fn validate(&self) -> anyhow::Result<()> {
        if self.raw_soft_cap_bytes.0 > self.raw_hard_cap_bytes.0 {
            anyhow::bail!(
                "`raw_soft_cap_bytes` under [retention] must not exceed `raw_hard_cap_bytes`"
            );
        }
        Ok(())
    }
}

/// Converts days to a duration; 0 means never.
fn days_or_never(days: u32) -> Option<SignedDuration> {
    (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)))
}

/// A number of bytes, written as a number or as text such as `2 GiB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ByteSize(pub u64);

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum ByteSizeInput {
            Bytes(u64),
            Text(String),
        }
        match ByteSizeInput::deserialize(deserializer)? {
            ByteSizeInput::Bytes(bytes) => Ok(Self(bytes)),
            ByteSizeInput::Text(text) => parse_byte_size(&text).map(Self).ok_or_else(|| {
                let hint = "use a number of bytes, or text such as \"500 MB\" or \"2 GiB\"";
                serde::de::Error::custom(format!("invalid size {text:?}; {hint}"))
            }),
        }
    }
}

const UNITS: &[(&str, u64)] = &[
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
];

fn parse_byte_size(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim().to_lowercase());
    let unit = if unit.is_empty() { "b" } else { unit.as_str() };
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor);
    }
    let bytes = number.parse::<f64>().ok()? * *factor as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the text has no sign, and the limit is below that of u64"
    )]
    (bytes < 1e18).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_and_without_units_are_parsed() {
        for (text, bytes) in [
            ("2 GiB", Some(2 << 30)),
            ("2GiB", Some(2 << 30)),
            ("500 MB", Some(500_000_000)),
            ("1.5 kb", Some(1_500)),
            ("1_000", Some(1_000)),
            ("0", Some(0)),
            ("2 gigs", None),
            ("", None),
            ("-1 GB", None),
            ("99999999999 TB", None),
        ] {
            assert_eq!(parse_byte_size(text), bytes, "{text}");
        }
    }

    #[test]
    fn a_workspace_can_have_its_own_limits() {
        let text = "raw_soft_cap_bytes = 5\nraw_max_age_days = 0\n\
                    [[workspace]]\nmatch = \"acme\"\nraw_max_age_days = 7\n\
                    delete_after_days = 30";
        let retention: RetentionConfig = toml::from_str(text).unwrap();
        let policy = retention.policy();
        assert_eq!((policy.raw_soft_cap_bytes, policy.raw_max_age), (5, None));
        assert_eq!(policy.workspaces[0].raw_max_age, Some(days_or_never(7)));
        assert_eq!(policy.workspaces[0].delete_after, Some(days_or_never(30)));
        assert_eq!(policy.delete_after, None);
        let wrong: RetentionConfig = toml::from_str("raw_soft_cap_bytes = \"5 GiB\"").unwrap();
        assert!(wrong.validate().is_err());
    }
}
