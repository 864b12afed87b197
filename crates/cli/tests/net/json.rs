//! Every key and value of `ip -json` and `bridge -json` is the same here, for a host with many kinds of objects.

use crate::support::stack::{done, find_missing, json_of, objects, theirs, words};
use lab::Host;
use serde_json::Value;

/// What is made on the host, by iproute2 itself.
const MADE: &str = "\
    ip link set lo up
    ip link add va type veth peer name vb
    ip link set va addrgenmode none
    ip link set vb addrgenmode none
    ip link set va up
    ip link set vb up
    ip addr add 10.0.0.1/24 dev va
    ip addr add 10.0.0.2/24 dev va label va:x
    ip addr add 10.5.0.1 peer 10.5.0.2/32 dev va
    ip addr add 10.6.0.1/24 brd + metric 5 noprefixroute dev va
    ip addr add 2001:db8::1/64 dev va nodad
    ip addr add 2001:db8:2::1/64 dev va nodad valid_lft 1000 preferred_lft 500
    ip link add br0 type bridge
    ip link set vb master br0
    ip link add f0 alias an-alias type ifb
    ip link property add dev f0 altname another-name-of-f0
    ip link set f0 group 5
    ip link add link va name mv type macvlan mode bridge
    ip link add vx type vxlan id 7 remote 10.0.0.8 dstport 4789 dev va
    ip tuntap add tap0 mode tap
    ip nexthop add id 1 via 10.0.0.9 dev va
    ip nexthop add id 2 blackhole
    ip nexthop add id 3 via 10.0.0.8 dev va onlink proto static
    ip nexthop add id 10 group 1,5/3
    ip nexthop add id 11 group 1/3 type resilient buckets 4
    ip nexthop add id 12 via 2001:db8::9 dev va
    ip nexthop add id 14 fdb via 10.0.0.8
    ip route add 192.0.2.0/24 via 10.0.0.9
    ip route add 192.0.3.0/24 nexthop via 10.0.0.9 weight 3 realm 5 nexthop via 10.0.0.8 dev va onlink
    ip route add 192.0.4.0/24 nhid 1
    ip route add 192.0.5.0/24 nhid 10 metric 7
    ip route add 192.0.6.0/24 via 10.0.0.9 mtu lock 1400 advmss 1360 features ecn rtt 100ms rto_min 200ms
    ip route add 192.0.7.0/24 via inet6 2001:db8::9 dev va
    ip route add 192.0.8.0/24 via 10.0.0.9 table 77 proto bgp realms 3/4
    ip route add 192.0.9.0/24 tos 0x10 via 10.0.0.9 src 10.0.0.1
    ip route add throw 192.0.12.0/24
    ip route add prohibit 198.51.101.0/24 metric 5
    ip route add unreachable 2001:db8:a::/48
    ip route add 2001:db8:7::/48 nhid 12
    ip route add 2001:db8:b::/48 via 2001:db8::9 pref high
    ip -6 route add 2001:db8:c::/48 nexthop via 2001:db8::9 dev va weight 2 nexthop via 2001:db8::8 dev va
    ip rule add from 10.1.0.0/16 to 10.2.0.0/16 lookup 7
    ip rule add not fwmark 1/3 ipproto tcp dport 80-90 blackhole
    ip rule add goto 32766 pref 100
    ip rule add iif lo oif va uidrange 5-6 suppress_prefixlength 3 tos 0x10 lookup 8 realms 3/4
    ip rule add iif nosuch prohibit
    ip -6 rule add from 2001:db8::/32 lookup 9
    ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev va
    ip neigh add 10.0.0.10 lladdr 02:00:00:00:00:0a dev va nud stale
    ip neigh add 10.0.0.12 lladdr 02:00:00:00:00:0c dev va nud noarp proto static extern_learn
    ip neigh add 2001:db8::9 lladdr 02:00:00:00:00:09 dev va router
    ip neigh add proxy 10.0.0.11 dev va
    bridge fdb add 02:00:00:00:00:77 dev vb master static
    bridge fdb append 00:00:00:00:00:00 dev vx dst 10.0.0.9
    ip link set br0 addrgenmode none
    ip link set br0 up
    bridge mdb add dev br0 port vb grp 239.1.1.1 permanent
    bridge mdb add dev br0 port vb grp 239.1.1.2 src 10.0.0.5 permanent";

const SHOWN: &str = "\
    ip link
    ip -d link
    ip -s -s -d link show f0
    ip -s -s link show f0
    ip -s link show f0
    ip -s -s addr show f0
    ip -br link
    ip addr
    ip -d addr
    ip -4 addr
    ip -6 addr
    ip -br addr
    ip route
    ip -d route
    ip -d -s route show table all
    ip -6 route
    ip -d -6 route
    ip route show table 77
    ip route get 192.0.2.1
    ip -d route get 192.0.2.1
    ip -s route get 192.0.2.1
    ip -s route get 2001:db8::55
    ip route get 10.0.0.1
    ip route get 10.0.0.255
    ip route get 127.0.0.1
    ip route get 192.0.6.1
    ip route get fibmatch 192.0.2.1
    ip -d route get fibmatch 192.0.5.1
    ip nexthop
    ip -d nexthop
    ip nexthop get id 10
    ip nexthop show groups
    ip rule
    ip -d rule
    ip -6 rule
    ip neigh
    ip -d -s neigh
    ip -br neigh
    ip neigh show proxy
    ip neigh show nud all
    bridge fdb
    bridge -d -s fdb
    bridge -d fdb show br br0
    bridge fdb show dev vx
    bridge mdb show dev br0
    bridge -d -s mdb show dev br0";

fn host() -> Host {
    let host = Host::new("host");
    for line in MADE.lines() {
        let (program, line) = line.trim().split_once(' ').expect("a program");
        theirs(&host, program, line);
    }
    host
}

/// What is missing of what a program of iproute2 shows with `line`.
fn missing_of(host: &Host, program: &str, line: &str, found: &mut Vec<String>) {
    let look = || {
        let mut shown = json_of(host, program, line);
        // What it leaves out it shows as nothing, and groups of all bridges within one object.
        shown.retain(|object| object.as_object().is_none_or(|fields| !fields.is_empty()));
        match shown[0].get("mdb") {
            Some(groups) => groups.clone(),
            None => Value::from(shown),
        }
    };
    let before = look();
    let ours: Value = objects(&done(host, &format!("--json {line}"))).into();
    let after = look();
    assert!(
        before.as_array().is_some_and(|shown| !shown.is_empty()),
        "{line}"
    );
    find_missing(&ours, [&before, &after], line, found);
}

#[test]
fn each_key_of_ip_is_here_with_its_value() {
    let host = host();
    let mut found = Vec::new();
    for line in SHOWN.lines() {
        let (program, line) = line.trim().split_once(' ').expect("a program");
        missing_of(&host, program, line, &mut found);
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn lines_are_those_of_ip() {
    let host = host();
    let words = |text: &str| {
        let mut lines = words(text);
        lines.retain(|line| !line.is_empty());
        lines
    };
    for line in [
        "link",
        "-s -s link show f0",
        "-s link show f0",
        "-s -s addr show f0",
        "-br link",
        "-br -4 addr",
        "-o link",
        "-s link show va",
        "-d link show va",
        "-d link show f0",
        "-4 addr",
        "route",
        "-d route",
        "-d -6 route",
        "route show table all",
        "route get 192.0.2.1",
        "-d route get 192.0.2.1",
        "-d route get fibmatch 192.0.5.1",
        "route get 10.0.0.255",
        "-d nexthop",
        "neigh",
        "neigh show nud all",
        "neigh show proxy",
    ] {
        let [before, ours, after] = [Some("ip"), None, Some("ip")].map(|program| match program {
            Some(program) => words(&theirs(&host, program, line)),
            None => words(&done(&host, line)),
        });
        // Links come up by and by.
        assert!(
            ours == before || before != after,
            "{line}: {ours:#?}\n{before:#?}"
        );
    }
}
