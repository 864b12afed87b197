//! The flat encoding of fields, for programs in other languages.
//!
//! The values are generated from the shapes alone, as such a program would do it.

use netlink::schema::{
    FieldReader, FieldSet, FieldSetShape, FieldShape, FieldWriter, NameLookup, Shape, field_id,
};
use netlink::{Addr, Fdb, IfIndex, Link, Mdb, Neigh, Nexthop, PortVlan, Route, RouteQuery, Rule};
use tapline_netlink as netlink;

/// Knows one interface.
struct Names;

impl NameLookup for Names {
    fn index(&mut self, name: &str) -> Option<IfIndex> {
        (name == "eth7").then_some(IfIndex(7))
    }

    fn name(&mut self, index: IfIndex) -> Option<String> {
        (index == IfIndex(7)).then(|| "eth7".to_owned())
    }
}

fn field(id: u32, value: &[u8]) -> Vec<u8> {
    let length = (value.len() as u32).to_ne_bytes();
    [&id.to_ne_bytes()[..], &length, value].concat()
}

/// Values of a shape. Those of text are candidates: a field accepts at least one of them.
fn samples(shape: &Shape, depth: usize) -> Vec<Vec<u8>> {
    let interface = [&7_u32.to_ne_bytes()[..], b"eth7"].concat();
    match shape {
        Shape::Bool => vec![vec![0], vec![1]],
        Shape::Unsigned(bytes) | Shape::Signed(bytes) => vec![vec![0xff; *bytes], vec![0; *bytes]],
        Shape::Named(number) | Shape::Flags(number) => vec![vec![0x5a; number.bytes]],
        Shape::Text => [
            "text",
            "10.0.0.1",
            "80-90",
            "1:2",
            "1/2,3",
            "100/200",
            "1 2",
            "8000.2:0:0:0:0:1",
            "",
        ]
        .map(|text| text.as_bytes().to_vec())
        .to_vec(),
        Shape::Ip => vec![vec![10, 0, 0, 1], vec![0x20; 16]],
        Shape::HardwareAddress => vec![vec![2, 0, 0, 0, 0, 1]],
        Shape::Interface => vec![interface],
        Shape::Prefix => vec![vec![8, 10, 0, 0, 0], [&[64][..], &[0x20; 16]].concat()],
        Shape::List(element) => samples(element, depth)
            .into_iter()
            .map(|value| [&(value.len() as u32).to_ne_bytes()[..], &value].concat())
            .collect(),
        Shape::Set(set) if depth > 0 => (set.fields)()
            .iter()
            .flat_map(|inner| {
                let values = samples(&inner.shape, depth - 1);
                values
                    .into_iter()
                    .map(|value| field(field_id(inner.name), &value))
            })
            .collect(),
        // A peer in a peer.
        Shape::Set(_) => Vec::new(),
        other => panic!("{other:?}"),
    }
}

fn round_trip<T: FieldSet>(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut set = T::default();
    set.take_fields(bytes, &mut FieldReader::new(&mut Names))
        .ok()?;
    let mut names = Names;
    let mut out = FieldWriter::new(Vec::new(), &mut names);
    set.put_fields(&mut out);
    Some(out.into_bytes())
}

fn every_field_returns<T: FieldSet>() {
    for FieldShape { name, shape, .. } in T::fields() {
        // Namespaces have to exist, and are never reported. Counters are read-only and returned all at once.
        if name == "namespace" || matches!(&shape, Shape::Set(set) if set.name == "LinkStatistics")
        {
            continue;
        }
        let values = samples(&shape, 2);
        let is_text = !matches!(shape, Shape::Set(_) | Shape::List(_) | Shape::Text);
        let mut accepted = 0;
        for value in values {
            let bytes = field(field_id(name), &value);
            let returned = round_trip::<T>(&bytes);
            // A set that is empty equals none.
            if returned
                .as_deref()
                .is_some_and(|back| back.ends_with(&bytes))
            {
                accepted += 1;
            } else if is_text {
                panic!("{}.{name}: {value:?} became {returned:?}", T::NAME);
            }
        }
        assert!(accepted > 0, "{}.{name}: {shape:?}", T::NAME);
    }
}

#[test]
fn every_field_of_every_object_is_returned_as_it_was_given() {
    every_field_returns::<Addr>();
    every_field_returns::<Fdb>();
    every_field_returns::<Link>();
    every_field_returns::<Mdb>();
    every_field_returns::<Neigh>();
    every_field_returns::<Nexthop>();
    every_field_returns::<PortVlan>();
    every_field_returns::<Route>();
    every_field_returns::<RouteQuery>();
    every_field_returns::<Rule>();
}

fn ids_differ(set: &FieldSetShape, depth: usize) {
    let fields = (set.fields)();
    let mut ids: Vec<_> = fields.iter().map(|field| field_id(field.name)).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), fields.len(), "{}", set.name);
    for field in &fields {
        if let (Shape::Set(inner), 1..) = (&field.shape, depth) {
            ids_differ(inner, depth - 1);
        }
    }
}

#[test]
fn the_ids_of_a_set_differ() {
    fn check<T: FieldSet>() {
        let (name, doc, fields) = (T::NAME, T::DOC, T::fields);
        ids_differ(&FieldSetShape { name, doc, fields }, 3);
    }
    check::<Addr>();
    check::<Fdb>();
    check::<Link>();
    check::<Mdb>();
    check::<Neigh>();
    check::<Nexthop>();
    check::<PortVlan>();
    check::<Route>();
    check::<RouteQuery>();
    check::<Rule>();
}

#[test]
fn an_interface_is_found_by_its_name() {
    let take = |value: &[u8]| {
        let mut addr = Addr::new();
        let bytes = field(field_id("dev"), value);
        addr.take_fields(&bytes, &mut FieldReader::new(&mut Names))
            .map(|()| addr.dev)
    };
    let named = |name: &str| [&[0; 4][..], name.as_bytes()].concat();
    assert_eq!(take(&named("eth7")), Ok(Some(IfIndex(7))));
    assert_eq!(take(&named("")), Ok(Some(IfIndex(0))));
    let unknown = take(&named("eth8")).expect_err("unknown");
    assert_eq!(unknown.to_string(), "dev: there is no interface \"eth8\"");
}

#[test]
fn an_unknown_field_or_a_setting_of_another_type_is_rejected() {
    let take = |bytes: &[u8]| {
        let mut link = Link::new();
        let taken = link.take_fields(bytes, &mut FieldReader::new(&mut Names));
        taken.map_err(|error| error.reason)
    };
    assert!(take(&field(field_id("colour"), &[1])).is_err());
    let vlan = field(field_id("type"), b"vlan");
    let bridge = field(
        field_id("Bridge"),
        &field(field_id("stp_state"), &[1, 0, 0, 0]),
    );
    assert_eq!(take(&bridge), Ok(()));
    assert_eq!(
        take(&[vlan, bridge].concat()),
        Err("a link of type vlan has no settings Bridge".to_owned())
    );
}
