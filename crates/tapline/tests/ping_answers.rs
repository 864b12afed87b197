//! A host that answers as nobody should: each answer is counted as what it is.

#[path = "support/ping.rs"]
mod ping;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use lab::{Host, Net};
use ping::{BACKENDS, open_ping_sockets, options, set, targets};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketType, bind, ipproto, recv, sendto, socket,
};
use tapline::Stop;
use tapline::ping::{Backend, Event, Outcome, Pinger};
use tapline::probe::Prober;
use tapline::wire::{Icmpv4, Ipv4, checksum};

/// A raw socket that sends from `source`.
fn raw(source: Ipv4Addr) -> OwnedFd {
    let raw = socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP));
    let raw = raw.expect("a raw socket");
    bind(&raw, &SocketAddr::new(IpAddr::V4(source), 0)).expect("an address of the host");
    raw
}

/// The next echo request that comes in: its sender and its message.
fn next_request(socket: &OwnedFd) -> Option<(IpAddr, Vec<u8>)> {
    let mut buffer = [0; 2048];
    loop {
        let (len, _) = recv(socket, &mut buffer, RecvFlags::empty()).ok()?;
        let (header, rest) = Ipv4::split(&buffer[..len], 0).expect("a header");
        if rest.first() == Some(&Icmpv4::ECHO_REQUEST) {
            return Some((header.source().into(), rest.to_vec()));
        }
    }
}

/// Turns a request into a reply after `change`, and puts in the checksum.
fn reply(request: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut reply = request.to_vec();
    reply[0] = Icmpv4::ECHO_REPLY;
    change(&mut reply);
    reply[2..4].fill(0);
    let sum = checksum::internet(&reply).to_be_bytes();
    reply[2..4].copy_from_slice(&sum);
    reply
}

/// Runs one probe over `backend` against a host that answers it with what `answer` makes of it, from its
/// own or another address.
fn run_against(
    [left, right]: &[Host; 2],
    backend: Backend,
    answer: impl Fn(&[u8]) -> Vec<(bool, Vec<u8>)> + Sync,
) -> Outcome {
    let mut options = options(backend, 1);
    options.timeout = Duration::from_secs(1);
    let [own, other] =
        right.run(|| [Ipv4Addr::new(10, 1, 0, 2), Ipv4Addr::new(10, 1, 0, 3)].map(raw));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (to, request) = next_request(&own).expect("a request");
            for (is_own, bytes) in answer(&request) {
                let socket = if is_own { &own } else { &other };
                let to = SocketAddr::new(to, 0);
                sendto(socket, &bytes, SendFlags::empty(), &to).expect("it is sent");
            }
        });
        let pinger = left.run(|| Pinger::open(targets("10.1.0.2"), &options));
        let stop = Stop::new().expect("a stop");
        let pinger = pinger.expect("it opens");
        pinger.run(&mut |_: &Event<'_>, _: &Prober| (), &stop)
    })
}

/// Two hosts, of which the right one leaves echoes to the test and has a second address.
fn hosts() -> [Host; 2] {
    let hosts = Net::new().pair();
    open_ping_sockets(&hosts[0]);
    set(&hosts[1], "ipv4/icmp_echo_ignore_all", "1");
    ping::ip(&hosts[1], "address add 10.1.0.3/24 dev right0");
    hosts
}

#[test]
fn what_is_not_the_answer_is_told_and_the_probe_waited_for() {
    let hosts = hosts();
    for backend in BACKENDS {
        let outcome = run_against(&hosts, backend, |request| {
            vec![
                (true, reply(request, |bytes| bytes[40] ^= 1)),
                (true, reply(request, |bytes| bytes.truncate(30))),
                (true, reply(request, |bytes| bytes[9] ^= 1)),
                (true, reply(request, |bytes| bytes[7] ^= 1)),
                (false, reply(request, |_| ())),
            ]
        });
        let (counts, others) = (outcome.prober.counts(0), outcome.prober.others());
        assert_eq!(
            (counts.sent, counts.received, counts.lost),
            (1, 0, 1),
            "{backend:?}"
        );
        assert_eq!(
            (counts.corrupt, others.forged, others.wrong_source),
            (2, 2, 1)
        );
        assert_eq!(others.foreign, 0);
    }
}

#[test]
fn a_wrong_checksum_is_corrupt_where_the_kernel_lets_it_through() {
    let hosts = hosts();
    for (backend, corrupt) in BACKENDS.into_iter().zip([1, 0, 1]) {
        let outcome = run_against(&hosts, backend, |request| {
            let mut damaged = reply(request, |_| ());
            damaged[12] ^= 1;
            vec![(true, damaged)]
        });
        let counts = outcome.prober.counts(0);
        assert_eq!((counts.corrupt, counts.lost), (corrupt, 1), "{backend:?}");
    }
}

#[test]
fn an_answer_that_comes_twice_is_one_and_a_duplicate() {
    let hosts = hosts();
    for backend in BACKENDS {
        // The run ends with its last answer: a second probe, to itself, keeps it going.
        let mut options = options(backend, 2);
        options.interval = Duration::from_millis(50);
        let pinger = hosts[0].run(|| Pinger::open(targets("10.1.0.2"), &options));
        let own = hosts[1].run(|| raw(Ipv4Addr::new(10, 1, 0, 2)));
        let stop = Stop::new().expect("a stop");
        let outcome = std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    let (to, request) = next_request(&own).expect("a request");
                    let to = SocketAddr::new(to, 0);
                    for _ in 0..3 {
                        let bytes = reply(&request, |_| ());
                        sendto(&own, &bytes, SendFlags::empty(), &to).expect("it is sent");
                    }
                }
            });
            let pinger = pinger.expect("it opens");
            pinger.run(&mut |_: &Event<'_>, _: &Prober| (), &stop)
        });
        let counts = outcome.prober.counts(0);
        assert_eq!((counts.sent, counts.received, counts.lost), (2, 2, 0));
        assert!((2..=4).contains(&counts.duplicate), "{counts:?}");
        assert!(outcome.prober.rtt(0).is_some());
    }
}

#[test]
fn an_answer_after_the_timeout_is_late() {
    let hosts = hosts();
    for backend in BACKENDS {
        let mut options = options(backend, 2);
        options.interval = Duration::from_millis(200);
        options.timeout = Duration::from_millis(20);
        let pinger = hosts[0].run(|| Pinger::open(targets("10.1.0.2"), &options));
        let own = hosts[1].run(|| raw(Ipv4Addr::new(10, 1, 0, 2)));
        let stop = Stop::new().expect("a stop");
        let (tell, told) = std::sync::mpsc::channel();
        let outcome = std::thread::scope(|scope| {
            scope.spawn(move || {
                let (to, request) = next_request(&own).expect("a request");
                told.recv().expect("the first is lost");
                let bytes = reply(&request, |_| ());
                let to = SocketAddr::new(to, 0);
                sendto(&own, &bytes, SendFlags::empty(), &to).expect("it is sent");
            });
            let mut observe = |event: &Event<'_>, _: &Prober| {
                if let Event::Lost { .. } = event {
                    let _ = tell.send(());
                }
            };
            pinger.expect("it opens").run(&mut observe, &stop)
        });
        let counts = outcome.prober.counts(0);
        assert_eq!(
            (counts.sent, counts.received),
            (2, 0),
            "{backend:?} {counts:?}"
        );
        assert_eq!((counts.late, counts.lost), (1, 1));
    }
}
