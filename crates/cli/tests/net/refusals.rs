//! Errors for out-of-range values state the allowed range; keywords are accepted in the same positions as by ip(8).

use crate::support::stack::{assert_refused, done, pair_host, refused};

#[test]
fn a_number_out_of_its_range_is_refused_with_the_range() {
    let host = pair_host(&[]);
    for (line, words) in [
        (
            "link add v5 link va type vlan id 5000",
            "\"5000\" is not a value of id: 0 to 4094",
        ),
        (
            "link add v5 link va type vlan id 70000",
            "\"70000\" is not a value of id: 0 to 4094",
        ),
        (
            "link add vx type vxlan id 16777216",
            "\"16777216\" is not a value of id: 0 to 16777215",
        ),
        (
            "link add gn type geneve vni 99999999999",
            "is not a value of vni: 0 to 16777215",
        ),
        (
            "link set va mtu 4294967296",
            "\"4294967296\" is not a value of mtu: 0 to 4294967295",
        ),
        (
            "link set va mtu -1",
            "is not a value of mtu: 0 to 4294967295",
        ),
        (
            "link set va priority 64",
            "\"64\" is not a value of priority: 0 to 63",
        ),
        (
            "fdb add 02:00:00:00:00:05 dev va vlan 4095",
            "\"4095\" is not a value of vlan: 1 to 4094",
        ),
        (
            "vlan add dev va vid 70000",
            "\"70000\" is not a value of vid: 1 to 4094",
        ),
        (
            "route add 10.1.0.0/16 dev va tos 256",
            "\"256\" is not a value of tos: 0 to 255",
        ),
        (
            "route add 10.1.0.0/16 dev va metric 5000000000",
            "is not a value of metric: 0 to 4294967295",
        ),
        (
            "route add 10.1.0.0/16 dev va table 5000000000",
            "is not a value of table: 0 to 4294967295",
        ),
        (
            "route add 10.1.0.0/16 dev va proto 256",
            "is not a value of proto: 0 to 255",
        ),
        ("rule add pref 4294967296 lookup 5", "0 to 4294967295"),
        (
            "nexthop add id 4294967296 dev va",
            "is not a value of id: 0 to 4294967295",
        ),
    ] {
        // A number may look like a flag.
        let (text, status) = refused(&host, &line.replace(" mtu", " -- mtu"));
        assert!(text.contains(words), "{line}: {text}");
        assert_eq!((text.lines().count(), status), (1, 2), "{line}: {text}");
    }
    // A word that is not a number has the usual error.
    let (text, _) = refused(&host, "link set va mtu large");
    assert!(text.contains("\"large\" is not a value of mtu ("), "{text}");
}

#[test]
fn a_refusal_says_what_is_wrong() {
    let host = pair_host(&[]);
    done(&host, "addr del 10.0.0.1/24 dev va");
    assert_refused(
        &host,
        &[
            (
                "addr del 10.0.0.1/24 dev va",
                "tapline: cannot remove address 10.0.0.1 of link va",
                1,
            ),
            (
                "route del 192.0.2.0/24",
                "tapline: cannot remove route 192.0.2.0/24: No such process",
                1,
            ),
            ("route add 10.0.0.0/33 dev va", "10.0.0.0/33", 2),
            (
                "route add 192.0.2.0/24 dev va realm 70000",
                "\"70000\" is not a value of realm",
                2,
            ),
            ("rule add prio 105 type local", "\"local\"", 2),
            ("rule add", "rule", 2),
            ("rule del", "rule", 2),
            (
                &format!("link set va alias {}", "a".repeat(70_000)),
                "ifalias has 70005 bytes, and an attribute at most 65535",
                2,
            ),
        ],
    );
}
