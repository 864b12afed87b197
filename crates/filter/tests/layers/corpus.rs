//! The packets of the corpus, many of them damaged, compared with tshark.

use super::SAME;
use super::tshark::Tshark;
use crate::corpus::packets::all_packets;
use std::collections::{BTreeSet, HashMap};
use tapline_filter::classic::Ancillary;
use tapline_filter::{Filter, FilterOptions, LinkType, NoNames};

/// Parts of tshark's protocols behind which `any` does not search, and what they are.
const NOT_PASSED: [(&str, &str); 10] = [
    (
        "arcnet:",
        "libpcap's filters look for the protocol of ARCNET elsewhere",
    ),
    (":avsp:", "Arista's time stamps between Ethernet and IP"),
    (":macsec:", "MACsec"),
    (":ipcomp:", "compressed payload"),
    (":erspan:", "ERSPAN"),
    (":nhrp:", "a packet quoted by NHRP"),
    (":pim:ip", "a packet in a PIM register message"),
    (":icmp:ip", "a packet quoted by ICMP"),
    (":sflow:", "a packet sampled by sFlow"),
    (
        ":ip:ipv6:data",
        "EtherType of IPv4 and version 6: filters take the EtherType",
    ),
];

/// Packets whose layers tshark does not follow: length fields that contradict the packet, and later fragments, which belong
/// to their protocol for a filter.
const NOT_FOLLOWED: &str =
    "_ws.malformed || _ws.short || _ws.expert.severity == error || ip.frag_offset > 0";

/// Filters with `inner`. No tunnel is inside TCP, so that TCP in a packet with a tunnel is inside it. `#` counts the headers of
/// a protocol: all IPv4 headers are inside if the outermost header is that of IPv6, and otherwise all but the first.
const INNER: [(&str, &str); 3] = [
    (
        "inner tcp",
        "tcp && (ip.proto in {4, 41} || ipv6.nxt in {4, 41} || ah.next_header in {4, 41} || gre || vxlan || geneve || gtp)",
    ),
    ("inner ip", "ip.addr#[2-9] || (eth.type#1 == 0x86dd && ip)"),
    (
        "inner ip net 192.168.0.0/16",
        "ip.addr#[2-9] == 192.168.0.0/16 \
         || (eth.type#1 == 0x86dd && (ip.src == 192.168.0.0/16 || ip.dst == 192.168.0.0/16))",
    ),
];

/// IPv6 extension headers that are passed.
const EXTENSION_HEADERS: usize = 6;

/// The filter for each link type that has it.
fn filters(text: &str, links: &BTreeSet<u16>) -> HashMap<u16, Filter> {
    let compile = |link: &u16| {
        let options = FilterOptions::new(LinkType::from_number(*link));
        Some((*link, Filter::new(text, &options, &NoNames).ok()?))
    };
    links.iter().filter_map(compile).collect()
}

/// `LINKTYPE_JUNIPER_ETHER`. The header of these packets has extensions; as libpcap, filters read behind one without.
const JUNIPER_ETHER: u16 = 178;

/// Why tshark may find more.
fn is_not_passed(protocols: &str) -> bool {
    let extensions = protocols.matches(":ipv6.").count();
    extensions > EXTENSION_HEADERS || NOT_PASSED.iter().any(|(part, _)| protocols.contains(part))
}

#[test]
fn the_corpus_is_searched_as_tshark_does() {
    let packets = all_packets();
    let links = packets.iter().map(|packet| packet.link).collect();
    let tshark = Tshark::new(&packets);
    let protocols = tshark.protocols();
    let not_followed = tshark.accepts(NOT_FOLLOWED);
    let mut differences = Vec::new();
    let mut found = Vec::new();
    for (text, display) in SAME.into_iter().chain(INNER) {
        let filters = filters(text, &links);
        let theirs = tshark.accepts(display);
        let mut both = 0;
        for (number, packet) in packets.iter().enumerate() {
            let Some(filter) = filters.get(&packet.link) else {
                continue;
            };
            if packet.link == JUNIPER_ETHER {
                continue;
            }
            let ours = filter.run(&packet.bytes, packet.original_len, &Ancillary::default()) != 0;
            let protocols = &protocols[number];
            // tshark has no dissector for the link type.
            let is_unknown = protocols == "data";
            both += usize::from(ours && theirs[number]);
            let is_explained = if ours {
                theirs[number] || is_unknown || not_followed[number]
            } else {
                !theirs[number] || is_not_passed(protocols)
            };
            if !is_explained {
                differences.push(format!("{text}: {ours}, {} {protocols}", packet.link));
            }
        }
        found.push((text, both));
    }
    // Only one filter searches for an address that is not in the corpus.
    let missing = found.iter().filter(|(_, both)| *both == 0);
    assert_eq!(missing.count(), 1, "{found:?}");
    assert!(differences.is_empty(), "{differences:#?}");
}
