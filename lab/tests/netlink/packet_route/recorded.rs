//! What the kernel tells is seen alike.

use crate::UML;
use crate::witness::run;
use netlink::codec::messages;
use netlink::transport::{KernelSocket, RecordedDatagram, Recorder};
use netlink::{Addr, Fdb, Link, NamespaceNumber, Neigh, Netlink, Route, Rule, Stats};
use serde::Serialize;
use tapline_lab::Host;

use super::compare::{Told, differences};
use super::fix::Fix;

/// Compares all that the kernel tells of objects of a kind, and returns how many there were.
fn compare<O: Fix + Serialize>(host: &Host, filter: &O, wrong: &mut Vec<String>) -> usize {
    let socket = host.run(KernelSocket::open).expect("a socket");
    let (recorder, recording) = Recorder::new(socket);
    Netlink::over(recorder).list(filter).expect("a list");
    let mut count = 0;
    for datagram in recording.datagrams() {
        let RecordedDatagram::Received(datagram) = datagram else {
            continue;
        };
        for message in messages(&datagram).map(|message| message.expect("well formed")) {
            if message.kind != O::MESSAGES.new {
                continue;
            }
            let Some(object) = O::decode(message.body).expect("well formed") else {
                continue;
            };
            count += 1;
            let kind = message.kind;
            wrong.extend(differences(Told::ByKernel, &object, kind, message.body));
        }
    }
    count
}

fn all(host: &Host) -> (Vec<String>, [usize; 8]) {
    let mut wrong = Vec::new();
    let counts = [
        compare(host, &Link::new(), &mut wrong),
        compare(host, &Addr::new(), &mut wrong),
        compare(host, &Route::new(), &mut wrong),
        compare(host, &Rule::new(), &mut wrong),
        compare(host, &Neigh::new(), &mut wrong),
        compare(host, &Fdb::new(), &mut wrong),
        compare(host, &NamespaceNumber::new(), &mut wrong),
        compare(host, &Stats::new(), &mut wrong),
    ];
    wrong.sort();
    wrong.dedup();
    (wrong, counts)
}

/// Links of all kinds that a kernel of any configuration has, and what can stand on them.
const LINES: [&str; 39] = [
    "ip link add va type veth peer name vb",
    "ip link add br0 up type bridge mcast_snooping 1 ageing_time 12300",
    "ip link set va master br0 up",
    "ip link set vb up alias far-end",
    "ip link property add dev vb altname another-name-of-it",
    "ip link add i0 up type ifb",
    "ip tuntap add t0 mode tap user 5 vnet_hdr",
    "ip link add mv link vb type macvlan mode bridge",
    "ip link add ms link i0 type macvlan mode source",
    "ip link add vx type vxlan id 7 remote 10.0.0.9 dstport 4789 ttl 9",
    "ip link add v6 type vxlan id 8 remote 2001:db8::9 dstport 4790 nolearning",
    "ip addr add 10.0.0.1/24 brd + dev br0",
    "ip addr add 10.1.0.1 peer 10.1.0.2/32 dev br0",
    "ip addr add 10.3.0.1/24 dev i0",
    "ip addr add 10.2.0.1/24 dev br0 valid_lft 5000 preferred_lft 4000",
    "ip addr add 2001:db8::1/64 dev br0 nodad",
    "ip addr add 2001:db8:2::1/64 dev br0 nodad noprefixroute metric 77",
    "ip route add default via 10.0.0.254",
    "ip route add 192.0.2.0/24 via 10.0.0.3 metric 7 mtu 1400 rto_min 5ms congctl reno",
    "ip route add 198.51.100.0/24 nexthop via 10.0.0.4 weight 2 nexthop via 10.0.0.5",
    "ip route add 203.0.113.0/24 dev br0 table 777 proto static scope link",
    "ip route add blackhole 233.252.0.0/24 tos 8",
    "ip route add 2001:db8:7::/48 via 2001:db8::7 pref high expires 500",
    "ip route add 2001:db8:8::/48 nexthop via 2001:db8::8 nexthop via 2001:db8::9",
    "ip route add 10.7.0.0/16 encap ip id 5 dst 10.0.0.8 ttl 3 via 10.0.0.8",
    "ip route add 10.8.0.0/16 via inet6 2001:db8::9 dev br0",
    // A bridge has its carrier later.
    "ip nexthop add id 5 via 10.3.0.9 dev i0",
    "ip route add 10.9.0.0/16 nhid 5",
    "ip rule add from 10.0.0.0/8 to 192.0.2.0/24 fwmark 7/0xff priority 900 lookup 77",
    "ip rule add not iif va ipproto 6 sport 80-90 dport 443 priority 901 goto 902",
    "ip rule add uidrange 1-5 priority 902 prohibit",
    "ip -6 rule add from 2001:db8::/32 tos 8 suppress_prefixlength 0 priority 903 lookup main",
    "ip neigh add 10.0.0.7 lladdr 02:00:00:00:00:07 dev br0 nud stale router extern_learn",
    "ip neigh add 2001:db8::7 lladdr 02:00:00:00:00:08 dev br0 protocol bgp",
    "ip neigh add proxy 10.0.0.77 dev br0",
    "bridge fdb add 02:00:00:00:00:09 dev va master static sticky",
    "bridge fdb append 00:00:00:00:00:00 dev vx dst 10.0.0.10 port 4444 vni 9 via br0",
    "bridge fdb add 02:00:00:00:00:0a dev vb",
    "ip link set i0 mtu 1400 txqueuelen 77",
];

/// Links of the kinds that few kernels have all of.
const KINDS: [&str; 27] = [
    "ip link add d0 up type dummy",
    "ip link add br0 type bridge vlan_filtering 1 vlan_default_pvid 7 no_linklocal_learn 1 stp_state 1",
    "ip link add vl0 link d0 type vlan id 7 gvrp on egress-qos-map 1:2 3:4 ingress-qos-map 5:6",
    "ip link add vl1 link d0 type vlan proto 802.1ad id 8 reorder_hdr off loose_binding on",
    "ip link add vrf0 up type vrf table 77",
    "ip link add bo0 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4",
    "ip link add bo1 type bond mode active-backup arp_interval 100 arp_ip_target 10.0.0.1,10.0.0.2",
    "ip link add d1 type dummy",
    "ip link set d1 master bo0",
    "ip link add d2 type dummy",
    "ip link set d2 master vrf0",
    "ip link add d3 master br0 type dummy",
    "bridge vlan add dev d3 vid 9",
    "ip link add ge0 type geneve id 9 remote 10.0.0.7 ttl 8 dstport 6082 df set",
    "ip link add ge1 type geneve external",
    "ip link add gr0 type gre local 10.0.0.1 remote 10.0.0.2 ikey 5 okey 0.0.0.6 icsum oseq ttl 9",
    "ip link add gt0 type gretap remote 10.0.0.2 nopmtudisc",
    "ip link add g60 type ip6gre local 2001:db8::1 remote 2001:db8::2 hoplimit 9 encaplimit 5 key 7",
    "ip link add gt6 type ip6gretap remote 2001:db8::2 tclass 0x20 flowlabel 0x12345",
    "ip link add ipip0 type ipip local 10.0.0.1 remote 10.0.0.2 tos 0x10 encap none encap-sport auto encap-dport 5555 encap-csum",
    "ip link add ipip1 type ipip external",
    "ip link add sit1 type sit local 10.0.0.1 remote 10.0.0.3 mode any ttl 64",
    "ip link add tnl1 type ip6tnl local 2001:db8::1 remote 2001:db8::3 mode ipip6 hoplimit 5",
    "ip link add iv0 link d0 type ipvlan mode l3s private",
    "ip link add mvt0 link vl0 type macvtap mode private",
    "ip addr add 10.0.0.1/24 dev d0",
    "ip route add 10.7.0.0/16 table 77 dev d0",
];

#[test]
fn links_of_all_kinds_are_seen_alike() {
    if UML.has_run() {
        return;
    }
    let host = Host::new("host");
    for line in KINDS {
        run(&host, line);
    }
    let (wrong, counts) = all(&host);
    assert!(wrong.is_empty(), "{}\n{counts:?}", wrong.join("\n"));
    assert!(counts[0] > 22, "{counts:?}");
}

#[test]
fn what_the_running_kernel_tells_is_seen_alike() {
    let (host, other) = (Host::new("host"), Host::new("other"));
    for line in LINES {
        run(&host, line);
    }
    let namespace = other.namespace().try_clone().expect("a descriptor");
    let number = NamespaceNumber::new().namespace(namespace.into()).nsid(7);
    host.netlink().add(&number).expect("numbered");
    let (wrong, counts) = all(&host);
    assert!(wrong.is_empty(), "{}\n{counts:?}", wrong.join("\n"));
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
}
