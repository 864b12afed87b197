//! Source addresses and zones of the XDP back end: as the kernel selects them for raw sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use lab::{Host, Net};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket, sockopt};
use tapline::ping::{Backend, PingError, PingEvent, PingOptions, XdpRefusal};
use tapline::send::SendPath;

use super::runs::xdp;
use crate::send::paths::pass_all;
use crate::support::ping::{
    add_address, complete, echoes_answered, open, options, run, targets, try_open,
};

/// The sources of the requests to each destination.
type Sources = BTreeMap<IpAddr, BTreeSet<IpAddr>>;

/// Two hosts that know each other's addresses: `neighbours` are those of the right one, `own` of the left one with its
/// prefix length.
fn pair(own: &[(&str, u8)], neighbours: &[&str]) -> [Host; 2] {
    let [left, right] = Net::new().pair();
    for (address, len) in own {
        add_address(&left, address, *len, "left0");
        introduce(&right, address, &left);
    }
    for address in neighbours {
        introduce(&left, address, &right);
    }
    [left, right]
}

/// Adds an entry for an address of `other`, which is not asked.
fn introduce(host: &Host, address: &str, other: &Host) {
    let (mac, name) = (other.interface().mac, host.interface().name);
    host.ip(&format!(
        "neighbour replace {address} lladdr {mac} dev {name}"
    ));
}

/// Routes `network` to the right host by `via`, where every address of it answers.
fn route(left: &Host, right: &Host, network: &str, via: &str) {
    let family = if network.contains(':') { "-6" } else { "-4" };
    left.ip(&format!("{family} route replace {network} via {via}"));
    right.ip(&format!("{family} route replace local {network} dev lo"));
}

/// Runs to the end. Returns the sources that arrive. Every request is answered, so its checksums are right and its source is
/// this host's.
#[track_caller]
fn sources(hosts: &[Host; 2], options: &PingOptions, words: &str) -> Sources {
    let arrivals = Arrivals::open(&hosts[1]);
    let summary = run(&hosts[0], options, words);
    let total = summary.statistics.total();
    assert_eq!(total.received, total.sent, "{words}: {summary}");
    assert_eq!(total.local_drops, 0, "{words}: {summary}");
    arrivals.sources()
}

/// A packet socket that receives the packets of its host.
struct Arrivals(OwnedFd);

impl Arrivals {
    fn open(host: &Host) -> Self {
        let all = u32::from((libc::ETH_P_ALL as u16).to_be());
        let all = Protocol::from_raw(all.try_into().expect("not zero"));
        let open = || socket(AddressFamily::PACKET, SocketType::DGRAM, Some(all));
        let socket = host.run(open).expect("a packet socket");
        sockopt::set_socket_recv_buffer_size_force(&socket, 64 << 20).expect("a buffer");
        Self(socket)
    }

    /// What has arrived so far: a reply leaves after its request has passed the socket.
    fn sources(&self) -> Sources {
        let mut found = Sources::new();
        let mut packet = [0; 256];
        loop {
            match recv(&self.0, &mut packet, RecvFlags::DONTWAIT) {
                Ok((len, _)) => {
                    if let Some((source, destination)) = request(&packet[..len.min(256)]) {
                        found.entry(destination).or_default().insert(source);
                    }
                }
                Err(Errno::AGAIN) => return found,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Source and destination of a packet that is an echo request.
fn request(packet: &[u8]) -> Option<(IpAddr, IpAddr)> {
    let v4 = |at: usize| Some(Ipv4Addr::from(*packet.get(at..)?.first_chunk::<4>()?));
    let v6 = |at: usize| Some(Ipv6Addr::from(*packet.get(at..)?.first_chunk::<16>()?));
    match (packet.first()? >> 4, packet.get(20)?, packet.get(40)?) {
        (4, 8, _) if packet[9] == 1 => Some((v4(12)?.into(), v4(16)?.into())),
        (6, _, 128) if packet[6] == 58 => Some((v6(8)?.into(), v6(24)?.into())),
        _ => None,
    }
}

/// Each of `pairs`: destination and source.
fn expected(pairs: &[(&str, &str)]) -> Sources {
    let parse = |text: &str| text.parse::<IpAddr>().expect("an address");
    let pairs = pairs.iter();
    pairs
        .map(|(to, from)| (parse(to), BTreeSet::from([parse(from)])))
        .collect()
}

/// Two subnets on the interface, `src` in a route by a gateway that serves others without, and addresses of the link.
#[test]
fn each_target_is_pinged_from_the_address_that_its_route_selects() {
    let hosts = pair(
        &[
            ("10.9.0.1", 24),
            ("10.1.0.77", 24),
            ("fd00:9::1", 64),
            ("fe80::1", 64),
        ],
        &["10.9.0.2", "fd00:9::2", "fe80::2"],
    );
    let [left, right] = &hosts;
    for (address, len) in [("10.9.0.2", 24), ("fd00:9::2", 64), ("fe80::2", 64)] {
        add_address(right, address, len, "right0");
    }
    route(left, right, "10.2.0.0/24", "10.1.0.2 src 10.1.0.77");
    route(left, right, "10.3.0.0/24", "10.1.0.2");
    route(left, right, "fd00:2::/64", "fd00:1::2 src fd00:9::1");
    route(left, right, "fd00:3::/64", "fd00:1::2 src fd00:1::1");
    let link = format!("fe80::2%{}", left.interface().index.0);
    let words = format!(
        "{link} fd00:9::2 fd00:1::2 fd00:2::7 fd00:3::7 10.1.0.2 10.9.0.2 10.2.0.7 10.3.0.7"
    );
    let want = expected(&[
        ("fe80::2", "fe80::1"),
        ("fd00:9::2", "fd00:9::1"),
        ("fd00:1::2", "fd00:1::1"),
        ("fd00:2::7", "fd00:9::1"),
        ("fd00:3::7", "fd00:1::1"),
        ("10.1.0.2", "10.1.0.1"),
        ("10.9.0.2", "10.9.0.1"),
        ("10.2.0.7", "10.1.0.77"),
        ("10.3.0.7", "10.1.0.1"),
    ]);
    let raw = options(Backend::Raw, 2);
    assert_eq!(sources(&hosts, &raw, &words), want);
    let _pass = pass_all(right);
    for path in [SendPath::LiveFrames, SendPath::Xdp] {
        // Once to each, and several times.
        for count in [1, 3] {
            let mut options = xdp(count);
            options.send_path = path;
            let found = sources(&hosts, &options, &words);
            assert_eq!(found, want, "{path:?}, {count}");
        }
    }
}

/// A source that is given selects the route too, if a rule says so.
#[test]
fn a_given_source_is_that_of_all_and_selects_routes() {
    let hosts = pair(
        &[("10.1.0.77", 24), ("fd00:1::77", 64)],
        &["10.1.0.3", "fd00:1::3"],
    );
    let [left, right] = &hosts;
    let _pass = pass_all(right);
    for (family, source, network, gateway, other) in [
        ("-4", "10.1.0.77", "10.4.0.0/24", "10.1.0.3", "10.1.0.2"),
        ("-6", "fd00:1::77", "fd00:4::/64", "fd00:1::3", "fd00:1::2"),
    ] {
        left.ip(&format!("{family} rule add from {source} table 77"));
        left.ip(&format!(
            "{family} route add {network} via {gateway} table 77"
        ));
        right.ip(&format!("{family} route add local {network} dev lo"));
        let target = network.replace("0/24", "7").replace("::/64", "::7");
        let mut raw = options(Backend::Raw, 2);
        let mut options = xdp(2);
        // Without the rule, no interface leads to it.
        options.interface = None;
        let error = try_open(left, &options, &target).expect_err("no route");
        assert!(matches!(error, PingError::NoInterface), "{error:?}");
        raw.source = Some(source.parse().expect("an address"));
        options.source = raw.source;
        let words = format!("{target} {other}");
        let want = expected(&[(&target, source), (other, source)]);
        assert_eq!(sources(&hosts, &raw, &words), want);
        assert_eq!(sources(&hosts, &options, &words), want);
    }
}

/// With so many targets, lookups are shared. Routes select sources of IPv4; of IPv6 the destinations do as well.
#[test]
fn targets_of_a_sweep_have_the_source_of_their_route() {
    let hosts = pair(&[("10.1.0.77", 24), ("2001:db8:1::1", 64)], &[]);
    let [left, right] = &hosts;
    let _pass = pass_all(right);
    route(left, right, "10.64.0.0/17", "10.1.0.2");
    route(left, right, "10.64.8.0/21", "10.1.0.2 src 10.1.0.77");
    left.ip("-6 route add default via fd00:1::2");
    right.ip("-6 route add 2001:db8:1::/64 dev right0");
    for network in ["fd77::/64", "2001:db8:77::/64"] {
        right.ip(&format!("-6 route add local {network} dev lo"));
    }
    for words in [
        "10.64.0.0/20",
        "10.64.0.0/21 10.64.8.0/21 10.64.16.0-10.64.16.255",
        "fd77::0-fd77::7ff 2001:db8:77::0-2001:db8:77::8ff",
    ] {
        let mut raw = options(Backend::Raw, 1);
        raw.interval = Duration::ZERO;
        raw.rate_pps = Some(20_000);
        let want = sources(&hosts, &raw, words);
        let kinds: BTreeSet<_> = want.values().flatten().collect();
        assert_eq!(kinds.len(), 2, "{kinds:?}");
        for count in [1, 2] {
            let mut options = xdp(count);
            options.allow_uplink = true;
            let found = sources(&hosts, &options, words);
            assert!(found == want, "{words}, {count}");
        }
    }
}

/// The gateway is the same, and its address known.
#[test]
fn a_source_that_changes_with_the_route_is_followed() {
    let hosts = pair(&[("10.1.0.77", 24)], &[]);
    let [left, right] = &hosts;
    let _pass = pass_all(right);
    route(left, right, "10.2.0.0/24", "10.1.0.2");
    let arrivals = Arrivals::open(right);
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(10);
    options.duration = Some(Duration::from_secs(20));
    let ping = open(left, &options, "10.2.0.1");
    let stopper = ping.stopper();
    let mut sources = BTreeSet::new();
    let summary = complete(ping, |_, statistics| {
        if statistics.total().received == 0 {
            return;
        }
        let before = sources.len();
        sources.extend(arrivals.sources().into_values().flatten());
        match (before, sources.len()) {
            (0, 1) => {
                left.ip("route replace 10.2.0.0/24 via 10.1.0.2 src 10.1.0.77");
            }
            (_, 2) => stopper.stop(),
            _ => {}
        }
    });
    let want: [IpAddr; 2] = [[10, 1, 0, 1].into(), [10, 1, 0, 77].into()];
    assert_eq!(sources, BTreeSet::from(want), "{summary}");
}

/// With so many targets, lookups are shared. A route within those of others comes and goes: its targets follow, and no other.
#[test]
fn a_route_to_some_of_many_targets_is_followed() {
    let hosts = pair(&[("10.1.0.77", 24)], &[]);
    let [left, right] = &hosts;
    let _pass = pass_all(right);
    route(left, right, "10.64.0.0/16", "10.1.0.2");
    let [usual, other]: [IpAddr; 2] = [[10, 1, 0, 1].into(), [10, 1, 0, 77].into()];
    let arrivals = Arrivals::open(right);
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(500);
    options.duration = Some(Duration::from_mins(1));
    let ping = open(left, &options, "10.64.0.0-10.64.31.255");
    let stopper = ping.stopper();
    // The sources of the latest requests, and what is expected next.
    let (mut latest, mut phase) = (BTreeMap::new(), 0);
    let is_within = |address: &IpAddr| matches!(address, IpAddr::V4(to) if to.octets()[2] == 9);
    let summary = complete(ping, |_, _| {
        for (to, from) in arrivals.sources() {
            latest.extend(from.last().map(|from| (to, *from)));
        }
        let is_complete = latest.len() == 8192;
        let has = |expected: IpAddr| {
            latest
                .iter()
                .all(|(to, from)| !is_within(to) || *from == expected)
        };
        let has_others = latest
            .iter()
            .all(|(to, from)| is_within(to) || *from == usual);
        assert!(has_others, "those beside it stay as they are");
        match phase {
            0 if is_complete && has(usual) => {
                left.ip("route add 10.64.9.0/24 via 10.1.0.2 src 10.1.0.77");
                phase = 1;
            }
            1 if has(other) => {
                left.ip("route del 10.64.9.0/24");
                phase = 2;
            }
            2 if has(usual) => stopper.stop(),
            _ => {}
        }
    });
    assert_eq!(phase, 2, "{summary}");
    assert_eq!(summary.ended, tapline::ping::Ended::Stopped, "{summary}");
}

/// A run has one interface. The same address may be that of another host on another one.
#[test]
fn a_zone_of_another_interface_is_refused() {
    let hosts = pair(&[("fe80::1", 64)], &["fe80::2"]);
    let [left, right] = &hosts;
    add_address(right, "fe80::2", 64, "right0");
    let _pass = pass_all(right);
    left.ip("link add veth7 type veth peer name veth8");
    left.ip("link set veth7 up");
    left.ip("link set veth8 up");
    let other = left
        .netlink()
        .link_named("veth7")
        .expect("a link")
        .ifindex();
    let own = left.interface().index;
    let words = format!("fe80::2%{} fe80::2%{}", own.0, other.0);
    let Err(error) = try_open(left, &xdp(1), &words) else {
        panic!("it is refused");
    };
    let refusal = XdpRefusal::Zone {
        address: "fe80::2".parse().expect("an address"),
        zone: "veth7".into(),
        link: "left0".into(),
    };
    assert!(matches!(error, PingError::XdpRefused(found) if found == refusal));
    // Nothing is sent to one that is added later.
    let mut options = xdp(1);
    options.count = None;
    options.interval = Duration::from_millis(10);
    options.duration = Some(Duration::from_secs(20));
    options.both_families = true;
    let ping = open(left, &options, "10.1.0.2");
    let added = targets(&format!("fe80::2%{}", other.0));
    ping.control().add(added).expect("it runs");
    let stopper = ping.stopper();
    let mut refused = None;
    let summary = complete(ping, |event, _| {
        if let PingEvent::NotSent { probe, error } = event {
            refused = Some((probe.target, error.raw_os_error()));
            stopper.stop();
        }
    });
    assert_eq!(refused, Some((1, Some(libc::ENETUNREACH))), "{summary}");
    assert_eq!(summary.statistics.counts(1).sent, 0);
}

mod vrf {
    use super::*;

    /// Without the VRF, no route leads to them. Compared with the requests that the kernel of the other end counts.
    #[test]
    fn targets_are_reached_by_an_interface_in_a_vrf() {
        if crate::VM.has_run() {
            return;
        }
        let [left, right] = Net::new().pair();
        let _pass = pass_all(&right);
        let mac = right.interface().mac;
        for line in [
            "link add red type vrf table 100",
            "link set red up",
            "link set left0 master red",
            // The kernel forgets these when the interface joins.
            "-6 address replace fd00:1::1/64 dev left0 nodad",
            &format!("neighbour replace 10.1.0.2 lladdr {mac} dev left0"),
            &format!("neighbour replace fd00:1::2 lladdr {mac} dev left0"),
            "route add 10.2.0.0/24 via 10.1.0.2 dev left0 table 100",
            "-6 route add fd02::/64 via fd00:1::2 dev left0 table 100",
        ] {
            left.ip(line);
        }
        for (family, network) in [("-4", "10.2.0.0/24"), ("-6", "fd02::/64")] {
            right.ip(&format!("{family} route add local {network} dev lo"));
        }
        let words = "10.1.0.2 10.2.0.1 fd00:1::2 fd02::1";
        let total = run(&left, &xdp(2), words).statistics.total();
        assert_eq!((total.sent, total.local_drops), (8, 0));
        assert_eq!((total.received, total.lost), (8, 0));
        assert_eq!(echoes_answered(&right), [4, 4]);
        let own = try_open(&left, &xdp(2), "10.1.0.1").expect_err("it is refused");
        assert!(matches!(own, PingError::XdpRefused(XdpRefusal::OwnAddress)));
    }
}
