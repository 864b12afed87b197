//! Settings that tapline changes are shown by ethtool(8), and the other way round.

use crate::witness::{self, assert_error, name, refused_with, value_printed, words};
use netlink::{Channels, Coalescing, Ethtool, Link, RingSizes, StampedPackets, Veth};
use rustix::io::Errno;
use tapline_lab::Host;

/// A host with a veth pair `a` and `b` of four queues each.
fn host() -> Host {
    let host = Host::new("host");
    let end = |text| Link::named(name(text)).rx_queue_count(4).tx_queue_count(4);
    let pair = end("a").kind(Veth::to(end("b")));
    host.netlink().add(&pair).expect("a pair");
    host
}

/// What `ethtool OPTION a` tells behind `key:`, the last time.
#[track_caller]
fn told(host: &Host, option: &str, key: &str) -> String {
    value_printed(host, &format!("ethtool {option} a"), key)
}

#[track_caller]
fn ethtool(host: &Host) -> Ethtool {
    host.run(Ethtool::open).expect("a handle")
}

#[test]
fn queues_are_set() {
    let host = host();
    let mut ethtool = ethtool(&host);
    ethtool
        .set_channels(name("a"), &Channels::new().receive(2).transmit(3))
        .expect("set");
    assert_eq!(
        (told(&host, "-l", "RX"), told(&host, "-l", "TX")),
        ("2".into(), "3".into())
    );
    witness::run(&host, "ethtool -L a rx 1 tx 4");
    let channels = ethtool
        .channels(name("a"))
        .expect("told")
        .expect("it has queues");
    assert_eq!((channels.receive, channels.transmit), (Some(1), Some(4)));
    assert_eq!(
        (channels.receive_max, channels.transmit_max),
        (Some(4), Some(4))
    );
    // The maximum numbers, which are read-only, are not sent.
    ethtool
        .set_channels(name("a"), &channels.receive(2))
        .expect("set");
    assert_eq!(told(&host, "-l", "RX"), "2");
    assert_error(
        ethtool.set_channels(name("a"), &Channels::new().receive(9)),
        "cannot set queues of link a (a-channels-rx-count: requested channel count exceeds maximum)",
    );
    let absent = ethtool.set_channels(name("nowhere"), &Channels::new().receive(1));
    refused_with(absent, Errno::NODEV);
}

#[test]
fn several_features_are_set_at_once() {
    let host = host();
    let mut ethtool = ethtool(&host);
    ethtool
        .set_features(
            name("a"),
            &[("rx-gro", true), ("tx-tcp-segmentation", false)],
        )
        .expect("set");
    assert_eq!(told(&host, "-k", "generic-receive-offload"), "on");
    assert_eq!(told(&host, "-k", "tx-tcp-segmentation"), "off");
    witness::run(&host, "ethtool -K a gro off tx-tcp-segmentation on");
    let features = ethtool.features(name("a")).expect("told");
    assert!(!features.is_active("rx-gro") && features.is_active("tx-tcp-segmentation"));
    let error = ethtool.set_features(name("a"), &[("rx-gro", true), ("no-such", true)]);
    refused_with(error, Errno::OPNOTSUPP);
    assert!(
        !ethtool
            .features(name("a"))
            .expect("told")
            .is_active("rx-gro")
    );
    let many = vec![("rx-gro", true); 257];
    assert_eq!(
        ethtool
            .set_features(name("a"), &many)
            .expect_err("too many")
            .errno(),
        None
    );
}

/// A tap joins packets that were sent to it.
#[test]
fn interrupt_moderation_is_set() {
    let host = Host::new("host");
    witness::run(&host, "ip tuntap add name a mode tap");
    let mut ethtool = ethtool(&host);
    ethtool
        .set_coalescing(name("a"), &Coalescing::new().receive_frames(32))
        .expect("set");
    assert_eq!(told(&host, "-c", "rx-frames"), "32");
    witness::run(&host, "ethtool -C a rx-frames 16");
    let held = ethtool
        .coalescing(name("a"))
        .expect("told")
        .expect("it has that");
    assert_eq!(
        (held.receive_frames, held.transmit_frames),
        (Some(16), None)
    );
    let error = ethtool.set_coalescing(name("a"), &Coalescing::new().transmit_us(3));
    assert_error(
        error,
        "cannot set interrupt moderation of link a (a-coalesce-tx-usecs: cannot modify an unsupported parameter)",
    );
}

/// A veth has no rings and stamps by software alone; that its driver is reached is in the refusal, which is
/// not the one for a link that is not there.
#[test]
fn what_a_driver_cannot_is_refused() {
    let host = host();
    let mut ethtool = ethtool(&host);
    let refused = [
        ethtool.set_ring_sizes(name("a"), &RingSizes::new().receive(512)),
        ethtool.set_coalescing(name("a"), &Coalescing::new().receive_us(20)),
        ethtool.set_stamped_packets(name("a"), &StampedPackets::default()),
    ];
    for refused in refused {
        refused_with(refused, Errno::OPNOTSUPP);
    }
    assert_eq!(ethtool.ring_sizes(name("a")).expect("an answer"), None);
    assert_eq!(ethtool.stamped_packets(name("a")).expect("an answer"), None);
}

#[test]
fn the_words_of_ethtool_are_those_of_the_tables() {
    let host = Host::new("host");
    let channels: Channels = words(&host, "rx 1 tx 2 other 3 combined 4");
    assert_eq!(
        channels,
        Channels::new().receive(1).transmit(2).other(3).combined(4)
    );
    let rings: RingSizes = words(&host, "rx 1 rx-mini 2 rx-jumbo 3 tx 4 rx-buf-len 5");
    assert_eq!(rings.receive_buffer_bytes, Some(5));
    let held: Coalescing = words(&host, "adaptive-rx on rx-usecs 3 rx-frames 4 tx-usecs 5");
    assert_eq!((held.adaptive, held.transmit_us), (Some(true), Some(5)));
    assert_eq!(
        witness::shown(&host, &rings),
        "rx 1 rx-mini 2 rx-jumbo 3 tx 4 rx-buf-len 5"
    );
}
