//! Schemas of arguments and answers, in the form that every client takes.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// Returns the schema of arguments. What may be left out is not said to be `null` as well: clients that turn schemas
/// into another dialect would refuse the tool, or lose what it says.
pub fn arguments_of<T: JsonSchema>() -> Arc<JsonObject> {
    schema_of::<T>(&mut without_null)
}

/// Returns the schema of an answer. What may be `null` is said in two branches, each of one type.
pub fn answer_of<T: JsonSchema>() -> Arc<JsonObject> {
    schema_of::<T>(&mut branched)
}

/// Returns a type's schema, all in one piece and without the sizes of machine integers, which some
/// clients refuse.
fn schema_of<T: JsonSchema>(change: &mut dyn FnMut(&mut JsonObject)) -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    each(&mut schema, &mut tidy);
    each(&mut schema, change);
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

/// Changes every object of a schema, the inner ones first.
fn each(schema: &mut Value, change: &mut dyn FnMut(&mut JsonObject)) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(|inner| each(inner, change));
            change(object);
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| each(inner, change)),
        _ => {}
    }
}

fn tidy(object: &mut JsonObject) {
    let is_size = |format: &str| format.starts_with("int") || format.starts_with("uint");
    let format = object.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| is_size(format) || format == "double") {
        object.remove("format");
    }
}

fn without_null(object: &mut JsonObject) {
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

fn branched(object: &mut JsonObject) {
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
    use crate::kinds::HitKind;

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its form matters")]
    struct Form {
        /// How many
        count: Option<i64>,
        kind: Option<HitKind>,
        name: String,
    }

    #[test]
    fn what_may_be_left_out_has_one_type_and_what_may_be_null_two_branches() {
        let arguments = arguments_of::<Form>();
        let count = json!({"description": "How many", "type": "integer"});
        assert_eq!(arguments["properties"]["count"], count);
        assert_eq!(arguments["properties"]["kind"]["type"], "string");
        assert!(!arguments["properties"].to_string().contains("null"));
        assert_eq!(arguments["required"], json!(["name"]));
        let answer = answer_of::<Form>();
        let either = json!([{"type": "integer"}, {"type": "null"}]);
        assert_eq!(answer["properties"]["count"]["anyOf"], either);
        assert_eq!(answer["properties"]["name"]["type"], "string");
    }
}
