//! Hosts that send nothing by themselves.

use std::fs;

/// Disables what a host sends by itself when an interface comes up. Multicast reports have no sysctl. `arp off`
/// prevents them, and also keeps IPv6 from joining solicited-node groups (`addrconf_join_solict`, net/ipv6/addrconf.c).
const SETTINGS: [(&str, &str); 5] = [
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    ("accept_dad", "0"),
    ("dad_transmits", "0"),
    // No link-local address.
    ("addr_gen_mode", "1"),
];

/// Silences interfaces that are created later in the namespace of the calling thread.
pub(super) fn keep_quiet() {
    for (name, value) in SETTINGS {
        let path = format!("/proc/sys/net/ipv6/conf/default/{name}");
        fs::write(&path, value).unwrap_or_else(|error| panic!("{path}: {error}"));
    }
}
