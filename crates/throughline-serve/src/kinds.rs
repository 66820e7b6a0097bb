//! The types of records as others name them, over HTTP and MCP alike: what they are is said in one place, with the
//! record itself.

use std::borrow::Cow;

use memory::Kind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema as ApiSchema};
use utoipa::{PartialSchema, ToSchema};

/// Facts beside the types of records.
const FACT: &str = "fact";

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KindName(pub Kind);

/// The type of a hit: that of a record, or a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "&'static str")]
pub enum HitKind {
    Record(Kind),
    Fact,
}

impl HitKind {
    pub const fn record(self) -> Option<Kind> {
        match self {
            Self::Record(kind) => Some(kind),
            Self::Fact => None,
        }
    }
}

impl TryFrom<Cow<'_, str>> for HitKind {
    type Error = String;

    fn try_from(name: Cow<'_, str>) -> Result<Self, String> {
        if name == FACT {
            return Ok(Self::Fact);
        }
        let kind = Kind::ALL.iter().find(|kind| kind.name() == name);
        kind.copied().map(Self::Record).ok_or_else(|| {
            let known: Vec<_> = with_facts().collect();
            format!("no type is called {name:?}; known are {}", known.join(", "))
        })
    }
}

impl From<HitKind> for &'static str {
    fn from(kind: HitKind) -> Self {
        kind.record().map_or(FACT, Kind::name)
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().map(|kind| kind.name())
}

fn with_facts() -> impl Iterator<Item = &'static str> {
    names().chain([FACT])
}

impl JsonSchema for HitKind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HitKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = with_facts().collect();
        json_schema!({"type": "string", "enum": names})
    }
}

impl PartialSchema for KindName {
    fn schema() -> RefOr<ApiSchema> {
        described("The type of a record", names())
    }
}

impl ToSchema for KindName {}

impl PartialSchema for HitKind {
    fn schema() -> RefOr<ApiSchema> {
        described("A type of record, or facts", with_facts())
    }
}

impl ToSchema for HitKind {}

fn described(what: &str, names: impl Iterator<Item = &'static str>) -> RefOr<ApiSchema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(what))
        .enum_values(Some(names))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_read_as_it_is_written_and_others_are_refused_by_name() {
        for name in with_facts() {
            let kind: HitKind = serde_json::from_value(name.into()).unwrap();
            assert_eq!(serde_json::to_value(kind).unwrap(), name);
        }
        let refused = serde_json::from_str::<HitKind>("\"facts\"").unwrap_err();
        assert!(
            refused.to_string().contains("known are prompt"),
            "{refused}"
        );
    }
}
