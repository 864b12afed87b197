//! `Filter::explain`: the result of each term for one packet.

use crate::corpus::names::Table;
use crate::corpus::packets::{Packet, all_packets};
use crate::corpus::tunnels::{ethernet, frames, ip4, tcp};
use crate::corpus::{entries, options_of};
use tapline_filter::classic::Ancillary;
use tapline_filter::{
    Filter, FilterErrorReason, FilterOptions, FilterTarget, LinkType, NoNames, TermResult,
};

fn filter(text: &str) -> Filter {
    Filter::new(text, &FilterOptions::new(LinkType::Ethernet), &NoNames).unwrap()
}

/// A TCP segment to port 80 from 10.0.0.1 to 10.0.0.2.
fn segment() -> Vec<u8> {
    ethernet(0x0800, &ip4(6, false, &tcp(80)))
}

fn shown(text: &str, packet: &[u8]) -> String {
    let filter = filter(text);
    let explanation = filter.explain(packet, packet.len() as u32, &Ancillary::default());
    explanation.to_string()
}

#[test]
fn terms_are_marked_with_their_results() {
    assert_eq!(
        shown(
            "tcp port 80 and not (arp or host 10.0.0.2 or 10.0.0.9)",
            &segment()
        ),
        "\
tcp port 80 and not (arp or host 10.0.0.2 or 10.0.0.9)
^^^^^^^^^^^                                             true
                     ^^^                                false
                            ^^^^^^^^^^^^^               true, which decides
                                             ^^^^^^^^   not evaluated
rejected
"
    );
    assert_eq!(
        shown("ip6 or tcp", &segment()),
        "\
ip6 or tcp
^^^         false
       ^^^  true, which decides
accepted, keeps 262144 bytes
"
    );
}

#[test]
fn a_term_with_missing_bytes_decides() {
    let packet = &segment()[..36];
    let filter = filter("arp or tcp dst port 80 or udp");
    let explanation = filter.explain(packet, 60, &Ancillary::default());
    let outcomes: Vec<TermResult> = explanation.terms.iter().map(|term| term.result).collect();
    let missing = TermResult::Missing {
        offset: 36,
        bytes: 2,
    };
    assert_eq!(
        outcomes,
        [TermResult::False, missing, TermResult::NotEvaluated]
    );
    assert_eq!((explanation.verdict, explanation.decided_by), (0, Some(1)));
    assert_eq!(outcomes[1].to_string(), "no 2 bytes at 36");
}

#[test]
fn division_by_zero_and_missing_metadata_are_reported() {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = FilterTarget::Socket;
    for (text, outcome) in [
        ("len / ether[0] = 1", TermResult::DivisionByZero),
        ("ifindex 3", TermResult::Unknown),
    ] {
        let filter = Filter::new(text, &options, &NoNames).unwrap();
        let explanation = filter.explain(&[0; 60], 60, &Ancillary::default());
        assert_eq!(explanation.terms[0].result, outcome, "{text}");
        assert_eq!(explanation.verdict, 0);
    }
}

#[test]
fn an_incomplete_first_header_is_reported() {
    let filter = Filter::new("ip", &FilterOptions::new(LinkType::Radiotap), &NoNames).unwrap();
    let explanation = filter.explain(&[0, 0], 60, &Ancillary::default());
    assert_eq!(
        explanation.no_header,
        Some(TermResult::Missing {
            offset: 3,
            bytes: 1
        })
    );
    assert_eq!(
        explanation.to_string(),
        "ip\n^^  not evaluated\nrejected: the header before the frame has no byte at 3\n"
    );
}

#[test]
fn terms_share_the_variables_of_a_tunnel() {
    for frame in frames() {
        for text in [
            "vxlan 100 and tcp port 80",
            "geneve and (arp or ip6)",
            "vlan 10 or ip",
        ] {
            let filter = filter(text);
            let explanation = filter.explain(&frame, frame.len() as u32, &Ancillary::default());
            assert!(explanation.decided_by.is_some(), "{text}: {frame:02x?}");
        }
    }
}

#[test]
fn a_long_filter_lists_the_terms_that_are_not_false() {
    let hosts: Vec<String> = (0..3000)
        .map(|host| format!("host 10.0.{}.{}", host >> 7, host & 127))
        .collect();
    assert_eq!(
        shown(&hosts.join("\nor "), &segment()),
        "\
column 18: host 10.0.0.1: true, which decides
1 more term: false
2998 more terms: not evaluated
accepted, keeps 262144 bytes
"
    );
}

#[test]
fn every_term_has_the_result_that_it_has_alone() {
    let texts = [
        "tcp",
        "arp",
        "host 10.0.0.1",
        "ip6 proto 17",
        "portrange 50-100",
        "udp port 4789",
        "ip[9] = 6",
        "less 70",
    ];
    let joined = format!("({})", texts.join(" and len > 0) or ("));
    let whole = filter(&joined);
    for frame in frames() {
        let length = frame.len() as u32;
        let explanation = whole.explain(&frame, length, &Ancillary::default());
        let mut asked = 0;
        for term in explanation
            .terms
            .iter()
            .filter(|term| term.result != TermResult::NotEvaluated)
        {
            let alone = filter(&joined[term.span.clone()]);
            let holds = alone.run(&frame, length, &Ancillary::default()) != 0;
            let expected = if holds {
                TermResult::True
            } else {
                TermResult::False
            };
            assert_eq!(term.result, expected, "{}", &joined[term.span.clone()]);
            asked += 1;
        }
        assert!(asked > 0);
    }
}

#[test]
fn the_terms_lead_to_the_verdict_of_every_filter_of_the_corpus() {
    let packets = all_packets();
    let ancillary = Ancillary {
        packet_type: Some(0),
        vlan_tag: Some(10),
        interface_index: Some(1),
        ..Ancillary::default()
    };
    let (mut seed, mut explained) = (1u64, 0);
    for entry in entries("accept.json") {
        let options = options_of(&entry);
        let text = entry["expressions"][0].as_str().unwrap();
        let filter = match Filter::new(text, &options, &Table) {
            Ok(filter) => filter,
            Err(error) => {
                assert_eq!(error.reason, FilterErrorReason::RejectsAll, "{text}");
                continue;
            }
        };
        let is_wanted = |packet: &&Packet| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            packet.link == options.link.number() && (seed >> 33).is_multiple_of(20)
        };
        for packet in packets.iter().filter(is_wanted) {
            let explanation = filter.explain(&packet.bytes, packet.original_len, &ancillary);
            assert_eq!(
                explanation.verdict,
                filter.run(&packet.bytes, packet.original_len, &ancillary)
            );
            let is_decided = explanation.decided_by.is_some() || explanation.terms.is_empty();
            assert!(
                is_decided || explanation.no_header.is_some(),
                "{text}: {explanation}"
            );
            explained += 1;
        }
    }
    println!("{explained} explanations");
    assert!(explained > 3000);
}
