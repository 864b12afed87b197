//! `any` and `inner` on packets that the kernel itself puts into tunnels.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

use lab::Host;

use crate::support::count::{start, tally, totals};
use crate::support::files::count;
use crate::support::run::spawn;
use crate::support::{Scene, ip, tool};

/// A host's addresses: in the tunnel, a second one there, and in a tunnel inside that tunnel.
type Addresses = [Ipv4Addr; 3];
const LEFT: Addresses = [
    Ipv4Addr::new(10, 9, 0, 1),
    Ipv4Addr::new(10, 9, 0, 3),
    Ipv4Addr::new(10, 8, 0, 1),
];
const RIGHT: Addresses = [
    Ipv4Addr::new(10, 9, 0, 2),
    Ipv4Addr::new(10, 9, 0, 4),
    Ipv4Addr::new(10, 8, 0, 2),
];
/// The port of all datagrams.
const PORT: u16 = 9000;
/// Datagrams to each of the addresses of right, and those outside the tunnels.
const SENT: [u64; 3] = [30, 50, 70];
const OUTSIDE: u64 = 11;

/// Filters, and how many of the packets each matches. A plain term tests the outermost headers.
const EXPECTED: [(&str, u64); 9] = [
    ("inner host 10.9.0.2", SENT[0] + SENT[2]),
    ("inner host 10.9.0.4", SENT[1]),
    ("inner dst host 10.8.0.2", SENT[2]),
    ("any host 10.8.0.1", SENT[2]),
    ("inner udp port 9000", SENT[0] + SENT[1] + SENT[2]),
    ("any port 9000", SENT[0] + SENT[1] + SENT[2] + OUTSIDE),
    ("port 9000", OUTSIDE),
    ("host 10.9.0.2", 0),
    ("inner tcp", 0),
];

/// A VXLAN interface to `remote`. Its neighbours need no resolution, so that only datagrams pass.
fn tunnel(host: &Host, name: &str, id: u32, remote: IpAddr, own: &[Ipv4Addr], peers: &[Ipv4Addr]) {
    let checksums = if remote.is_ipv6() {
        "udp6zerocsumtx udp6zerocsumrx"
    } else {
        ""
    };
    ip(
        host,
        &format!("link add {name} type vxlan id {id} dstport 4789 remote {remote} {checksums}"),
    );
    host.set_sysctl(&format!("ipv6/conf/{name}/disable_ipv6"), "1");
    let mac = |address: &Ipv4Addr| {
        let [_, network, _, host] = address.octets();
        format!("02:00:00:00:{network:02x}:{host:02x}")
    };
    ip(
        host,
        &format!("link set {name} address {} up", mac(&own[0])),
    );
    for address in own {
        ip(host, &format!("address add {address}/24 dev {name}"));
    }
    for peer in peers {
        let mac = mac(&peers[0]);
        ip(
            host,
            &format!("neighbour add {peer} lladdr {mac} nud permanent dev {name}"),
        );
    }
}

/// Tunnels over IPv4 or IPv6, and the number of datagrams from left that each filter accepts.
fn tunnels(scene: &Scene, is_ipv6: bool) {
    let address = |host: &Host| {
        let interface = host.interface();
        if is_ipv6 {
            interface.v6.into()
        } else {
            interface.v4.into()
        }
    };
    for (host, peer, own, others) in [
        (&scene.left, &scene.right, LEFT, RIGHT),
        (&scene.right, &scene.left, RIGHT, LEFT),
    ] {
        let (first, second) = (&own[..2], &own[2..]);
        tunnel(host, "tunnel0", 7, address(peer), first, &others[..2]);
        let below = IpAddr::V4(others[0]);
        tunnel(host, "deep0", 8, below, second, &others[2..]);
    }
}

fn send(scene: &Scene) {
    let outside = scene.right.interface().v4;
    let targets = RIGHT.into_iter().zip(SENT).chain([(outside, OUTSIDE)]);
    scene.left.run(|| {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        for (target, count) in targets {
            for number in 0..count {
                let sent = socket.send_to(&number.to_be_bytes(), (target, PORT));
                sent.expect("a datagram is sent");
            }
        }
    });
}

/// A socket at right, so that the kernel does not answer with errors, which would quote the packets.
fn receiver(scene: &Scene) -> UdpSocket {
    let bind = || UdpSocket::bind(("0.0.0.0", PORT)).expect("a socket");
    scene.right.run(bind)
}

#[test]
fn captures_have_exactly_the_packets_in_the_kernels_tunnels() {
    for is_ipv6 in [false, true] {
        let scene = Scene::new();
        tunnels(&scene, is_ipv6);
        let _receiver = receiver(&scene);
        let captures: Vec<_> = EXPECTED
            .iter()
            .map(|(filter, _)| {
                let name = filter.replace(' ', "-");
                let line = format!("capture -i right0 --direction in --json -w {name} '{filter}'");
                let mut running = spawn(scene.command(&line));
                running.ready();
                (name, running)
            })
            .collect();
        send(&scene);
        for ((name, running), (filter, expected)) in captures.into_iter().zip(EXPECTED) {
            let ended = running.stop();
            ended.done();
            assert_eq!(count(&scene.file(&name)), expected, "{filter}");
        }
        let file = scene.file("inner-udp-port-9000");
        let found = tool(
            "tshark",
            &format!("-n -r {file} -Y 'vxlan && udp.port == 9000'"),
        );
        let all: u64 = SENT.iter().sum();
        assert_eq!(found.lines().count() as u64, all);
    }
}

#[test]
fn counts_are_those_of_the_packets_in_the_kernels_tunnels() {
    for ingress in ["xdp", "tc"] {
        let scene = Scene::new();
        tunnels(&scene, false);
        let _receiver = receiver(&scene);
        let classes = EXPECTED.map(|(filter, _)| format!("'{filter}'")).join(" ");
        let running = start(
            &scene,
            &format!("--direction in --ingress {ingress} {classes} all="),
        );
        send(&scene);
        let everything = SENT.iter().sum::<u64>() + OUTSIDE;
        let ended = running.stop_counted("all", everything);
        for (filter, expected) in EXPECTED {
            let (packets, _) = tally(&totals(&ended, filter));
            assert_eq!(packets, expected, "{ingress}: {filter}");
        }
    }
}
