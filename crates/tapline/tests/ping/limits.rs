//! Runs that reach limits of the host.

use crate::support::ping;
use std::net::Ipv6Addr;
use std::time::Duration;

use crate::support::ping::{
    BACKENDS, add_address, complete, open, open_ping_sockets, options, run, try_open,
};
use lab::{Host, Net};
use rustix::net::{AddressFamily, RecvFlags, SocketType, ipproto, recv, socket};
use tapline::ping::{Backend, PingError};
use wire::Ipv4;

#[test]
fn answers_that_find_no_room_are_told_from_those_that_never_came() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    for backend in [Backend::Raw, Backend::PingSocket] {
        let mut options = options(backend, 4000);
        // Room for a few answers, of which eight come between two looks.
        options.buffer_bytes = 2048;
        options.interval = Duration::ZERO;
        options.timeout = Duration::from_secs(1);
        let answered = ping::echoes_answered(&right)[0];
        let summary = run(&left, &options, "10.1.0.2");
        let total = summary.statistics.total();
        let overruns = summary.overruns.expect("the kernel says");
        assert!(overruns > 0, "{backend:?}: the room is enough");
        assert_eq!(total.sent, 4000);
        assert_eq!(ping::echoes_answered(&right)[0] - answered, 4000);
        assert_eq!(
            (total.received + overruns, total.lost),
            (4000, overruns),
            "{backend:?}"
        );
    }
}

#[test]
fn an_address_of_the_link_is_reached_by_its_zone() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    let near = left.interface();
    let far = right.interface();
    add_address(&left, "fe80::1", 64, "left0");
    add_address(&right, "fe80::2", 64, "right0");
    for (host, other, name, mac) in [
        (&left, 2, "left0", far.mac),
        (&right, 1, "right0", near.mac),
    ] {
        let address = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, other);
        host.ip(&format!(
            "-6 neighbour replace {address} lladdr {mac} dev {name}"
        ));
    }
    for backend in BACKENDS {
        let words = format!("fe80::2%{}", near.index.0);
        let summary = run(&left, &options(backend, 3), &words);
        assert_eq!(summary.statistics.total().received, 3, "{backend:?}");
    }
}

/// Two hosts with the same address, each on a link of its own. Compared with what each has received.
#[test]
fn an_address_of_two_links_is_two_hosts() {
    let net = Net::new();
    let [mut middle, mut left, mut right] = ["middle", "left", "right"].map(Host::new);
    net.join(&mut middle, &mut left);
    net.join(&mut middle, &mut right);
    open_ping_sockets(&middle);
    let mut words = Vec::new();
    for (far, link) in [&left, &right].into_iter().zip(middle.interfaces()) {
        let (near, other) = (link.name.to_string(), far.interface());
        let name = other.name.to_string();
        add_address(&middle, "fe80::1", 64, &near);
        add_address(far, "fe80::2", 64, &name);
        let to = format!("fe80::2 lladdr {} dev {near}", other.mac);
        middle.ip(&format!("-6 neighbour replace {to}"));
        let back = format!("fe80::1 lladdr {} dev {name}", link.mac);
        far.ip(&format!("-6 neighbour replace {back}"));
        words.push(format!("fe80::2%{}", link.index.0));
    }
    for (backend, round) in [Backend::Raw, Backend::PingSocket].into_iter().zip(1..) {
        let summary = run(&middle, &options(backend, 3), &words.join(" "));
        for target in [0, 1] {
            let counts = summary.statistics.counts(target);
            assert_eq!((counts.sent, counts.received), (3, 3), "{backend:?}");
        }
        for far in [&left, &right] {
            assert_eq!(ping::echoes_answered(far)[1], 3 * round, "{backend:?}");
        }
    }
}

#[test]
fn a_source_that_is_not_ours_and_a_link_that_is_not_there_are_named() {
    let [left, _right] = Net::new().pair();
    let mut wrong = options(Backend::Raw, 1);
    wrong.source = Some("192.0.2.7".parse().expect("an address"));
    let opened = try_open(&left, &wrong, "10.1.0.2");
    let error = opened.expect_err("the address is not ours");
    assert_eq!(error.to_string(), "cannot bind to the source address");
    let mut wrong = options(Backend::Raw, 1);
    wrong.interface = Some("nowhere0".into());
    let opened = try_open(&left, &wrong, "10.1.0.2");
    let error = opened.expect_err("there is no such interface");
    assert_eq!(error.to_string(), "cannot bind to interface nowhere0");
    let mut wrong = options(Backend::Ring, 1);
    wrong.interface = None;
    let opened = try_open(&left, &wrong, "192.0.2.1");
    assert!(matches!(opened, Err(PingError::NoInterface)));
}

/// An unprivileged socket can be bound to an interface only once.
#[test]
fn the_interface_may_be_chosen_without_privileges() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    let mut options = options(Backend::PingSocket, 1);
    options.interface = Some("left0".into());
    let open = || {
        ping::drop_capabilities();
        tapline::ping("10.1.0.2 fd00:1::2").options(options).open()
    };
    let ping = left.run(open).expect("it opens");
    let summary = complete(ping, |_, _| ());
    assert_eq!(summary.statistics.total().received, 2);
}

#[test]
fn a_ttl_of_one_ends_at_the_first_router() {
    let [left, _middle, _right] = ping::routed();
    for backend in BACKENDS {
        let summary = run(&left, &options(backend, 3), "10.2.0.2 fd00:2::2");
        assert_eq!(summary.statistics.total().received, 6, "{backend:?}");
        let mut short = options(backend, 3);
        short.ttl = Some(1);
        let summary = run(&left, &short, "10.2.0.2 fd00:2::2");
        assert_eq!(summary.statistics.total().errors, 6, "{backend:?}");
        let errors = summary.statistics.errors().iter();
        let errors: Vec<_> = errors
            .map(|(e, count)| (e.router.to_string(), e.kind, count))
            .collect();
        let want =
            [("10.1.0.2", 11), ("fd00:1::2", 3)].map(|(router, kind)| (router.into(), kind, 3));
        assert_eq!(errors, want);
    }
}

#[test]
fn a_run_allocates_nothing_whatever_comes() {
    let [left, _right] = Net::new().pair();
    open_ping_sockets(&left);
    for backend in BACKENDS {
        let options = options(backend, 200);
        let mut ping = open(&left, &options, "10.1.0.2 fd00:1::2");
        let measured = allocation_counter::measure(|| ping.run(|_, _| ()).expect("it can wait"));
        let summary = ping.finish().expect("a summary");
        assert_eq!(summary.statistics.total().received, 400);
        assert_eq!(measured.count_total, 0, "{backend:?}");
    }
}

/// The sysctl on fragments applies to probes of any length. Short probes get no unneeded IP identification.
#[test]
fn probes_are_marked_as_the_host_marks_packets() {
    let [left, right] = Net::new().pair();
    open_ping_sockets(&left);
    let asked = right.run(|| socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)));
    let asked = asked.expect("a raw socket");
    for (sysctl, is_whole) in [("0", true), ("1", false)] {
        left.set_sysctl("ipv4/ip_no_pmtu_disc", sysctl);
        for (backend, bytes) in BACKENDS.into_iter().flat_map(|one| [(one, 56), (one, 200)]) {
            let mut options = options(backend, 1);
            options.payload_bytes = bytes;
            let summary = run(&left, &options, "10.1.0.2");
            assert_eq!(summary.statistics.total().received, 1);
            let mut packet = [0; 512];
            let (len, _) = recv(&asked, &mut packet, RecvFlags::empty()).expect("the probe");
            let (header, _) = Ipv4::split(&packet[..len], 0).expect("a header");
            assert_eq!(len, 28 + bytes);
            assert_eq!(header.dont_fragment(), is_whole, "{backend:?}, {bytes}");
            if is_whole && bytes == 56 {
                assert_eq!(header.identification(), 0, "{backend:?}");
            }
        }
    }
}
