#![no_main]

use netlink::codec::{Attributes, attributes, messages};
use netlink::explain::{Explanation, explain};
use netlink::{
    Addr, Fdb, KernelError, Link, Mdb, NamespaceNumber, Neigh, Nexthop, Object, PortVlan, Route,
    Rule, Stats,
};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    for message in messages(bytes).flatten() {
        let _ = Link::decode(message.body);
        let _ = Addr::decode(message.body);
        let _ = Neigh::decode(message.body);
        let _ = Fdb::decode(message.body);
        let _ = Route::decode(message.body);
        let _ = Nexthop::decode(message.body);
        let _ = Rule::decode(message.body);
        let _ = Mdb::default().decode_each(message.body, |_| ());
        let _ = PortVlan::default().decode_each(message.body, |_| ());
        let _ = Stats::decode(message.body);
        let _ = NamespaceNumber::decode(message.body);
        let _ = KernelError::decode(message);
        walk(attributes(message.body, 0), 4);
    }
    tell(bytes);
});

/// Puts the bytes into words: each line speaks of bytes that are there, and their number is bounded by theirs.
fn tell(bytes: &[u8]) {
    let mut explanation = Explanation::default();
    let told = explain(bytes, &mut explanation);
    for line in &explanation.lines {
        assert!(line.at + line.bytes <= bytes.len());
        assert!(!line.to_string().is_empty());
    }
    if let Err(malformed) = told {
        assert!(malformed.at <= bytes.len());
    }
    // A header each 4 bytes, at each of the levels that are followed.
    assert!(explanation.lines.len() <= 16 * (bytes.len() / 4 + 1));
}

/// Reads every attribute as everything it may be, down to `depth`.
fn walk(found: Attributes<'_>, depth: u32) {
    for attribute in found.flatten() {
        let _ = (attribute.u8(), attribute.u32(), attribute.text());
        if depth > 0 {
            walk(attribute.attributes(), depth - 1);
        }
    }
}

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tapline_fuzz::mutated(data, (size, max_size), seed, 0, tapline_lab::mutate::netlink)
});
