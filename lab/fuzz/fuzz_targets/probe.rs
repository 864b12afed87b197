#![no_main]

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use probe::targets::{Resolver, TargetsBuilder};
use probe::{
    Classification, IcmpMessage, NextAction, ProbePlan, Prober, RunKey, parse_icmpv4, parse_icmpv6,
    parse_ipv4, parse_ipv6,
};

/// Every name is one host, every zone one interface.
struct Names;

impl Resolver for Names {
    fn addresses(&mut self, _: &str) -> io::Result<Vec<IpAddr>> {
        Ok(vec![Ipv6Addr::LOCALHOST.into()])
    }

    fn interface(&mut self, _: &str) -> io::Result<u32> {
        Ok(1)
    }
}

/// Reads the bytes as a list of targets; each that is one can be found. Names that are followed have targets of their
/// own, which share an address.
fn list(text: &str) {
    let mut builder = TargetsBuilder::default().follow_names();
    let _ = builder.add_list(text, &mut Names);
    let _ = builder.build();
    let mut builder = TargetsBuilder::default();
    let _ = builder.add_list(text, &mut Names);
    let Ok(targets) = builder.build() else {
        return;
    };
    for index in [0, targets.len() / 2, targets.len().saturating_sub(1)] {
        if index < targets.len() {
            let address = targets
                .address(index)
                .expect("a list without names that are followed");
            assert_eq!(targets.find(address), Some(index));
        }
    }
}

/// Reads the bytes as packets that answer a run of four probes with `payload_bytes` bytes of payload, with and without paths:
/// whatever they say, it adds up.
fn answers(bytes: &[u8], paths: u8, payload_bytes: usize) {
    let mut builder = TargetsBuilder::default();
    builder
        .add_list("10.1.0.2 fd00:1::2", &mut Names)
        .expect("two targets");
    let plan = ProbePlan {
        rounds: Some(2),
        interval_ns: 0,
        rate_pps: None,
        payload_bytes,
        ..ProbePlan::new(0x1234, RunKey([0, 0]))
    };
    let targets = builder.build().expect("two").with_paths(paths);
    let mut prober = Prober::new(&plan, targets).expect("a plan");
    while let NextAction::Send(probe) = prober.next(0) {
        prober.sent(probe, 0);
    }
    let size = usize::from(bytes.first().copied().unwrap_or(1)).max(1);
    for packet in bytes.chunks(size) {
        let messages = [
            parse_ipv4(packet),
            parse_ipv6(packet),
            parse_icmpv4(Ipv6Addr::LOCALHOST.into(), None, packet, true),
            parse_icmpv6(Ipv6Addr::LOCALHOST, None, packet),
        ];
        for message in messages.into_iter().flatten() {
            let verdict = prober.received(&message, Some(1000), 1000);
            if let (IcmpMessage::Reply(reply), Classification::Received { .. }) = (message, verdict)
            {
                assert!(reply.payload.len() == payload_bytes && reply.intact);
            }
        }
    }
    prober.expire(u64::MAX, |_| ());
    let total = prober.total();
    assert_eq!(total.sent, 4 * u64::from(paths.max(1)));
    assert_eq!(
        total.sent,
        total.received + total.late + total.errors + total.lost
    );
}

// The bytes are a list of targets where they are text, and packets whatever they are.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(text) = std::str::from_utf8(bytes) {
        list(text);
    }
    answers(bytes, 0, 16);
    // Paths need two bytes that hold the checksum constant.
    answers(bytes, 2, 18);
    // Without room for a cookie.
    for payload_bytes in [3, 5, 9] {
        answers(bytes, 0, payload_bytes);
    }
});
