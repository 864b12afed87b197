//! The generator of the library: no allocation, no panic on any text, and the generated packets arrive.

use allocation_counter::measure;
use proptest::prelude::*;
use tapline::send::{
    AddressMap, Addresses, Generator, GeneratorError, PacketKind, Ports, SendQueue, Sizes,
};

fn udp() -> Generator {
    Generator::new(PacketKind::Udp)
        .source("random:10.0.0.0/8".parse().unwrap())
        .destination("10.0.0.0/8,11.0.0.0/30".parse().unwrap())
        .source_ports("1024-65535".parse().unwrap())
}

#[test]
fn no_memory_is_allocated_per_packet() {
    for generator in [
        udp(),
        udp()
            .stamp(1)
            .vlan(5)
            .sizes("random:100-1514".parse().unwrap()),
    ] {
        let mut source = generator.into_source().unwrap();
        let mut queue = SendQueue::with_capacity(512, 1 << 20);
        source(&mut queue).unwrap();
        let info = measure(|| {
            for _ in 0..1000 {
                queue.clear();
                source(&mut queue).unwrap();
                assert!(!queue.is_empty());
            }
        });
        assert_eq!(info.count_total, 0, "{info:?}");
    }
}

#[test]
fn a_generator_says_what_is_missing() {
    let refused = |generator: Generator| generator.into_source().err().unwrap();
    let without = Generator::new(PacketKind::Udp);
    assert!(matches!(refused(without), GeneratorError::NoDestination));
    let short = udp().sizes(Sizes::from(41));
    let wrong = refused(short);
    assert!(
        matches!(
            wrong,
            GeneratorError::TooShort {
                bytes: 41,
                need: 42
            }
        ),
        "{wrong}"
    );
    let kind = refused(Generator::new(PacketKind::Arp).stamp(1));
    assert!(
        matches!(kind, GeneratorError::NotInKind { kind: "ARP", .. }),
        "{kind}"
    );
}

/// Parts of valid and invalid values.
const PARTS: [&str; 16] = [
    "10.0.0.1", "fd00::", "/24", "/129", "-", ",", "random:", "imix", "0", "65535", "99999", "=",
    ":", "::", "64", " ",
];

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 0..8), text in ".{0,20}") {
        for text in [parts.concat(), text] {
            if let Ok(addresses) = text.parse::<Addresses>() {
                prop_assert!(addresses.count() > 0);
                prop_assert_eq!(addresses.first().is_ipv6(), addresses.is_ipv6());
            }
            if let Ok(ports) = text.parse::<Ports>() {
                prop_assert!((1..=65_536 * 4).contains(&ports.count()));
            }
            if let Ok(sizes) = text.parse::<Sizes>() {
                let (least, most) = sizes.bounds();
                prop_assert!(least <= most && most <= 65_549);
            }
            if let Ok(map) = text.parse::<AddressMap>() {
                let mapped = ["10.0.0.1", "fd00::1"].map(|a| map.apply(a.parse().unwrap()));
                prop_assert!(mapped.iter().flatten().count() <= 1);
            }
        }
    }
}
