#![no_main]

use wire::dissect::{Link, MAX_VLANS, Network, dissect};
use wire::packet_id;
use wire::protocol::link_type;
use wire::{HeaderError, PppControl, Pppoe, PppoeTag};

const LINK_TYPES: [u16; 12] = [
    link_type::ETHERNET,
    link_type::NULL,
    link_type::RAW,
    link_type::LOOP,
    link_type::LINUX_SLL,
    link_type::LINUX_SLL2,
    link_type::IPV4,
    link_type::IPV6,
    link_type::PPP,
    link_type::PPP_HDLC,
    link_type::CISCO_HDLC,
    link_type::PPP_WITH_DIRECTION,
];

// The first byte chooses the link type, the rest is the packet.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((choice, packet)) = bytes.split_first() else {
        return;
    };
    let link_type = LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()];
    let summary = dissect(link_type, packet);
    // Only IP packets have an identifier.
    let is_ip = matches!(summary.network, Network::Ipv4(_) | Network::Ipv6(_));
    assert_eq!(packet_id(link_type, packet).is_some(), is_ip);
    assert!(summary.at + summary.payload.len() <= packet.len());
    assert!(summary.vlans().count() <= MAX_VLANS);
    if let Some(HeaderError::Truncated(error)) = summary.error {
        assert!(error.need > error.have);
    }
    if let Link::Ppp(ppp) = summary.link
        && let Ok((control, _)) = PppControl::split(summary.payload, summary.at)
    {
        let _ = (ppp.name(), control.code_name(ppp.protocol()));
    }
    if let Ok((header, rest)) = Pppoe::split(packet, 0) {
        assert!(rest.len() <= usize::from(header.length()));
        let tags: Vec<_> = PppoeTag::all(rest).map(|tag| tag.to_string()).collect();
        assert!(
            tags.concat()
                .bytes()
                .all(|byte| matches!(byte, b' '..=b'~'))
        );
    }
    let _ = (summary.addresses(), summary.ports(), summary.source_mac());
    let _ = format!("{summary:?}");
});
