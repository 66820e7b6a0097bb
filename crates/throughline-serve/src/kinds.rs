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
/// The name of the hit type that stands for records of any type.
const RECORD: &str = "record";

/// A record type in a request or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RecordTypeName(pub RecordKind);

/// The kind of a fact in the API description. Requests carry [`FactKind`] itself.
pub(crate) struct FactKindName;

/// A hit type in a request or an answer: a record type, any record, or a fact. Requests may use the
/// plurals `facts` and `records`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Cow<'_, str>", into = "&'static str")]
pub enum HitType {
    Record(RecordKind),
    AnyRecord,
    Fact,
}

impl HitType {
    /// Returns the record types that a search with these filters is restricted to, and the items
    /// that it has to read.
    pub fn select(filters: &[Self]) -> (Vec<RecordKind>, SearchContent) {
        let has_facts = filters.contains(&Self::Fact);
        let has_records = filters.iter().any(|filter| *filter != Self::Fact);
        let content = match (has_facts, has_records) {
            (true, false) => SearchContent::Facts,
            (false, true) => SearchContent::Records,
            (true, true) | (false, false) => SearchContent::All,
        };
        if filters.contains(&Self::AnyRecord) {
            return (Vec::new(), content);
        }
        let kinds = filters.iter().filter_map(|filter| match filter {
            Self::Record(kind) => Some(*kind),
            Self::AnyRecord | Self::Fact => None,
        });
        (kinds.collect(), content)
    }

    /// Parses a hit type on the command line or in a request.
    pub fn from_name(name: &str) -> Result<Self, String> {
        match name {
            FACT | "facts" => Ok(Self::Fact),
            RECORD | "records" => Ok(Self::AnyRecord),
            _ => RecordKind::from_name(name)
                .map(Self::Record)
                .ok_or_else(|| {
                    let known: Vec<_> = hit_type_names().collect();
                    let known = known.join(", ");
                    format!("unknown type {name:?}; known types are {known}")
                }),
        }
    }
}

impl TryFrom<Cow<'_, str>> for HitType {
    type Error = String;

    fn try_from(name: Cow<'_, str>) -> Result<Self, String> {
        Self::from_name(&name)
    }
}

impl From<HitType> for &'static str {
    fn from(kind: HitType) -> Self {
        match kind {
            HitType::Record(kind) => kind.name(),
            HitType::AnyRecord => RECORD,
            HitType::Fact => FACT,
        }
    }
}

fn record_type_names() -> impl Iterator<Item = &'static str> {
    RecordKind::ALL.iter().map(|kind| kind.name())
}

fn hit_type_names() -> impl Iterator<Item = &'static str> {
    record_type_names().chain([FACT, RECORD])
}

/// The names in the schema of a request; an answer has no plurals.
fn requested_type_names() -> impl Iterator<Item = &'static str> {
    hit_type_names().chain(["facts", "records"])
}

impl JsonSchema for HitType {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "HitKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = requested_type_names().collect();
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
        // An empty parameter counts as not given.
        let names = requested_type_names().chain([""]);
        enum_schema("Facts, records, or a type of record", names)
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

fn enum_schema(description: &str, names: impl Iterator<Item = &'static str>) -> RefOr<ApiSchema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description))
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
        assert_eq!(HitType::from_name("facts"), Ok(HitType::Fact));
        assert_eq!(HitType::from_name("records"), Ok(HitType::AnyRecord));
        let refused = serde_json::from_str::<HitType>("\"notes\"").unwrap_err();
        assert!(
            refused.to_string().contains("known types are prompt"),
            "{refused}"
        );
    }
}
