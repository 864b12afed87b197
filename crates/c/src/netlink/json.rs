//! Objects as JSON. A name that an object does not have is an error: ignoring it would not do what was requested.

use std::collections::HashSet;

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
    for path in to_check(&given, &known) {
        if has_no_effect(&mut given, &path, &object) {
            let name = path[1..].replace('/', ".");
            let message = format!("{}: the field {name:?} is unknown here", T::NAME);
            return Err(Error::argument(message));
        }
    }
    Ok(object)
}

/// The JSON pointers of the fields in `given` that `known` does not have, because they are unknown or null: of fields that
/// differ only in the elements of lists in which they are, the first. So there are not many more than an object has fields.
fn to_check(given: &Value, known: &Value) -> Vec<String> {
    let mut found = Absent::default();
    found.search(&Place::default(), given, Some(known));
    found.paths
}

/// A place in a value: its JSON pointer, and the same without the positions in lists.
#[derive(Default)]
struct Place {
    path: String,
    shape: String,
}

impl Place {
    fn field(&self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Self {
            path: format!("{}/{name}", self.path),
            shape: format!("{}/{name}", self.shape),
        }
    }

    fn element(&self, at: usize) -> Self {
        Self {
            path: format!("{}/{at}", self.path),
            shape: format!("{}/", self.shape),
        }
    }
}

#[derive(Default)]
struct Absent {
    paths: Vec<String>,
    shapes: HashSet<String>,
}

impl Absent {
    fn search(&mut self, place: &Place, given: &Value, known: Option<&Value>) {
        match given {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let place = place.field(name);
                    match known.and_then(|known| known.get(name)) {
                        Some(known) => self.search(&place, field, Some(known)),
                        None if self.shapes.insert(place.shape) => self.paths.push(place.path),
                        None => {}
                    }
                }
            }
            Value::Array(elements) => {
                for (at, element) in elements.iter().enumerate() {
                    let known = known.and_then(|known| known.get(at));
                    self.search(&place.element(at), element, known);
                }
            }
            _ => {}
        }
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

    #[test]
    fn a_null_field_of_many_elements_is_checked_once() {
        let hop = r#"{"gateway":"192.0.2.1","weight":null,"dev":null}"#;
        let hops = vec![hop; 5000].join(",");
        let text = format!(r#"{{"dst":"192.0.2.0/24","prefsrc":null,"nexthops":[{hops}]}}"#);
        let route: Route = parse(text.as_bytes()).expect("known fields");
        let (given, known) = (
            serde_json::from_str(&text).expect("JSON"),
            serde_json::to_value(&route).expect("JSON"),
        );
        let paths = to_check(&given, &known);
        let hops = paths.iter().filter(|path| path.starts_with("/nexthops/"));
        assert!(hops.count() <= 2 && paths.len() <= 4, "{paths:?}");
    }
}
