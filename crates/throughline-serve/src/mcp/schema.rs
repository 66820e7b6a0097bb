//! JSON Schemas of tool arguments and answers, in a form that every MCP client accepts.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the schema of arguments. An optional argument is not declared nullable as well: clients
/// that translate schemas into another dialect would reject the tool, or lose the description.
pub(super) fn arguments_schema<T: JsonSchema>() -> Arc<JsonObject> {
    inline_schema::<T>(&mut remove_null)
}

/// Returns the schema of an answer. A nullable value is declared by two branches with one type
/// each.
pub(super) fn answer_schema<T: JsonSchema>() -> Arc<JsonObject> {
    inline_schema::<T>(&mut split_nullable_types)
}

/// Returns a type's schema without references and without integer formats, which some clients
/// reject.
fn inline_schema<T: JsonSchema>(change: &mut dyn FnMut(&mut JsonObject)) -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    visit_objects(&mut schema, &mut remove_number_formats);
    visit_objects(&mut schema, change);
    match schema {
        Value::Object(mut object) => {
            object.remove("title");
            object.remove("description");
            object
                .entry("type")
                .or_insert_with(|| Value::String("object".into()));
            Arc::new(object)
        }
        _ => Arc::default(),
    }
}

/// Applies a change to every object of a schema, inner ones first.
fn visit_objects(schema: &mut Value, change: &mut dyn FnMut(&mut JsonObject)) {
    match schema {
        Value::Object(object) => {
            object
                .values_mut()
                .for_each(|inner| visit_objects(inner, change));
            change(object);
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|inner| visit_objects(inner, change)),
        _ => {}
    }
}

fn remove_number_formats(object: &mut JsonObject) {
    let is_size = |format: &str| format.starts_with("int") || format.starts_with("uint");
    let format = object.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| is_size(format) || format == "double") {
        object.remove("format");
    }
}

fn remove_null(object: &mut JsonObject) {
    for key in ["type", "enum", "anyOf"] {
        if let Some(Value::Array(list)) = object.get_mut(key) {
            list.retain(|one| !is_null(one));
        }
    }
    match object.get_mut("type") {
        Some(Value::Array(types)) if types.len() == 1 => {
            let only = types.remove(0);
            object.insert("type".into(), only);
        }
        _ => {}
    }
    if let Some(Value::Array(branches)) = object.get_mut("anyOf")
        && let [Value::Object(only)] = branches.as_mut_slice()
    {
        let only = std::mem::take(only);
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

fn split_nullable_types(object: &mut JsonObject) {
    let Some(Value::Array(types)) = object.get("type") else {
        return;
    };
    let branches = types.iter().map(|one| json!({"type": one})).collect();
    object.remove("type");
    object.insert("anyOf".into(), Value::Array(branches));
}

fn is_null(one: &Value) -> bool {
    one.is_null() || one == "null" || *one == json!({"type": "null"})
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;

    use super::*;
    use crate::kinds::HitType;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its form matters")]
    struct Form {
        /// How many
        count: Option<i64>,
        kind: Option<HitType>,
        name: String,
    }

    #[test]
    fn what_may_be_left_out_has_one_type_and_what_may_be_null_two_branches() {
        let arguments = arguments_schema::<Form>();
        let count = json!({"description": "How many", "type": "integer"});
        assert_eq!(arguments["properties"]["count"], count);
        assert_eq!(arguments["properties"]["kind"]["type"], "string");
        assert!(!arguments["properties"].to_string().contains("null"));
        assert_eq!(arguments["required"], json!(["name"]));
        let answer = answer_schema::<Form>();
        let either = json!([{"type": "integer"}, {"type": "null"}]);
        assert_eq!(answer["properties"]["count"]["anyOf"], either);
        assert_eq!(answer["properties"]["name"]["type"], "string");
    }
}
