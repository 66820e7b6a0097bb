//! Fields read for what they should be: an odd value is no value, and must not cost the line it
//! stands on.

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde_json::value::RawValue;

/// Reads a field, or takes its default where something else stands in its place.
pub fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).unwrap_or_default())
}

/// Reads the items of a list that are what they should be.
pub fn each<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let items: Vec<Box<RawValue>> = or_default(deserializer)?;
    let read = items
        .iter()
        .filter_map(|item| serde_json::from_str(item.get()).ok());
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Deserialize, Default, PartialEq, Debug)]
    #[serde(default)]
    struct Fields {
        #[serde(deserialize_with = "super::or_default")]
        name: Option<String>,
        #[serde(deserialize_with = "super::each")]
        counts: Vec<u64>,
    }

    #[track_caller]
    fn check(json: &str, name: Option<&str>, counts: &[u64]) {
        let fields: Fields = serde_json::from_str(json).unwrap();
        assert_eq!((fields.name.as_deref(), &*fields.counts), (name, counts));
    }

    #[test]
    fn an_odd_value_costs_only_itself() {
        check(r#"{"name":"a","counts":[1,2]}"#, Some("a"), &[1, 2]);
        check(r#"{"name":{"a":1},"counts":[1,"x",3]}"#, None, &[1, 3]);
        check(r#"{"name":null,"counts":"x"}"#, None, &[]);
        check("{}", None, &[]);
    }
}
