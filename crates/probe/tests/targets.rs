//! Target lists: which addresses a word names, in which order, and at what cost.

use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use crate::support::targets;
use proptest::prelude::*;
use tapline_probe::targets::{
    AddressFamilies, Cidr, NoResolver, Resolver, TargetError, TargetErrorKind, Targets,
    TargetsBuilder,
};

/// A resolver that knows two hosts and an interface.
struct Names;

impl Resolver for Names {
    fn addresses(&mut self, name: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = match name {
            "both.example" => vec!["fd00::9", "192.0.2.9"],
            "mapped.example" => vec!["::ffff:192.0.2.8"],
            "empty.example" => vec![],
            _ => return Err(io::ErrorKind::NotFound.into()),
        };
        Ok(addresses.into_iter().map(address).collect())
    }

    fn interface(&mut self, name: &str) -> io::Result<u32> {
        match name {
            "left0" => Ok(7),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn all(targets: &Targets) -> Vec<String> {
    let all =
        (0..targets.len()).map(|index| targets.address(index).expect("an address").to_string());
    all.collect()
}

fn wrong(family: AddressFamilies, word: &str) -> TargetError {
    let added = TargetsBuilder::new(family).add(word, &mut Names);
    added.expect_err("the word is wrong")
}

#[test]
fn words_name_hosts_in_the_order_in_which_they_come() {
    let text = "
        # a comment
        192.0.2.1 fd00::1    # two hosts
        10.0.0.0/29\t10.1.0.254-10.1.1.1
        10.2.0.8-10 ::ffff:10.3.0.1
        fd00::fffe-fd00::1:1 # over a border
    ";
    let list = targets(text);
    let want = [
        "192.0.2.1",
        "fd00::1",
        "10.0.0.1",
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.4",
        "10.0.0.5",
        "10.0.0.6",
        "10.1.0.254",
        "10.1.0.255",
        "10.1.1.0",
        "10.1.1.1",
        "10.2.0.8",
        "10.2.0.9",
        "10.2.0.10",
        "10.3.0.1",
        "fd00::fffe",
        "fd00::ffff",
        "fd00::1:0",
        "fd00::1:1",
    ];
    assert_eq!(all(&list), want);
    for (place, text) in (0..).zip(want) {
        assert_eq!(list.find(address(text)), Some(place));
    }
    for absent in [
        "10.0.0.0",
        "10.0.0.7",
        "0.0.0.0",
        "255.255.255.255",
        "::",
        "fd00::2",
        "10.2.0.11",
    ] {
        assert_eq!(list.find(address(absent)), None, "{absent}");
    }
}

#[test]
fn names_and_zones_are_resolved_and_kept() {
    let mut builder = TargetsBuilder::default();
    for word in [
        "both.example",
        "10.0.0.1",
        "fe80::1%left0",
        "mapped.example",
        "fe80::2%3",
    ] {
        builder.add(word, &mut Names).expect("a target");
    }
    let list = builder.build().expect("not too many");
    assert_eq!(
        all(&list),
        ["fd00::9", "10.0.0.1", "fe80::1", "192.0.2.8", "fe80::2"]
    );
    let names: Vec<_> = (0..5).map(|index| list.name(index)).collect();
    assert_eq!(
        names,
        [
            Some("both.example"),
            None,
            None,
            Some("mapped.example"),
            None
        ]
    );
    let zones: Vec<_> = (0..5).map(|index| list.zone(index)).collect();
    assert_eq!(zones, [None, None, Some(7), None, Some(3)]);

    let mut builder = TargetsBuilder::new(AddressFamilies::V4);
    builder.add("both.example", &mut Names).expect("it has one");
    assert_eq!(all(&builder.build().expect("one")), ["192.0.2.9"]);
}

/// RFC 4007, 6: an address of the link may be that of another host on each link.
#[test]
fn an_address_of_two_links_is_two_targets() {
    let mut builder = TargetsBuilder::default();
    let words = "fe80::1%3 10.0.0.1 fe80::1%left0 fe80::1%7 fe80::1%3 fe80::2%3";
    builder.add_list(words, &mut Names).expect("targets");
    let list = builder.build().expect("not too many");
    assert_eq!(all(&list), ["fe80::1", "10.0.0.1", "fe80::1", "fe80::2"]);
    let zones: Vec<_> = (0..4).map(|index| list.zone(index)).collect();
    assert_eq!(zones, [Some(3), None, Some(7), Some(3)]);
    assert_eq!(list.repeated(), 2);
    assert_eq!(list.zones().collect::<Vec<_>>(), [(0, 3), (2, 7), (3, 3)]);
}

#[test]
fn wrong_words_are_told_apart() {
    use TargetErrorKind as Kind;
    let any = AddressFamilies::Any;
    for word in [
        "",
        "10.0.0",
        "10.0.0.256",
        "10.0.0.0/33",
        "fd00::/129",
        "a b",
        "host!",
        "-host",
        "10.0.0.1-x",
        "fd00::1-5",
        "10.0.0.1-256",
        "10.0.0.1%left0",
        "fe80::1%",
        "1.2.3.4.5",
        "fe80::g",
        "10.0.0.0/",
    ] {
        assert!(matches!(wrong(any, word).kind, Kind::Malformed), "{word}");
    }
    assert!(matches!(wrong(any, &"a".repeat(254)).kind, Kind::Malformed));
    assert!(wrong(any, &"a".repeat(5000)).to_string().len() < 150);
    for word in ["10.0.0.9-10.0.0.1", "10.0.0.9-3"] {
        assert!(matches!(wrong(any, word).kind, Kind::Backwards), "{word}");
    }
    for word in ["10.0.0.1-fd00::1", "fd00::1-10.0.0.1"] {
        assert!(matches!(wrong(any, word).kind, Kind::MixedRange), "{word}");
    }
    assert!(matches!(
        wrong(any, "nobody.example").kind,
        Kind::Unresolved { .. }
    ));
    assert!(matches!(wrong(any, "empty.example").kind, Kind::NoAddress));
    assert!(matches!(
        wrong(any, "fe80::1%left9").kind,
        Kind::Zone { .. }
    ));
    assert!(matches!(
        wrong(AddressFamilies::V6, "10.0.0.0/24").kind,
        Kind::WrongFamily
    ));
    assert!(matches!(
        wrong(AddressFamilies::V6, "mapped.example").kind,
        Kind::NoAddress
    ));
    let added =
        TargetsBuilder::default().add_list("10.0.0.1\n\n 10.0.0.2 nobody.example", &mut Names);
    let error = added.expect_err("the third line is wrong");
    assert_eq!(error.to_string(), "line 3: cannot resolve nobody.example");
}

#[test]
fn what_is_excluded_is_no_target_whenever_it_was_said() {
    let mut builder = TargetsBuilder::default();
    let exclude =
        |builder: &mut TargetsBuilder, text: &str| builder.exclude(text.parse().expect("a prefix"));
    exclude(&mut builder, "10.0.0.4/30");
    builder
        .add("10.0.0.0/28", &mut NoResolver)
        .expect("a prefix");
    builder.add("fd00::7", &mut NoResolver).expect("an address");
    exclude(&mut builder, "10.0.0.14");
    exclude(&mut builder, "fd00::/8");
    let list = builder.build().expect("not too many");
    let want = [1, 2, 3, 8, 9, 10, 11, 12, 13].map(|byte| format!("10.0.0.{byte}"));
    assert_eq!(all(&list), want);
    assert_eq!((list.excluded(), list.repeated()), (6, 0));
}

/// Lists of addresses that nobody should use begin with `::/8`, which has the IPv4-mapped addresses.
#[test]
fn a_wide_ipv6_prefix_excludes_no_ipv4_address() {
    const WORDS: &str = "10.0.0.1 ::1 fd00::1 2001:db8::1 ::1:0:0:0 255.255.255.255 0.0.0.1";
    for (prefix, left) in [
        ("::/0", "10.0.0.1 255.255.255.255 0.0.0.1"),
        (
            "::/8",
            "10.0.0.1 fd00::1 2001:db8::1 255.255.255.255 0.0.0.1",
        ),
        (
            "::/80",
            "10.0.0.1 fd00::1 2001:db8::1 ::1:0:0:0 255.255.255.255 0.0.0.1",
        ),
        ("::ffff:0:0/96", "::1 fd00::1 2001:db8::1 ::1:0:0:0"),
        ("0.0.0.0/0", "::1 fd00::1 2001:db8::1 ::1:0:0:0"),
    ] {
        let mut builder = TargetsBuilder::default();
        builder.exclude(prefix.parse().expect("a prefix"));
        builder.add_list(WORDS, &mut NoResolver).expect("targets");
        let list = builder.build().expect("not too many");
        let left: Vec<_> = left.split(' ').collect();
        assert_eq!(all(&list), left, "{prefix}");
    }
}

#[test]
fn large_prefixes_cost_no_more_than_small_ones() {
    let measured = allocation_counter::measure(|| {
        let list = targets("10.0.0.0/9 172.16.0.0/12 192.0.2.1 10.64.0.0/10");
        assert_eq!(list.len(), (1 << 23) - 2 + (1 << 20) - 2 + 1);
        assert_eq!(list.repeated(), (1 << 22) - 2);
        assert_eq!(list.address(4_000_000), Some(address("10.61.9.1")));
        assert_eq!(list.find(address("10.61.9.1")), Some(4_000_000));
    });
    assert!(measured.bytes_max < 10_000, "{}", measured.bytes_max);
}

#[test]
fn more_targets_than_allowed_are_refused_before_they_are_made() {
    for word in ["::/0", "fd00::/64", "0.0.0.0/0", "10.0.0.0/7"] {
        let mut builder = TargetsBuilder::default();
        builder.add(word, &mut NoResolver).expect("a prefix");
        let error = builder.build().expect_err("too many");
        assert!(
            matches!(
                error.kind,
                TargetErrorKind::TooMany {
                    most: 0x0100_0000,
                    ..
                }
            ),
            "{word}"
        );
    }
    let mut builder = TargetsBuilder::default().at_most(u32::MAX);
    builder.add("0.0.0.0/0", &mut NoResolver).expect("a prefix");
    assert_eq!(builder.build().expect("all of it").len(), u32::MAX - 1);
}

#[test]
fn a_single_host_of_a_long_list_takes_the_bytes_of_its_address() {
    let mut text = String::new();
    for number in 0..100_000_u32 {
        let address = Ipv4Addr::from_bits(number.wrapping_mul(2_654_435_761));
        text.push_str(&address.to_string());
        text.push('\n');
    }
    let mut list = None;
    let measured = allocation_counter::measure(|| list = Some(targets(&text)));
    let list = list.expect("a list");
    assert_eq!(list.len(), 100_000);
    let bytes = measured.bytes_current;
    assert!((400_000..401_000).contains(&bytes), "{bytes}");
    for (number, line) in (0..).zip(text.lines()) {
        assert_eq!(list.address(number), Some(address(line)));
        assert_eq!(list.find(address(line)), Some(number));
    }
}

fn word() -> impl Strategy<Value = String> {
    let byte = 0_u8..64;
    prop_oneof![
        byte.clone().prop_map(|last| format!("10.0.0.{last}")),
        byte.clone().prop_map(|last| format!("fd00::{last:x}")),
        (byte.clone(), byte.clone()).prop_map(|(a, b)| format!("10.0.0.{}-{}", a.min(b), a.max(b))),
        (byte.clone(), byte.clone()).prop_map(|(a, b)| format!(
            "fd00::{:x}-fd00::{:x}",
            a.min(b),
            a.max(b)
        )),
        (byte, 26_u8..=32).prop_map(|(last, len)| format!("10.0.0.{last}/{len}")),
    ]
}

/// The addresses of a word, in order.
fn written_out(word: &str) -> Vec<IpAddr> {
    let list = targets(word);
    (0..list.len())
        .filter_map(|index| list.address(index))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Compares with an explicit list and a set of seen addresses.
    #[test]
    fn lists_are_those_of_a_set(
        words in prop::collection::vec(word(), 0..12),
        excluded in prop::collection::vec((0_u8..64, 26_u8..=32), 0..4),
    ) {
        let mut builder = TargetsBuilder::default();
        let prefixes: Vec<Cidr> = excluded
            .iter()
            .map(|(last, len)| Cidr::new(address(&format!("10.0.0.{last}")), *len).expect("short"))
            .collect();
        for prefix in &prefixes {
            builder.exclude(*prefix);
        }
        let is_excluded = |address: &IpAddr| match address {
            IpAddr::V4(address) => excluded.iter().any(|(last, len)| {
                let mask = u32::MAX << (32 - len);
                (address.to_bits() ^ (0x0a00_0000 | u32::from(*last))) & mask == 0
            }),
            IpAddr::V6(_) => false,
        };
        let mut seen = HashSet::new();
        let mut want = Vec::new();
        let (mut repeated, mut out) = (0, 0);
        for word in &words {
            builder.add(word, &mut NoResolver).expect("a target");
            for address in written_out(word) {
                if is_excluded(&address) {
                    out += 1;
                } else if seen.insert(address) {
                    want.push(address);
                } else {
                    repeated += 1;
                }
            }
        }
        let list = builder.build().expect("not too many");
        let found: Vec<_> = (0..list.len()).filter_map(|index| list.address(index)).collect();
        prop_assert_eq!(&found, &want);
        prop_assert_eq!((list.repeated(), list.excluded()), (repeated, out));
        for last in 0..=255 {
            for address in [address(&format!("10.0.0.{last}")), address(&format!("fd00::{last:x}"))] {
                let place = want.iter().position(|own| *own == address);
                prop_assert_eq!(list.find(address), place.map(|place| place as u32));
            }
        }
    }

    #[test]
    fn no_text_is_too_strange(text in "[0-9a-f:./%# \n-]{0,60}") {
        let mut builder = TargetsBuilder::default();
        if builder.add_list(&text, &mut Names).is_ok() {
            let _ = builder.build();
        }
    }
}
