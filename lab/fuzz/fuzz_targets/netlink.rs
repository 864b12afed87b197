#![no_main]

use netlink::codec::{Attributes, attributes, messages};
use netlink::{Addr, Fdb, Link, Neigh, Nexthop, Object, Refusal, Route, Rule};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for message in messages(bytes).flatten() {
        let _ = Link::parse(message.body);
        let _ = Addr::parse(message.body);
        let _ = Neigh::parse(message.body);
        let _ = Fdb::parse(message.body);
        let _ = Route::parse(message.body);
        let _ = Nexthop::parse(message.body);
        let _ = Rule::parse(message.body);
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
