//! The names of record types and hit types in HTTP and MCP.
//!
//! The names themselves are defined by [`memory::RecordKind`]; this module only turns them into
//! JSON, JSON Schema and OpenAPI.

use std::borrow::Cow;

use memory::{FactKind, RecordKind};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{RefOr, Schema as ApiSchema};
use utoipa::{PartialSchema, ToSchema};

use crate::requests::search::SearchContent;

/// The name of the hit type that stands for facts.
const FACT: &str = "fact";

/// A record type in a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RecordTypeName(pub RecordKind);

/// The kind of a fact in the API description. Requests carry [`FactKind`] itself.
pub(crate) struct FactKindName;

/// A hit type in a request or an answer: a record type, or `fact`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "&'static str")]
pub enum HitType {
    Record(RecordKind),
    Fact,
}

impl HitType {
    const fn record_kind(self) -> Option<RecordKind> {
        match self {
            Self::Record(kind) => Some(kind),
            Self::Fact => None,
        }
    }

    /// Returns the record types that a search with this filter is restricted to.
    pub(crate) fn record_kinds(filter: Option<Self>) -> Vec<RecordKind> {
        filter.and_then(Self::record_kind).into_iter().collect()
    }

    /// Returns the items that a search with this filter has to read.
    pub(crate) const fn content(filter: Option<Self>) -> SearchContent {
        match filter {
            None => SearchContent::All,
            Some(Self::Record(_)) => SearchContent::Records,
            Some(Self::Fact) => SearchContent::Facts,
        }
    }
}

impl TryFrom<Cow<'_, str>> for HitType {
    type Error = String;

    fn try_from(name: Cow<'_, str>) -> Result<Self, String> {
        if name == FACT {
            return Ok(Self::Fact);
        }
        let kind = RecordKind::ALL.iter().find(|kind| kind.name() == name);
        kind.copied().map(Self::Record).ok_or_else(|| {
            let known: Vec<_> = hit_type_names().collect();
            format!(
                "unknown type {name:?}; known types are {}",
                known.join(", ")
            )
        })
    }
}

impl From<HitType> for &'static str {
    fn from(kind: HitType) -> Self {
        kind.record_kind().map_or(FACT, RecordKind::name)
    }
}

fn record_type_names() -> impl Iterator<Item = &'static str> {
    RecordKind::ALL.iter().map(|kind| kind.name())
}

fn hit_type_names() -> impl Iterator<Item = &'static str> {
    record_type_names().chain([FACT])
}

impl JsonSchema for HitType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HitKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = hit_type_names().collect();
        json_schema!({"type": "string", "enum": names})
    }
}

impl PartialSchema for RecordTypeName {
    fn schema() -> RefOr<ApiSchema> {
        enum_schema("The type of a record", record_type_names())
    }
}

impl ToSchema for RecordTypeName {
    fn name() -> Cow<'static, str> {
        "KindName".into()
    }
}

impl PartialSchema for HitType {
    fn schema() -> RefOr<ApiSchema> {
        enum_schema("A type of record, or facts", hit_type_names())
    }
}

impl ToSchema for HitType {}

impl PartialSchema for FactKindName {
    fn schema() -> RefOr<ApiSchema> {
        let names = FactKind::ALL.iter().map(|kind| kind.name());
        enum_schema("The kind of a fact", names)
    }
}

impl ToSchema for FactKindName {}

fn enum_schema(what: &str, names: impl Iterator<Item = &'static str>) -> RefOr<ApiSchema> {
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
        for name in hit_type_names() {
            let kind: HitType = serde_json::from_value(name.into()).unwrap();
            assert_eq!(serde_json::to_value(kind).unwrap(), name);
        }
        let refused = serde_json::from_str::<HitType>("\"facts\"").unwrap_err();
        assert!(
            refused.to_string().contains("known types are prompt"),
            "{refused}"
        );
    }
}
