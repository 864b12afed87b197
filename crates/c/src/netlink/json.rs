//! Objects as JSON. A name that an object does not have is an error: ignoring it would not do what was requested.

use std::collections::HashSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tapline::net::schema::{FieldSet, FieldShape, InvalidField, NameLookup, Shape};

/// What is parsed.
pub trait Object: FieldSet + PartialEq + Serialize + DeserializeOwned {}

impl<T: FieldSet + PartialEq + Serialize + DeserializeOwned> Object for T {}

/// Parses an object. Interfaces that are given by name are looked up.
///
/// # Errors
/// The text is not JSON, a value is invalid, a field is unknown, or an interface does not exist. The path leads to the field.
pub fn parse<T: Object>(bytes: &[u8], names: &mut dyn NameLookup) -> Result<T, InvalidField> {
    let mut given: Value = serde_json::from_slice(bytes)
        .map_err(|error| InvalidField::new(format!("not valid JSON: {error}")))?;
    resolve(&mut given, &interfaces::<T>(), names)?;
    let object = T::deserialize(&given).map_err(|error| invalid_value::<T>(&given, &error))?;
    let known =
        serde_json::to_value(&object).map_err(|error| InvalidField::new(error.to_string()))?;
    for path in to_check(&given, &known) {
        if has_no_effect(&mut given, &path, &object) {
            let name = path[1..].replace('/', ".");
            return Err(InvalidField::new(format!(
                "the field {name:?} is unknown here"
            )));
        }
    }
    Ok(object)
}

/// The lower link of a link, and the namespace that it is in.
pub const LOWER: &str = "lower";
pub const LOWER_NAMESPACE: &str = "lower_namespace";

/// A link has the name of its lower link, which is in another namespace.
pub fn name_in_other_namespace() -> InvalidField {
    let reason = "an interface in another namespace cannot be named: give its index there";
    InvalidField::new(reason).within(LOWER)
}

/// The names of the fields of `T`, and of the sets in it, that are interfaces. No other field with such a name is a text.
fn interfaces<T: FieldSet>() -> HashSet<&'static str> {
    let mut found = HashSet::new();
    collect(T::fields(), &mut HashSet::new(), &mut found);
    found
}

/// `seen` has the sets that were visited: a link may contain a link.
fn collect(
    fields: Vec<FieldShape>,
    seen: &mut HashSet<&'static str>,
    found: &mut HashSet<&'static str>,
) {
    for field in fields {
        let element = match field.shape {
            Shape::List(element) => *element,
            shape => shape,
        };
        match element {
            Shape::Interface => _ = found.insert(field.name),
            Shape::Set(set) if seen.insert(set.name) => collect((set.fields)(), seen, found),
            _ => {}
        }
    }
}

/// Replaces the names of interfaces with their indices.
fn resolve(
    given: &mut Value,
    interfaces: &HashSet<&'static str>,
    names: &mut dyn NameLookup,
) -> Result<(), InvalidField> {
    match given {
        Value::Object(fields) => {
            let is_given = |name| fields.get(name).is_some_and(|field| !field.is_null());
            if is_given(LOWER_NAMESPACE) && fields.get(LOWER).is_some_and(Value::is_string) {
                return Err(name_in_other_namespace());
            }
            for (key, field) in fields {
                let index = match field {
                    Value::String(name) if interfaces.contains(key.as_str()) => names
                        .index(name)
                        .ok_or_else(|| InvalidField::missing_interface(name)),
                    field => {
                        let resolved = resolve(field, interfaces, names);
                        resolved.map_err(|error| error.within(key))?;
                        continue;
                    }
                };
                *field = json!(index.map_err(|error| error.within(key))?.0);
            }
            Ok(())
        }
        Value::Array(elements) => elements
            .iter_mut()
            .try_for_each(|element| resolve(element, interfaces, names)),
        _ => Ok(()),
    }
}

/// Names the field whose value is invalid: the one that is so on its own, too.
fn invalid_value<T: Object>(given: &Value, error: &serde_json::Error) -> InvalidField {
    let invalid = InvalidField::new(plain(&error.to_string()));
    let Value::Object(fields) = given else {
        return InvalidField::new("an object in braces is expected");
    };
    let is_invalid = |(name, value): &(&String, &Value)| {
        let alone = Map::from_iter([((*name).clone(), (*value).clone())]);
        T::deserialize(&Value::Object(alone)).is_err()
    };
    match fields.iter().find(is_invalid) {
        Some((name, _)) => invalid.within(name),
        None => invalid,
    }
}

/// The words of serde without its names of Rust types.
fn plain(text: &str) -> String {
    let Some((found, expected)) = text.rsplit_once(", expected ") else {
        return text.to_owned();
    };
    let expected = match expected {
        "u8" => "a number from 0 to 255",
        "u16" => "a number from 0 to 65535",
        "u32" => "a number from 0 to 4294967295",
        "u64" => "a number from 0 to 18446744073709551615",
        "i8" | "i16" | "i32" | "i64" => "a number",
        "a boolean" => "true or false",
        other => other,
    };
    format!("{found}, expected {expected}")
}

/// The JSON pointers of the fields in `given` that `known` does not have, because they are unknown or null: of fields that
/// differ only in the elements of lists in which they are, the first. So there are not many more than an object has fields.
fn to_check(given: &Value, known: &Value) -> Vec<String> {
    let mut found = AbsentFields::default();
    found.search(&JsonPath::default(), given, Some(known));
    found.paths
}

/// A place in a value: its JSON pointer, and the same without the positions in lists.
#[derive(Default)]
struct JsonPath {
    path: String,
    shape: String,
}

impl JsonPath {
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
struct AbsentFields {
    paths: Vec<String>,
    shapes: HashSet<String>,
}

impl AbsentFields {
    fn search(&mut self, place: &JsonPath, given: &Value, known: Option<&Value>) {
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
    use tapline::net::{
        Addr, Fdb, IfIndex, Link, Neigh, Nexthop, PortVlan, Route, RouteQuery, Rule,
    };

    use super::*;

    /// Knows one interface.
    struct OnlyEth0;

    impl NameLookup for OnlyEth0 {
        fn index(&mut self, name: &str) -> Option<IfIndex> {
            (name == "eth0").then_some(IfIndex(7))
        }

        fn name(&mut self, _: IfIndex) -> Option<String> {
            None
        }
    }

    fn read<T: Object>(text: &str) -> Result<T, InvalidField> {
        parse(text.as_bytes(), &mut OnlyEth0)
    }

    fn refused<T: Object + std::fmt::Debug>(text: &str) -> String {
        let error = read::<T>(text).expect_err("an invalid object");
        let colon = if error.path.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", error.path, error.reason)
    }

    #[test]
    fn interfaces_may_be_named_at_any_depth() {
        let address: Addr = read(r#"{"dev":"eth0","local":"192.0.2.1"}"#).expect("an address");
        assert_eq!(address.dev, Some(IfIndex(7)));
        let route: Route = read(r#"{"dst":"192.0.2.0/24","nexthops":[{"dev":"eth0"},{"dev":9}]}"#)
            .expect("a route");
        let hops = route.nexthops.expect("next hops");
        assert_eq!(
            (hops[0].dev, hops[1].dev),
            (Some(IfIndex(7)), Some(IfIndex(9)))
        );
        let link: Link =
            read(r#"{"name":"v","lower":"eth0","linkinfo":{"info_kind":"vlan"}}"#).expect("a link");
        assert_eq!(link.lower, Some(IfIndex(7)));
        // A rule has the name itself.
        let rule: Rule = read(r#"{"iif":"nowhere0"}"#).expect("a rule");
        assert_eq!(
            rule.iif.map(|name| name.to_string()).as_deref(),
            Some("nowhere0")
        );
        let missing = r#"{"dst":"192.0.2.0/24","nexthops":[{"dev":"nowhere0"}]}"#;
        let missing = read::<Route>(missing).expect_err("no such interface");
        assert!(missing.is_missing_interface);
        assert_eq!(missing.path, "nexthops.dev");
    }

    /// Otherwise the index that the name has in this namespace would be used in the other one.
    #[test]
    fn a_lower_link_in_another_namespace_has_an_index() {
        let named = r#"{"name":"v","lower":"eth0","lower_namespace":3}"#;
        assert_eq!(
            refused::<Link>(named),
            "lower: an interface in another namespace cannot be named: give its index there"
        );
        let numbered: Link = read(r#"{"name":"v","lower":9,"lower_namespace":3}"#).expect("a link");
        assert_eq!(
            (numbered.lower, numbered.lower_namespace),
            (Some(IfIndex(9)), Some(3))
        );
        let here: Link =
            read(r#"{"name":"v","lower":"eth0","lower_namespace":null}"#).expect("a link");
        assert_eq!(here.lower, Some(IfIndex(7)));
    }

    /// A text under one of these names is an interface, wherever it stands.
    #[test]
    fn names_of_fields_with_interfaces_are_names_of_no_texts() {
        fn check<T: FieldSet>() {
            fn shapes(
                fields: Vec<FieldShape>,
                seen: &mut HashSet<&'static str>,
                interfaces: &HashSet<&'static str>,
            ) {
                for field in fields {
                    let is_text = matches!(
                        field.shape,
                        Shape::Text
                            | Shape::Ip
                            | Shape::HardwareAddress
                            | Shape::Prefix
                            | Shape::Named(_)
                            | Shape::Flags(_)
                    );
                    assert!(
                        !is_text || !interfaces.contains(field.name),
                        "{}",
                        field.name
                    );
                    if let Shape::Set(set) = field.shape
                        && seen.insert(set.name)
                    {
                        shapes((set.fields)(), seen, interfaces);
                    }
                }
            }
            shapes(T::fields(), &mut HashSet::new(), &interfaces::<T>());
        }
        check::<Addr>();
        check::<Fdb>();
        check::<Link>();
        check::<Neigh>();
        check::<Nexthop>();
        check::<PortVlan>();
        check::<Route>();
        check::<RouteQuery>();
        check::<Rule>();
    }

    #[test]
    fn what_has_names_may_be_a_number() {
        let same = |number: &str, text: &str| {
            let route: Route = read(number).expect("numbers");
            assert_eq!(route, read(text).expect("texts"));
            assert_eq!(
                serde_json::to_value(route).expect("JSON"),
                serde_json::from_str::<Value>(text).expect("JSON")
            );
        };
        same(
            r#"{"table":100,"protocol":200,"scope":77,"type":99,"flow":{"from":1,"to":2}}"#,
            r#"{"table":"100","protocol":"200","scope":"77","type":"99","flow":{"from":"1","to":"2"}}"#,
        );
        same(r#"{"table":254}"#, r#"{"table":"main"}"#);
        let vlan: PortVlan = read(r#"{"flags":[2]}"#).expect("a flag");
        assert_eq!(vlan, read(r#"{"flags":["PVID"]}"#).expect("a flag"));
        let rule: Rule = read(r#"{"sport":80,"uidrange":"5-6"}"#).expect("a rule");
        assert_eq!(
            rule,
            read(r#"{"sport":"80","uidrange":"5-6"}"#).expect("a rule")
        );
        for wrong in [
            r#"{"table":-1}"#,
            r#"{"protocol":256}"#,
            r#"{"table":4294967296}"#,
            r#"{"table":[7]}"#,
        ] {
            refused::<Route>(wrong);
        }
    }

    #[test]
    fn an_invalid_value_is_named() {
        assert_eq!(
            refused::<Link>(r#"{"name":"b0","mtu":"x"}"#),
            r#"mtu: invalid type: string "x", expected a number from 0 to 4294967295"#
        );
        assert_eq!(
            refused::<Link>(r#"{"name":"a/b"}"#),
            "name: \"a/b\" cannot be the name of an interface: 1 to 15 bytes, without a slash, a colon and spaces"
        );
        assert_eq!(refused::<Link>("7"), "an object in braces is expected");
        let cut = refused::<Link>(r#"{"name":"#);
        assert!(cut.starts_with("not valid JSON: "), "{cut}");
    }

    #[test]
    fn unknown_fields_are_named() {
        assert_eq!(
            refused::<Link>(r#"{"name":"b0","mtuu":1400}"#),
            r#"the field "mtuu" is unknown here"#
        );
        assert_eq!(
            refused::<Link>(
                r#"{"name":"b0","linkinfo":{"info_kind":"vlan","info_data":{"id":7,"idd":null}}}"#
            ),
            r#"the field "linkinfo.info_data.idd" is unknown here"#
        );
        assert_eq!(
            refused::<Route>(r#"{"dst":"192.0.2.0/24","metrics":[{"mtu":1400,"mut":1}]}"#),
            r#"the field "metrics.0.mut" is unknown here"#
        );
    }

    #[test]
    fn known_fields_are_accepted_also_if_they_are_null() {
        let link = r#"{"name":"b0","mtu":null,"linkinfo":{"info_kind":"dummy"}}"#;
        let link: Link = read(link).expect("known fields");
        assert_eq!((link.mtu, link.kind_name()), (None, Some("dummy")));
    }

    #[test]
    fn a_null_field_of_many_elements_is_checked_once() {
        let hop = r#"{"gateway":"192.0.2.1","weight":null,"dev":null}"#;
        let hops = vec![hop; 5000].join(",");
        let text = format!(r#"{{"dst":"192.0.2.0/24","prefsrc":null,"nexthops":[{hops}]}}"#);
        let route: Route = read(&text).expect("known fields");
        let (given, known) = (
            serde_json::from_str(&text).expect("JSON"),
            serde_json::to_value(&route).expect("JSON"),
        );
        let paths = to_check(&given, &known);
        let hops = paths.iter().filter(|path| path.starts_with("/nexthops/"));
        assert!(hops.count() <= 2 && paths.len() <= 4, "{paths:?}");
    }
}
