//! Objects that tapline and iproute2 add with the same words are the same objects, both programs print them alike,
//! and the same words delete them.

use crate::support::stack::{assert_prints_all, done, json_of, objects, theirs, words};
use lab::Host;
use serde_json::Value;

/// Both hosts of a table have these, added by iproute2.
const HOST: &str = "\
    ip link set lo up
    ip link add va address 02:00:00:00:00:0a type veth peer name vb address 02:00:00:00:00:0b
    ip link set va addrgenmode none
    ip link set vb addrgenmode none
    ip link set va up
    ip link set vb up
    ip addr add 10.1.0.1/24 dev va
    ip addr add fd00:1::1/64 dev va nodad";

/// Commands for a host, then commands that add objects, and commands that print these; each starts with the
/// program of iproute2.
type Table = [&'static str; 3];

const ADDRESSES: Table = [
    "",
    "ip addr add 10.0.0.1/24 dev vb brd + label vb:1
    ip addr add 10.0.1.1/24 brd - dev vb scope link
    ip addr add local 10.0.2.1 peer 10.0.2.2/31 dev vb
    ip addr add 10.0.3.1 dev vb broadcast 10.9.9.9 metric 5
    ip addr add 127.1.2.3/8 dev vb
    ip addr add 2001:db8::1/64 dev vb nodad valid_lft forever preferred_lft 0 metric 300
    ip addr add 2001:db8:1::1 peer 2001:db8:1::2/64 dev vb nodad noprefixroute
    ip addr add fe80::1/64 dev vb scope link home nodad",
    "ip addr show dev vb
    ip -4 addr show dev vb",
];

const ROUTES: Table = [
    "ip route add blackhole 203.0.113.99 table 77
    ip route add blackhole 203.0.113.99 table 70000
    ip -6 route add blackhole 2001:db8:99::1 table 77",
    "ip route add 192.0.2.0/24 via 10.1.0.2 table 77
    ip route add default via 10.1.0.2 dev va proto static metric 5 table 77
    ip route add default via fd00:1::2 dev va proto static metric 5 table 77
    ip route add 198.51.100.7 dev va table 77
    ip route add 198.51.100.0/25 dev va scope host src 10.1.0.1 table 77
    ip route add 198.51.100.128/25 via 10.1.0.2 tos 0x10 table 77
    ip route add 203.0.113.0/26 via inet6 fd00:1::2 dev va table 77
    ip route add 203.0.113.64/26 via 10.99.0.1 dev va onlink table 77
    ip route add blackhole 203.0.113.128/26 table 77
    ip route add unreachable 203.0.113.192/27 metric 9 table 77
    ip route add prohibit 203.0.113.224/28 table 77
    ip route add throw 203.0.113.240/28 proto bgp table 77
    ip route add local 192.0.0.8 dev lo table 77
    ip route add 100.64.0.0/16 via 10.1.0.2 mtu lock 1300 advmss 1200 window 4000 rtt 300ms rttvar 50ms table 77
    ip route add 100.65.0.0/16 via 10.1.0.2 cwnd lock 5 initcwnd 20 initrwnd 30 quickack 1 features ecn table 77
    ip route add 100.66.0.0/16 via 10.1.0.2 ssthresh 7 reordering 4 rto_min 40ms congctl reno table 77
    ip route add 100.67.0.0/16 table 77 nexthop via 10.1.0.2 weight 2 nexthop via 10.1.0.3 dev va
    ip route add 100.68.0.0/16 table 77 nexthop via inet6 fd00:1::2 dev va nexthop via 10.1.0.7 onlink dev va
    ip route add 2001:db8:1::/48 via fd00:1::2 metric 77 pref high table 77
    ip route add 2001:db8:2::/48 table 77 nexthop via fd00:1::2 weight 9 nexthop via fd00:1::3 dev va
    ip route add 2001:db8:3::1 dev va mtu 1400 hoplimit 9 pref low table 77
    ip route add unreachable 2001:db8:4::/48 table 77
    ip route add 2001:db8:5::/48 from 2001:db8:6::/64 via fd00:1::2 table 77
    ip route add 192.0.2.0/24 via 10.1.0.2 table 70000
    ip route add 10.9.0.0/16 encap ip id 5 dst 10.9.9.9 src 10.9.9.8 ttl 64 tos 4 dev va table 77
    ip route add 10.10.0.0/16 encap ip6 id 6 dst fd00::9 hoplimit 64 dev va table 77
    ip -6 route add fd05::/64 encap seg6 mode encap segs fd00::5,fd00::6 dev va table 77
    ip -6 route add fd06::/64 encap seg6 mode inline segs fd00::7 dev va table 77
    ip -6 route add fd07::/64 table 77 nexthop encap ip6 id 7 dst fd00::9 via fd00:1::2 nexthop via fd00:1::3
    ip route add 192.0.3.0/24 via 10.1.0.9 realm 7 table 77
    ip route add 192.0.4.0/24 via 10.1.0.9 realms 3/4 table 77
    ip route add 192.0.5.0/24 table 77 nexthop via 10.1.0.9 realm 5 nexthop via 10.1.0.8 realms 1/2 weight 3
    ip route add metric 5 table 77 blackhole 192.0.6.0/24
    ip route add table 77 to unreachable 192.0.7.0/24
    ip route add metric 6 unicast 192.0.8.0/24 via 10.1.0.9 table 77
    ip route add to 192.0.9.0/24 dev va table 77",
    "ip -4 route show table 77
    ip -6 route show table 77
    ip -4 route show table 70000",
];

const RULES: Table = [
    "",
    "ip rule add from 10.0.0.0/8 lookup 100 priority 1000
    ip rule add from 10.0.0.1 to 192.0.2.0/24 iif lo lookup 70000 priority 1001
    ip rule add fwmark 0x1/0xff lookup main priority 1002
    ip rule add fwmark 7 oif none0 lookup main priority 1003
    ip rule add uidrange 1-5 ipproto tcp sport 5 dport 80-90 lookup 100 priority 1004
    ip rule add not to 10.0.0.0/8 goto 32766 priority 1005
    ip rule add l3mdev priority 1006
    ip rule add blackhole priority 1007
    ip rule add from 192.0.2.0/24 unreachable priority 1008
    ip rule add prohibit to 192.0.2.1 priority 1009
    ip rule add lookup 100 suppress_prefixlength 0 suppress_ifgroup 4 priority 1010
    ip rule add tos 0x10 lookup 100 priority 1011 protocol bgp
    ip rule add tun_id 77 lookup 100 priority 1012
    ip rule add goto 1014 priority 1013
    ip rule add prio 2000 from 10/8 lookup 5
    ip rule add prior 2001 from 10.2/16 type prohibit
    ip rule add pref 2002 from 0/0 type unreachable
    ip rule add prefer 2003 type blackhole
    ip rule add prio 2004 type unicast lookup 7
    ip rule add not from 10.0.0.0/8 ipproto tcp dport 80 table 7
    ip rule add dport 80-90 sport 1 ipproto udp uidrange 0-5 fwmark 1/3 tun_id 5 table 8
    ip rule add goto 40000
    ip rule add from 10.4.0.0/16 goto 32766
    ip rule add iif nosuch table 9 suppress_prefixlength 3
    ip rule add ipproto 200 table 10 realms 3/4 suppress_ifgroup 5
    ip rule add realms 6 lookup 11
    ip rule add nop
    ip rule add fwmark 7 to 10.9.0.0/16 oif lo lookup main
    ip rule add from 10.1.0.1 to 10.2.0.1/32 tos 0x10 blackhole
    ip rule add sport 5-6 prohibit proto static
    ip -6 rule add from 2001:db8::/32 lookup 100 priority 1000
    ip -6 rule add to fd00::1 iif lo lookup 100 priority 1001
    ip -6 rule add fwmark 5 unreachable priority 1002",
    "ip rule
    ip -6 rule",
];

const NEXTHOPS: Table = [
    "",
    "ip nexthop add id 1 via 10.1.0.2 dev va
    ip nexthop add id 2 via 10.1.0.3 dev va proto bgp
    ip nexthop add id 3 via 10.99.0.1 dev va onlink
    ip nexthop add id 4 via fd00:1::2 dev va
    ip nexthop add id 5 blackhole
    ip nexthop add id 6 dev va
    ip nexthop add id 7 via 10.1.0.9 fdb
    ip nexthop add id 10 group 1/2,5
    ip nexthop add id 11 group 1/2 type resilient buckets 32 idle_timer 60 unbalanced_timer 120
    ip nexthop add id 12 encap ip id 9 dst 10.9.9.9 dev va
    ip nexthop add id 13 group 7 fdb",
    "ip nexthop
    ip nexthop show groups",
];

const NEIGHBOURS: Table = [
    "",
    "ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:01 dev va
    ip neigh add to 192.0.2.2 lladdr 02:00:00:00:00:02 nud noarp dev va
    ip neigh add 192.0.2.3 dev va lladdr 02:00:00:00:00:03 nud stale extern_learn protocol 9
    ip neigh add 2001:db8::1 lladdr 02:00:00:00:00:05 dev vb nud permanent router
    ip neigh add proxy 2001:db8::7 dev va
    ip neigh add proxy 192.0.2.9 dev vb",
    "ip -4 neigh show
    ip neigh show nud all to 192.0.2.0/24
    ip -6 neigh show nud permanent
    ip neigh show proxy",
];

const FORWARDING_ENTRIES: Table = [
    "ip link add br0 up address 02:00:00:00:00:0c type bridge
    ip link set dev va master br0
    ip link add vx0 up address 02:00:00:00:00:0d type vxlan id 7 dstport 4789 local 127.0.0.1 dev lo",
    "bridge fdb add 02:00:00:00:00:01 dev va master static
    bridge fdb add 02:00:00:00:00:02 dev va master dynamic sticky
    bridge fdb add 02:00:00:00:00:03 dev va self
    bridge fdb add 02:00:00:00:00:04 dev va local master
    bridge fdb append 00:00:00:00:00:00 dev vx0 dst 1.2.3.4 vni 5
    bridge fdb append 00:00:00:00:00:00 dev vx0 dst 1.2.3.5 port 4000 via lo self permanent
    bridge fdb add 02:00:00:00:00:05 dev vx0 dst 1.2.3.4 static",
    "bridge fdb
    bridge fdb show br br0
    bridge fdb show dev va
    bridge fdb show dev vx0
    bridge fdb show br br0 brport va",
];

const GROUPS: Table = [
    "ip link add br0 up type bridge mcast_snooping 1 mcast_igmp_version 3 mcast_mld_version 2
    ip link set dev va master br0",
    "bridge mdb add dev br0 port va grp 239.1.1.1 permanent
    bridge mdb add dev br0 port va grp 239.1.1.2 src 192.0.2.7 permanent
    bridge mdb add dev br0 port va grp ff0e::7 permanent
    bridge mdb add dev br0 port va grp 01:02:03:04:05:06 permanent",
    "bridge mdb show dev br0",
];

/// Runs each line by its program of iproute2.
#[track_caller]
fn run_theirs(host: &Host, lines: &str) {
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let (program, line) = split(line);
        theirs(host, program, line);
    }
}

fn split(line: &str) -> (&str, &str) {
    line.trim().split_once(' ').expect("a program")
}

/// What iproute2 prints of all objects, without times and counts, and without what the kernel adds by itself.
#[track_caller]
fn state(host: &Host, show: &str) -> Vec<Vec<Value>> {
    let lines = show.lines().map(|line| {
        let (program, line) = split(line);
        steady(json_of(host, program, &format!("-d {line}")))
    });
    lines.collect()
}

fn steady(shown: Vec<Value>) -> Vec<Value> {
    let mut shown: Vec<Value> = match shown.first().and_then(|first| first["mdb"].as_array()) {
        Some(groups) => groups.clone(),
        None => shown,
    };
    for fields in shown.iter_mut().filter_map(Value::as_object_mut) {
        for key in ["used", "updated", "confirmed", "refcnt", "probes", "timer"] {
            fields.remove(key);
        }
    }
    shown.retain(|object| {
        let is_kernels = object["mac"]
            .as_str()
            .is_some_and(|mac| mac.starts_with("33:33") || mac.starts_with("01:00"));
        !is_kernels && object["port"] != "br0" && object.as_object().is_none_or(|it| !it.is_empty())
    });
    // The kernel lists neighbours in no order.
    shown.sort_by_key(|object| object["dst"].to_string());
    shown
}

fn check([setup, add, show]: Table) {
    let [ours, others] = ["ours", "others"].map(|name| {
        let host = Host::new(name);
        run_theirs(&host, HOST);
        run_theirs(&host, setup);
        host
    });
    let before = state(&ours, show);
    for line in add.lines() {
        done(&ours, split(line).1);
    }
    run_theirs(&others, add);
    assert_eq!(state(&ours, show), state(&others, show));
    assert_ne!(state(&ours, show), before);

    for line in show.lines() {
        let (program, line) = split(line);
        for flags in ["", "-d "] {
            let line = format!("{flags}{line}");
            let mut theirs = steady(json_of(&ours, program, &line));
            let mut printed = steady(objects(&done(&ours, &format!("-j {line}"))));
            // iproute2 prints the keys of encapsulations twice in one object.
            for objects in [&mut theirs, &mut printed] {
                objects.retain(|object| !object.to_string().contains("encap"));
            }
            assert_prints_all(&printed, &theirs, &line);
            let kernels = |line: &String| line.starts_with("33:33") || line.starts_with("01:00");
            let text = |text: &str| {
                let mut lines = words(text);
                lines.retain(|line| !kernels(line) && !line.contains("port br0"));
                lines.sort();
                lines
            };
            let theirs = crate::support::stack::theirs(&ours, program, &line);
            assert_eq!(text(&done(&ours, &line)), text(&theirs), "{line}");
        }
    }

    for line in add.lines().rev() {
        let line = split(line).1;
        let line = line
            .replacen(" add ", " del ", 1)
            .replacen(" append ", " del ", 1);
        done(&ours, &line);
    }
    assert_eq!(state(&ours, show), before);
}

#[test]
fn addresses_are_those_of_ip() {
    check(ADDRESSES);
}

#[test]
fn routes_are_those_of_ip() {
    check(ROUTES);
}

#[test]
fn rules_are_those_of_ip() {
    check(RULES);
}

#[test]
fn nexthops_are_those_of_ip() {
    check(NEXTHOPS);
}

#[test]
fn neighbours_are_those_of_ip() {
    check(NEIGHBOURS);
    // The kernel leaves these states by itself at any time.
    let host = Host::new("host");
    run_theirs(&host, HOST);
    for state in ["delay", "probe"] {
        let line = "192.0.2.1 lladdr 02:00:00:00:00:01 dev va nud";
        done(&host, &format!("neigh replace {line} {state}"));
    }
}

#[test]
fn forwarding_entries_are_those_of_bridge() {
    check(FORWARDING_ENTRIES);
}

#[test]
fn multicast_groups_are_those_of_bridge() {
    check(GROUPS);
}
