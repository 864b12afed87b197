//! Warnings about tunnel words: when they are reported, and that the rewritten filters match the
//! same packets.

use crate::corpus::packets::all_packets;
use crate::corpus::tunnels::frames;
use tapline_filter::classic::Ancillary;
use tapline_filter::{
    Filter, FilterOptions, FilterTarget, FilterWarning, LinkType, MAX_TEXT_BYTES, NoNames,
};

fn filter(text: &str, options: &FilterOptions) -> Filter {
    Filter::new(text, options, &NoNames).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn warnings(text: &str) -> Vec<FilterWarning> {
    filter(text, &FilterOptions::new(LinkType::Ethernet))
        .warnings()
        .to_vec()
}

#[test]
fn a_warning_has_the_word_and_the_rewritten_filter() {
    let text = "ip6 or vlan 10 or ip";
    let [warning] = warnings(text).try_into().unwrap();
    assert_eq!(warning.word, "vlan");
    assert_eq!(&text[warning.affected.clone()], "ip");
    assert_eq!(warning.rewritten, "ip6 or vlan 10 or ether[16:2] == 0x800");
    assert!(warning.is_expression);
    assert_eq!(warning.caret(text), format!("{text}\n       ^^^^^^^"));
    assert_eq!(
        warning.to_string(),
        "column 8: \"vlan\" makes the term at column 19 match after a VLAN tag, also in packets \
         without one; equivalent filter: ip6 or vlan 10 or ether[16:2] == 0x800"
    );
}

#[test]
fn expected_uses_of_tunnel_words_have_no_warning() {
    for text in [
        "vlan",
        "vlan and tcp port 80",
        "vlan 10 and (ip or arp)",
        "(vlan 10 and ip) and tcp",
        "vlan and not ip",
        "vlan and vlan and ip",
        "vlan 7 and mpls and ip",
        "not (vlan and ip)",
        "not vlan or ip",
        "ip or vlan",
        "tcp or (vlan and tcp)",
        "pppoes and ip",
        "vxlan and (tcp or udp)",
        "geneve 7 and ip",
        // The term reads the same bytes with and without a tag.
        "vlan or less 100",
        "vlan or ether host 1:2:3:4:5:6",
        "vlan or ether[12:2] = 0x800",
        // In a packet without a tunnel, offsets are relative to its start.
        "vxlan or ip",
    ] {
        assert_eq!(warnings(text), [], "{text}");
    }
}

#[test]
fn every_tunnel_word_is_warned_about() {
    let words = |text: &str| -> Vec<String> {
        let words = warnings(text)
            .into_iter()
            .map(|warning| text[warning.span].to_owned());
        words.collect()
    };
    for (text, expected) in [
        ("vlan or ip", vec!["vlan"]),
        ("vlan 10 or vlan 20", vec!["vlan 10"]),
        ("(vlan and ip) or tcp", vec!["vlan"]),
        ("not vlan and ip", vec!["vlan"]),
        ("(ip or vlan) and tcp", vec!["vlan"]),
        ("vlan and (mpls 5 or ip)", vec!["mpls 5"]),
        ("(vlan or mpls) and ip", vec!["vlan", "mpls"]),
        ("(vlan and vlan) or ip", vec!["vlan", "vlan"]),
        ("pppoes 7 or tcp", vec!["pppoes 7"]),
        ("geneve or ip", vec!["geneve"]),
        ("(vxlan and ip) or arp", vec!["vxlan"]),
        ("vlan 1 and ip or vlan 2 and ip", vec!["vlan 1"]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

/// Filters with all tunnel words, in all positions that affect other terms.
fn texts() -> Vec<String> {
    let tunnels = [
        "vlan",
        "vlan 10",
        "mpls",
        "mpls 5",
        "pppoes",
        "pppoes 7",
        "vxlan",
        "vxlan 100",
        "geneve",
        "geneve 200",
    ];
    let terms = [
        "ip",
        "ip6",
        "arp",
        "tcp port 80",
        "host 10.0.0.1",
        "udp",
        "ip[9] = 6",
        "ip proto 17",
        "vlan 20",
        "mpls 6",
        "pppoes 8",
        "tcp[13] & 2 != 0",
        "portrange 50-100",
        "ip host 10.0.0.2",
    ];
    let forms = [
        "TUNNEL or TERM",
        "not TUNNEL and TERM",
        "(TUNNEL and ip) or TERM",
        "(ip or TUNNEL) and TERM",
        "(TUNNEL or arp) and not TERM",
        "TUNNEL or (TERM and greater 60)",
        "vlan 10 or TUNNEL and TERM",
        "ip6 or (TUNNEL and not (TERM or ip)) or TERM",
    ];
    let mut texts = Vec::new();
    for form in forms {
        for tunnel in tunnels {
            for term in terms {
                texts.push(form.replace("TUNNEL", tunnel).replace("TERM", term));
            }
        }
    }
    texts
}

/// The number of filters with rewritten expressions, and of compared packets.
fn compare(
    options: &FilterOptions,
    packets: &[Vec<u8>],
    ancillaries: &[Ancillary],
    is_wanted: impl Fn(&str) -> bool,
) -> (u32, u64) {
    let (mut expressions, mut compared) = (0, 0);
    for text in texts().into_iter().filter(|text| is_wanted(text)) {
        let Ok(original) = Filter::new(&text, options, &NoNames) else {
            // `vlan` is invalid inside a PPPoE session and after an MPLS label.
            continue;
        };
        let Some(warning) = original.warnings().first() else {
            continue;
        };
        if !warning.is_expression {
            assert!(
                warning.rewritten.contains('▸'),
                "{text}: {}",
                warning.rewritten
            );
            continue;
        }
        expressions += 1;
        let rewritten = filter(&warning.rewritten, options);
        assert_eq!(rewritten.warnings(), [], "{text}: {}", warning.rewritten);
        for packet in packets {
            for ancillary in ancillaries {
                let run = |filter: &Filter| filter.run(packet, packet.len() as u32, ancillary);
                assert_eq!(
                    run(&original),
                    run(&rewritten),
                    "{text}: {}: {packet:02x?} {ancillary:?}",
                    warning.rewritten
                );
                compared += 1;
            }
        }
    }
    (expressions, compared)
}

#[test]
fn rewritten_filters_match_the_same_packets() {
    let mut packets = frames();
    let of_corpus = all_packets().into_iter().filter(|packet| packet.link == 1);
    packets.extend(of_corpus.step_by(40).map(|packet| packet.bytes));
    let options = FilterOptions::new(LinkType::Ethernet);
    let (expressions, compared) = compare(&options, &packets, &[Ancillary::default()], |_| true);
    println!("{expressions} expressions, {compared} packets");
    assert!(expressions > 400 && compared > 100_000);
}

#[test]
fn rewritten_filters_match_the_same_truncated_packets() {
    let mut packets = Vec::new();
    for frame in frames() {
        let ends = [14, 15, 16, 17, 18, 20, 24, 28, 34, 38, 46];
        packets.extend(ends.map(|end| frame[..end.min(frame.len())].to_vec()));
    }
    let options = FilterOptions::new(LinkType::Ethernet);
    // Alternatives with the same first test are grouped, which shows in truncated packets.
    let is_wanted = |text: &str| !text.starts_with("ip6 or");
    let (expressions, compared) = compare(&options, &packets, &[Ancillary::default()], is_wanted);
    println!("{expressions} expressions, {compared} packets");
    assert!(expressions > 300 && compared > 100_000);
}

#[test]
fn tags_in_metadata_are_considered() {
    let mut options = FilterOptions::new(LinkType::Ethernet);
    options.target = FilterTarget::Socket;
    let tag = |vlan_tag| Ancillary {
        vlan_tag,
        packet_type: Some(0),
        ..Ancillary::default()
    };
    let (expressions, _) = compare(
        &options,
        &frames(),
        &[tag(None), tag(Some(10)), tag(Some(99))],
        |_| true,
    );
    assert!(expressions > 100, "{expressions}");
    let warning = filter("vlan or ip", &options).warnings()[0].clone();
    assert_eq!(warning.rewritten, "vlan or ether[16:2] == 0x800");
    // A tag with another id may be in the metadata, and then no offset is shifted.
    let warning = filter("vlan 7 or ip", &options).warnings()[0].clone();
    assert_eq!(warning.rewritten, "vlan 7 or vlan 7▸ip");
}

#[test]
fn meanings_without_an_expression_show_the_layers() {
    let mut options = FilterOptions::new(LinkType::Radiotap);
    for (text, rewritten) in [
        ("vlan or ip", "vlan or vlan▸ip"),
        (
            "vlan 7 or (arp and not host 10.0.0.1)",
            "vlan 7 or (vlan 7▸arp and not vlan 7▸host 10.0.0.1)",
        ),
    ] {
        let warnings = filter(text, &options).warnings().to_vec();
        assert_eq!(
            (&*warnings[0].rewritten, warnings[0].is_expression),
            (rewritten, false)
        );
    }
    options.link = LinkType::Ethernet;
    let filter = filter("(vxlan 5 and ip) or arp", &options);
    assert_eq!(
        filter.warnings()[0].rewritten,
        "(vxlan 5 and ip) or vxlan 5▸arp"
    );
}

/// A random filter of `depth` levels with tunnel words anywhere.
fn random_text(seed: &mut u64, depth: u32) -> String {
    const TERMS: &[&str] = &[
        "vlan",
        "vlan 10",
        "vlan 20",
        "mpls",
        "mpls 5",
        "pppoes",
        "vxlan",
        "geneve 100",
        "ip",
        "arp",
        "ip6",
        "tcp port 80",
        "host 10.0.0.1",
        "ether host 2:0:0:0:0:1",
        "greater 60",
        "ip[8:2] & 0xff = 17",
    ];
    let mut pick = |below: usize| {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed >> 20) as usize % below
    };
    let kind = pick(if depth == 0 { 4 } else { 12 });
    match kind {
        0..4 => TERMS[pick(TERMS.len())].to_owned(),
        4 | 5 => format!("not ({})", random_text(seed, depth - 1)),
        _ => {
            let word = if kind < 9 { "and" } else { "or" };
            let (left, right) = (random_text(seed, depth - 1), random_text(seed, depth - 1));
            format!("({left}) {word} ({right})")
        }
    }
}

#[test]
fn rewritten_random_filters_match_the_same_packets() {
    let (frames, mut seed) = (frames(), 0x1234_5678_9abc_def1);
    let (mut warned, mut expressions, mut matched) = (0, 0, 0);
    let options = FilterOptions::new(LinkType::Ethernet);
    for _ in 0..4000 {
        let text = random_text(&mut seed, 4);
        let Ok(original) = Filter::new(&text, &options, &NoNames) else {
            continue;
        };
        let Some(warning) = original.warnings().first() else {
            continue;
        };
        warned += 1;
        if !warning.is_expression {
            continue;
        }
        expressions += 1;
        let rewritten = filter(&warning.rewritten, &options);
        for frame in &frames {
            let run =
                |filter: &Filter| filter.run(frame, frame.len() as u32, &Ancillary::default());
            let verdict = run(&original);
            assert_eq!(
                verdict,
                run(&rewritten),
                "{text}: {}: {frame:02x?}",
                warning.rewritten
            );
            matched += u32::from(verdict != 0);
        }
    }
    println!("{warned} filters with warnings, {expressions} expressions, {matched} matches");
    assert!(expressions > 300 && matched > 1000);
}

#[test]
fn a_long_filter_has_few_and_short_warnings() {
    for part in [
        "vlan or ",
        "vlan or ip or ",
        "ip or vlan 7 or ether[0] = 1 or ",
    ] {
        let text = format!("{}ip", part.repeat(MAX_TEXT_BYTES / 8 / part.len()));
        let warnings = warnings(&text);
        assert!((1..=16).contains(&warnings.len()));
        for warning in warnings {
            assert!(warning.rewritten.len() < 17 << 10 && warning.rewritten.ends_with('…'));
        }
    }
}
