//! What may be asked for: all that a field can be (see `requests::choose`).

use serde_json::{Value, json};

const MAC: &str = "02:00:00:00:00:07|02:aa:bb:cc:dd:ee";
const V4: &str = "10.0.0.1|192.0.2.255|255.255.255.255";
const V6: &str = "2001:db8::1|fe80::2|ff0e::77";

/// A link with what is particular to a kind.
fn link(kind: &str, data: &Value) -> Value {
    json!({
        "!index": 70_000,
        "name": "eth0|fifteen-bytes-x",
        "address": MAC,
        "broadcast": MAC,
        "up": true, "arp": true, "multicast": true, "allmulticast": true, "promisc": true,
        "mtu": 65_535,
        "lower": 70_000,
        "master": 70_000,
        "txqlen": 5000,
        "group": 99,
        "alias": "uplink|the one that is not used",
        "tx_queue_count": 64, "rx_queue_count": 64,
        "carrier": true,
        "protodown": true,
        "gso_max_segs": 65_535, "gso_max_size": 65_536, "gro_max_size": 65_536,
        "namespace_pid": 4_000_000,
        "inet6_addr_gen_mode": "eui64|none|stable_secret|random",
        "!info_kind_and_data": [kind, data],
    })
}

/// A link that is a port, with what its master keeps of it.
fn port(kind: &str, data: &Value) -> Value {
    let mut spec = link("", &Value::Null);
    spec["!info_kind_and_data"] = Value::Null;
    // What is said beside a new master is said in a second message.
    spec.as_object_mut().expect("fields").remove("master");
    spec["!linkinfo"] = json!({"!info_slave_kind": kind, "!info_slave_data": data});
    spec
}

fn tunnel(remote: &str) -> Value {
    json!({
        "local": remote, "remote": remote,
        "link": 70_000, "ttl": 255,
        "encap": "none|fou|gue",
        "encap_sport": 65_535, "encap_dport": 65_535, "csum": true, "csum6": true, "remcsum": true,
    })
}

fn with(mut spec: Value, more: &Value) -> Value {
    let fields = spec.as_object_mut().expect("fields");
    for (key, value) in more.as_object().expect("fields") {
        fields.insert(key.clone(), value.clone());
    }
    spec
}

/// Links of each kind, and ports.
pub fn links() -> Vec<Value> {
    let plain = ["dummy", "ifb", "wireguard"].map(|kind| (kind, Value::Null));
    let v4 = with(
        tunnel(V4),
        &json!({"tos": 255, "pmtudisc": true, "fwmark": 70_000}),
    );
    let v6 = with(tunnel(V6), &json!({"encap_limit": 255, "fwmark": 70_000}));
    let gre = json!({
        "ikey": V4, "okey": V4, "icsum": true, "ocsum": true, "iseq": true, "oseq": true,
    });
    let kinds = [
        ("bond", bond()),
        ("bridge", bridge()),
        ("geneve", geneve()),
        ("gre", with(v4.clone(), &gre)),
        ("gretap", with(v4.clone(), &gre)),
        ("ip6gre", with(v6.clone(), &gre)),
        ("ip6gretap", with(v6.clone(), &gre)),
        ("ip6tnl", v6),
        ("ipip", v4.clone()),
        ("sit", v4),
        (
            "ipvlan",
            json!({"mode": "l2|l3|l3s", "flags": "bridge|private|vepa"}),
        ),
        ("macvlan", macvlan()),
        ("macvtap", macvlan()),
        ("vlan", vlan()),
        ("vrf", json!({"!table": 70_000})),
        ("vxlan", vxlan()),
    ];
    let all = plain.into_iter().chain(kinds);
    let mut specs: Vec<Value> = all
        .map(|(kind, data)| finished(link(kind, &data)))
        .collect();
    specs.push(finished(port("bridge", &bridge_port())));
    specs.push(finished(port(
        "bond",
        &json!({"queue_id": 65_535, "prio": 70_000}),
    )));
    specs
}

/// Puts kind and data where the fields of a link have them.
fn finished(mut spec: Value) -> Value {
    let fields = spec.as_object_mut().expect("fields");
    if let Some(Value::Array(kind)) = fields.remove("!info_kind_and_data") {
        let [kind, data] = <[Value; 2]>::try_from(kind).expect("two");
        let info = if data.is_null() {
            json!({"!info_kind": kind})
        } else {
            json!({"!info_kind": kind, "!info_data": data})
        };
        fields.insert("!linkinfo".to_owned(), info);
    }
    spec
}

fn bond() -> Value {
    json!({
        "mode": "balance-rr|active-backup|balance-xor|broadcast|802.3ad|balance-tlb|balance-alb",
        "active_slave": 70_000, "miimon": 1000, "updelay": 1000, "downdelay": 1000,
        "peer_notify_delay": 1000, "use_carrier": true, "arp_interval": 1000,
        "arp_ip_target": [V4, V4], "ns_ip6_target": [V6],
        "arp_validate": "none|active|backup|all|filter|filter_active|filter_backup",
        "arp_all_targets": "any|all", "arp_missed_max": 255, "primary": 70_000,
        "primary_reselect": "always|better|failure", "fail_over_mac": "none|active|follow",
        "xmit_hash_policy": "layer2|layer3+4|layer2+3|encap2+3|encap3+4|vlan+srcmac",
        "resend_igmp": 255, "num_peer_notif": 255, "min_links": 255, "lp_interval": 1000,
        "packets_per_slave": 65_535, "ad_lacp_active": true, "ad_lacp_rate": "slow|fast",
        "ad_select": "stable|bandwidth|count", "ad_actor_sys_prio": 65_535,
        "ad_user_port_key": 1023, "ad_actor_system": MAC, "tlb_dynamic_lb": true,
    })
}

fn bridge() -> Value {
    json!({
        "forward_delay": 3000, "hello_time": 1000, "max_age": 4000, "ageing_time": 70_000,
        "priority": 65_535, "vlan_filtering": true, "vlan_protocol": "802.1Q|802.1ad",
        "vlan_default_pvid": 4094, "vlan_stats_enabled": true, "vlan_stats_per_port": true,
        "group_fwd_mask": 65_535, "group_addr": MAC, "fdb_max_learned": 70_000,
        "mcast_snooping": true, "mcast_query_use_ifaddr": true, "mcast_querier": true,
        "mcast_hash_max": 4096, "mcast_last_member_cnt": 255, "mcast_startup_query_cnt": 255,
        "mcast_last_member_intvl": 70_000, "mcast_membership_intvl": 70_000,
        "mcast_querier_intvl": 70_000, "mcast_query_intvl": 70_000,
        "mcast_query_response_intvl": 70_000, "mcast_startup_query_intvl": 70_000,
        "mcast_stats_enabled": true, "mcast_igmp_version": 3, "mcast_mld_version": 2,
        "nf_call_iptables": true, "nf_call_ip6tables": true, "nf_call_arptables": true,
        "no_linklocal_learn": true, "mcast_vlan_snooping": true, "mst_enabled": true,
    })
}

fn bridge_port() -> Value {
    json!({
        "state": "disabled|listening|learning|forwarding|blocking",
        "priority": 63, "cost": 65_535, "hairpin": true, "guard": true, "root_block": true,
        "fastleave": true, "learning": true, "flood": true, "proxy_arp": true,
        "proxy_arp_wifi": true, "mcast_flood": true, "bcast_flood": true,
        "mcast_to_unicast": true, "neigh_suppress": true, "neigh_vlan_suppress": true,
        "group_fwd_mask": 65_535, "vlan_tunnel": true, "isolated": true, "locked": true,
        "mab": true, "backup_port": 70_000, "backup_nhid": 70_000,
        "mcast_eht_hosts_limit": 512, "mcast_max_groups": 512,
    })
}

fn geneve() -> Value {
    json!({
        "id": 0x00ff_ffff, "remote": V4, "remote6": V6, "ttl": 255, "ttl_inherit": true,
        "tos": 255, "df": "unset|set|inherit", "label": 0x000f_ffff, "port": 65_535,
        "udp_csum": true, "udp_zero_csum6_tx": true, "udp_zero_csum6_rx": true,
    })
}

fn macvlan() -> Value {
    json!({
        "mode": "private|vepa|bridge|passthru|source", "nopromisc": true, "nodst": true,
        "macaddr_mode": "add|del|flush|set", "macaddr": MAC, "macaddr_data": [MAC, MAC],
        "bcqueuelen": 5000, "bclim": 70_000,
    })
}

fn vlan() -> Value {
    json!({
        "protocol": "802.1Q|802.1ad", "id": 4094, "reorder_hdr": true, "gvrp": true,
        "loose_binding": true, "mvrp": true, "bridge_binding": true,
        "ingress_qos": [{"!from": 7, "!to": 70_000}, {"!from": 7, "!to": 7}],
        "egress_qos": [{"!from": 70_000, "!to": 7}],
    })
}

fn vxlan() -> Value {
    json!({
        "id": 0x00ff_ffff, "remote": V4, "remote6": V6, "local": V4, "local6": V6,
        "link": 70_000, "port_range": {"!low": 30_000, "!high": 65_535}, "port": 65_535,
        "learning": true, "proxy": true, "rsc": true, "l2miss": true, "l3miss": true,
        "tos": 255, "ttl": 255, "df": "unset|set|inherit", "label": 0x000f_ffff,
        "ageing": 70_000, "limit": 70_000, "udp_csum": true, "udp_zero_csum6_tx": true,
        "udp_zero_csum6_rx": true, "remcsum_tx": true, "remcsum_rx": true, "external": true,
        "vnifilter": true, "localbypass": true, "mcroute": true,
    })
}

pub fn addr() -> Value {
    json!({
        "!dev": 70_000, "!local": "10.0.0.1|2001:db8::1", "!prefixlen": 32,
        "metric": 70_000, "nodad": true, "optimistic": true, "home": true,
        "mngtmpaddr": true, "noprefixroute": true, "autojoin": true,
        "valid_life_time": 70_000, "preferred_life_time": 1,
    })
}

/// A route of each family.
pub fn routes() -> Vec<Value> {
    let route = |dst: &str, ip: &str, more: &Value| {
        let metrics = json!({
            "!mtu": 65_535, "window": 70_000, "ssthresh": 99, "cwnd": 99, "advmss": 9000,
            "reordering": 99, "hoplimit": 255, "initcwnd": 99, "initrwnd": 99, "quickack": 1,
            "congestion": "cubic|reno", "fastopen_no_cookie": 1,
        });
        let hop = json!({"!dev": 70_000, "!weight": 256, "!gateway": ip});
        let spec = json!({
            "!dst": dst, "type": "unicast|local|blackhole|prohibit|throw|unreachable",
            "table": "main|local|default", "protocol": "boot|static|bgp|ospf|kernel|zebra",
            "scope": "global|site|link|host|nowhere", "gateway": ip, "dev": 70_000,
            "metric": 70_000, "prefsrc": ip, "metrics": [metrics],
            "nexthops": [hop, hop],
        });
        with(spec, more)
    };
    let encap = |encap: Value| json!({"!dst": "192.0.2.0/24|2001:db8::/32", "!dev": 70_000, "!encap": encap});
    vec![
        route("192.0.2.0/24|10.0.0.1|default", V4, &json!({"tos": 28})),
        route(
            "2001:db8::/32|2001:db8::7",
            V6,
            &json!({"from": "2001:db8:7::/48", "pref": "low|medium|high", "expires": 70_000}),
        ),
        json!({"!dst": "192.0.2.0/24|2001:db8::/32", "!nhid": 70_000, "metric": 70_000}),
        encap(json!({"!type": "mpls", "!dst": "100|100/200/1048575", "ttl": 255})),
        encap(json!({"!type": "seg6", "!mode": "inline|encap", "!segs": [V6, V6]})),
        encap(json!({
            "!type": "ip", "id": 70_000, "src": V4, "dst": V4, "ttl": 255, "tos": 255,
        })),
        encap(json!({
            "!type": "ip6", "id": 70_000, "src": V6, "dst": V6, "hoplimit": 255, "tc": 255,
        })),
    ]
}

pub fn rule() -> Value {
    json!({
        "!src": "10.0.0.0/8|192.0.2.1", "dst": "198.51.100.0/24", "tos": 28, "not": true,
        "!priority": 70_000, "iif": "lo|eth0", "oif": "lo|eth0", "fwmark": 70_000,
        "fwmask": 70_000, "table": "main|local|default", "uidrange": "1-5|7",
        "ipproto": 6, "sport": "80|80-90", "dport": "443|1-65535", "tun_id": 70_000,
        "suppress_prefixlen": 32, "suppress_ifgroup": 70_000,
        "protocol": "boot|static|bgp|kernel",
    })
}

pub fn neigh() -> Value {
    json!({
        "!dev": 70_000, "!dst": "10.0.0.1|2001:db8::1", "lladdr": MAC,
        "state": ["PERMANENT|REACHABLE|STALE|NOARP|FAILED|DELAY|PROBE|INCOMPLETE"],
        "router": true, "extern_learn": true, "resolve": true, "managed": true,
        "protocol": "boot|static|bgp|kernel",
    })
}

pub fn fdb() -> Value {
    json!({
        "!dev": 70_000, "!mac": MAC, "!state": "permanent|static|dynamic",
        "!flags": ["self|master", "sticky|router|extern_learn|use"],
        "dst": V4, "vlan": 4094, "port": 65_535, "vni": 0x00ff_ffff, "viaIf": 70_000,
        "src_vni": 0x00ff_ffff,
    })
}

pub fn nsid() -> Value {
    json!({"!nsid": 70_000, "!pid": 30_000, "target-nsid": 70_000})
}
