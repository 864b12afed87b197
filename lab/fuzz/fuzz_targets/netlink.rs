#![no_main]

use netlink::codec::{Attributes, attributes, messages};
use netlink::{
    Addr, Fdb, Link, Mdb, NamespaceNumber, Neigh, Nexthop, Object, PortVlan, Refusal, Route, Rule,
    Stats,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for message in messages(bytes).flatten() {
        let _ = Link::parse(message.body);
        let _ = Addr::parse(message.body);
        let _ = Neigh::parse(message.body);
        let _ = Fdb::parse(message.body);
        let _ = Route::parse(message.body);
        let _ = Nexthop::parse(message.body);
        let _ = Rule::parse(message.body);
        let _ = Mdb::default().parse_each(message.body, |_| ());
        let _ = PortVlan::default().parse_each(message.body, |_| ());
        let _ = Stats::parse(message.body);
        let _ = NamespaceNumber::parse(message.body);
        let _ = Refusal::parse(message);
        walk(attributes(message.body, 0), 4);
    }
});

/// Reads every attribute as everything it may be, down to `depth`.
fn walk(found: Attributes<'_>, depth: u32) {
    for attribute in found.flatten() {
        let _ = (attribute.u8(), attribute.u32(), attribute.text());
        if depth > 0 {
            walk(attribute.attributes(), depth - 1);
        }
    }
}
