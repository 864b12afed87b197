//! What routers say of one target's probes does not befall the others.

#[path = "support/ping.rs"]
mod ping;

use std::time::Duration;

use lab::Net;
use ping::{open_ping_sockets, options};
use tapline::Stop;
use tapline::ping::{Backend, Event, Pinger};
use tapline::probe::{Message, Prober};

/// Longer than the way behind the router lets through, which is as narrow as IPv6 permits.
const PAYLOAD_BYTES: usize = 1400;
const MTU: u32 = 1280;

#[test]
fn a_narrow_way_to_one_target_drops_no_probe_to_another() {
    for backend in [Backend::Raw, Backend::PingSocket] {
        for targets in ["10.2.0.2 10.1.0.2", "fd00:2::2 fd00:1::2"] {
            // Hosts learn how wide a way is, so each run has its own.
            let net = Net::new();
            let [mut left, mut middle, mut right] = ["left", "middle", "right"].map(lab::Host::new);
            net.join(&mut left, &mut middle);
            net.join(&mut middle, &mut right);
            let [_, far] = middle.interfaces() else {
                panic!("it has two interfaces");
            };
            open_ping_sockets(&left);
            for sysctl in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
                ping::set(&middle, sysctl, "1");
            }
            ping::set(&middle, "ipv4/icmp_ratemask", "0");
            ping::set(&middle, "ipv6/icmp/ratelimit", "0");
            ping::ip(&middle, &format!("link set {} mtu {MTU}", far.name));
            ping::ip(
                &right,
                &format!("link set {} mtu {MTU}", right.interface().name),
            );
            for words in [
                "route add 10.2.0.0/24 via 10.1.0.2",
                "-6 route add fd00:2::/64 via fd00:1::2",
            ] {
                ping::ip(&left, words);
            }
            for words in [
                "route add 10.1.0.0/24 via 10.2.0.1",
                "-6 route add fd00:1::/64 via fd00:2::1",
            ] {
                ping::ip(&right, words);
            }
            let mut options = options(backend, 4);
            options.interval = Duration::ZERO;
            options.payload_bytes = PAYLOAD_BYTES;
            let pinger = left.run(|| Pinger::open(ping::targets(targets), &options));
            let pinger = pinger.expect("it opens");
            let mut told = Vec::new();
            let mut observe = |event: &Event<'_>, _: &Prober| {
                if let Event::Answer {
                    message: Message::Error(error),
                    ..
                } = event
                {
                    told.push(u32::from_be_bytes(error.parameter));
                }
            };
            let outcome = pinger.run(&mut observe, &Stop::new().expect("a stop"));
            let total = outcome.prober.total();
            assert!(total.errors > 0, "{backend:?} {targets}: {total:?}");
            assert!(
                !told.is_empty() && told.iter().all(|mtu| *mtu == MTU),
                "{told:?}"
            );
            let kept: Vec<_> = outcome.local_drops.iter().collect();
            assert!(kept.is_empty(), "{backend:?} {targets}: {kept:?}");
            let near = outcome.prober.counts(1);
            assert_eq!((near.sent, near.received), (4, 4), "{backend:?} {targets}");
        }
    }
}
