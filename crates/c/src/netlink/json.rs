//! Objects as JSON. A name that an object does not have is an error: ignoring it would not do what was requested.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tapline::net::schema::FieldSet;

use crate::failure::Error;

/// What is parsed.
pub trait Object: FieldSet + PartialEq + Serialize + DeserializeOwned {}

impl<T: FieldSet + PartialEq + Serialize + DeserializeOwned> Object for T {}

/// Parses an object.
///
/// # Errors
/// It is no JSON, a value is invalid, or a field is unknown. The message names the field.
pub fn parse<T: Object>(bytes: &[u8]) -> Result<T, Error> {
    let invalid = |error: serde_json::Error| Error::argument(error.to_string());
    let object: T = serde_json::from_slice(bytes).map_err(invalid)?;
    let mut given: Value = serde_json::from_slice(bytes).map_err(invalid)?;
    let known = serde_json::to_value(&object).map_err(invalid)?;
    for path in absent("", &given, Some(&known)) {
        if has_no_effect(&mut given, &path, &object) {
            let name = path[1..].replace('/', ".");
            let message = format!("{}: the field {name:?} is unknown here", T::NAME);
            return Err(Error::argument(message));
        }
    }
    Ok(object)
}

/// The JSON pointers of the fields in `given` that `known` does not have: they are unknown, or null.
fn absent(path: &str, given: &Value, known: Option<&Value>) -> Vec<String> {
    match given {
        Value::Object(fields) => {
            let found = fields.iter().flat_map(|(name, field)| {
                let path = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                match known.and_then(|known| known.get(name)) {
                    None => vec![path],
                    known => absent(&path, field, known),
                }
            });
            found.collect()
        }
        Value::Array(elements) => {
            let elements = elements.iter().enumerate();
            let found = elements.flat_map(|(at, element)| {
                absent(
                    &format!("{path}/{at}"),
                    element,
                    known.and_then(|known| known.get(at)),
                )
            });
            found.collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the field at `path` can have a value that no field has, and the object is the same.
fn has_no_effect<T: Object>(given: &mut Value, path: &str, object: &T) -> bool {
    let Some(place) = given.pointer_mut(path) else {
        return false;
    };
    let before = std::mem::replace(place, json!({ "": [] }));
    let changed = T::deserialize(&*given);
    if let Some(place) = given.pointer_mut(path) {
        *place = before;
    }
    changed.is_ok_and(|changed| changed == *object)
}

#[cfg(test)]
mod tests {
    use tapline::net::{Link, Route};

    use super::*;

    fn refused<T: Object + std::fmt::Debug>(text: &str) -> String {
        let error = parse::<T>(text.as_bytes()).expect_err("an unknown field");
        error.message
    }

    #[test]
    fn unknown_fields_are_named() {
        assert_eq!(
            refused::<Link>(r#"{"name":"b0","mtuu":1400}"#),
            r#"Link: the field "mtuu" is unknown here"#
        );
        assert_eq!(
            refused::<Link>(
                r#"{"name":"b0","linkinfo":{"info_kind":"vlan","info_data":{"id":7,"idd":null}}}"#
            ),
            r#"Link: the field "linkinfo.info_data.idd" is unknown here"#
        );
        assert_eq!(
            refused::<Route>(r#"{"dst":"192.0.2.0/24","metrics":[{"mtu":1400,"mut":1}]}"#),
            r#"Route: the field "metrics.0.mut" is unknown here"#
        );
    }

    #[test]
    fn known_fields_are_accepted_also_if_they_are_null() {
        let link = r#"{"name":"b0","mtu":null,"linkinfo":{"info_kind":"dummy"}}"#;
        let link: Link = parse(link.as_bytes()).expect("known fields");
        assert_eq!((link.mtu, link.kind_name()), (None, Some("dummy")));
    }
}
