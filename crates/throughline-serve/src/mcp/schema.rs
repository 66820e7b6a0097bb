//! Schemas of arguments and answers, in the form that every client takes.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// Returns a type's schema, all in one piece and without the sizes of machine integers, which some
/// clients refuse.
pub fn schema_of<T: JsonSchema>() -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    tidy(&mut schema);
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

fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let is_size = |format: &str| format.starts_with("int") || format.starts_with("uint");
            let format = object.get("format").and_then(Value::as_str);
            if format.is_some_and(|format| is_size(format) || format == "double") {
                object.remove("format");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}
